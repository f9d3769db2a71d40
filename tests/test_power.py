"""Seeds for an effect, against simulated experiments."""

import numpy
import pytest

from muonlab.statistics import chance_to_see, half_width, paired_interval, seeds_needed


@pytest.mark.parametrize("seeds", [2, 3, 10])
def test_the_half_width_is_that_of_an_interval_with_this_spread(seeds):
    differences = numpy.random.default_rng(seeds).normal(size=seeds)
    interval = paired_interval(differences, numpy.zeros(seeds))
    half = half_width(differences.std(ddof=1), seeds)
    assert half == pytest.approx((interval.high - interval.low) / 2)


@pytest.mark.parametrize(
    ("truth", "by", "seeds"),
    [(0.0, 0, 3), (1.0, 0, 8), (2.0, 0, 2), (1.0, 1.0, 30), (1.5, 0.5, 8), (0.2, 1.0, 5)],
)
def test_the_chance_of_a_verdict_is_that_of_simulated_verdicts(truth, by, seeds):
    drawn = numpy.random.default_rng(1).normal(truth, 1, (40_000, seeds))
    half = half_width(1, seeds) * drawn.std(axis=1, ddof=1)
    supported = (drawn.mean(axis=1) - half >= by).mean()
    refuted = (drawn.mean(axis=1) + half < by).mean()
    assert chance_to_see(truth, 1, seeds, by=by) == pytest.approx(supported, abs=0.008)
    assert chance_to_see(2 * by - truth, 1, seeds, by=by) == pytest.approx(refuted, abs=0.008)


def test_a_size_moves_what_counts_as_the_effect():
    assert chance_to_see(0.04, 0.043, 12, by=0.04) == pytest.approx(0.025)
    assert seeds_needed(0.08, 0.043, by=0.04) == seeds_needed(0.04, 0.043) == 12
    with pytest.raises(ValueError, match=r"an effect of 0 with a spread of 0\.043 needs more than"):
        seeds_needed(0.04, 0.043, by=0.04)


def test_far_away_the_chance_is_0_or_1_where_scipy_has_no_number():
    grid = numpy.arange(38, 60, 0.25)
    for sign in (1, -1):
        chances = [chance_to_see(sign * x / n**0.5, 1, n) for n in (5, 8, 10, 1000) for x in grid]
        assert chances == pytest.approx([max(sign, 0.0)] * len(chances))


def test_the_seeds_needed_are_enough_and_one_less_is_not():
    assert seeds_needed(1.0, 0.01) == 2
    for effect, chance in ((0.02, 0.8), (0.04, 0.8), (0.04, 0.5), (0.001, 0.9)):
        n = seeds_needed(effect, 0.04, chance)
        assert chance_to_see(effect, 0.04, n) >= chance > chance_to_see(effect, 0.04, n - 1)
