"""Grades one task of a notebook handed in, out of reach of what it says.

What a learner wrote runs in a process of its own. The process that judges sends it arguments and
gets plain values back, as JSON: to be right, they must be right. The same check runs beside the
learner's function too, for its diagnosis and for how the result was made; that verdict can only
take points away.
"""

import json
import multiprocessing
import os
import re
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat
from nbformat import NotebookNode
from torch import Tensor, tensor

from muonlab.classroom import asking
from muonlab.classroom.exercise import NotRight, Verdict
from muonlab.classroom.kinds import plain
from muonlab.teaching.variants import Task, fluent, task

SECONDS = 20.0  # for one call; a right answer takes milliseconds
START = 60.0  # seconds more, for a process to begin: it imports torch
DOORS = [f"muonlab.{door}" for door in ("classroom", "data", "experiments", "models", "theory")]
LARGEST = 10_000_000  # bytes of an answer
MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)
LATE = (
    "Your code had not ended after {:g} seconds, and was stopped. Does each loop come to its end?"
)
APART = "When it was called again, from outside, it gave other results."


def grade(exercise: str, seed: str | None = None, notebook: NotebookNode | None = None) -> None:
    """Raises NotRight, with what is wrong, unless the notebook's answer to the task is right.

    seed: the class seed of a variant. notebook: what was handed in; None: the notebook in the
    working folder that holds the exercise, for a hidden test that runs in a kernel.
    """
    handed_in = notebook or _here(exercise)
    found = verdict(task(exercise, seed), written(handed_in, exercise))
    if found.status != "right":
        raise NotRight(found)


def _here(exercise: str) -> NotebookNode:
    for path in sorted(Path().glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if any(_id(cell) == exercise for cell in notebook.cells):
            return notebook
    raise FileNotFoundError(f"no notebook in {Path().resolve()} holds exercise {exercise}")


def _id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def written(notebook: NotebookNode, exercise: str) -> list[str]:
    """Returns what the learner wrote in code cells, to the exercise's own; [] without that one."""
    cells: list[str] = []
    for cell in notebook.cells:
        locked = cell.metadata.get("nbgrader", {}).get("locked")
        if cell.cell_type == "code" and not locked:
            cells.append(cell.source)
        if _id(cell) == exercise:
            return cells
    return []


def verdict(asked: Task, cells: list[str], seconds: float | None = None) -> Verdict:
    """Returns the verdict on the function that the cells define; their code runs elsewhere."""
    seconds = seconds or SECONDS
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:  # it imports torch once, for all the children
        context.set_forkserver_preload(["__main__", __name__, *DOORS])
    ours, theirs = context.Pipe()
    child = context.Process(target=answering, args=(theirs, asked, cells, seconds), daemon=True)
    child.start()
    theirs.close()
    try:
        return _judged(asked, ours, seconds)
    finally:
        child.kill()
        child.join()
        ours.close()


def _judged(asked: Task, pipe: Connection, seconds: float) -> Verdict:
    try:
        _wait(pipe, START)  # it has begun
        said = _wait(pipe, 3 * seconds)
    except TimeoutError:
        return Verdict(asked.exercise, "not right", LATE.format(3 * seconds))
    except (EOFError, OSError, ValueError):  # no more, or no JSON
        return Verdict(asked.exercise, "not right", "Your code ended the program.")
    if said != ["right"]:
        return Verdict(asked.exercise, "not right", " ".join(map(str, said))[:2_000])

    def outside(*args: Any) -> Any:
        pipe.send(args)
        value, after = _wait(pipe, seconds)
        for given, changed in zip(args, after, strict=True):
            if isinstance(given, Tensor) and changed is not None:
                given.copy_(tensor(changed, dtype=given.dtype))
        return fluent(value)

    outside.__name__ = asked.name
    found = asked.judge(outside)
    if found.status == "right":
        return found
    return Verdict(asked.exercise, "not right", f"{APART} {found.message}", found.example)


def _wait(pipe: Connection, seconds: float) -> Any:
    if not pipe.poll(seconds):
        raise TimeoutError(LATE.format(seconds))
    return json.loads(pipe.recv_bytes(LARGEST))  # never unpickled: a learner may have made it


def answering(pipe: Connection, asked: Task, cells: list[str], seconds: float) -> None:
    """What the learner's process does: run the cells, say the check's verdict, answer calls.

    `cells` are the learner's; the set-up is the task's own.
    """
    with suppress(EOFError, OSError):
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        asking.SECONDS = seconds
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(asked.setup, names)
        pipe.send_bytes(b"0")
        try:
            function = _function(asked.name, cells, names)
            found = asked.judge(function)
            said = ["right"] if found.status == "right" else [found.message, found.example]
        except asking.Wrong as wrong:
            said = [str(wrong)]
        pipe.send_bytes(json.dumps(said).encode())
        while said == ["right"]:
            args = pipe.recv()
            value = function(*args)
            after = [plain(a) if isinstance(a, Tensor) else None for a in args]
            pipe.send_bytes(json.dumps([plain(value), after]).encode())


def _run(made: CodeType, names: dict[str, Any]) -> bool:
    exec(made, names)
    return True


def _function(name: str, cells: list[str], names: dict[str, Any]) -> Any:
    """Returns the function of that name after all cells; one that fails does not stop the next."""
    failed = ""
    for number, source in enumerate(cells):
        place = f"<cell {number}>"
        try:
            made = compile(MAGIC.sub(r"\1pass", source), place, "exec")
            asking.linecache.cache[place] = (len(source), None, source.splitlines(True), place)
            asking.call(lambda made=made: _run(made, names))
            failed = ""
        except SyntaxError as error:
            failed = f" Its cell cannot be read: {error}."
        except asking.Wrong as wrong:
            failed = f" Its cell: {wrong}"
    if not callable(names.get(name)):
        raise asking.Wrong(f"There is no function `{name}` after your cell has run.{failed}")
    return names[name]
