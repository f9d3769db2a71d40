"""Spread a grid over workers elsewhere, and bring the records home.

The driver, the process that asks for the grid, gives each worker one configuration at a time and
writes each record that comes back. So workers need no file of the driver's, only the same version
of muonlab, and the text. A worker that dies costs the run that it was doing, which is begun again;
a driver that dies costs the runs in progress.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from muonlab.records import record as records
from muonlab.records.record import Record, run_id
from muonlab.sweeps.engines import Engine, Lost, connect
from muonlab.sweeps.sweep import known, sweep
from muonlab.training.config import TrainConfig

TRIES = 3  # a run that has outlived none of three workers is left for the next call


def run_grid(
    configs: Sequence[TrainConfig],
    path: Path | str,
    engine: str = "local",
    workers: int | None = None,
) -> Iterator[Record]:
    """Yields the record of each configuration; it runs those that `path` lacks on the engine.

    Args:
        path: a file of JSON lines, made when missing; only this machine needs it.
        engine: "local" runs one after the other here (see `sweep`), "ray" on a Ray cluster, and
            "slurm" on a Slurm queue.
        workers: how many runs at once; None is all that the Ray cluster holds, or SLURM_JOBS.

    Raises:
        ValueError: an unknown engine, or one that is not installed.
        OSError: a worker without the text or with other code; a run that no worker outlived.
    """
    if engine == "local":
        if workers is not None:
            raise ValueError(
                "workers are those of ray or slurm: to do several runs at once on this machine, "
                "start the same command several times"
            )
        return sweep(configs, path)
    return spread(configs, path, connect(engine, path, workers))


def spread(
    configs: Iterable[TrainConfig], path: Path | str, engine: Engine, tries: int = TRIES
) -> Iterator[Record]:
    """Yields the record of each configuration, in the order in which they end.

    As in `sweep`, nothing runs until the result is consumed, each record is in the file before it
    is yielded, and several drivers and sweeps may share a file.

    Raises:
        Lost: runs whose workers died `tries` times; all others are recorded first.
        OSError: a worker that cannot take part, see `run_here`.
    """
    driver = _Driver(configs, path, engine, tries)
    try:
        yield from driver.run_all()
    finally:  # an error, or a reader that wants no more
        driver.stop()
    for config in driver.elsewhere:
        with records.lock(path, run_id(config)):  # waits until the other has ended, in any way
            pass
    if driver.elsewhere:
        yield from spread(driver.elsewhere, path, engine, tries)
    if driver.given_up:
        raise Lost(
            f"{len(driver.given_up)} runs have no record, since {tries} workers died in each: "
            f"{'; '.join(driver.given_up)}. All others are recorded; the same command tries again"
        )


class _Driver:
    def __init__(
        self, configs: Iterable[TrainConfig], path: Path | str, engine: Engine, tries: int
    ) -> None:
        self.path, self.engine, self.tries = path, engine, tries
        self.waiting = deque(configs)
        self.running: dict[Any, tuple[TrainConfig, FileLock]] = {}
        self.losses: Counter[str] = Counter()
        self.elsewhere: list[TrainConfig] = []  # begun by another driver or sweep
        self.given_up: list[str] = []

    def run_all(self) -> Iterator[Record]:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.engine.workers:
                if record := self._begin(self.waiting.popleft()):
                    yield record
            if self.running and (record := self._collect()):
                yield record

    def stop(self) -> None:
        for job, (_, lock) in self.running.items():
            self.engine.cancel(job)
            lock.release()

    def _begin(self, config: TrainConfig) -> Record | None:
        """Returns the record if there is one; if not, gives the run to a worker."""
        lock = records.lock(self.path, run_id(config))
        try:
            lock.acquire(blocking=False)
        except Timeout:
            self.elsewhere.append(config)
            return None
        try:
            record = known(config, self.path)
            if record is None:
                self.running[self.engine.submit(config)] = config, lock
        except BaseException:
            lock.release()
            raise
        if record:
            lock.release()
        return record

    def _collect(self) -> Record | None:
        """Returns the record of the next run that ends, or None when its worker was lost."""
        job = self.engine.finished(list(self.running))
        config, lock = self.running.pop(job)
        try:
            answer = self.engine.result(job)
            if isinstance(answer, str):
                raise OSError(answer)
            record = Record(**answer)
            records.append(record, self.path)
            return record
        except Lost as error:
            return self._again(config, error)
        finally:
            lock.release()

    def _again(self, config: TrainConfig, error: Lost) -> None:
        name = run_id(config)
        self.losses[name] += 1
        if self.losses[name] < self.tries:
            self.waiting.append(config)
        else:
            self.given_up.append(f"{config.command()} ({error})")
