"""The grids of lesson 15: as many trials for each contestant, and nothing but the rates differs."""

from collections import Counter
from dataclasses import replace

import pytest

from muonlab.studies.limits_grids import known, route
from muonlab.studies.presets import preset
from muonlab.sweeps.results import recorded

RATES = {"lr": 0, "adamw_lr": 0, "adamw_matrix_lr": None}


@pytest.mark.parametrize(
    ("name", "contestant", "trials"),
    [
        ("regression-tuning", route, [4, 4, 4]),
        ("finetuning-tuning", route, [4, 4]),
        ("facts-tuning", lambda c: (c.muon, c.corpus), [16, 16, 16, 16]),
        ("controls-tuning", lambda c: (c.muon, c.rule), [4, 4, 4, 4]),
    ],
)
def test_every_contestant_is_tuned_with_as_many_trials(name, contestant, trials):
    configs = preset(f"lesson-15-{name}")
    assert sorted(Counter(map(contestant, configs)).values()) == trials
    same = {"muon": (), "rule": "muon", "corpus": "docs"}
    assert len({replace(config, **RATES, **same) for config in configs}) == 1
    assert {config.seed for config in configs} == {0}


def test_with_muon_the_outer_rate_is_the_one_that_adamw_liked_best():
    adamw = [c for c in preset("lesson-15-regression") if not c.muon]
    assert len(adamw) == 5
    outer, inner = {(c.adamw_lr, c.adamw_matrix_lr) for c in adamw}.pop()
    for config in preset("lesson-15-regression-tuning"):
        assert (config.adamw_lr, config.adamw_matrix_lr) == (outer, inner)


def test_everybody_counts_alike_among_those_who_are_known():
    frequent, rare = ({"accuracy": [float(g == group) for g in range(10)]} for group in (0, 9))
    assert known(frequent) == 1 / 512
    assert known(rare) == 0.5  # the last group is half of the people
    assert known({"accuracy": [0.25] * 10}) == 0.25


def test_the_trial_that_knows_most_people_is_chosen():
    trials = {
        (c.muon, c.corpus, c.adamw_lr, c.adamw_matrix_lr, c.lr) for c in preset("lesson-15-facts")
    }
    tuning = recorded("lesson-15-facts-tuning")
    assert len(trials) == 4
    for muon, corpus, outer, inner, rate in trials:
        rivals = [
            r for r in tuning if (tuple(r.config["muon"]), r.config["corpus"]) == (muon, corpus)
        ]
        best = max(rivals, key=lambda r: known(r.held_out[-1])).config
        assert (outer, inner, rate) == (best["adamw_lr"], best["adamw_matrix_lr"], best["lr"])


def test_with_decay_the_trials_are_those_without():
    off = preset("lesson-16-averages-tuning")
    on = preset("lesson-15-decay-tuning")
    assert Counter(c.weight_decay for c in on) == {0.1: len(off), 0.3: len(off)}
    same = {replace(c, weight_decay=0, eval_every=off[0].eval_every) for c in on}
    assert same == set(off)
