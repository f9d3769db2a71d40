"""Grades one task of a notebook handed in, out of reach of what it says.

What a learner wrote runs in a process of its own. It is sent arguments and sends plain values back,
as JSON: to be right, they must be right. It is given no task, so it holds no answer, and can put
none into the diagnosis. Which functions were called it says itself: that can only cost points.
"""

import warnings
from collections.abc import Sequence
from typing import Any

from nbformat import NotebookNode
from torch import Tensor, tensor

from muonlab.bubblewrap import uncontained
from muonlab.classroom import guarded
from muonlab.classroom.exercise import Verdict
from muonlab_teaching.confined import ENDED, STARTS_IN, Confined
from muonlab_teaching.variants import ClassTask, fluent

CALL_SECONDS = 20.0  # for one call; a right answer takes milliseconds
DIAGNOSIS, SHORT = 2_000, 80  # characters of a diagnosis, and of a name in it
OVER = "Your code ended the program."
HandedIn = Sequence[tuple[ClassTask, list[str]]]  # what each task was answered with: cells of code


def grade(exercise: str, seed: str | None = None) -> None:
    """Stands in a hidden test, which `apart.GradeApart` reads and does not run.

    Where it runs, the course's configuration is not in force, and a hand-in could patch the grader.
    """
    raise RuntimeError(f"{exercise} is not graded: nbgrader_config.py of its course is missing")


def written(notebook: NotebookNode, exercise: str) -> list[str]:
    """Returns what the learner wrote in code, up to the next exercise; all of it without its mark.

    A cell that was deleted and typed again has lost its mark: what it defines still counts.
    """
    cells: list[str] = []
    begun = False
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if begun and marks.get("solution"):
            break
        begun = begun or marks.get("grade_id") == exercise
        if cell.cell_type == "code" and not marks.get("locked"):
            cells.append(cell.source)
    return cells


def graded(handed_in: HandedIn, seconds: float = CALL_SECONDS) -> list[Verdict]:
    """Returns the verdicts on what one learner wrote, if the solutions are right after it, too.

    RuntimeError: a solution is not, or no process began. The grader or the machine fails then, and
    no points follow from what it says.
    """
    its_verdicts = verdicts(handed_in, seconds)
    tasks = [asked for asked, _ in handed_in]
    for canary in verdicts([(asked, [asked.code]) for asked in tasks], seconds):
        if canary.status != "right":
            fails = "our own solution was judged as follows, so the grader or this machine fails"
            raise RuntimeError(f"not graded: {fails}: {canary!r}")
    return its_verdicts


def verdicts(handed_in: HandedIn, seconds: float = CALL_SECONDS) -> list[Verdict]:
    """Returns the verdicts on what one learner wrote, which runs in a process tree of its own.

    RuntimeError: no process began.
    """
    if reason := uncontained():
        warnings.warn(reason, stacklevel=1)  # Python shows it once
    process, its_verdicts = None, []
    usual = guarded.SECONDS
    guarded.SECONDS = seconds + 2 * STARTS_IN  # what is sent has ends of its own
    try:
        for asked, cells in handed_in:
            process = _begun(process, [asked.name, asked.setup, cells, seconds])
            try:
                its_verdicts.append(_judged(process, asked, seconds))
            except ENDED as error:
                message = guarded.LATE.format(seconds) if isinstance(error, TimeoutError) else OVER
                its_verdicts.append(Verdict(asked.exercise, "not right", message))
                process.close()
                process = None
    finally:
        guarded.SECONDS = usual
        if process:
            process.close()
    return its_verdicts


def _begun(used: Confined | None, job: list[Any]) -> Confined:
    """Returns a process that is about to run the job: `used` by the same learner, or a new one."""
    process = used
    try:
        if process:
            process.send(None, STARTS_IN)
        else:
            process = Confined()
        process.send(job, STARTS_IN)
        if (said := process.read(STARTS_IN)) == 0:
            return process
    except ENDED as error:
        said = repr(error)
    said = f"{said} {process.close() if process else ''}"
    if used:  # this learner's code may have spoilt it
        return _begun(None, job)
    raise RuntimeError(f"no process began that could run an answer: is the machine busy? ({said})")


def _judged(process: Confined, asked: ClassTask, seconds: float) -> Verdict:
    """Returns the verdict on the values that come back; one of ENDED where one does not."""
    ended: Exception | None = None
    stopped: Verdict | None = None  # once a call has failed

    def outside(*args: Any) -> Any:
        nonlocal ended, stopped
        if ended or stopped:
            raise EOFError  # it would wait again
        watch = guarded.WATCHES[-1]
        try:
            process.send([as_python(args), watch.by_hand, watch.counted], seconds)
            value, after, failed, functions, operations = process.read(
                seconds + STARTS_IN * watch.counted  # what counts takes seconds to load
            )
        except ENDED as error:
            ended = error
            raise
        if failed:
            example = f"Try `{guarded.as_call(outside, args)}`."
            stopped = Verdict(asked.exercise, "not right", str(failed)[:DIAGNOSIS], example)
            raise ValueError
        watch.functions += [str(name)[:SHORT] for name in functions if watch.by_hand]
        watch.operations += operations
        for given, changed in zip(args, after, strict=True):
            if isinstance(given, Tensor) and changed is not None:
                given.copy_(tensor(changed, dtype=given.dtype))
        return fluent(value)

    outside.__name__ = asked.name
    if failed := process.read(3 * seconds):  # its cells have run
        return Verdict(asked.exercise, "not right", str(failed)[:DIAGNOSIS])
    its_verdict = asked.judge(outside)
    if ended:
        raise ended
    return stopped or its_verdict


def as_python(value: Any) -> str:
    """Returns Python that makes an argument of a call; TypeError for a kind that no task has."""
    if isinstance(value, Tensor):
        return f"torch.tensor({value.tolist()}, dtype={value.dtype}).reshape({list(value.shape)})"
    if type(value) in (list, tuple):
        return f"{type(value).__name__}([{', '.join(map(as_python, value))}])"
    if type(value) is dict:
        return f"dict({as_python(list(value.items()))})"
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    raise TypeError(f"a call takes no {type(value).__name__} as argument")
