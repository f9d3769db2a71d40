"""Sweeps that several processes share, that outlive a kill, and that record what failed."""

import dataclasses
import multiprocessing
import os
import signal
import time
from collections import Counter

import pytest

from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.sweeps import sweep
from muonlab.training.config import TrainConfig

CONFIGS = [TrainConfig(steps=2, seed=seed) for seed in range(6)]


def slow_train(config, corpus, **options):
    time.sleep(0.15)
    held_out = [{"step": 2, "seconds": 0.1, "overall": float(os.getpid())}]
    return Record(dataclasses.asdict(config), [1.0], [0.1], held_out, 2)


def work(path, configs, seconds=0.15):
    def train(config, corpus, **options):
        with (path.parent / "began.txt").open("a") as file:
            file.write(f"{config.seed}\n")
        time.sleep(seconds)
        return slow_train(config, corpus)

    sweep.train, sweep.load_corpus = train, lambda name: None
    for _ in sweep.sweep(configs, path, progress=False):
        pass


def start(*arguments):
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    return process


def test_two_processes_share_a_sweep_and_do_no_run_twice(tmp_path):
    path = tmp_path / "runs.jsonl"
    workers = [start(path, CONFIGS) for _ in range(2)]
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert Counter((tmp_path / "began.txt").read_text().split()) == Counter(map(str, range(6)))
    found = records.read(path)
    assert {run.run_id for run in found} == {records.run_id(c) for c in CONFIGS}
    assert len({run.held_out[-1]["overall"] for run in found}) == 2  # both have worked


def test_what_a_killed_process_had_begun_is_run_by_another(tmp_path):
    path = tmp_path / "runs.jsonl"
    killed = start(path, CONFIGS[:1], 60)
    while not (tmp_path / "began.txt").exists():
        time.sleep(0.01)
    other = start(path, CONFIGS[:2])
    time.sleep(0.5)
    assert len(records.read(path)) == 1  # it does the second run, and waits for the first
    os.kill(killed.pid, signal.SIGKILL)
    other.join(30)
    assert other.exitcode == 0
    assert {run.config["seed"] for run in records.read(path)} == {0, 1}


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), ValueError("no w_gate")])
def test_a_run_that_fails_is_recorded_with_its_reason_and_the_rest_goes_on(
    tmp_path, monkeypatch, error
):
    def train(config, corpus, **options):
        if config.seed == 1:
            raise error
        return slow_train(config, corpus)

    monkeypatch.setattr(sweep, "train", train)
    monkeypatch.setattr(sweep, "load_corpus", lambda name: None)
    path = tmp_path / "runs.jsonl"
    found = list(sweep.sweep(CONFIGS[:3], path, progress=False))
    assert [run.failure for run in found] == ["", f"{type(error).__name__}: {error}", ""]
    assert "muonlab train" in found[1].provenance["command"]
    assert [run.failure for run in records.read(path)] == [run.failure for run in found]
    assert "failed after 0 steps" in found[1].summary()


def test_a_broken_record_stops_a_sweep_before_anything_is_run(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    path.write_text("{half a rec\n")
    monkeypatch.setattr(sweep, "train", lambda *a, **k: pytest.fail("nothing may run"))
    with pytest.raises(ValueError, match=r"runs\.jsonl, line 1: expected one record"):
        list(sweep.sweep(CONFIGS, path))
    assert path.read_text() == "{half a rec\n"


def test_records_of_other_code_stop_a_sweep_and_stay_as_they_are(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    record = slow_train(CONFIGS[0], None)
    record.config["dropout"] = 0.1
    record.provenance["code"] = "0123456789ab"
    records.append(record, path)
    before = path.read_bytes()
    monkeypatch.setattr(sweep, "train", lambda *a, **k: pytest.fail("nothing may run"))
    with pytest.raises(ValueError, match=r"by code 0123456789ab, .* differ from .* by dropout"):
        list(sweep.sweep(CONFIGS, path))
    assert path.read_bytes() == before


def test_torchruns_processes_are_refused_before_they_mix_different_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="start it without torchrun, once for each GPU"):
        list(sweep.sweep(CONFIGS, tmp_path / "runs.jsonl", progress=False))
    assert not list(tmp_path.iterdir())
