"""Records of runs: what was run, what came out, on what; kept as JSON lines."""

import dataclasses
import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

import muonlab
from muonlab.files import replace_file
from muonlab.machine import device_name

DIGITS = 5  # significant digits kept of every measured number


@dataclass
class Record:
    """What one run was and what came out of it; losses are in nats a token, times in seconds."""

    config: dict[str, Any]  # the fields of TrainConfig
    train_loss: list[float]  # one a step, on that step's batch, before its update
    step_seconds: list[float]  # one a step: training only, evaluation left out
    held_out: list[dict[str, Any]]  # step, seconds so far, loss: overall, head, middle, tail
    tokens: int  # trained on
    provenance: dict[str, Any] = field(default_factory=dict)
    failure: str = ""  # the reason, when the run diverged or broke off
    spectra: list[dict[str, Any]] = field(default_factory=list)  # see train.Run.measure_spectra

    @property
    def run_id(self) -> str:
        """The short hash that names this run's config."""
        return run_id(self.config)

    @property
    def seconds(self) -> float:
        """Training time, evaluation left out."""
        return sum(self.step_seconds)

    @property
    def tokens_per_second(self) -> float:
        """Tokens trained on by second of training time."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def elapsed(self) -> list[float]:
        """Training time when each step of `train_loss` ended: the axis "loss by second" needs."""
        return list(accumulate(self.step_seconds))

    def summary(self) -> str:
        """Returns one line for a terminal."""
        config = self.config
        rule = {"muon": "Muon"}.get(config["rule"], config["rule"])
        name = f"{rule}({'+'.join(config['muon'])}) lr={config['lr']:g} " if config["muon"] else ""
        name = name or "AdamW "
        if (rate := config["adamw_matrix_lr"]) is not None:
            name += f"adamw_matrix_lr={rate:g} "
        name += f"adamw_lr={config['adamw_lr']:g} seed={config['seed']}"
        name = "gated " * config["gated"] + name
        if self.failure:
            return f"{self.run_id} {name}: failed after {len(self.train_loss)} steps"
        last = self.held_out[-1]
        losses = " ".join(
            f"{k} {last[k]:.3f}" for k in ("overall", "head", "tail") if last.get(k) is not None
        )
        if "accuracy" in last:
            losses += " accuracy " + " ".join(f"{a:.2f}" for a in last["accuracy"])
        return (
            f"{self.run_id} {name}: held-out {losses} after {len(self.train_loss)} steps, "
            f"{self.seconds:.1f} s, {self.tokens_per_second:,.0f} tokens/s"
        )


def run_id(config: Any) -> str:
    """Returns 12 hexadecimal digits that depend on every field of the config, and on nothing else.

    Args:
        config: a dataclass such as TrainConfig, or the dict of its fields.
    """
    fields = config if isinstance(config, Mapping) else dataclasses.asdict(config)
    text = json.dumps(fields, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def append(record: Record, path: Path | str) -> None:
    """Adds the record as the last line of `path`: the whole line, or nothing if that fails.

    The new file is written beside the old one and renamed; other processes wait meanwhile.

    Raises:
        ValueError: the record holds NaN or Inf, or the file has a broken line (see `read`).
    """
    path = Path(path)
    line = json.dumps(rounded(dataclasses.asdict(record)), allow_nan=False)
    with lock(path, "append"):
        known = path.read_text(encoding="utf-8") if path.exists() else ""
        if known:
            read(path)  # a broken file is not to be built upon
        separator = "\n" if known and not known.endswith("\n") else ""
        replace_file(path, f"{known}{separator}{line}\n".encode())


def lock(path: Path | str, name: str) -> FileLock:
    """Returns a lock on one thing that concerns a file of records, for all processes.

    The system frees it when its process ends in any way, so a killed run leaves nothing locked.
    """
    folder = Path(path).parent / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{Path(path).stem}-{name}.lock")


def read(path: Path | str) -> list[Record]:
    """Returns the records of a file, in its order.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that is no record; the message names the file and the line.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [_parse(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def provenance(device: torch.device | str = "cpu") -> dict[str, Any]:
    """Returns where and with what code a run on `device` happens; no path and no host name."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "muonlab": muonlab.__version__,
        "code": code_version(),
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache  # asked again an hour into a sweep, git would name code that this process never loaded
def code_version() -> str:
    """Returns the git commit of the package, with "-dirty" if tracked code differs from it.

    It is looked up once a process. The classroom is left out of the comparison: no run imports
    it. Installed without git, the package has its version number instead.
    """
    folder = Path(muonlab.__file__).parent
    tracked = _git(folder, "ls-files", "__init__.py")
    if not tracked:  # no git, or an installed copy that only lies inside another repository
        return f"muonlab {muonlab.__version__}"
    changes = _git(folder, "status", "--porcelain", "-uno", "--", ".", ":(exclude)classroom")
    return (_git(folder, "rev-parse", "HEAD") or "")[:12] + ("-dirty" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # no git on this machine
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def rounded(value: Any) -> Any:
    """Returns the value with DIGITS significant digits in every measured number, at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        exact = {"config", "provenance"}
        return {k: v if k in exact else rounded(v) for k, v in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _parse(line: str, place: str) -> Record:
    try:
        return Record(**json.loads(line))
    except (json.JSONDecodeError, TypeError) as error:
        raise ValueError(
            f"{place}: expected one record of a run as a JSON object, got {line[:60]!r} "
            f"({error}): delete that line, or restore the file from git"
        ) from error
