"""What runs in a learner's process: the set-up, the cells, and calls of the function.

It knows no task and no check. The process that begins runs set-ups; for each exercise it makes
another, which ends with it. `confined` starts it.
"""

import json
import math
import os
import resource
import socket
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from muonlab.classroom import guarded
from muonlab.classroom.kinds import Wrong, described, plain
from muonlab_teaching import cells as cell_code

MARGIN = 4 * 2**30  # bytes more than the process holds: a right answer takes some megabytes
TOLD = 64  # the status of a process that ends because it was told to


def main() -> None:
    """Answers the jobs that come on standard input, until there is no more or one ends otherwise
    than it was told.
    """
    pipe = socket.socket(fileno=os.dup(0))
    for line in (lines := pipe.makefile("rb", buffering=0)):  # no process reads another's lines
        job, names = json.loads(line), {"__name__": "__main__"}
        exec(job[1], names)  # ours; what it imports is there for the next job
        if not (child := os.fork()):
            try:
                _limit()
                _answers(pipe, lines, job, names)
            finally:
                os._exit(TOLD + 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != TOLD:
            return


def _limit() -> None:
    limits = {resource.RLIMIT_CORE: 0}
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + MARGIN
    if "MUONLAB_PROCESSES" in os.environ:  # where nobody else's are counted
        limits[resource.RLIMIT_NPROC] = int(os.environ["MUONLAB_PROCESSES"])
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))


def _answers(
    pipe: socket.socket, lines: socket.SocketIO, job: list[Any], names: dict[str, Any]
) -> None:
    """Runs a learner's cells and answers calls of the function, until a line says null."""
    name, _, cells, guarded.SECONDS = job
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    _send(pipe, 0)  # from here on it is the learner's
    try:
        function, failed = _function(name, cells, names), ""
    except Wrong as wrong:
        function, failed = None, str(wrong)
    _send(pipe, failed)
    while call := json.loads(lines.readline()):
        _send(pipe, _answered(function, *call))
    os._exit(TOLD)


def _send(pipe: socket.socket, said: Any) -> None:
    pipe.sendall(json.dumps(said).encode() + b"\n")


def _answered(function: Any, args: str, by_hand: Any, counted: bool) -> list[Any]:
    """Returns the plain value, plain tensors among the arguments after the call, what failed, and
    what `guarded.watched` saw.
    """
    given = eval(args, {"torch": torch, "nan": math.nan, "inf": math.inf})
    by_hand = tuple(by_hand) if isinstance(by_hand, list) else by_hand

    def once() -> Any:
        return function(*given)  # and what it changes in place is sent back

    once.__dict__["__wrapped__"] = function  # whose code may be blank
    try:
        with guarded.watched(by_hand, counted) as seen:
            value = guarded.call(once, none=True)
        after = [plain(a) if isinstance(a, Tensor) else None for a in given]
        said = [plain(value), after, "", seen.functions, seen.operations]
        json.dumps(said)
    except (guarded.NotYet, Wrong) as reason:
        return [None, None, str(reason), [], 0]
    except (TypeError, ValueError):
        wrong = f"Your function returned {described(value)}: expected plain values."
        return [None, None, wrong, [], 0]
    return said


def _function(name: str, cells: list[str], names: dict[str, Any]) -> Any:
    """Returns the function of that name after all cells; one that fails does not stop the next."""
    failed = ""
    for number, source in enumerate(cells):
        try:
            made = cell_code.compiled(source, f"<cell {number}>")
            guarded.run(cell_code.run_code, (made, names), keeps=True)
            failed = ""
        except SyntaxError as error:
            failed = f" Its cell cannot be read: {error}."
        except (guarded.NotYet, Wrong) as reason:
            failed = f" Its cell: {reason}"
    if not callable(names.get(name)):
        raise Wrong(f"There is no function `{name}` after your cell has run.{failed}")
    return names[name]


if __name__ == "__main__":
    main()
