"""Grades one task of a notebook handed in, out of reach of what it says.

What a learner wrote runs in a process of its own. It is sent arguments and sends plain values back,
as JSON: to be right, they must be right. It is given no task, so it holds no answer, and can put
none into the diagnosis. After right values a second process runs the check beside the learner's
function, for how they were made: that verdict can only take points away.
"""

import json
import multiprocessing
import os
import pickle
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from inspect import Signature
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat
from nbformat import NotebookNode
from torch import Tensor, tensor

from muonlab.classroom import asking
from muonlab.classroom.exercise import NotRight, Verdict, checks
from muonlab.classroom.kinds import described, plain
from muonlab.teaching.confined import confine
from muonlab.teaching.variants import Task, fluent, task

SECONDS = 20.0  # for one call; a right answer takes milliseconds
START = 60.0  # seconds more, for a process to begin: it imports torch
DOORS = [f"muonlab.{door}" for door in ("classroom", "data", "experiments", "models", "theory")]
COUNTS = "torch._dynamo"  # loaded by torch's counter of operations: seconds, at its first use
LARGEST = 10_000_000  # bytes of an answer
MOST, SHORT = 2_000, 300  # characters of a diagnosis, and where the check stands beside the code
MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)
LATE = (
    "Your code had not ended after {:g} seconds, and was stopped. Does each loop come to its end?"
)
OVER = "Your code ended the program."
ENDED = (EOFError, OSError, RecursionError, ValueError)  # no more comes, or no JSON
OTHERWISE = "When it was called again, beside the check, it gave other results."


def grade(exercise: str, seed: str | None = None, notebook: NotebookNode | None = None) -> None:
    """Raises NotRight, with what is wrong, unless the notebook's answer to the task is right.

    seed: the class seed of a variant. notebook: what was handed in; None: the notebook in the
    working folder that holds the exercise, for a hidden test that runs in a kernel.
    """
    handed_in = notebook or _here(exercise)
    its_verdict = verdict(task(exercise, seed), written(handed_in, exercise))
    if its_verdict.status != "right":
        raise NotRight(its_verdict)


def _here(exercise: str) -> NotebookNode:
    for path in sorted(Path().glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if any(_id(cell) == exercise for cell in notebook.cells):
            return notebook
    raise FileNotFoundError(f"no notebook in {Path().resolve()} holds exercise {exercise}")


def _id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def written(notebook: NotebookNode, exercise: str) -> list[str]:
    """Returns what the learner wrote in code, up to the next exercise; [] without this one."""
    cells: list[str] = []
    begun = False
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if begun and marks.get("solution"):
            break
        begun = begun or _id(cell) == exercise
        if cell.cell_type == "code" and not marks.get("locked"):
            cells.append(cell.source)
    return cells if begun else []


def verdict(asked: Task, cells: list[str], seconds: float | None = None) -> Verdict:
    """Returns the verdict on the function that the cells define; their code runs elsewhere."""
    seconds = seconds or SECONDS
    try:
        with _process(_answers, asked.name, asked.setup, cells, seconds) as pipe:
            outside = _judged(asked, pipe, seconds)
        if outside.status != "right":
            return outside
        with _process(_checks, asked, cells, seconds) as pipe:
            said = _read(pipe, 3 * seconds)
    except TimeoutError:
        return Verdict(asked.exercise, "not right", LATE.format(seconds))
    except ENDED:
        return Verdict(asked.exercise, "not right", OVER)
    if said == ["right"]:
        return outside
    message = " ".join(map(str, said)) if isinstance(said, list) else ""
    return Verdict(asked.exercise, "not right", message[:SHORT] or OTHERWISE)


def _judged(asked: Task, pipe: socket.socket, seconds: float) -> Verdict:
    """Returns the verdict on the values that come back; TimeoutError where one does not."""
    late, stopped = False, None  # the verdict, once a call has failed

    def outside(*args: Any) -> Any:
        nonlocal late, stopped
        if late or stopped:  # it would wait again
            raise TimeoutError
        try:
            pipe.settimeout(seconds)
            pipe.sendall(
                pickle.dumps(args)
            )  # plainly: torch's own way opens a door to this process
            value, after, failed = _read(pipe, seconds)
        except TimeoutError:
            late = True
            raise
        if failed:
            example = f"Try `{asking.shown(outside, args)}`."
            stopped = Verdict(asked.exercise, "not right", str(failed)[:MOST], example)
            raise ValueError
        for given, changed in zip(args, after, strict=True):
            if isinstance(given, Tensor) and changed is not None:
                given.copy_(tensor(changed, dtype=given.dtype))
        return fluent(value)

    outside.__name__ = asked.name
    if failed := _read(pipe, 3 * seconds):  # its cells have run
        return Verdict(asked.exercise, "not right", str(failed)[:MOST])
    its_verdict = asked.judge(outside)
    if late:
        raise TimeoutError
    return stopped or its_verdict


@contextmanager
def _process(target: Callable[..., None], *args: Any) -> Iterator[socket.socket]:
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:  # it imports torch once, for all the children
        context.set_forkserver_preload(["__main__", __name__, *DOORS, COUNTS])
    ours, theirs = socket.socketpair()
    child = context.Process(target=target, args=(theirs, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        try:
            _read(ours, START)
        except (EOFError, OSError) as error:  # it runs none of the learner's code before
            raise RuntimeError(
                f"no process began that could run the answer ({error!r}): in a script, check "
                "answers below `if __name__ == '__main__':`; on a busy machine, try again"
            ) from error
        yield ours
    finally:
        child.kill()
        child.join()
        ours.close()


def _read(pipe: socket.socket, seconds: float) -> Any:
    """Returns the next line's JSON: never unpickled, for a learner may have made it.

    TimeoutError: it is not whole in time. EOFError: there is no more of it, or too much.
    ValueError: it is no JSON.
    """
    end, got = time.monotonic() + seconds, b""
    while not got.endswith(b"\n"):
        if (left := end - time.monotonic()) <= 0:
            raise TimeoutError
        pipe.settimeout(left)
        seen = pipe.recv(65_536, socket.MSG_PEEK)
        new = pipe.recv(seen.find(b"\n") + 1 or len(seen))  # the next line may be there already
        if not new or len(got) > LARGEST:
            raise EOFError
        got += new
    return json.loads(got)


def _send(pipe: socket.socket, said: Any) -> None:
    pipe.sendall(json.dumps(said).encode() + b"\n")


def _begun(pipe: socket.socket, setup: str) -> dict[str, Any]:
    """Returns the names that the set-up defines, in a process that has lost its rights."""
    own = pipe.fileno()
    os.closerange(3, own)  # what others listen to
    os.closerange(own + 1, 4_096)
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, names)
    tempfile.gettempdir()  # kept, though nothing can be written there: libraries ask for its name
    confine()
    _send(pipe, 0)
    return names


def _answers(pipe: socket.socket, name: str, setup: str, cells: list[str], seconds: float) -> None:
    """Runs a learner's cells and answers calls of the function, for as long as they come."""
    with suppress(EOFError, OSError):
        asking.SECONDS = seconds
        names = _begun(pipe, setup)
        try:
            function = _function(name, cells, names)
        except asking.Wrong as wrong:
            _send(pipe, str(wrong))
            return
        _send(pipe, "")
        calls = pipe.makefile("rb")
        while True:
            _send(pipe, _answered(function, pickle.load(calls)))  # ours


def _answered(function: Any, args: tuple[Any, ...]) -> list[Any]:
    """Returns the plain value, the plain arguments after the call, and what failed."""

    def once() -> Any:
        return function(*args)  # and what it changes in place is sent back

    once.__dict__ |= {"__wrapped__": function, "__signature__": Signature()}
    try:
        value = asking.call(once, none=True)
        after = [plain(a) if isinstance(a, Tensor) else None for a in args]
        said = [plain(value), after, ""]
        json.dumps(said)
    except (asking.NotYet, asking.Wrong) as reason:
        return [None, None, str(reason)]
    except (TypeError, ValueError):
        return [None, None, f"Your function returned {described(value)}: expected plain values."]
    return said


def _checks(pipe: socket.socket, asked: Task, cells: list[str], seconds: float) -> None:
    """Runs a learner's cells, and says what the check says of the function."""
    with suppress(OSError):
        asking.SECONDS = seconds
        checks(asked.exercise[:2], asked.swaps)  # read now: lessons are out of reach soon
        names = _begun(pipe, asked.setup)
        try:
            its_verdict = asked.judge(_function(asked.name, cells, names))
            said = (
                ["right"]
                if its_verdict.status == "right"
                else [its_verdict.message, its_verdict.example]
            )
        except asking.Wrong as wrong:
            said = [str(wrong)]
        _send(pipe, said)


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
