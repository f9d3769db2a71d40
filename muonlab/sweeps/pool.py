"""Several processes of one machine share the phases of a study, and end in time.

What matters most stands first. A phase whose trials are done begins while others still wait, so
that a card that is lent for minutes is never idle.
"""

import math
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from muonlab import checks
from muonlab.records.record import Record
from muonlab.sweeps.engines import Here
from muonlab.sweeps.results import known
from muonlab.sweeps.study import Phase, Place, Unrecorded
from muonlab.sweeps.sweep import Driver
from muonlab.training.config import TrainConfig

POLL = 1.0  # seconds between two looks at what the others have done
DEATHS = 3  # workers that end without a new record between them, before `share` gives up
PARENT = "MUONLAB_PARENT"  # the process without which a worker begins no more runs

Shape = tuple[object, ...]


def work(
    phases: Mapping[str, Phase], at: Place, minutes: float | None = None, progress: bool = True
) -> Iterator[Record]:
    """Yields the record of each run that this process does of the phases, the first phase first.

    It begins no run that would not end in these minutes, as long as one of the same shape took in
    this call; a shape that is new is tried. It ends when everything is recorded, or out of time.
    Any number of processes may work on the same phases: each run is done by one.
    """
    if minutes is not None:
        checks.number("minutes", minutes, 0, above=True)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    engine, seconds = Here(progress), dict[Shape, float]()
    while not _orphaned():
        ready, waits = _ready(phases, at)
        for name, config in ready:
            start, shape = time.monotonic(), _shape(config)
            if start + seconds.get(shape, 0) >= end:
                continue
            driver = Driver([config], at.path(name), engine)
            try:
                yield from driver.run_all()
            finally:  # an error, or a reader that wants no more
                driver.stop()
            if not driver.elsewhere:
                seconds[shape] = max(seconds.get(shape, 0), time.monotonic() - start)
                break  # a phase that stands before this one may have become ready
            waits = True  # another process does this run
        else:
            if not waits or time.monotonic() >= end:
                return
            time.sleep(min(POLL, max(0.0, end - time.monotonic())))


def share(command: list[str], workers: int, progress: Callable[[], int]) -> int:
    """Runs the command in several processes and returns 0 when they have ended well, else 1.

    A process that ends badly is replaced, unless DEATHS of them end with no new record, counted by
    `progress`, between them. They share the cores, and end with this process.
    """
    checks.number("workers", workers, 1, whole=True)
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    environment = {"OMP_NUM_THREADS": threads, **os.environ, PARENT: str(os.getpid())}
    start = partial(subprocess.Popen, command, env=environment)
    running, deaths, records = [start() for _ in range(workers)], 0, progress()
    try:
        while running:
            time.sleep(POLL)
            ended = [process for process in running if process.poll() is not None]
            running = [process for process in running if process not in ended]
            for process in ended:
                if not process.returncode:
                    continue
                if progress() > records:
                    deaths, records = 0, progress()
                deaths += 1
                if deaths == DEATHS:
                    return 1
                running.append(start())
        return 0
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def count(phases: Iterable[str], at: Place) -> int:
    """Returns how many runs of these phases are recorded."""
    return sum(len(known(at.path(name)).read()) for name in phases)


def _orphaned() -> bool:
    return os.environ.get(PARENT, str(os.getppid())) != str(os.getppid())


def _ready(phases: Mapping[str, Phase], at: Place) -> tuple[list[tuple[str, TrainConfig]], bool]:
    """Returns the runs that are not recorded, of phases whose trials are; and if any must wait."""
    runs, waiting = [], False
    for name, phase in phases.items():
        try:
            grid = at.on_its_text(phase(at))
        except Unrecorded:
            waiting = True
            continue
        records = known(at.path(name)).read()
        runs += [(name, config) for config in grid if config not in records]
    return runs, waiting


def _shape(config: TrainConfig) -> Shape:
    """Returns what decides how long a run takes."""
    return config.size, config.steps, config.batch, config.context, config.rule, bool(config.muon)
