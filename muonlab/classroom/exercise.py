"""Checks of exercises: a verdict that says what is wrong, and never stops the notebook."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from typing import Any

import torch

from muonlab import checks as given
from muonlab.classroom.guarded import NotYet, as_call, call, watched
from muonlab.classroom.kinds import Kind, Wrong, apart, equal, is_rounded, shape
from muonlab.classroom.widget import own_text
from muonlab.files import LESSONS

VERDICT = "application/vnd.muonlab.verdict+json"
UNREADABLE = "The check could not use what your function returned"
ENOUGH = 1_000  # times as many numbers as are right: no mistake of the lists makes so many
GENERIC = "This does not fit."
ROUNDED = "You rounded. Return all digits."
WITHOUT_SVD = ("svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals")
BY_HAND = "This exercise is about how that is done: write it by hand."
Case = tuple[Any, ...]
Mistakes = Sequence[tuple[Any, str]]
Answer = Callable[..., Any]
Swaps = tuple[tuple[str, str], ...]
Look = tuple[Any, Mistakes]  # what is right for one case, and what each mistake would give
LOOK = {"right": ("✓", "#029e73"), "not yet": ("○", "#b8860b"), "not right": ("✗", "#d55e00")}


class NotRight(AssertionError):
    """A graded answer that is wrong, or not there; the message is the verdict."""


@dataclass(frozen=True)
class Verdict:
    """What a check found: status is `right`, `not yet` or `not right`; a call to try."""

    exercise: str
    status: str
    message: str
    example: str = ""

    def __repr__(self) -> str:
        words = f"{self.message} {self.example}".rstrip()
        return f"{LOOK[self.status][0]} {self.exercise}: {self.status}. {words}"

    @property
    def html(self) -> str:
        """The verdict as a box; what the message quotes of the learner is taken as plain text."""
        symbol, colour = LOOK[self.status]
        parts = filter(None, (self.message, self.example))
        lines = (re.sub("`(.+?)`", r"<code>\1</code>", escape(text)) for text in parts)
        return (
            f'<div role="status" style="border-left:4px solid {colour};padding:0.3em 0.8em;'
            f'margin:0.4em 0"><b>{symbol} {escape(self.exercise)}: {self.status}.</b> '
            f"{'<br>'.join(lines)}</div>"
        )


def judge_answer(exercise: str, answer: Any, swaps: Swaps = ()) -> Verdict:
    """Returns the verdict on `answer`; ValueError or OSError: no such exercise, or lesson.

    swaps: what stands in the check's source, and what shall stand there instead, for a variant.
    """
    known = checks(exercise[:2], swaps)
    given.choice("an exercise", exercise, known)
    return verdict_of(exercise, known[exercise], answer)


def verdict_of(exercise: str, check: Callable[[Any], str | None], answer: Any) -> Verdict:
    """Returns what a check says of an answer."""
    try:
        praise = check(answer)
    except NotYet as reason:
        return Verdict(exercise, "not yet", str(reason))
    except Wrong as reason:
        return Verdict(exercise, "not right", str(reason), reason.example)
    except Exception as error:  # a returned value that the check's own arithmetic refuses
        message = f"{UNREADABLE} ({type(error).__name__}: {error}). Look at its type and shape."
        return Verdict(exercise, "not right", message)
    return Verdict(exercise, "right", praise or (check.__doc__ or "").strip())


@cache
def checks(lesson: str, swaps: Swaps = ()) -> dict[str, Callable[[Any], str | None]]:
    """Returns the checks of lessons/checks/lesson_NN.py by exercise id; OSError without.

    A check returns what a right answer is told, or None for its docstring.
    swaps: as in `judge_answer`.
    """
    source = swapped(own_text("checks/lesson_{}.py", lesson), swaps)
    names: dict[str, Any] = {"__name__": f"lesson_{lesson}"}
    exec(compile(source, LESSONS / f"checks/lesson_{lesson}.py", "exec"), names)
    ours = {name: check for name, check in names.items() if re.fullmatch(r"e\d+", name)}
    return {f"{lesson}-{name}": check for name, check in ours.items()}


def swapped(text: str, swaps: Swaps) -> str:
    """Returns the text with each pair's first string replaced by its second, pair after pair."""
    for old, new in swaps:
        text = text.replace(old, new)
    return text


def compare(
    answer: Any,
    cases: Sequence[Case],
    look: Callable[..., Look],
    *,
    returns: Kind,
    within: float = 1e-4,
    otherwise: str | Callable[..., str] = GENERIC,
    by_hand: bool | tuple[str, ...] = False,
) -> None:
    """Accepts an answer that is right in every case; else raises Wrong with the diagnosis.

    The diagnosis is that of the first mistake which gives what came in every case; among real
    numbers, failing that, in every case that came out wrong. The first of these is shown, to try.

    Args:
        cases: what the function is called with, the most telling first: wide before square.
        look: takes what the function takes; returns what is right there, and (value, message) for
            each mistake, always in one order; NaN for a mistake that cannot be made there.
        returns: the kind of answer, from `muonlab.classroom.kinds`.
        within: equal are numbers of one shape that are no further apart than this share of the
            largest one expected. So are those rounded to hundredths or finer, within 0.5 %.
        otherwise: the message when no mistake fits, or a function of what came and the case.
        by_hand: whether calling a function of muonlab's is noticed and turned down; a tuple names
            functions of torch that are, too.
    """
    table = [look(*case) for case in cases]
    with watched(by_hand) as seen:
        came = _asked(answer, cases, table, returns, within)
    wrong = [i for i, value in enumerate(came) if not _right(value, table[i][0], within)]
    borrowed = f"`{seen.functions[0]}`" if seen.functions else ""
    if wrong:
        value, case = came[wrong[0]], cases[wrong[0]]
        message = _diagnosis(table, came, wrong, within, borrowed)
        message = message or (otherwise if isinstance(otherwise, str) else otherwise(value, *case))
        pair = apart(table[wrong[0]][0], value)
        example = f"Try `{as_call(answer, case)}`: expected {pair[0]}, got {pair[1]}."
        raise Wrong(message, example)
    if borrowed:
        raise Wrong(f"The result is right, and {borrowed} made it. {BY_HAND}")


def _diagnosis(
    table: Sequence[Look], came: list[Any], wrong: list[int], within: float, borrowed: str
) -> str:
    """Returns what is wrong, as far as the values say it, or ""."""
    value, (expected, mistakes) = came[wrong[0]], table[wrong[0]]
    chance = isinstance(value, int | str | None)  # few values: one of them says little
    fits = (
        message
        for where in (range(len(came)), *([] if chance else [wrong]))
        for i, (_, message) in enumerate(mistakes)
        if all(equal(came[case], table[case][1][i][0], within) for case in where)
    )
    if message := next(fits, ""):
        return message
    if borrowed:
        return f"You called {borrowed}. {BY_HAND}"
    if shape(value) != shape(expected):
        return _misshaped(expected, shape(value))
    rough = not chance and all(is_rounded(came[i], table[i][0], 1, 0.05) for i in wrong)
    return ROUNDED if rough else ""


def _right(came: Any, expected: Any, within: float) -> bool:
    return equal(came, expected, within) or is_rounded(came, expected, 2, 5e-3)


def _asked(
    answer: Any, cases: Sequence[Case], table: Sequence[Look], returns: Kind, within: float
) -> list[Any]:
    """Returns what came; where a case raises, the cases before it, if one of those is wrong."""
    came: list[Any] = []
    none = any(expected is None for expected, _ in table)
    for case, (expected, _) in zip(cases, table, strict=True):
        try:
            value = call(answer, *case, returns=partial(_read, returns, expected), none=none)
            alone = isinstance(value, torch.Tensor) and value.numel() == 1 and not shape(expected)
            came.append(value.item() if alone else value)
        except (Wrong, NotYet):
            if all(_right(v, t[0], within) for v, t in zip(came, table, strict=False)):
                raise
            break
    return came


def _read(returns: Kind, expected: Any, value: Any) -> Any:
    """Returns what `returns` makes of a value; Wrong for one that has far too many numbers.

    To read a million numbers takes a minute.
    """
    size = tuple(value.shape) if hasattr(value, "shape") else ()
    size = (len(value),) if isinstance(value, list | tuple) else size
    if math.prod(size) > ENOUGH * (1 + math.prod(shape(expected))):
        raise Wrong(_misshaped(expected, size))
    return returns(value)


def _misshaped(expected: Any, size: tuple[int, ...]) -> str:
    asked = f"the shape {shape(expected)}" if shape(expected) else "one number"
    return f"Expected {asked}; your result has {size or 'one'}."


def rough(seed: int, *size: int) -> torch.Tensor:
    """Returns normal numbers with one decimal, none of them 0, that a message can show in full."""
    generator = torch.Generator().manual_seed(seed)
    tenths = torch.randn(size, generator=generator, dtype=torch.float64).mul(10).round()
    return torch.where(tenths == 0, 1, tenths).div(10).float()
