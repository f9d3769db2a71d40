"""Look at this machine: what the course needs, what it has, and what to do about the difference."""

import os
import platform
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import psutil
import torch

from muonlab import archive
from muonlab.bubblewrap import uncontained
from muonlab.files import cache_folder, home
from muonlab.machine import cores, fast_bf16

GIB, MIB = 2**30, 2**20
ROOM = 64 * MIB  # what the texts that the lessons train on take is less
NEEDED = ("torch", "jupyterlab", "ipywidgets", "anywidget", "matplotlib", "tokenizers")


@dataclass(frozen=True)
class Fact:
    """One fact about the machine; `advice` is empty when nothing needs doing."""

    subject: str
    value: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.subject:<10} {self.advice or 'OK'} · {self.value}"


def main() -> int:
    """Prints what was found; returns 1 when something is to be done."""
    findings = examine()
    print(*findings, sep="\n")
    return int(any(finding.advice for finding in findings))


def examine() -> list[Fact]:
    """Returns what was found, one line a subject."""
    return [check() for check in CHECKS]


def _python() -> Fact:
    return Fact("Python", platform.python_version())


def _libraries() -> Fact:
    versions, missing = [], []
    for name in NEEDED:
        try:
            versions.append(f"{name} {version(name).split('+')[0]}")
        except PackageNotFoundError:
            missing.append(name)
    advice = f"missing {', '.join(missing)}: pip install -c constraints.txt -e ." if missing else ""
    return Fact("libraries", ", ".join(versions), advice)


def _folder() -> Fact:
    names = [f"{name}.py" for name in ("muonlab", "numpy", *NEEDED)]
    hiding = [name for name in names if os.path.exists(name)]
    advice = f"rename {', '.join(hiding)}: notebooks here import it in place of the library"
    state = "a file here hides a library" if hiding else "no file here hides a library"
    return Fact("folder", state, advice if hiding else "")


def _cores() -> Fact:
    count = cores()
    advice = "" if count >= 2 else "the lessons take about twice the stated time on one core"
    return Fact("cores", f"{count}, torch uses {torch.get_num_threads()} threads", advice)


def _bf16() -> Fact:
    fast = "fast on this CPU: Newton-Schulz uses it"
    return Fact("bf16", fast if fast_bf16() else "slow on this CPU: Newton-Schulz uses float32")


def _gpu() -> Fact:
    if torch.cuda.is_available():
        memory = torch.cuda.get_device_properties(0).total_memory / GIB
        return Fact("GPU", f"{torch.cuda.get_device_name(0)}, {memory:.0f} GiB")
    if torch.backends.mps.is_available():
        how = "`--device mps` takes it, in float32, which is not tested; else the CPU computes"
        return Fact("GPU", f"an Apple GPU: {how}")
    return Fact("GPU", "none: every lesson runs without one")


def _memory() -> Fact:
    free = psutil.virtual_memory().available / GIB
    advice = "" if free >= 2 else "close other programs: the lessons need about 2 GiB"
    return Fact("memory", f"{free:.1f} GiB free", advice)


def _cache() -> Fact:
    home()  # they say what no folder can be
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            for _ in range(ROOM // MIB):  # a quota shows itself to nobody who does not write
                file.write(bytes(MIB))
    except OSError as error:
        if os.path.isfile(archive.place()):  # nothing more has to go there: it may be shared
            return Fact("cache", f"{_short(folder)}, {error.strerror}; it has a class's texts")
        advice = f"{error.strerror}: free {ROOM // MIB} MiB there, or set MUONLAB_CACHE elsewhere"
        return Fact("cache", _short(folder), advice)
    return Fact("cache", f"{_short(folder)}, room for all texts")


def _text() -> Fact:
    try:
        texts = archive.kept()
    except (OSError, ValueError) as error:
        advice = f"{error}: `muonlab corpus import FILE --replace` puts a whole one in place"
        return Fact("text", _short(archive.place()), advice)
    if texts is None:
        return Fact("text", "made here on first use, unless `muonlab corpus import` brings one")
    hashes = archive.hashes(texts).items()
    return Fact("text", f"of a class: {', '.join(f'{name} {h[:12]}' for name, h in hashes)}")


def _grading() -> Fact:
    if find_spec("nbgrader") is None:
        return Fact("grading", "for teachers, by nbgrader: not installed")
    contained = "alone" if (advice := uncontained()) else "and bubblewrap, which contains hand-ins"
    return Fact("grading", f"nbgrader {contained}", advice)


def _short(folder: Path) -> str:
    own = os.path.expanduser("~")  # which stays "~" where there is none
    return f"~/{folder.relative_to(own)}" if folder.is_relative_to(own) else str(folder)


CHECKS = (_python, _libraries, _folder, _cores, _bf16, _gpu, _memory, _cache, _text, _grading)
