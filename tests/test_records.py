"""Records: a whole line or none, a name for every broken one, an id for every config."""

import json
import math
import os
from dataclasses import asdict, dataclass

import pytest

from muonlab.records import provenance as where
from muonlab.records.provenance import code_version, provenance
from muonlab.records.record import Record, append, contestant, read_records, run_id
from muonlab.training.config import TrainConfig


def make(seed=0, **changes):
    values = {
        "config": asdict(TrainConfig(seed=seed)),
        "train_loss": [8.3, 7.123456789],
        "step_seconds": [0.25, 0.75],
        "held_out": [
            {"step": 2, "seconds": 1.0, "overall": 7.0, "head": 6.0, "middle": 8.0, "tail": None}
        ],
        "tokens": 2048,
        "provenance": {"torch": "2.13.0"},
    }
    return Record(**values | changes)


def test_what_is_appended_is_read_back_to_five_digits_and_a_config_to_the_last(tmp_path):
    path, config = tmp_path / "new folder" / "runs.jsonl", TrainConfig(lr=0.0123456789)
    append(make(0), path)
    append(make(config=asdict(config)), path)
    first, second = read_records(path)
    assert first.train_loss == [8.3, 7.1235]
    assert first.held_out == make().held_out
    assert TrainConfig(**second.config) == config
    assert [len(json.loads(line)) for line in path.read_text().splitlines()] == [8, 8]


def test_the_summary_names_the_optimizer_and_the_losses():
    summary = make().summary()
    assert "Muon lr=0.01 adamw_lr=0.003 seed=0" in summary
    assert "overall 7.000 head 6.000 after 2 steps, 1.0 s, 2,048 tokens/s" in summary  # no tail
    gated = make(config=asdict(TrainConfig(gated=True)))
    assert gated.summary().startswith("gated Muon lr=")
    alone = make(config=asdict(TrainConfig(muon=(), adamw_lr=0.5)), failure="diverged at step 2")
    assert alone.summary().endswith("AdamW adamw_lr=0.5 seed=0: failed after 2 steps")
    facts = make()
    facts.held_out[-1]["accuracy"] = [1.0, 0.25]
    assert "overall 7.000 head 6.000 accuracy 1.00 0.25 after" in facts.summary()


@dataclass(frozen=True)
class Later(TrainConfig):
    """The options of a later version of the code."""

    dropout: float = 0.0


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "Muon"),
        ({"muon": ("VO", "FFN")}, "Muon(VO, FFN)"),
        ({"muon": (), "rule": "sgd"}, "AdamW"),
        ({"rule": "sgd"}, "SGD with momentum"),
        ({"rule": "sign", "muon": ("QK",)}, "sign(QK)"),
    ],
)
def test_a_contestant_has_one_name(changes, name):
    config = asdict(TrainConfig(**changes))
    assert contestant(config) == contestant(json.loads(json.dumps(config))) == name


def test_the_id_depends_on_every_choice_and_is_the_same_for_a_config_read_back():
    choices = ({}, {"muon": ()}, {"lr": 0.02}, {"betas": (0.8, 0.95)}, {"nesterov": False})
    configs = [TrainConfig(**choice) for choice in choices]
    assert len({*map(run_id, configs)}) == len(choices)
    for config in configs:
        assert run_id(TrainConfig(**json.loads(json.dumps(asdict(config))))) == run_id(config)
        assert run_id(Later(**asdict(config))) == run_id(config)
    assert run_id(Later(dropout=0.1)) != run_id(TrainConfig())


@pytest.mark.parametrize("broken", ['{"config": {}, "train_lo', "[1, 2]", '{"unknown": 1}'])
def test_a_broken_line_is_named_and_never_built_upon(tmp_path, broken):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    damaged = path.read_text() + broken
    path.write_text(damaged)
    for call in (read_records, lambda path: append(make(1), path)):
        with pytest.raises(ValueError, match=r"runs\.jsonl, line 2: expected one record"):
            call(path)
    assert path.read_text() == damaged


def test_a_missing_last_newline_does_not_join_two_records(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    path.write_text(path.read_text().rstrip("\n"))
    append(make(1), path)
    assert [r.config["seed"] for r in read_records(path)] == [0, 1]


def test_a_number_that_json_lacks_is_refused_and_changes_nothing(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    before = path.read_text()
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON"):
            append(make(train_loss=[value]), path)
    assert path.read_text() == before


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        append(make(1), path)
    assert path.read_bytes() == before
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [path]


def test_provenance_names_versions_and_device_but_no_path():
    found = provenance()
    assert set(found) >= {"python", "torch", "muonlab", "code", "device", "threads", "utc"}
    assert all(found.values())
    assert found["utc"].endswith("+00:00")
    assert os.sep + "home" not in json.dumps(found)
    assert os.getcwd() not in json.dumps(found)


def test_the_code_version_is_the_commit_and_says_when_code_differs(monkeypatch):
    loaded = code_version()
    answers = {"ls-files": "__init__.py", "rev-parse": "0123456789abcdef", "status": ""}
    monkeypatch.setattr(where, "_git", lambda folder, verb, *rest: answers[verb])
    assert code_version.__wrapped__() == "0123456789ab"
    answers["status"] = " M optim.py"
    assert code_version.__wrapped__() == "0123456789ab-dirty"
    answers["ls-files"] = ""  # installed, and only by chance inside somebody's repository
    assert code_version.__wrapped__() == "muonlab 0.1.0"
    assert code_version() == loaded, "it is that of the code which this process loaded"
