"""The files of a class, read without trusting them: what is odd is named and left out."""

import json
import os
import stat
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from muonlab.checks import printable
from muonlab.classroom.handin import MOST_BYTES, HandIn, read_hand_in
from muonlab.files import course

FILES = 5_000  # files: a folder with more is not one of hand-ins


@dataclass(frozen=True)
class Collected:
    """The hand-ins that count, one a learner and lesson, and what was not counted and why."""

    counted: list[HandIn]
    left_out: list[tuple[str, str]]  # a file's name, fit to be printed, and the reason


def collect(folder: Path, page: str = "") -> Collected:
    """Returns the hand-ins below a folder.

    Hidden files are passed over, and the page that is made of them, if this is its whole path.
    Of one learner and lesson the newest counts, by the time in the file. A link, a large file, or
    one that is no hand-in is not opened, or not kept.

    ValueError: too many files, or no hand-in there.
    """
    by_learner: dict[tuple[str, str], list[tuple[HandIn, str]]] = {}
    left_out, counted = [], []
    for path in (file for file in _files(folder) if os.path.abspath(file) != page):
        name = printable(path.relative_to(folder).as_posix())
        try:
            one = read_hand_in(_content(path))
            if not any((course() / "lessons").glob(f"{one.lesson}-*.ipynb")):
                raise ValueError(f"there is no lesson {one.lesson} here")
        except (OSError, ValueError) as error:
            left_out.append((name, getattr(error, "strerror", None) or str(error)))
        else:
            by_learner.setdefault((one.lesson, one.learner), []).append((one, name))
    for alike in by_learner.values():
        *older, (newest, name) = sorted(alike, key=lambda pair: pair[0].made)
        counted.append(newest)
        for other, its_name in older:
            relation = "says the same" if other == newest else "is newer, of the same learner"
            left_out.append((its_name, f"{name} {relation}, and counts"))
    if not counted:
        first = ": ".join(left_out[0]) if left_out else "it is empty, or no folder"
        raise ValueError(f"{folder} holds no file of lesson.hand_in(); {first}")
    return Collected(counted, left_out)


@cache  # nbgrader reads its configuration three times: once is enough
def name_unreadable(submitted: Path) -> None:
    """Prints a line for each notebook below submitted/STUDENT/ASSIGNMENT that nbgrader cannot take.

    Of those it says no more than a traceback, or that it has found none.
    """
    for folder in sorted(path for path in submitted.glob("*/*") if path.is_dir()):
        named = folder / f"{folder.name}.ipynb"
        others = sorted(path for path in folder.glob("*.ipynb") if path.name != named.name)
        if named.exists() and (reason := _broken(named)):
            print(f"{printable(str(named), 300)}: {reason}", file=sys.stderr)
        elif others and not named.exists():
            advice = f"rename it {named.name} to be graded"
            print(f"{printable(str(others[0]), 300)}: {advice}", file=sys.stderr)


def _broken(notebook: Path) -> str:
    """Returns why nbgrader could not read a notebook and write it again, or ""."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        json.dumps(cells, ensure_ascii=False).encode()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = printable(repr(error))
        return f"it cannot be read as a notebook in UTF-8 ({reason}): ask for it again"
    return ""


def _files(folder: Path) -> list[Path]:
    paths = []
    for root, folders, files in os.walk(folder):  # it enters no link
        linked = [name for name in folders if Path(root, name).is_symlink()]
        paths += [Path(root, name) for name in files + linked if not name.startswith(".")]
        folders[:] = [name for name in folders if not name.startswith(".")]
        if len(paths) > FILES:
            raise ValueError(f"{folder} holds more than {FILES:,} files: name the one of the class")
    return sorted(paths)


def _content(path: Path) -> bytes:
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        raise ValueError("it is a link, or no ordinary file: put a copy there")
    if path.suffix == ".ipynb":
        raise ValueError("it is a notebook: ask for the file that lesson.hand_in() writes")
    if path.suffix == ".zip":
        raise ValueError("it is an archive: unpack it there")
    if facts.st_size > MOST_BYTES:
        raise ValueError(f"it has {facts.st_size:,} bytes; a hand-in has {MOST_BYTES:,} at most")
    return path.read_bytes()
