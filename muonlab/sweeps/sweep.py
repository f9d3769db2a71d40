"""Run many configurations, keep every record, and go on where a kill left off."""

import dataclasses
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import torch
from filelock import Timeout

from muonlab.data.load import load_corpus
from muonlab.data.task import Task
from muonlab.distributed import parallel
from muonlab.machine import pick_device
from muonlab.records.provenance import provenance
from muonlab.records.record import Record, append, lock, run_id
from muonlab.sweeps.results import Known
from muonlab.training.config import TrainConfig
from muonlab.training.run import Diverged, train

TRIES = 3  # a run that has outlived none of three workers is left for the next call


def sweep(
    configs: Iterable[TrainConfig], path: Path | str, *, progress: bool = True
) -> Iterator[Record]:
    """Yields the record of each configuration; it runs those that `path` lacks.

    Nothing runs until the result is consumed: write `list(sweep(…))` or a loop. Each record is in
    the file before it is yielded. A run that diverges, or whose options do not go together, is a
    result like any other: its record says why in `failure`, it is not run again, and the next
    configuration follows.

    Several processes may run one sweep on one file: each takes what no other has begun, and the
    records of others come last. What a killed process had begun is run by another. Processes of
    torchrun, which share one run, are refused by a ValueError.

    Args:
        path: a file of JSON lines, made when missing.

    Raises:
        ValueError: a broken line in the file, a record of other code (see `read_runs`), a device
            or a text that is not on this machine (see `load_corpus`).
        OSError: this machine has too little memory for a run.
    """
    if parallel.size() > 1:  # they would average the gradients of different runs
        raise ValueError(
            "the processes of torchrun share one run, those of a sweep take different ones: start "
            "it without torchrun, once for each GPU, with CUDA_VISIBLE_DEVICES"
        )
    return spread(configs, path, Here(progress))


class Lost(OSError):
    """A worker ended before its run did."""


class Here:
    """Where runs are done: by this process, one after the other. Other engines look the same.

    A job is what stands for one run there.
    """

    workers = 1  # how many jobs it may hold at once

    def __init__(self, progress: bool = True) -> None:
        self.progress, self.load = progress, cache(load_corpus)

    def submit(self, config: TrainConfig) -> Any:
        """Begins a run and returns its job."""
        return config

    def finished(self, jobs: list[Any]) -> Any:
        """Waits, and returns one of the jobs that has ended."""
        return jobs[0]

    def result(self, job: Any) -> dict[str, Any] | str:
        """Returns a record's fields, or why the worker cannot do it; raises Lost when it died."""
        return dataclasses.asdict(run(job, self.load, progress=self.progress))

    def cancel(self, job: Any) -> None:
        """Ends a job that nobody waits for."""


def spread(configs: Iterable[TrainConfig], path: Path | str, engine: Here) -> Iterator[Record]:
    """Yields the record of each configuration, in the order in which they end.

    A worker that dies costs the run that it was doing, which is begun again; the end of this
    process costs the runs in progress.

    Raises:
        Lost: runs whose workers died TRIES times; all others are recorded first.
        OSError: a worker that cannot take part.
    """
    driver = _Driver(configs, path, engine)
    try:
        yield from driver.run_all()
    finally:  # an error, or a reader that wants no more
        driver.stop()
    for config in driver.elsewhere:
        with lock(path, run_id(config)):  # waits until the other has ended, in any way
            pass
    if driver.elsewhere:
        yield from spread(driver.elsewhere, path, engine)
    if driver.given_up:
        raise Lost(
            f"{len(driver.given_up)} runs have no record, since {TRIES} workers died in each: "
            f"{'; '.join(driver.given_up)}. All others are recorded; the same command tries again"
        )


class _Driver:
    def __init__(self, configs: Iterable[TrainConfig], path: Path | str, engine: Here) -> None:
        self.path, self.engine, self.known = path, engine, Known(path)
        self.waiting = deque(configs)
        self.running: dict[Any, tuple[TrainConfig, ExitStack]] = {}  # by job; with its lock
        self.losses: Counter[TrainConfig] = Counter()
        self.elsewhere: list[TrainConfig] = []  # begun by another driver
        self.given_up: list[str] = []

    def run_all(self) -> Iterator[Record]:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.engine.workers:
                if record := self._begin(self.waiting.popleft()):
                    yield record
            if self.running and (record := self._collect()):
                yield record

    def stop(self) -> None:
        for job, (_, held) in self.running.items():
            self.engine.cancel(job)
            held.close()

    def _begin(self, config: TrainConfig) -> Record | None:
        """Returns the record if there is one; if not, gives the run to a worker."""
        with ExitStack() as held:
            try:
                held.enter_context(lock(self.path, run_id(config)).acquire(blocking=False))
            except Timeout:
                self.elsewhere.append(config)
                return None
            record = self.known.get(config)
            if record is None:
                self.running[self.engine.submit(config)] = config, held.pop_all()
            return record

    def _collect(self) -> Record | None:
        """Returns the record of the next run that ends, or None when its worker was lost."""
        job = self.engine.finished([*self.running])
        config, held = self.running.pop(job)
        with held:
            try:
                answer = self.engine.result(job)
            except Lost as error:
                self.losses[config] += 1
                if self.losses[config] < TRIES:
                    self.waiting.append(config)
                else:
                    self.given_up.append(f"{config.command()} ({error})")
                return None
            if isinstance(answer, str):
                raise OSError(answer)
            record = Record(**answer)
            append(record, self.path)
            return record


def run(config: TrainConfig, load: Callable[[str], Task], *, progress: bool = True) -> Record:
    """Returns the record of one run, also of one that cannot succeed anywhere.

    What lies in the machine is raised instead: a record of it would keep the run from being done
    where it can be.

    Args:
        load: gives the text of a name, as `load_corpus` does.

    Raises:
        ValueError: no such device or text here.
        OSError: too little memory here.
    """
    pick_device(config.device)
    task = load(config.corpus)
    if config.pretraining:
        load("docs")  # which is what it reads first
    try:
        return train(config, task, progress=progress)
    except Diverged as error:
        return error.record
    except (ValueError, torch.linalg.LinAlgError) as error:  # such as a model without w_gate
        return Record(
            config=dataclasses.asdict(config),
            train_loss=[],
            step_seconds=[],
            held_out=[],
            tokens=0,
            provenance={"command": config.command(), **provenance()},
            failure=f"{type(error).__name__}: {error}",
        )
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        raise OSError(
            f"this machine has too little memory for `{config.command()}`, which is not recorded: "
            f"end other programs, or run it on a larger machine ({error})"
        ) from error


def _out_of_memory(error: Exception) -> bool:
    return (
        isinstance(error, MemoryError | torch.OutOfMemoryError)
        or "allocate memory" in str(error)  # as the CPU's allocator says it
    )
