"""Each small study runs at toy size, and what the evidence page reads of them is recorded."""

import json

import pytest

import mechanism
import toys

STUDIES = {  # toy sizes; how many parts are recorded, and how many numbers or lists in each
    "rotations": ({"draws": 2}, 8, 100),  # ways to step, rotations
    "race": ({"seeds": 1, "ranks": (1,), "cases": 1}, 16, 5),  # settings times ranks, rules
    "unequal": ({"seeds": 1, "times": (1,)}, 9, 2),  # how unequal the inputs are, rules
    "many": ({"draws": 1, "most": 2}, 4, None),
    "balance": ({"steps": 6, "lengths": (1,)}, 18, None),
    "hunt": ({"seeds": 1, "steps": 2, "rates": (0.01,)}, 25, 6),  # rates times bugs, seeds
    "tail": ({"seeds": 1, "steps": 1, "rates": (1,), "tokens": 64}, 7, 2),  # rates, seeds
    "angles": ({"seeds": 1, "steps": 1, "texts": 4}, 8, 3),  # rates, kinds, optimizers; measured
    "logits": ({"seeds": 1, "steps": 3}, 21, 5),  # arms times seeds, numbers of each
    "clipped": ({"seeds": 1, "steps": 3}, 3, 5),  # seeds, numbers of each
}
RECORDED = json.loads(mechanism.PATH.read_text())


@pytest.mark.parametrize("name", mechanism.SMALL_STUDIES)
def test_a_study_writes_its_parts_as_they_come(name, tmp_path, monkeypatch):
    monkeypatch.setattr(toys, "RATES_TRIED", toys.RATES_TRIED[::11])
    path = tmp_path / "some.json"
    mechanism.run(name, path, **STUDIES[name][0])
    study = json.loads(path.read_text())[name]
    assert study["parts"]
    assert {"code", "torch", "utc"} <= study["provenance"].keys()


def test_every_study_is_recorded_to_its_end_by_committed_code():
    assert RECORDED.keys() == mechanism.SMALL_STUDIES.keys() == STUDIES.keys()
    for name, study in RECORDED.items():
        assert not study["provenance"]["code"].endswith("-dirty")
        (_, count, deep), parts = STUDIES[name], study["parts"]
        assert len(parts) == count, name
        assert deep is None or {len(value) for value in parts.values()} == {deep}, name


def test_the_races_runs_and_draws_are_as_many_as_the_page_says():
    race, many, tail, logits = (RECORDED[n]["parts"] for n in ("race", "many", "tail", "logits"))
    assert {len(seeds) for rules in race.values() for seeds in rules.values()} == {8}
    rates = [steps for name in ("SGD", "Adam", "Muon") for steps in many[name].values()]
    assert {len(steps) for steps in (*rates, many["drawn"])} == {13}
    assert {run[-1][0] for runs in tail.values() for run in runs} == {150}
    assert {len(arm["logit"]) for arm in logits.values()} == {12}
