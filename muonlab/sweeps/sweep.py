"""Run many configurations, keep every record, and go on where a kill left off."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from filelock import Timeout

from muonlab import checks
from muonlab.distributed import parallel
from muonlab.files import lock
from muonlab.records.record import Record, append, run_id
from muonlab.sweeps.engines import ENGINES, Here, Lost
from muonlab.sweeps.results import Known
from muonlab.training.config import TrainConfig

TRIES = 3  # a run that has outlived none of three workers is left for the next call


def sweep(
    configs: Iterable[TrainConfig],
    path: Path | str,
    *,
    progress: bool = True,
    engine: str = "local",
    workers: int | None = None,
) -> Iterator[Record]:
    """Yields the record of each configuration; it runs those that `path` lacks.

    Nothing runs until the result is consumed: write `list(sweep(…))` or a loop. Each record is in
    the file before it is yielded. A run that diverges, or whose options do not go together, is a
    result like any other: its record says why in `failure`, it is not run again, and the next
    configuration follows.

    Several processes may run one sweep on one file: each takes what no other has begun, and the
    records of others come last. What a killed process had begun is run by another.

    Args:
        path: a file of JSON lines, made when missing; only this machine needs it.
        progress: whether a local run shows a bar.
        engine: "local" does one run after the other here, "ray" several on a Ray cluster, "slurm"
            on a Slurm queue.
        workers: how many runs at once; None is all that the Ray cluster holds, or SLURM_JOBS.

    Raises:
        ValueError: a broken line in the file, a record of other code (see `read_runs`); a device,
            a text or an engine that is not on this machine; processes of torchrun.
        OSError: a worker that cannot take part, or see `spread`.
    """
    if parallel.size() > 1:  # they would average the gradients of different runs
        raise ValueError("a sweep starts without torchrun, once a GPU, by CUDA_VISIBLE_DEVICES")
    configs = checks.several("several configurations, each a TrainConfig", configs, TrainConfig)
    if engine == "local" and workers is None:
        return spread(configs, path, Here(progress))
    checks.choice("engine", engine, ("local", *ENGINES) if workers is None else ENGINES)
    if workers is not None:
        checks.number("workers", workers, 1, whole=True)
    try:
        return spread(configs, path, ENGINES[engine](Path(path), workers))
    except ImportError as error:
        message = f"engine {engine!r} is not installed: pip install 'muonlab[{engine}]'"
        raise ValueError(f"{message}, or from a clone pip install -e '.[{engine}]'") from error


def spread(
    configs: Iterable[TrainConfig],
    path: Path | str,
    engine: Here,
    grid: Iterable[TrainConfig] = (),
) -> Iterator[Record]:
    """Yields the record of each configuration, in the order in which they end; see `Driver`.

    A worker that dies costs the run that it was doing, which is begun again; the end of this
    process costs the runs in progress. Lost names the runs whose workers died TRIES times, once
    all others are recorded.
    """
    driver = Driver(configs, path, engine, grid)
    yield from driver.run_all()
    for config in driver.elsewhere:
        with lock(path, run_id(config)):  # waits until the other has ended, in any way
            pass
    if driver.elsewhere:
        yield from spread(driver.elsewhere, path, engine, driver.number)
    losses = driver.losses.items()
    if lost := [f"{c.command()} ({died[-1]})" for c, died in losses if len(died) == TRIES]:
        message = f"{len(lost)} runs have no record, since {TRIES} workers died in each"
        raise Lost(f"{message}: {'; '.join(lost)}. The same command tries again")


class Driver:
    """Gives the runs that a file lacks to an engine, each under a lock of its own.

    `grid` is what they are part of, if it is more: it numbers them in their records.
    """

    def __init__(
        self,
        configs: Iterable[TrainConfig],
        path: Path | str,
        engine: Here,
        grid: Iterable[TrainConfig] = (),
    ) -> None:
        self.path, self.engine, self.known = path, engine, Known(path)
        self.waiting = deque(configs)
        self.number = {config: n for n, config in enumerate([*grid] or self.waiting, 1)}
        self.running: dict[Any, tuple[TrainConfig, ExitStack]] = {}  # by job; with its lock
        self.losses: dict[TrainConfig, list[Lost]] = defaultdict(list)
        self.elsewhere: list[TrainConfig] = []  # begun by another driver

    def run_all(self) -> Iterator[Record]:
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.engine.workers:
                    if record := self._begin(self.waiting.popleft()):
                        yield record
                if self.running and (record := self._collect()):
                    yield record
        finally:  # an error, or a reader that wants no more
            for job, (_, run_lock) in self.running.items():
                self.engine.cancel(job)
                run_lock.close()

    def _begin(self, config: TrainConfig) -> Record | None:
        """Returns the record if there is one; if not, gives the run to a worker."""
        with ExitStack() as run_lock:
            try:
                run_lock.enter_context(lock(self.path, run_id(config)).acquire(blocking=False))
            except Timeout:
                self.elsewhere.append(config)
                return None
            record = self.known.read().get(config)
            if record is None:
                self.running[self.engine.submit(config)] = config, run_lock.pop_all()
            return record

    def _collect(self) -> Record | None:
        """Returns the record of the next run that ends, or None when its worker was lost."""
        job = self.engine.finished([*self.running])
        config, run_lock = self.running.pop(job)
        with run_lock:
            try:
                answer = self.engine.result(job)
            except Lost as error:
                self.losses[config].append(error)
                if len(self.losses[config]) < TRIES:
                    self.waiting.append(config)
                return None
            if isinstance(answer, str):
                raise OSError(answer)
            record = Record(**answer)
            place = f"{self.number[config]} of {len(self.number)}"
            record.provenance |= {"study": Path(self.path).stem, "trial": place}
            append(record, self.path)
            return self.known.read()[config]  # rounded, as whoever asks later reads it
