"""The grids of lesson 14: equal tokens, equal tuning, and tokens read off a curve."""

import math

import numpy
import pytest

from muonlab.records.record import Record
from muonlab.studies import batches


def record(losses, tokens_a_step=512, every=4):
    held_out = [{"step": every * (i + 1), "overall": loss} for i, loss in enumerate(losses)]
    steps = every * len(losses)
    curves = {"train_loss": [9.0] * steps, "step_seconds": [0.1] * steps, "held_out": held_out}
    return Record(config={}, tokens=tokens_a_step * steps, provenance={}, **curves)


def test_every_trial_reads_the_same_tokens_at_a_constant_rate():
    trials = batches.tuning()
    assert {c.steps * c.batch * c.context for c in trials} == {batches.TOKENS}
    assert {c.steps // c.eval_every for c in trials} == {batches.MEASURED}
    assert all(c.rate(c.steps - 1) == 1 for c in trials)
    contestants = [(c.batch, c.muon) for c in trials]
    assert {contestants.count(one) for one in contestants} == {len(batches.CROSS)}
    assert len(set(trials)) == len(trials)


def test_a_trial_and_the_centre_differ_in_one_rate_by_a_factor_of_two():
    for batch in batches.BATCHES:
        for muon in (True, False):
            centre, *arms = [
                c for c in batches.tuning() if (c.batch, bool(c.muon)) == (batch, muon)
            ]
            inner = "lr" if muon else "adamw_matrix_lr"
            factors = [
                (c.adamw_lr / centre.adamw_lr, getattr(c, inner) / getattr(centre, inner))
                for c in arms
            ]
            assert sorted(factors) == [(0.5, 1), (1, 0.5), (1, 2), (2, 1)]


@pytest.mark.parametrize("loss", [6.9, 6.5, 6.0, 5.3, 5.1])
def test_tokens_to_reach_a_loss_are_those_of_linear_interpolation(loss):
    losses = [7.0, 6.0, 5.5, 5.0]
    expected = numpy.interp(-loss, [-v for v in losses], [2048, 4096, 6144, 8192])
    assert batches.tokens_to_reach(record(losses), loss) == pytest.approx(expected)


def test_the_first_time_counts_and_the_ends_are_said():
    rising = record([7.0, 6.0, 6.5, 5.0])
    assert batches.tokens_to_reach(rising, 6.25) == pytest.approx(2048 * 1.75)
    assert batches.tokens_to_reach(rising, 8.0) == 2048
    assert batches.tokens_to_reach(rising, 4.9) == math.inf
