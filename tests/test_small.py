"""Each small study runs at toy size, and what the evidence page reads of them is recorded."""

import json

import pytest

from muonlab.studies import small

TOY = {
    "rotations": {"draws": 2},
    "race": {"seeds": 1, "ranks": (1,), "cases": 1},
    "many": {"draws": 3, "most": 12},
    "balance": {"steps": 6, "lengths": (1,)},
    "hunt": {"seeds": 1, "steps": 2, "rates": (0.01,)},
    "tail": {"seeds": 1, "steps": 10, "rates": (1,)},
    "angles": {"seeds": 1, "steps": 11, "texts": 4},
    "logits": {"seeds": 1, "steps": 3},
}


@pytest.mark.parametrize("name", small.STUDIES)
def test_a_study_writes_its_parts_as_they_come(name, tmp_path):
    path = tmp_path / "some.json"
    small.run(name, path, **TOY[name])
    study = json.loads(path.read_text())[name]
    assert study["parts"]
    assert {"code", "torch", "utc"} <= study["provenance"].keys()
