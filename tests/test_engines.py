"""Grids that run on the workers of Ray and Slurm, some of which are killed."""

import dataclasses
import os
import secrets
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace

import pytest

from muonlab.cli import main
from muonlab.cost import formulas as cost
from muonlab.records import record as records
from muonlab.records.provenance import code_version
from muonlab.records.record import Record, run_id
from muonlab.studies.grids import PRESETS
from muonlab.sweeps import engines, sweep
from muonlab.sweeps.sweep import spread
from muonlab.training.config import TrainConfig

WORDS = "the cat sat on a mat and the dog ran to a log with them then they ate a ham and fed a hen"
SMALL = TrainConfig(steps=3, batch=2, context=8, eval_every=3, eval_tokens=64, device="cpu")
CONFIGS = [replace(SMALL, seed=seed) for seed in range(4)]


class Inline:
    """Workers that need no cluster: what they answer is given, and the last begun ends first."""

    def __init__(self, answer, workers=2):
        self.answer, self.workers = answer, workers
        self.begun, self.cancelled, self.most = [], [], 0

    def submit(self, config):
        self.begun.append(config.seed)
        return len(self.begun), config

    def finished(self, jobs):
        self.most = max(self.most, len(jobs))
        return jobs[-1]

    def result(self, job):
        _, config = job
        answer = self.answer(config, self.begun.count(config.seed))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def cancel(self, job):
        self.cancelled.append(job[1].seed)


def record(config, number=1):
    held_out = [{"step": 3, "seconds": 0.1, "overall": 1.0}]
    return dataclasses.asdict(Record(dataclasses.asdict(config), [1.0], [0.1], held_out, 2))


def by_config(runs):
    return {TrainConfig(**run.config): run for run in runs}


def seeds(path):
    return [run.config["seed"] for run in records.read_records(path)]


def test_the_driver_gives_each_worker_one_run_that_is_missing_and_writes_what_comes_back(tmp_path):
    path, engine = tmp_path / "runs.jsonl", Inline(record)
    records.append(Record(**record(CONFIGS[3])), path)
    runs = list(spread(CONFIGS, path, engine))
    assert {run.config["seed"] for run in runs} == {*seeds(path)} == {0, 1, 2, 3}
    assert sorted(engine.begun) == [0, 1, 2]
    assert engine.most == 2


def test_a_run_whose_worker_dies_is_begun_again(tmp_path):
    def dies_once(config, number):
        return engines.Lost("killed") if config.seed == 1 and number == 1 else record(config)

    path, engine = tmp_path / "runs.jsonl", Inline(dies_once)
    assert len(list(spread(CONFIGS, path, engine))) == len(seeds(path)) == 4
    assert sorted(engine.begun) == [0, 1, 1, 2, 3]


def test_a_run_that_kills_every_worker_is_named_and_all_others_are_recorded(tmp_path):
    path = tmp_path / "runs.jsonl"
    engine = Inline(lambda c, n: engines.Lost("killed") if c.seed == 2 else record(c))
    with pytest.raises(engines.Lost, match=r"1 runs have no record.*--seed 2.*\(killed\)"):
        list(spread(CONFIGS, path, engine))
    assert sorted(seeds(path)) == [0, 1, 3]
    assert engine.begun.count(2) == 3
    retried = Inline(record)
    list(spread(CONFIGS, path, retried))
    assert retried.begun == [2]


def test_slurm_cancels_without_waiting_for_the_end():
    asked = []

    class Job:
        def cancel(self, check=True):
            asked.append(check)

    engines.Slurm.cancel(object.__new__(engines.Slurm), Job())
    assert asked == [False]


def test_a_worker_that_cannot_take_part_ends_the_grid_and_cancels_what_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    engine = Inline(lambda c, n: "worker x lacks the text" if c.seed == 1 else record(c))
    with pytest.raises(OSError, match="worker x lacks the text"):
        list(spread(CONFIGS, path, engine))
    assert engine.cancelled == [0]
    assert not path.exists()
    assert len(list(spread(CONFIGS, path, Inline(record)))) == 4  # nothing stayed locked


def test_two_drivers_share_a_file_and_do_no_run_twice(tmp_path):
    path = tmp_path / "runs.jsonl"
    other = records.lock(path, run_id(CONFIGS[0]))
    other.acquire()  # another driver does that run, and ends while this one waits

    def ends():
        records.append(Record(**record(CONFIGS[0])), path)
        other.release(force=True)

    engine, done = Inline(record), []
    for run in spread(CONFIGS, path, engine):
        done.append(run.config["seed"])
        if len(done) == 3:
            ends()
    assert done[-1] == 0
    assert 0 not in engine.begun


def test_a_worker_without_the_text_or_with_other_code_says_so():
    fields = dataclasses.asdict(replace(SMALL, corpus="/nowhere"))
    answer = engines.run_here(fields, code_version())
    assert "cannot do a run on the text '/nowhere': expected 'docs'" in answer
    assert "at 0123456789ab: install the same code" in engines.run_here(fields, "0123456789ab")


def test_a_text_that_is_missing_stops_a_local_sweep_too_and_is_no_result(tmp_path):
    path = tmp_path / "runs.jsonl"
    with pytest.raises(ValueError, match="the path of a folder, got '/nowhere'"):
        list(sweep.sweep([replace(SMALL, corpus="/nowhere")], path, progress=False))
    assert not path.exists()


def ablate(*options, capsys):
    assert main(["ablate", "lesson-04-tuning", *options]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(("engine", "module"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_engine_that_is_not_installed_is_refused_with_the_install_line(
    engine, module, monkeypatch, capsys, tmp_path
):
    monkeypatch.setitem(sys.modules, module, None)  # as if it could not be imported
    error = ablate("--engine", engine, "--results", str(tmp_path), capsys=capsys)
    assert f"pip install 'muonlab[{engine}]'" in error
    assert f"pip install -e '.[{engine}]'" in error


def test_the_command_gives_its_grid_to_the_engine_and_leaves_memory_to_the_workers(
    monkeypatch, tmp_path, capsys
):
    engine, path = Inline(record), tmp_path / "lesson-03-tuning.jsonl"
    monkeypatch.setitem(engines.ENGINES, "ray", lambda path, workers: engine)
    monkeypatch.setattr(cost, "check_memory", lambda config: pytest.fail("not of this machine"))
    call = ["ablate", "lesson-03-tuning", "--engine", "ray", "--results", str(tmp_path)]
    assert main(call) == 0
    assert {*by_config(records.read_records(path))} == {*PRESETS["lesson-03-tuning"]()}
    assert "20/20" in capsys.readouterr().err


def test_a_machine_without_slurm_or_without_its_accounting_is_refused(
    monkeypatch, capsys, tmp_path
):
    pytest.importorskip("submitit", reason="submitit is not installed: pip install -e '.[slurm]'")
    monkeypatch.setenv("PATH", str(tmp_path))
    call = ["--engine", "slurm", "--results", str(tmp_path)]
    assert "needs a machine that has sbatch" in ablate(*call, capsys=capsys)
    for name, text in (("srun", "exit 0"), ("sacct", "echo storage is disabled >&2; exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    assert "does not answer here (storage is disabled)" in ablate(*call, capsys=capsys)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for name in "abcdefgh":
        (folder / f"{name}.txt").write_text(f"{name} {WORDS} " * 20)
    return folder


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory):
    """Starts a Ray cluster of two workers on this machine, and clears it away."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")
    # each of Ray's processes would read a grammar of addresses that Jupyter brings, for seconds
    stub = tmp_path_factory.mktemp("stub")
    (stub / "rfc3987_syntax.py").write_text("raise ImportError")
    path = os.pathsep.join([str(stub), *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # or Ray keeps one in the home
        context = ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()
    shutil.rmtree(context.address_info["session_dir"], ignore_errors=True)


@pytest.fixture
def slurm_here(monkeypatch):
    """Lets submitit start its jobs as processes of this machine."""
    pytest.importorskip("submitit", reason="submitit is not installed: pip install -e '.[slurm]'")
    here = lambda path, workers: engines.Slurm(path, workers, cluster="local")  # noqa: E731
    monkeypatch.setitem(engines.ENGINES, "slurm", here)


def stall(mark):
    """Returns what a worker is to do: the first to begin says who it is, and does not end."""
    work = engines.run_here

    def run_here(fields, code):
        try:
            with mark.open("x") as file:
                file.write(f"{os.getpid()}\n")
        except FileExistsError:
            return work(fields, code)
        time.sleep(300)

    return run_here


def kill(mark):
    """Waits until a worker has begun, and kills it."""
    while not (mark.exists() and mark.read_text().endswith("\n")):
        time.sleep(0.02)
    os.kill(int(mark.read_text()), signal.SIGKILL)


def check_engine(name, runs, text, path, monkeypatch):
    """Runs a grid on two workers, kills one in a run, and compares with the local engine."""
    configs = [replace(config, corpus=str(text)) for config in CONFIGS[:runs]]
    local = by_config(sweep.sweep(configs, path.with_name("local.jsonl")))
    mark = path.with_name("began.txt")
    monkeypatch.setattr(engines, "run_here", stall(mark))
    killer = threading.Thread(target=kill, args=(mark,), daemon=True)
    killer.start()
    list(sweep.sweep(configs, path, engine=name, workers=2))
    assert not killer.is_alive()
    runs = records.read_records(path)
    assert len(runs) == len(local)
    for run in runs:
        same = records.rounded(dataclasses.asdict(local[TrainConfig(**run.config)]))
        assert run.failure == ""
        assert run.train_loss == same["train_loss"]
        assert [h["overall"] for h in run.held_out] == [h["overall"] for h in same["held_out"]]


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
def test_a_ray_cluster_of_two_workers_gives_the_records_of_this_machine(
    text, tmp_path, monkeypatch
):
    check_engine("ray", 4, text, tmp_path / "ray.jsonl", monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("slurm_here")
def test_jobs_of_submitit_give_the_records_of_this_machine(text, tmp_path, monkeypatch):
    check_engine("slurm", 2, text, tmp_path / "slurm.jsonl", monkeypatch)
