"""Compare settings over the same seeds by intervals, and plan how many seeds an effect needs."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy
from numpy.typing import ArrayLike

from muonlab import checks

MOST_SEEDS = 100_000  # seeds: nobody runs as many
BySeed = Sequence[float] | numpy.ndarray  # one a seed


class Interval(NamedTuple):
    """A mean over n seeds, and the interval that holds the true one in 95 % of the cases."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        digits = 3 - sum(self.high - self.low >= 0.2 * 10**n for n in range(3))  # half width: two
        low, high = (_signed(end, digits) for end in (self.low, self.high))
        one_side = self.low * self.high > 0  # then the mean must not seem to be 0
        mean = _signed(self.mean, digits) if one_side else f"{self.mean:+z.{digits}f}"
        return f"{mean} [{low}, {high}]"


def _signed(value: float, digits: int) -> str:
    """Some decimals; one digit that is not 0 where they would hide on which side of 0 it lies.

    >>> _signed(-0.0312, 3), _signed(-0.0003, 3), _signed(-1e-15, 3)
    ('-0.031', '-0.0003', '+0.000')
    """
    hidden = 1e-9 < abs(value) < 0.5 * 10**-digits  # less is rounding
    digits = math.ceil(-math.log10(abs(value))) if hidden else digits
    return f"{value:+z.{digits}f}"


def mean_interval(values: BySeed) -> Interval:
    """Returns the mean of one number a seed, with Student's t interval at 95 %, two-sided.

    A bootstrap over so few seeds promises too much: of three normal numbers, its 95 % interval
    holds the true mean in 75 % of the cases, of five in 84 % (tests/test_statistics.py).
    """
    values = seed_values(values)
    checks.number("the count of seeds", len(values), 2)
    mean = float(numpy.mean(values))
    if not numpy.std(values):  # equal numbers: no width, and no word on other seeds
        return Interval(mean, mean, mean, len(values))
    reach = half_width(float(numpy.std(values, ddof=1)), len(values))
    return Interval(mean, mean - reach, mean + reach, len(values))


def paired_interval(a: BySeed, b: BySeed) -> Interval:
    """Returns the `mean_interval` of a − b, one result each a seed, in the same order of seeds.

    Run i of both must share its seed.

    >>> print(paired_interval([1.0, 2.0, 3.0], [0.9, 1.8, 2.9]))
    +0.13 [-0.01, +0.28]
    """
    return mean_interval([x - y for x, y in zip(a, b, strict=True)])


def corrected(interval: Interval, among: int) -> Interval:
    """Returns the wider interval that holds, in 95 % of the cases, with all of `among` at once.

    Source: Bonferroni's inequality, so each holds at 1 - 0.05 / among.

    >>> print(corrected(mean_interval([1.0, 2.0, 2.0, 3.0]), among=7))
    +2.0 [-0.7, +4.7]
    """
    one, all_of_them = (_quantile(interval.n, 1 - 0.025 / n) for n in (1, among))
    reach = (interval.high - interval.mean) * (all_of_them / one)
    return interval._replace(low=interval.mean - reach, high=interval.mean + reach)


def contrast(results: ArrayLike, *factors: int) -> Interval:
    """Returns what factors of two levels do together, in the mean of all others, over seeds.

    One factor gives its main effect, second level minus first. Two give their interaction: the
    effect of one at the second level of the other, minus the same at the first, a difference of
    differences. Of losses, it is 0 where the two multiply in perplexity.

    Args:
        results: (2, …, 2, seeds), one axis a factor; run i of all cells shares its seed.
        factors: the axes in question.

    >>> print(contrast([[[4.0, 4.1], [3.0, 3.0]], [[4.2, 4.2], [3.0, 3.1]]], 0, 1))
    -0.1 [-1.4, +1.2]
    """
    return mean_interval(contrast_by_seed(results, *factors))


def contrast_by_seed(results: ArrayLike, *factors: int) -> list[float]:
    """Returns what `contrast` is the interval of: one number a seed."""
    array = numpy.asarray(results, dtype=float)
    if set(array.shape[:-1]) != {2}:
        raise ValueError(f"expected results (2, …, 2, seeds), got the shape {array.shape}")
    for axis in factors:
        checks.number("a factor's axis", axis % array.ndim, 0, array.ndim - 1, whole=True)
        array = numpy.diff(array, axis=axis)
    return array.reshape(-1, array.shape[-1]).mean(axis=0).tolist()


def half_width(spread: float, seeds: int) -> float:
    """Returns how far the interval of `paired_interval` reaches either way: t·s/√n.

    Args:
        spread: the standard deviation s of the differences between two runs of one seed.
        seeds: how many, n, at least two.

    >>> round(half_width(0.04, 5), 3)
    0.05
    """
    return _quantile(seeds, 0.975) * spread / seeds**0.5


def chance_to_see(effect: float, spread: float, seeds: int, by: float = 0.0) -> float:
    """Returns how often the 95 % interval of such an experiment lies above `by` as a whole.

    The differences are taken as normal; the distance of their mean from `by` over the standard
    error then has the noncentral t distribution. By symmetry, an effect as far below `by` puts the
    interval below it as often.

    Args:
        effect: the true mean difference, in the unit of `spread`; `by` itself gives 2.5 %.
        by: the difference that a hypothesis asks for at least.

    >>> round(chance_to_see(0.05, 0.04, 5), 2), round(chance_to_see(0.05, 0.04, 5, by=0.03), 2)
    (0.56, 0.14)
    """
    from scipy.special import nctdtr

    checks.number("spread", spread, 0, above=True)
    checks.number("effect - by", effect - by)
    t = _quantile(seeds, 0.975)
    below = float(nctdtr(seeds - 1, (effect - by) * seeds**0.5 / spread, t))
    if math.isnan(below):  # SciPy fails at some places in the tails, where the chance is 0 or 1
        return float(effect > by)
    return 1.0 - below


def seeds_needed(effect: float, spread: float, chance: float = 0.8, by: float = 0.0) -> int:
    """Returns the least number of seeds whose interval lies above `by` with this chance.

    >>> seeds_needed(0.05, 0.04), seeds_needed(0.05, 0.04, by=0.03)
    (8, 34)
    """
    checks.number("chance", chance, 0, 1, above=True)
    possible = range(2, MOST_SEEDS)
    n = bisect_left(possible, chance, key=lambda n: chance_to_see(effect, spread, n, by))
    if n == len(possible):
        needs = f"an effect of {effect - by:g} with a spread of {spread:g} needs"
        raise ValueError(f"{needs} more than {MOST_SEEDS:,} seeds")
    return possible[n]


def seed_values(values: BySeed) -> numpy.ndarray:
    """Returns one finite number a seed, (n,), or raises ValueError."""
    array = numpy.asarray(values, dtype=float)
    if array.ndim != 1 or not numpy.isfinite(array).all():
        raise ValueError(f"expected one finite number a seed, got {checks.short(array.tolist())}")
    return array


def _quantile(seeds: int, chance: float) -> float:
    """Returns the value that Student's t of so many differences stays below with this chance."""
    from scipy.special import stdtrit  # scipy.stats has it, too, and loads far more

    checks.number("seeds", seeds, 2, whole=True)  # one difference has no spread
    return float(stdtrit(seeds - 1, chance))
