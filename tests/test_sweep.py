"""Sweeps that several processes share, that outlive a kill, and that record what failed."""

import dataclasses
import json
import multiprocessing
import os
import signal
import time
from dataclasses import asdict, replace

import pytest
import torch

from muonlab import checks
from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.sweeps import engines, results, sweep
from muonlab.training.config import TrainConfig

CONFIGS = [TrainConfig(steps=2, seed=seed) for seed in range(6)]


@pytest.fixture(autouse=True)
def without_a_text(monkeypatch):
    monkeypatch.setattr(engines, "load_corpus", lambda name: None)


def train_at_once(config, corpus, **options):
    held_out = [{"step": 2, "seconds": 0.1, "overall": 1.0}]
    return Record(dataclasses.asdict(config), [1.0], [0.1], held_out, 2)


# Forked from a clean process: a copy of one whose threads hold locks may wait for them for ever.
CLEAN = multiprocessing.get_context("forkserver")
CLEAN.set_forkserver_preload(["torch", "muonlab.sweeps.sweep"])
PATIENCE = 300  # seconds, on a machine that is busy


def work(path, configs, seconds):
    def train(config, corpus, **options):
        with (path.parent / "began.txt").open("a") as file:
            file.write(f"{config.seed}\n")
        time.sleep(seconds)
        return train_at_once(config, corpus)

    engines.train, engines.load_corpus = train, lambda name: None
    for _ in sweep.sweep(configs, path, progress=False):
        pass


def start(*arguments):
    process = CLEAN.Process(target=work, args=arguments)
    process.start()
    return process


def test_processes_share_a_sweep_and_what_a_killed_one_had_begun_is_run_by_another(tmp_path):
    path, began = tmp_path / "runs.jsonl", tmp_path / "began.txt"
    killed = start(path, CONFIGS[:1], 2 * PATIENCE)
    while not began.exists():
        time.sleep(0.01)
    other = start(path, CONFIGS[:2], 0)
    while not path.exists():
        time.sleep(0.01)
    time.sleep(0.5)
    assert began.read_text().split() == ["0", "1"]  # it does the second, and waits for the first
    assert len(records.read_records(path)) == 1
    os.kill(killed.pid, signal.SIGKILL)
    other.join(PATIENCE)
    assert other.exitcode == 0
    assert [run.config["seed"] for run in records.read_records(path)] == [1, 0]


def failing(error):
    """Returns a `train` whose run with seed 1 ends in the error."""

    def train(config, corpus, **options):
        if config.seed == 1:
            raise error
        return train_at_once(config, corpus)

    return train


@pytest.mark.parametrize("error", [ValueError("no w_gate"), torch.linalg.LinAlgError("no SVD")])
def test_a_run_that_fails_is_recorded_with_its_reason_and_the_rest_goes_on(
    tmp_path, monkeypatch, error
):
    monkeypatch.setattr(engines, "train", failing(error))
    path = tmp_path / "runs.jsonl"
    runs = list(sweep.sweep(CONFIGS[:3], path, progress=False))
    assert [run.failure for run in runs] == ["", f"{type(error).__name__}: {error}", ""]
    assert "muonlab train" in runs[1].provenance["command"]
    assert records.read_records(path) == runs
    assert "failed after 0 steps" in runs[1].summary()


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError, "CUDA out of memory"),
        (MemoryError("no room"), MemoryError, "no room"),
        (checks.NoRoom("a batch would need 700 GiB"), ValueError, "700 GiB"),
        (RuntimeError("CUDA error: unspecified launch failure"), RuntimeError, "launch failure"),
    ],
)
def test_what_lies_in_the_machine_is_raised_and_the_run_is_done_the_next_time(
    tmp_path, monkeypatch, error, kind, says
):
    monkeypatch.setattr(engines, "train", failing(error))
    path = tmp_path / "runs.jsonl"
    with pytest.raises(kind, match=says):
        list(sweep.sweep(CONFIGS[:3], path, progress=False))
    assert [run.config["seed"] for run in records.read_records(path)] == [0]
    monkeypatch.setattr(engines, "train", train_at_once)
    assert len(list(sweep.sweep(CONFIGS[:3], path, progress=False))) == 3
    assert [run.config["seed"] for run in records.read_records(path)] == [0, 1, 2]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_here_is_no_result(tmp_path):
    config = replace(CONFIGS[0], device="cuda")
    with pytest.raises(ValueError, match="'cuda' is none that torch can use"):
        list(sweep.sweep([config], tmp_path / "runs.jsonl", progress=False))
    assert not (tmp_path / "runs.jsonl").exists()


def test_a_finished_grid_is_read_once(tmp_path, monkeypatch):
    path, reads = tmp_path / "runs.jsonl", []
    configs = [replace(CONFIGS[0], seed=seed) for seed in range(30)]
    lines = [
        json.dumps(dataclasses.asdict(Record(asdict(c), [1.0], [1.0], [], 2))) for c in configs
    ]
    path.write_text("\n".join(lines))
    read = results.read_records
    monkeypatch.setattr(results, "read_records", lambda path: reads.append(path) or read(path))
    monkeypatch.setattr(engines, "train", lambda *a, **k: pytest.fail("nothing may run"))
    found = list(sweep.sweep(configs, path, progress=False))
    assert [run.config["seed"] for run in found] == [*range(30)]
    assert reads == [path]


def test_what_another_process_adds_meanwhile_is_seen(tmp_path, monkeypatch):
    path, ran = tmp_path / "runs.jsonl", []

    def train(config, corpus, **options):
        ran.append(config.seed)
        if config.seed == 0:  # another ends the next run
            records.append(train_at_once(CONFIGS[1], None), path)
        return train_at_once(config, corpus)

    monkeypatch.setattr(engines, "train", train)
    assert len(list(sweep.sweep(CONFIGS[:3], path, progress=False))) == 3
    assert ran == [0, 2]


def test_a_broken_record_or_one_of_other_code_stops_a_sweep_and_stays_as_it_is(
    tmp_path, monkeypatch
):
    path = tmp_path / "runs.jsonl"
    record = train_at_once(CONFIGS[0], None)
    record.config["dropout"] = 0.1
    record.provenance["code"] = "0123456789ab"
    monkeypatch.setattr(engines, "train", lambda *a, **k: pytest.fail("nothing may run"))
    for text, says in (
        ("{half a rec\n", r"runs\.jsonl, line 1: expected one record"),
        (records.line_of(record), "by code 0123456789ab: .* argument 'dropout'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=says):
            list(sweep.sweep(CONFIGS, path))
        assert path.read_text() == text


def test_torchruns_processes_are_refused_before_they_mix_different_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="a sweep starts without torchrun, once a GPU"):
        list(sweep.sweep(CONFIGS, tmp_path / "runs.jsonl", progress=False))
    assert not list(tmp_path.iterdir())
