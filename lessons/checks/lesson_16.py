"""Checks of lesson 16: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable, Iterable

from scipy import stats

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import number, word

T = {n: math.ceil(100 * float(stats.t.ppf(0.975, n - 1))) / 100 for n in range(2, 21)}
Z = 1.959964  # what t falls to when the seeds are many


def e1(answer: Callable) -> None:
    """The least number of seeds whose interval reaches no further than the effect."""
    cases = [
        (2.5, 1.0, T),
        (0.55, 1.0, T),
        (5.0, 1.0, T),
        (0.95, 1.0, T),
        (1.595, 1.0, T),  # t·s/√n is exactly the effect for n = 4
        (0.05, 0.06, T),
        (0.2, 0.3, T),
        (1.0, 0.1, T),  # two are enough
    ]
    otherwise = "Try n = 2, 3, … until t(n)·s/√n is at most the effect; that n is the answer."
    compare(answer, cases, _seeds, returns=number, within=1e-9, otherwise=otherwise)


def _seeds(effect: float, spread: float, t: dict[int, float]) -> tuple[int, Mistakes]:
    def least(half: Callable[[int], float], among: Iterable[int] = t) -> float:
        return next((n for n in among if half(n) <= effect), math.nan)

    def half(n: int) -> float:
        return t[n] * spread / n**0.5

    right = int(least(half))
    one_t = "t depends on n: look it up anew for each n."
    many = "You took 1.96, or 2, the t of very many seeds. For a few it is larger."
    normal = (Z * spread / effect) ** 2
    return right, [
        (
            next((n for n in t if half(n) < effect), math.nan),
            "Where t·s/√n equals the effect, n is enough: at most, not less than.",
        ),
        (least(lambda n: spread / n**0.5), "You left Student's t out: the standard error alone is no 95 % interval."),
        (least(lambda n: t[n] * spread / n), "You divided by n. The standard error of a mean is s/√n."),
        (
            least(lambda n: t[n] * spread / (n - 1) ** 0.5),
            "You divided by √(n − 1). The standard error of a mean is s/√n; n − 1 is inside t and s.",
        ),
        (
            least(lambda n: 2 * half(n)),
            "You compared the whole width of the interval. Half of it is t·s/√n.",
        ),
        (least(lambda n: half(n) / 2), "You halved t·s/√n. That is half of the interval already."),
        (least(lambda n: half(n) * spread), "You squared the spread. It is in the effect's unit, as it stands."),
        (least(lambda n: t[2] * spread / n**0.5), one_t),
        (max(2, math.ceil((t[2] * spread / effect) ** 2)), one_t),
        (max(2, math.ceil(normal)), many),
        (math.ceil(normal), many),
        (normal, "You took 1.96, and a fraction of a seed. t is larger for a few seeds, and n is whole."),
        (
            least(lambda n: t[min(n + 1, max(t))] * spread / n**0.5),
            "You took t[n + 1]. t[n] is already for n seeds.",
        ),
        (
            least(lambda n: t[max(n - 1, 2)] * spread / n**0.5),
            "You took t[n − 1]. t[n] is already for n seeds; n − 1 is inside it.",
        ),
        (
            least(lambda n: t[n] * spread),
            "You did not divide by √n: more seeds then never narrow the interval by themselves.",
        ),
        (right - 1, "That is one too few: the largest n that does not do, or a count that began at 1."),
        (right + 1, "That is one too many. Does your loop count on after it has found n?"),
        (max(3, right), "Begin at n = 2: t has it, and two seeds may be enough."),
        (
            next((n for n in t if half(n) > effect), math.nan),
            "That is the first n that does not do. Look for t·s/√n at most the effect.",
        ),
        (max(t), "That is the largest n that does, or the last one tried. Stop at the least."),
        (half(right), "That is how far the interval reaches. Return n."),
        ((t[right] * spread / effect) ** 2, "That is a fraction of a seed. Return the least whole n."),
        (math.ceil(spread / effect), "That is s/Δ alone. The interval reaches as far as t·s/√n."),
    ]


def e2(answer: Callable) -> None:
    """Rows times (seeds + trials) runs, six operations for each weight and token."""
    cases = [
        (2, 3, 5, 1e6, 3e9, 7e12),
        (36, 3, 4, 1e8, 6e8, 3.7e14),
        (5, 2, 1, 7, 1000, 51),
        (4, 5, 0, 10_000_000, 3_000_000_000, 210_000_000_000_000),
    ]
    otherwise = "Count the runs, rows · (seeds + trials); each takes 6·N·D operations; divide by speed, then by 3600."
    compare(answer, cases, _hours, returns=number, within=1e-6, otherwise=otherwise)


def _hours(rows: int, seeds: int, trials: int, weights: float, tokens: float, speed: float) -> tuple[float, Mistakes]:
    run, runs = 6 * weights * tokens / speed / 3600, rows * (seeds + trials)
    x, each = runs * run, "for each weight and token"
    return x, [
        (rows * seeds * run, "You left the trials out. Tuning costs as much a run as the table does."),
        ((rows * seeds + trials) * run, "You counted the trials once, not for each row."),
        ((rows + seeds + trials) * run, "You added the rows. Each row has its own seeds and trials: multiply."),
        (rows * seeds * trials * run, "You multiplied seeds by trials. A trial has one seed: add them."),
        (rows * seeds * (1 + trials) * run, "You gave each seed its own trials. A row is tuned once: add them."),
        (rows * (1 + trials) * run, "You counted one final run for each row. There are `seeds` of them."),
        (
            rows * (seeds + trials - 1) * run,
            "You took the best trial for a final run. All `seeds` final runs come after.",
        ),
        (rows * max(seeds, trials) * run, "You took the larger of seeds and trials. Add them."),
        (x * 3600, "These are seconds: an hour has 3600."),
        (x * 60, "These are minutes: an hour has 3600 seconds."),
        (x / 24, "These are days. Return hours."),
        (x * 3600**2, "You multiplied by 3600. Seconds over 3600 are hours."),
        (x / 3, f"You counted the forward pass alone, 2 {each}. Backward takes 4."),
        (x * 4 / 6, "You counted the backward pass alone. Forward takes 2 more: 6 in all."),
        (x / 6, f"You left out the 6 operations {each}."),
        (x / tokens, "You left the tokens out: every token costs 6·N operations."),
        (x / weights, "You left the weights out: every token costs 6·N operations."),
        (6 * (weights + tokens) * runs / speed / 3600, "You added weights and tokens. Multiply them."),
        (run, "That is one run. How many are there?"),
        (rows * trials * run, "You left out the seeds of the final runs."),
        ((seeds + trials) * run, "You left out the rows."),
        (rows * run, "You took one run for each row. Each has seeds + trials."),
        (run / runs, "You divided by the number of runs. They come one after the other."),
        (runs, "That is the number of runs. Each takes 6·N·D operations."),
        (x * speed * 3600, "These are operations. Divide by those of an hour."),
        (x * speed, "You divided by 3600, not by the speed."),
        (x * speed**2, "You multiplied by the speed. Operations over speed are seconds."),
        (float(x // 1), "You dropped the fraction of an hour."),
        (math.ceil(x), "You rounded up to whole hours. Return the fraction too."),
        (round(x), "You rounded to whole hours. Return the fraction too."),
    ]


def e3(answer: Callable) -> None:
    """The whole interval on one side of the predicted size, or no verdict."""
    cases = [
        (0.03, 0.06, 0.02),
        (-0.02, 0.06, 0.01),
        (0.01, 0.03, 0.02),
        (0.0, 0.03, 0.05),
        (-0.04, 0.0, 0.02),
        (-0.05, -0.01, 0.02),
        (0.0, 0.05, 0.03),
        (-0.05, -0.03, 0.02),
        (0.01, 0.03, 0.04),
        (-0.01, 0.03, 0.04),
        (0.02, 0.04, 0.02),
        (0.0, 0.02, 0.02),
        (-0.01, 0.02, 0.0),
        (-0.01, 0.05, -0.02),
        (-0.05, -0.01, -0.02),
        (-0.05, -0.03, -0.01),
        (0.02, 0.02, 0.02),
        (0.0199, 0.04, 0.02),
        (0.0, 0.0199, 0.02),
    ]
    verdicts = word("supported", "refuted", "cannot tell")
    otherwise = 'Only two comparisons count: low ≥ by is "supported", high < by is "refuted". '
    compare(answer, cases, _verdicts, returns=verdicts, otherwise=otherwise.strip())


def _verdicts(low: float, high: float, by: float) -> tuple[str, Mistakes]:
    def rule(supported: bool, refuted: bool) -> str:
        return "supported" if supported else "refuted" if refuted else "cannot tell"

    mean, right = (low + high) / 2, rule(low >= by, high < by)
    turned = {"supported": "refuted", "refuted": "supported", "cannot tell": "cannot tell"}
    size, zero = abs(by), "Zero plays no part: compare with `by`."
    equal_low = "A low end that equals the size is enough: the hypothesis says at least."
    equal_high = "Where the high end equals the size, the size itself is not ruled out."
    inside = "Where the size lies inside, a true difference on either side of it is possible."
    return right, [
        (rule(low > by, high < by), equal_low),
        (rule(low >= by, high <= by), equal_high),
        (rule(low > by, high <= by), f"{equal_low} {equal_high}"),
        (rule(low >= 0, high < 0), f"You compared with 0. {zero}"),
        (rule(low > 0, high < 0), f"You compared with 0. {zero}"),
        (rule(low > 0, high <= 0), f"You compared with 0. {zero}"),
        (rule(low >= by, high < 0), f"You refute below 0 only. {zero}"),
        (rule(low >= by, high <= 0), f"You refute below 0 only. {zero}"),
        (rule(low > 0, high < by), f"You support above 0. {zero}"),
        (rule(low >= 0, high < by), f"You support above 0. {zero}"),
        ("cannot tell" if low < 0 < high else right, f"You ask whether 0 lies inside. {zero}"),
        ("cannot tell" if low <= 0 <= high else right, f"You ask whether 0 lies inside. {zero}"),
        (rule(low >= size, high < -size), "You refute below −by only. An interval below `by` refutes it."),
        (rule(low >= by, high < -by), "You refute below −by only. An interval below `by` refutes it."),
        (rule(low >= size, high < size), "You dropped the sign of `by`. It may be negative: no worse than by so much."),
        (rule(mean >= by, mean < by), f"You compared the middle of the interval. {inside}"),
        (rule(mean > by, mean <= by), f"You compared the middle of the interval. {inside}"),
        (rule(low >= by, low < by), f"What is not supported is not refuted. {inside}"),
        (rule(high >= by, high < by), f"The high end alone does not support. {inside}"),
        (rule(high > by, high <= by), f"The high end alone does not support. {inside}"),
        (rule(low >= by, mean < by), f"The middle of the interval does not refute. {inside}"),
        (rule(mean >= by, high < by), f"The middle of the interval does not support. {inside}"),
        (rule(high - low >= by, False), "You compared the width of the interval. Compare its two ends."),
        (turned[right], "Supported and refuted have changed places."),
        (rule(low >= by, low < 0), f"You refute where the low end is below 0. {zero} {inside}"),
        ("supported", "You always say the same."),
        ("refuted", "You always say the same."),
        ("cannot tell", "You always say the same."),
    ]
