"""A course for nbgrader, and the lessons for students and for teachers, from the lessons' texts."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from muonlab import checks
from muonlab.files import course, prepare_file, replace_file
from muonlab.notebooks import KERNEL, notebook_path, read, texts
from muonlab_teaching import copies
from muonlab_teaching.variants import BY_A_PERSON, ClassTask, book_tasks, task

CONFIG = Path(__file__).parent / "nbgrader_config.txt"  # it begins with the stamp
CONFIG_STAMP = "# Made by `muonlab teach export`."
HELD = "What is hidden here grades the cell above after you have handed in."
CLASS_SEED = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"  # it becomes part of files' names


def export(lessons: Sequence[str], folder: Path, seed: str | None = None) -> Iterator[str]:
    """Writes the course of some lessons to a folder; yields what to say about each once it stands.

    seed: draws the variants of a class; None: the book's own exercises.

    Raises, before anything is written: FileNotFoundError for an unknown lesson, ValueError for one
    without exercises, a folder that holds other things, a seed used before, a changed copy, or when
    nbgrader is missing. ChildProcessError: nbgrader failed; what it said.
    """
    tasks = {n: {id: task(id, seed) for id in book_tasks(n)} for n in dict.fromkeys(lessons)}
    _demand(folder, list(tasks), seed)
    names = {n: notebook_path(texts(course() / "lessons", [n])[0]).name for n in tasks}
    files = {f"student/{name}": copies.student(lesson) for lesson, name in names.items()}
    files |= {f"teacher/{name}": copies.teacher(lesson) for lesson, name in names.items()}
    for name, notebook in files.items():
        if (existing := folder / name).exists() and existing.read_bytes() != _bytes(notebook):
            raise ValueError(f"{existing} differs from what would be written: move it.")
    prepare_file(folder / "nbgrader_config.py")
    if not (folder / "nbgrader_config.py").exists():
        replace_file(folder / "nbgrader_config.py", CONFIG.read_bytes())
    for name, notebook in files.items():
        replace_file(folder / name, _bytes(notebook))
    yield f"{', '.join(tasks)}: a line for each follows once nbgrader has made it"
    for lesson, lesson_tasks in tasks.items():
        yield _assign(folder, lesson, lesson_tasks, seed)


def _demand(folder: Path, lessons: Sequence[str], seed: str | None) -> None:
    if importlib.util.find_spec("nbgrader") is None:
        raise ValueError("nbgrader is missing: pip install -c constraints.txt -e '.[grading]'")
    if seed is not None:
        checks.word("a class seed, of 64 characters at most,", seed, "autumn-26", CLASS_SEED)
    config = folder / "nbgrader_config.py"
    ours = config.is_file() and config.read_text(encoding="utf-8").startswith(CONFIG_STAMP)
    if folder.exists() and not ours and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} holds other things: expected a new folder, or an older export")
    for lesson in lessons:
        if (folder / "source" / (name := assignment(lesson, seed))).exists():
            raise ValueError(f"assignment {name} was made in {folder} before: take another --seed")


def assignment(lesson: str, seed: str | None) -> str:
    """Returns nbgrader's name of an assignment, such as 02 or 02-autumn-26."""
    return f"{lesson}-{seed}" if seed else lesson


def _assign(folder: Path, lesson: str, tasks: dict[str, ClassTask], seed: str | None) -> str:
    name = assignment(lesson, seed)
    place = folder / "source" / name
    place.mkdir(parents=True)
    try:
        replace_file(place / f"{name}.ipynb", _bytes(exercises_notebook(lesson, tasks, seed)))
        _nbgrader(folder, "generate_assignment", name)
    except BaseException:  # so that the same call works once the cause is mended
        shutil.rmtree(place)
        raise
    points = sum(t.minutes for t in tasks.values())
    by_hand = [f"{id} is graded by hand: {BY_A_PERSON[id]}" for id in tasks if id in BY_A_PERSON]
    return "; ".join([f"{name}: {len(tasks)} exercises, {points} points", *by_hand])


def _nbgrader(folder: Path, *words: str) -> None:
    # beside our Python stand nbgrader's helpers, which it calls by name
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [sys.executable, "-m", "nbgrader", *words]
    env = {**os.environ, "TRAITLETS_APPLICATION_RAISE_CONFIG_FILE_ERROR": "1", "PATH": path}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[-8:])
        raise ChildProcessError(f"nbgrader {' '.join(words)} failed in {folder}:\n{said}")


def exercises_notebook(lesson: str, tasks: dict[str, ClassTask], seed: str | None) -> NotebookNode:
    """Returns the notebook that nbgrader makes the students' from: set-up and exercises only."""
    title = read(texts(course() / "lessons", [lesson])[0]).cells[0].source.splitlines()[0]
    intro = copies.WORDS.intro(lesson, title.lstrip("# "))
    cells = [_cell(intro, f"{lesson}-start", locked=True)]
    setup = next(iter(tasks.values())).setup
    cells.append(_cell(setup, f"{lesson}-setup", locked=True, code=True))
    for id, asked in tasks.items():
        words = f"**Exercise {id}** · {asked.minutes} points\n\n{asked.text}\n\n{asked.example()}"
        cells.append(_cell(words.strip(), f"{id}-text", locked=True))
        points, by_hand = {"grade": True, "points": asked.minutes}, id in BY_A_PERSON
        cells.append(_cell(asked.code, id, code=True, solution=True, **(points if by_hand else {})))
        if not by_hand:
            cells.append(_cell(hidden(id, seed), f"{id}-test", code=True, locked=True, **points))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:03d}"  # so that equal texts make equal files
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def hidden(exercise: str, seed: str | None) -> str:
    """Returns the source of a test cell."""
    return (
        f"# {HELD}\n### BEGIN HIDDEN TESTS\nfrom muonlab_teaching.grading import grade\n\n"
        f"grade({exercise!r}, {seed!r})\n### END HIDDEN TESTS"
    )


def _cell(text: str, id: str, code: bool = False, **marks: Any) -> NotebookNode:
    make = new_code_cell if code else new_markdown_cell
    rest = {"grade": False, "solution": False, "locked": False, "task": False}
    return make(text, metadata={"nbgrader": {"schema_version": 3, "grade_id": id, **rest, **marks}})


def _bytes(notebook: NotebookNode) -> bytes:
    return (json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
