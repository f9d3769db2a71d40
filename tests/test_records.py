"""Records: a whole line or none, a name for every broken one, an id for every config."""

import json
import math
import os
from dataclasses import asdict, dataclass, replace

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


def test_what_is_appended_is_read_back_to_five_digits(tmp_path):
    path = tmp_path / "new folder" / "runs.jsonl"
    append(make(0), path)
    append(make(1), path)
    first, second = read_records(path)
    assert first.train_loss == [8.3, 7.1235]
    assert first.held_out == make().held_out
    assert TrainConfig(**second.config) == TrainConfig(seed=1)
    assert [len(json.loads(line)) for line in path.read_text().splitlines()] == [8, 8]


def test_a_config_is_kept_to_the_last_digit(tmp_path):
    config = TrainConfig(lr=0.0123456789)
    append(make(config=asdict(config)), tmp_path / "runs.jsonl")
    assert TrainConfig(**read_records(tmp_path / "runs.jsonl")[0].config) == config


def test_the_summary_names_the_optimizer_and_the_losses():
    summary = make().summary()
    assert "Muon lr=0.01 adamw_lr=0.003 seed=0" in summary
    assert "overall 7.000 head 6.000 after 2 steps, 1.0 s, 2,048 tokens/s" in summary  # no tail
    gated = make(config=asdict(TrainConfig(gated=True)))
    assert gated.summary().startswith("gated Muon lr=")
    alone = make(config=asdict(TrainConfig(muon=(), adamw_lr=0.5)), failure="diverged at step 2")
    assert alone.summary().endswith("AdamW adamw_lr=0.5 seed=0: failed after 2 steps")


@dataclass(frozen=True)
class Later(TrainConfig):
    """The options of a later version of the code."""

    dropout: float = 0.0


def test_an_option_that_comes_later_changes_no_id():
    for config in (TrainConfig(), TrainConfig(muon=("VO",), lr=0.5, seed=3)):
        assert run_id(Later(**asdict(config))) == run_id(config)
    assert run_id(Later(dropout=0.1)) != run_id(TrainConfig())


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


def test_the_id_depends_on_every_field_and_is_the_same_for_a_config_read_back():
    config = TrainConfig()
    others = [
        replace(config, muon=()),
        replace(config, lr=0.02),
        replace(config, betas=(0.8, 0.95)),
        replace(config, seed=1),
        replace(config, nesterov=False),
    ]
    assert len({run_id(c) for c in (config, *others)}) == 6
    assert run_id(others[2]) == run_id(TrainConfig(**json.loads(json.dumps(asdict(others[2])))))
    assert len(run_id(config)) == 12


@pytest.mark.parametrize(
    "broken", ['{"config": {}, "train_lo', "[1, 2]", '{"config": {}}', '{"unknown": 1}', "garbage"]
)
def test_a_broken_line_is_named_and_never_built_upon(tmp_path, broken):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    damaged = path.read_text() + broken
    path.write_text(damaged)
    with pytest.raises(ValueError, match=r"runs\.jsonl, line 2: expected one record"):
        read_records(path)
    with pytest.raises(ValueError, match="line 2"):
        append(make(1), path)
    assert path.read_text() == damaged


def test_a_missing_last_newline_does_not_join_two_records(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    path.write_text(path.read_text().rstrip("\n"))
    append(make(1), path)
    assert [r.config["seed"] for r in read_records(path)] == [0, 1]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_json_lacks_is_refused_and_changes_nothing(tmp_path, value):
    path = tmp_path / "runs.jsonl"
    append(make(), path)
    before = path.read_text()
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


def test_reading_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl"):
        read_records(tmp_path / "nowhere.jsonl")


def test_provenance_names_versions_and_device_but_no_path():
    found = provenance()
    assert set(found) >= {"python", "torch", "muonlab", "code", "device", "threads", "utc"}
    assert all(found.values())
    assert found["utc"].endswith("+00:00")
    assert os.sep + "home" not in json.dumps(found)
    assert os.getcwd() not in json.dumps(found)


def test_the_code_version_is_the_commit_and_says_when_code_differs(monkeypatch):
    answers = {"ls-files": "__init__.py", "rev-parse": "0123456789abcdef", "status": ""}
    monkeypatch.setattr(where, "_git", lambda folder, verb, *rest: answers[verb])
    assert code_version.__wrapped__() == "0123456789ab"
    answers["status"] = " M optim.py"
    assert code_version.__wrapped__() == "0123456789ab-dirty"
    answers["ls-files"] = ""  # installed, and only by chance inside somebody's repository
    assert code_version.__wrapped__() == "muonlab 0.1.0"


def test_the_code_version_is_that_of_the_code_this_process_loaded(monkeypatch):
    before = code_version()
    monkeypatch.setattr(where, "_git", lambda folder, verb, *rest: "a later commit")
    assert code_version() == before


def test_the_summary_of_a_run_on_facts_lists_accuracies():
    run = make()
    run.held_out[-1]["accuracy"] = [1.0, 0.25]
    assert "overall 7.000 head 6.000 accuracy 1.00 0.25 after" in run.summary()
