"""The paired interval against a closed form and against the coverage it promises."""

import itertools
import math

import numpy
import pytest

from muonlab.statistics import Interval, contrast, corrected, mean_interval, paired_interval
from muonlab.studies.verdicts import verdict


def test_the_textbook_formula_for_pairs_and_for_their_differences():
    a, b = [3.1, 2.9, 3.4, 3.0, 3.3], [2.8, 2.8, 2.9, 2.9, 3.1]
    difference = numpy.subtract(a, b)
    half = 2.7764451 * difference.std(ddof=1) / 5**0.5  # t for 4 degrees of freedom, two-sided 95 %
    mean = difference.mean()
    assert paired_interval(a, b) == pytest.approx((mean, mean - half, mean + half, 5))
    assert mean_interval(difference) == pytest.approx(paired_interval(a, b))
    assert paired_interval([1.5, 2.5], [1.0, 2.0]) == (0.5, 0.5, 0.5, 2), "equal: a point"
    with pytest.raises(ValueError, match="shorter"):
        paired_interval([1.0, 2.0, 3.0], [1.0, 2.0])


def test_ninety_five_percent_of_intervals_hold_the_truth():
    generator = numpy.random.default_rng(0)
    held = 0
    for _ in range(1000):
        seeds = generator.normal(size=5)  # what a seed adds to both
        a, b = seeds + generator.normal(0.3, 0.1, 5), seeds + generator.normal(0, 0.1, 5)
        interval = paired_interval(a, b)
        held += interval.low <= 0.3 <= interval.high
    assert 930 <= held <= 970


@pytest.mark.parametrize(("seeds", "holds"), [(3, 0.75), (5, 0.84)])
def test_a_bootstrap_over_a_few_seeds_would_promise_too_much(seeds, holds):
    generator = numpy.random.default_rng(0)
    differences = generator.standard_normal((3000, seeds))
    drawn = generator.integers(0, seeds, (300, seeds))
    low, high = numpy.percentile(differences[:, drawn].mean(-1), [2.5, 97.5], axis=1)
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(holds, abs=0.03)


@pytest.mark.parametrize(
    ("low", "high", "size", "expected"),
    [
        (0.001, 0.5, 0.1, "leads"),
        (-0.5, -0.001, 0.1, "leads"),
        (0.001, 0.05, 0.1, "leads a little"),  # smaller than what matters
        (-0.05, 0.05, 0.1, "level"),
        (-0.1, 0.1, 0.1, "level"),
        (0.0, 0.05, 0.1, "level"),
        (-0.05, 0.11, 0.1, "open"),
        (-0.11, 0.05, 0.1, "open"),
    ],
)
def test_a_verdict_needs_the_whole_interval(low, high, size, expected):
    interval = Interval((low + high) / 2, low, high, 5)
    assert verdict(interval, size) == expected
    wide = interval._replace(low=low - 9, high=high + 9)
    assert verdict(wide, size) == "open", "fewer seeds show less, not more"


def test_corrected_intervals_hold_all_together_as_often_as_one_alone():
    drawn = numpy.random.default_rng(0).normal(size=(2000, 7, 5))
    found = [[mean_interval(values) for values in study] for study in drawn]
    alone = [all(i.low < 0 < i.high for i in study) for study in found]
    held = [all(i.low < 0 < i.high for i in (corrected(j, 7) for j in study)) for study in found]
    assert numpy.mean(alone) == pytest.approx(0.95**7, abs=0.03)
    assert numpy.mean(held) == pytest.approx((1 - 0.05 / 7) ** 7, abs=0.015)


def test_a_contrast_is_the_coefficient_that_least_squares_give():
    """Independent: a regression on columns of -1/2 and 1/2, and their products."""
    rng = numpy.random.default_rng(0)
    results = rng.standard_normal((2, 2, 2, 4))
    levels = [(a - 0.5, b - 0.5, c - 0.5) for a, b, c in itertools.product((0, 1), repeat=3)]
    subsets = [s for n in range(4) for s in itertools.combinations(range(3), n)]
    design = numpy.array([[math.prod(row[i] for i in s) for s in subsets] for row in levels])
    fitted = numpy.linalg.lstsq(design, results.reshape(8, 4), rcond=None)[0]
    for subset, coefficients in zip(subsets[1:], fitted[1:], strict=True):
        expected = paired_interval(coefficients, [0.0] * 4)
        assert contrast(results, *subset) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((-0.0, -0.006, 1e-16), "+0.000 [-0.006, +0.000]"),  # no negative zero
        ((0.012, -0.00016, 0.024), "+0.012 [-0.0002, +0.024]"),  # on which side of 0 its end lies
        ((0.004, 0.0003, 0.009), "+0.004 [+0.0003, +0.009]"),
        ((-0.0003, -0.0005, -0.0001), "-0.0003 [-0.001, -0.0001]"),  # and its mean
        ((4e-5, -0.005, 0.005), "+0.000 [-0.005, +0.005]"),  # the mean is rounded
        # no more decimals than two digits of the half width
        ((64.839, 61.328, 68.351), "+64.8 [+61.3, +68.4]"),
        ((648.39, 613.28, 683.51), "+648 [+613, +684]"),
        ((0.3, 0.201, 0.399), "+0.300 [+0.201, +0.399]"),  # half: 0.099
        ((0.3, 0.01, 0.59), "+0.30 [+0.01, +0.59]"),  # half: 0.29
    ],
)
def test_an_interval_prints_the_decimals_that_it_knows(ends, text):
    assert str(Interval(*ends, n=4)) == text
