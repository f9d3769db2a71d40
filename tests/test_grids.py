"""The grids of the lessons: nothing but what is compared differs, and what was found is used."""

from collections import Counter
from dataclasses import replace

import pytest

from muonlab.studies.facts import people_known
from muonlab.studies.grids import PRESETS, RETUNING, phases
from muonlab.studies.table1 import rows
from muonlab.sweeps.study import HERE

RATES = {"lr": 0, "adamw_lr": 0, "adamw_matrix_lr": None}


def test_in_lesson_04_only_rates_differ_and_both_optimizers_try_as_many_values_of_either():
    trials = PRESETS["lesson-04-tuning"]()
    same = {"muon": (), "rule": "muon", "corpus": "docs"}
    assert len({replace(config, **RATES, **same) for config in trials}) == 1
    adamw, muon = ([c for c in trials if bool(c.muon) is m] for m in (False, True))
    assert {c.adamw_lr for c in adamw} == {c.adamw_lr for c in muon}
    assert len({c.adamw_matrix_lr for c in adamw}) == len({c.lr for c in muon}) == 4


def test_every_row_of_either_kind_is_tuned():
    count = Counter(map(RETUNING.contestant, RETUNING.grid(HERE)))
    assert set(count) == {(gated, row) for gated in (False, True) for row in rows(gated)}


def test_everybody_counts_alike_among_those_who_are_known():
    frequent, rare = ({"accuracy": [float(g == group) for g in range(10)]} for group in (0, 9))
    assert people_known(frequent) == 1 / 512
    assert people_known(rare) == 0.5  # the last group is half of the people
    assert people_known({"accuracy": [0.25] * 10}) == 0.25


def test_an_unknown_name_is_answered_with_the_studies():
    finals = ["lesson-04-seeds", "lesson-04-longer"]
    assert list(phases("lesson-04")) == ["lesson-04-tuning", *finals]
    assert list(phases("lesson-04-seeds")) == ["lesson-04-seeds"]
    with pytest.raises(ValueError, match=r"'lesson-99'.* lesson-03, lesson-04, .*`muonlab ablate`"):
        phases("lesson-99")
