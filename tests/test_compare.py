"""The paired interval against a closed form and against the coverage it promises."""

import numpy
import pytest

from muonlab.experiments.compare import paired_interval


def test_the_textbook_formula():
    a, b = [3.1, 2.9, 3.4, 3.0, 3.3], [2.8, 2.8, 2.9, 2.9, 3.1]
    difference = numpy.subtract(a, b)
    half = 2.7764451 * difference.std(ddof=1) / 5**0.5  # t for 4 degrees of freedom, two-sided 95 %
    interval = paired_interval(a, b)
    assert interval.mean == pytest.approx(difference.mean())
    assert interval.low == pytest.approx(difference.mean() - half)
    assert interval.high == pytest.approx(difference.mean() + half)


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


def test_equal_differences_give_a_point():
    assert paired_interval([1.5, 2.5], [1.0, 2.0]) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([], [])])
def test_too_few_seeds_are_refused(a, b):
    with pytest.raises(ValueError, match="at least two seeds"):
        paired_interval(a, b)
