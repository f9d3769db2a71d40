"""Processes of one machine share a study: first things first, an end in time, kills."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from muonlab import cli
from muonlab.machine import device_name, pick_device
from muonlab.records import record as records
from muonlab.sweeps import engines, pool
from muonlab.sweeps.study import Place, Study, Tuning, cross
from muonlab.training.config import TrainConfig
from tests.test_sweep import train_at_once

BASE = TrainConfig(steps=2, batch=2, context=8, eval_every=2, eval_tokens=64, device="cpu")
TUNING = Tuning("small-tuning", cross(BASE, lr=[0.01, 0.02]), contest=("muon",))
FINALS = {"small-seeds": TUNING.at_new_seeds(2), "small-more": lambda at: cross(BASE, seed=[8, 9])}
SMALL = Study((TUNING,), FINALS)

WORKER = """
import sys, time
from pathlib import Path
from muonlab.sweeps import engines, pool
from muonlab.sweeps.study import Place
from tests.test_pool import SMALL, slow_train

folder = Path(sys.argv[1])

def train(config, corpus, **options):
    with (folder / "begun.txt").open("a") as file:
        file.write("x")
    return slow_train(config, corpus)

engines.train, engines.load_corpus = train, lambda name: None
list(pool.work(SMALL.phases(), Place(folder), progress=False))
"""


def slow_train(config, corpus, **options):
    time.sleep(0.15)  # so that one worker does not do all before another has begun
    return train_at_once(config, corpus)


@pytest.fixture
def quick(monkeypatch):
    """Runs that take no time, and the order in which they are done."""
    order = []

    def train(config, corpus, **options):
        order.append(config)
        return train_at_once(config, corpus)

    monkeypatch.setattr(engines, "train", train)
    monkeypatch.setattr(engines, "load_corpus", lambda name: None)
    return order


def test_what_matters_most_is_done_first_and_all_is_done(tmp_path, quick):
    phases = dict(reversed(SMALL.phases().items()))
    assert [*phases] == ["small-more", "small-seeds", "small-tuning"]
    done = [*pool.work(phases, Place(tmp_path))]
    assert [config.seed for config in quick] == [8, 9, 0, 0, 1, 2]  # the trials make seeds ready
    assert [run.provenance["trial"] for run in done] == ["1 of 2", "2 of 2"] * 3
    assert [*pool.work(phases, Place(tmp_path))] == []
    assert len(quick) == 6


@pytest.fixture
def clock(monkeypatch):
    """A clock that runs only while something trains, 20 seconds for two steps on one processor."""
    now = [1e9]

    def train(config, corpus, **options):
        now[0] += 10 * config.steps
        run = train_at_once(config, corpus)
        run.step_seconds, run.tokens = [10.0] * config.steps, config.steps * 16
        started, ended = (datetime.fromtimestamp(t, UTC) for t in (now[0] - 20, now[0]))
        run.provenance |= {"device": device_name(pick_device("auto"))}
        run.provenance |= {"started": started.isoformat(), "utc": ended.isoformat()}
        return run

    monkeypatch.setattr(engines, "train", train)
    monkeypatch.setattr(engines, "load_corpus", lambda name: None)
    monkeypatch.setattr(pool.time, "time", lambda: now[0])
    monkeypatch.delenv(pool.UNTIL, raising=False)
    return now


def test_no_run_begins_that_cannot_end_in_time(tmp_path, clock):
    start = clock[0]
    call = SMALL.phases(), Place(tmp_path)
    # one is tried; after that, 20 seconds and one for rounding are expected
    assert len([*pool.work(*call, minutes=1)]) == 2
    assert clock[0] == start + 40
    # the records know it from now on, so that nothing is tried in vain
    assert [*pool.work(*call, minutes=20.9 / 60)] == []
    assert len([*pool.work(*call, minutes=21.1 / 60)]) == 1
    assert len([*pool.work(*call)]) == 3


def test_a_longer_run_is_expected_to_take_as_much_longer(tmp_path, clock):
    longer = {"first": lambda at: [BASE], "longer": lambda at: cross(BASE, steps=[4, 3])}
    assert len([*pool.work(longer, Place(tmp_path), minutes=55 / 60)]) == 2
    assert clock[0] == 1e9 + 20 + 30  # four steps would have been 42


def test_another_shape_is_expected_to_be_as_slow_as_the_slowest_for_each_token(tmp_path, clock):
    wide = {"first": lambda at: [BASE], "wide": lambda at: cross(BASE, batch=[8, 4])}
    assert len([*pool.work(wide, Place(tmp_path), minutes=70 / 60)]) == 2
    paces = pool._paces([{BASE: run} for run in records.read_records(tmp_path / "first.jsonl")])
    assert pool.expected(replace(BASE, batch=8), paces) == 84
    assert pool.expected(BASE, {}) == 0


@pytest.mark.parametrize("spoiled", [{"device": "another"}, {"started": None}, "failed"])
def test_records_of_other_devices_and_failures_say_nothing_of_time(tmp_path, clock, spoiled):
    [*pool.work({"first": lambda at: [BASE]}, Place(tmp_path))]
    [run] = records.read_records(tmp_path / "first.jsonl")
    if spoiled == "failed":
        run.failure = spoiled
    else:
        run.provenance |= spoiled
        run.provenance = {k: v for k, v in run.provenance.items() if v is not None}
    assert pool._paces([{BASE: run}]) == {}


def test_work_ends_when_trials_are_missing_that_nobody_is_doing(tmp_path, quick):
    finals = {"small-seeds": SMALL.phases()["small-seeds"]}
    assert [*pool.work(finals, Place(tmp_path))] == []
    assert [*pool.work(finals, Place(tmp_path), minutes=9)] == []
    assert quick == []


def test_a_worker_in_the_place_of_another_has_no_minutes_more(tmp_path):
    """The first dies after it has written when its minutes end; the second has the same end."""
    code = f"""
import os, sys
from pathlib import Path
ends = Path({str(tmp_path / "ends.txt")!r})
with ends.open("a") as file:
    file.write(os.environ[{pool.UNTIL!r}] + chr(10))
sys.exit(len(ends.read_text().splitlines()) == 1)
"""
    began = time.time()
    assert pool.run_workers([sys.executable, "-c", code], 1, lambda: 0, minutes=2) == 0
    first, second = map(float, (tmp_path / "ends.txt").read_text().split())
    assert first == second == pytest.approx(began + 120, abs=5)


def test_another_process_begins_a_phase_while_the_trials_of_the_first_still_run(tmp_path, quick):
    with records.lock(tmp_path / "small-tuning.jsonl", records.run_id(TUNING.grid(Place())[0])):
        done = pool.work(SMALL.phases(), Place(tmp_path))
        assert [next(done).config["seed"] for _ in range(3)] == [0, 8, 9]
    assert [run.config["seed"] for run in done] == [0, 1, 2]


DRIVER = """
import sys
from pathlib import Path
from muonlab.sweeps import pool
from tests.test_pool import SMALL, WORKER, Place
folder = Path(sys.argv[1])
pool.DEATHS, pool.POLL = 100, 0.05
command = [sys.executable, "-c", WORKER, sys.argv[1]]
sys.exit(pool.run_workers(command, 2, lambda: pool.count(SMALL.phases(), Place(folder))))
"""


def children(process):
    listed = ["pgrep", "-P", str(process.pid)]
    return [*map(int, subprocess.run(listed, capture_output=True, check=False).stdout.split())]


@pytest.mark.slow
def test_kills_lose_nothing_and_double_nothing(tmp_path):
    """A worker, or each third time the driver, is killed after something has begun."""
    begun, seen, chance = tmp_path / "begun.txt", 0, random.Random(0)
    begun.touch()
    start = [sys.executable, "-c", DRIVER, str(tmp_path)]
    process = subprocess.Popen(start)
    for kill in range(8):
        while process.poll() is None and (begun.stat().st_size == seen or not children(process)):
            time.sleep(0.01)
        seen = begun.stat().st_size
        time.sleep(0.2 * chance.random())
        if process.poll() is not None:
            break
        if kill % 3 == 2:
            process.kill()
            process.wait()
            process = subprocess.Popen(start)
        else:
            for child in children(process)[:1]:
                os.kill(child, signal.SIGKILL)
    assert process.wait(300) == 0
    runs = [run for path in tmp_path.glob("*.jsonl") for run in records.read_records(path)]
    counts = Counter(TrainConfig(**run.config) for run in runs)
    assert len(counts) == 6
    assert {*counts.values()} == {1}


def test_the_command_shares_a_study_among_workers(tmp_path, capfd):
    call = ["ablate", "pilot", "--results", str(tmp_path), "--minutes", "1e-9"]
    assert cli.main([*call, "--workers", "1"]) == 0
    assert "pilot: 0 runs" in capfd.readouterr().out
    for wrong in (["--workers", "0"], ["--minutes", "0"], ["--minutes", "1", "--engine", "slurm"]):
        assert cli.main([*call[:4], *wrong]) == 2
