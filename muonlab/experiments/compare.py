"""Compare two settings over the same seeds, with an interval instead of a single number."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
from scipy import stats


class Interval(NamedTuple):
    """A mean with the interval that holds it with the stated confidence."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def paired_interval(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval:
    """Returns the mean of a − b over seeds, with Student's t interval.

    Run i of both must share its seed: data order and initial weights then cancel. A bootstrap over
    so few seeds promises too much: of three normal differences, its 95 % interval holds the true
    mean in 75 % of the cases, of five in 84 % (tests/test_compare.py).

    Args:
        a, b: one result a seed, in the same order of seeds, at least two.
        confidence: the share of such intervals that hold the true mean difference.

    Raises:
        ValueError: different lengths, or fewer than two seeds.

    >>> print(paired_interval([1.0, 2.0, 3.0], [0.9, 1.8, 2.9]))
    +0.133 [-0.010, +0.277]
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError(
            f"expected two results for each of at least two seeds, got {len(a)} and {len(b)}"
        )
    difference = numpy.subtract(a, b)
    mean, error = difference.mean(), stats.sem(difference)
    if error == 0:
        return Interval(mean, mean, mean)
    low, high = stats.t.interval(confidence, len(a) - 1, loc=mean, scale=error)
    return Interval(float(mean), float(low), float(high))
