"""Checks of exercises: a verdict that says what is wrong, and never stops the notebook."""

import inspect
import linecache
import re
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import torch

from muonlab.files import course

MIME = "application/vnd.muonlab.verdict+json"
UNREADABLE = "The check could not use what your function returned"
Numbers = float | Sequence[float] | torch.Tensor
Mistakes = Sequence[tuple[Numbers, str]]
LOOK = {"right": ("✓", "#029e73"), "not yet": ("○", "#b8860b"), "not right": ("✗", "#d55e00")}


class Wrong(Exception):
    """An answer that is wrong; the message is the diagnosis."""


class NotYet(Exception):
    """An exercise that has not been begun."""


@dataclass(frozen=True)
class Verdict:
    """What a check found: status is `right`, `not yet` or `not right`."""

    exercise: str
    status: str
    message: str

    def __repr__(self) -> str:
        return f"{LOOK[self.status][0]} {self.exercise}: {self.status}. {self.message}"

    @property
    def html(self) -> str:
        """The verdict as a box; what the message quotes of the learner is taken as plain text."""
        symbol, colour = LOOK[self.status]
        return (
            f'<div role="status" style="border-left:4px solid {colour};padding:0.3em 0.8em;'
            f'margin:0.4em 0"><b>{symbol} {self.exercise}: {self.status}.</b> '
            f"{escape(self.message)}</div>"
        )


def judge(exercise: str, answer: Any) -> Verdict:
    """Returns the verdict on `answer`; ValueError when no such exercise exists."""
    lesson, _, name = exercise.partition("-")
    known = checks(lesson)
    if name not in known:
        ids = ", ".join(f"{lesson}-{e}" for e in known)
        raise ValueError(f"no exercise {exercise!r}; lesson {lesson} has {ids}")
    check = known[name]
    try:
        check(answer)
    except NotYet as reason:
        return Verdict(exercise, "not yet", str(reason))
    except Wrong as reason:
        return Verdict(exercise, "not right", str(reason))
    except Exception as error:  # a returned value that the check's own arithmetic refuses
        message = f"{UNREADABLE} ({type(error).__name__}: {error}). Look at its type and shape."
        return Verdict(exercise, "not right", message)
    return Verdict(exercise, "right", (check.__doc__ or "").strip())


@cache
def checks(lesson: str) -> dict[str, Callable[[Any], None]]:
    """Returns the checks of lessons/checks/lesson_NN.py by name, e1, e2, …; ValueError without."""
    path = course() / "lessons" / "checks" / f"lesson_{lesson}.py"
    if not path.is_file():
        raise ValueError(f"no lesson {lesson!r} has checks; an exercise is called like '02-e1'")
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), names)
    return {name: check for name, check in names.items() if re.fullmatch(r"e\d+", name)}


def call(
    answer: Any, *args: Any, shape: tuple[int, ...] | None = None, returns: type | None = None
) -> Any:
    """Returns `answer(*args)`, called on clones of tensor arguments.

    Raises NotYet when nothing came back, and Wrong when the function raised, changed an input in
    place, or returned something other than `returns`, or than a tensor of `shape`.
    """
    if not callable(answer):
        raise Wrong(f"Expected a function; {_described(answer)} came. Give its name, without ().")
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    try:
        result = answer(*given)
    except NotImplementedError as error:
        raise NotYet("Write your code in place of the dots, then run this cell.") from error
    except Exception as error:
        raise Wrong(_raised(answer, error)) from error
    if result is None or result is Ellipsis:
        raise NotYet(_nothing(answer))
    for number, (before, after) in enumerate(zip(args, given, strict=True), start=1):
        if isinstance(before, torch.Tensor) and not torch.equal(before, after):
            raise Wrong(f"Your function changed its argument {number} in place. Work on a copy.")
    kind = returns if shape is None else torch.Tensor
    if kind is not None and not isinstance(result, kind):
        raise Wrong(f"Expected a {kind.__name__}; your function returned {_described(result)}.")
    if shape is not None and tuple(result.shape) != tuple(shape):
        raise Wrong(f"Expected the shape {tuple(shape)}; your result has {tuple(result.shape)}.")
    return result


def expect(
    came: Numbers, expected: Numbers, mistakes: Mistakes, otherwise: str, *, within: float = 1e-4
) -> None:
    """Accepts `came` where it is `expected`; else raises Wrong with the diagnosis.

    Args:
        mistakes: (value, message): the first value that came gives the message.
        otherwise: the message when none of them came.
        within: equal are numbers of one shape that are no further apart than this share of the
            largest one expected.
    """
    if not _equal(came, expected, within):
        found = (message for value, message in mistakes if _equal(came, value, within))
        raise Wrong(next(found, otherwise))


def rounded(values: Numbers) -> list[float]:
    """Returns the numbers as a message shows them."""
    return [round(v, 3) for v in torch.as_tensor(values, dtype=torch.float64).tolist()]


def _equal(came: Numbers, value: Numbers, within: float) -> bool:
    a, b = (torch.as_tensor(v, dtype=torch.float64) for v in (came, value))
    return a.shape == b.shape and bool(((a == b) | ((a - b).abs() < within * b.abs().max())).all())


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"


def _nothing(answer: Any) -> str:
    with suppress(OSError, TypeError):  # typed without a file, or built in
        if "..." not in inspect.getsource(answer):
            return "Your function returns nothing: end it with return."
    return "Write your code in place of the dots, then run this cell. The hints are below."


def _raised(answer: Any, error: Exception) -> str:
    """Returns the exception with the line of the learner's own function that led to it."""
    text = f"{type(error).__name__}: {error}"
    code = getattr(answer, "__code__", None)
    frames = traceback.walk_tb(error.__traceback__)
    own = [at for frame, at in frames if code and frame.f_code.co_filename == code.co_filename]
    if code is None or not own:
        return f"Your function raised {text}"
    line = linecache.getline(code.co_filename, own[-1]).strip()
    number = own[-1] - code.co_firstlineno + 1
    return f"Line {number} of your function, `{line}`, raised {text}"
