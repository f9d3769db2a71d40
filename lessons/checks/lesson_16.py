"""Checks of lesson 16: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

from scipy import stats

from muonlab.classroom.exercise import Wrong, call, expect

STUDENT = {n: float(stats.t.ppf(0.975, n - 1)) for n in range(2, 401)}
Z = 1.959964  # what t falls to when the seeds are many


def e1(answer: Callable) -> None:
    """The least number of seeds whose interval reaches no further than the effect."""
    for effect, spread in ((0.05, 0.06), (0.05, 0.1), (0.1, 0.02)):
        _one_count(call(answer, effect, spread, dict(STUDENT), returns=int), effect, spread)
    edge = {n: 2.0 for n in range(2, 11)}
    came = call(answer, 1.0, 1.0, dict(edge), returns=int)  # 2 · 1 / √4 is exactly 1
    if came != 4:
        raise Wrong(f"Where t·s/√n equals the effect, n is enough: expected 4, got {came}.")


def _one_count(came: int, effect: float, spread: float) -> None:
    def least(half: Callable[[int], float]) -> int:
        return next((n for n in STUDENT if half(n) <= effect), max(STUDENT))

    t = STUDENT
    mistakes = [
        (least(lambda n: spread / n**0.5), "You left Student's t out: the standard error alone is no 95 % interval."),
        (least(lambda n: t[n] * spread / n), "You divided by n. The standard error of a mean is s/√n."),
        (
            least(lambda n: 2 * t[n] * spread / n**0.5),
            "You compared the whole width of the interval. Half of it is t·s/√n.",
        ),
        (least(lambda n: t[2] * spread / n**0.5), "t depends on n: look it up anew for each n."),
        (
            max(2, math.ceil((Z * spread / effect) ** 2)),
            "You took 1.96, the t of very many seeds. For a few it is larger.",
        ),
        (least(lambda n: t[min(n + 1, 400)] * spread / n**0.5), "t[n] is already for n seeds; n − 1 is inside it."),
        (
            least(lambda n: t[n] * spread),
            "You did not divide by √n: more seeds then never narrow the interval by themselves.",
        ),
        (least(lambda n: t[n] * spread / n**0.5) - 1, "That is the largest n that is too few. Take the next."),
    ]
    expected = least(lambda n: t[n] * spread / n**0.5)
    where = f"for the effect {effect} and the spread {spread}"
    expect(came, expected, mistakes, f"Expected {expected} {where}, got {came}.")


def e2(answer: Callable) -> None:
    """Rows times (seeds + trials) runs, six operations for each weight and token."""
    for rows, seeds, trials in ((36, 3, 4), (5, 2, 1)):
        weights, tokens, speed = 1e8, 6e8, 4e14
        came = call(answer, rows, seeds, trials, weights, tokens, speed, returns=float)
        run = 6 * weights * tokens / speed / 3600
        runs = rows * (seeds + trials)
        mistakes = [
            (rows * seeds * run, "You left the trials out. Tuning costs as much a run as the table does."),
            ((rows * seeds + trials) * run, "You counted the trials once, not for each row."),
            (rows * seeds * trials * run, "You multiplied seeds by trials. A trial has one seed: add them."),
            (runs * run * 3600, "These are seconds: an hour has 3600."),
            (runs * run * 60, "These are minutes: an hour has 3600 seconds."),
            (runs * run / 3, "You counted the forward pass alone, 2 for each weight and token. Backward takes 4."),
            (runs * run * 4 / 6, "You counted the backward pass alone. Forward takes 2 more: 6 in all."),
            (runs * run / 6, "You left out the 6 operations for each weight and token."),
            (run, "That is one run. How many are there?"),
            (rows * trials * run, "You left out the seeds of the final runs."),
            ((seeds + trials) * run, "You left out the rows."),
            (run / runs, "You divided by the number of runs. They come one after the other."),
            (runs * run * speed * 3600, "These are operations. Divide by those of an hour."),
        ]
        message = f"Expected {runs * run:.4g} hours for {runs} runs, got {came:.4g}."
        expect(came, runs * run, mistakes, message, within=1e-6)


def e3(answer: Callable) -> None:
    """The whole interval on one side of the predicted size, or no verdict."""
    for low, high, by, expected in VERDICTS:
        came = call(answer, low, high, by, returns=str)
        if came not in ("supported", "refuted", "cannot tell"):
            raise Wrong(f"Return one of 'supported', 'refuted', 'cannot tell'; {came!r} came.")
        if came != expected:
            raise Wrong(f"[{low}, {high}] with by = {by} is {expected!r}, and you say {came!r}. " + _why(low, high, by))


VERDICTS = (
    (0.03, 0.06, 0.02, "supported"),
    (-0.02, 0.06, 0.01, "cannot tell"),
    (0.01, 0.03, 0.02, "cannot tell"),
    (-0.05, -0.03, 0.02, "refuted"),
    (0.01, 0.03, 0.04, "refuted"),
    (-0.01, 0.03, 0.04, "refuted"),
    (0.02, 0.04, 0.02, "supported"),
    (0.0, 0.02, 0.02, "cannot tell"),
    (-0.01, 0.02, 0.0, "cannot tell"),
)


def _why(low: float, high: float, by: float) -> str:
    if low == by:
        return "A low end that equals the size is enough: the hypothesis says at least."
    if high == by:
        return "The high end equals the size, so the size itself is not ruled out."
    if low < by < high:
        return "The size lies inside: a true difference on either side of it is possible."
    if low > by:
        return "All that the interval leaves possible is at least the size."
    if low > 0:
        return "A difference is shown, but all that is possible is smaller than predicted."
    if high > 0:
        return "The interval holds 0, and it still lies below the size as a whole."
    return "The whole interval is below the size."
