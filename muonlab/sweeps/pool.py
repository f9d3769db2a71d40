"""Several processes of one machine share the phases of a study, and end in time.

What matters most stands first. A phase whose trials are done begins while others still wait, so
that a card that is lent for minutes is never idle.
"""

import math
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from muonlab import checks
from muonlab.machine import cores, device_name, pick_device
from muonlab.records.record import Record
from muonlab.sweeps.engines import Here
from muonlab.sweeps.results import known
from muonlab.sweeps.study import Grid, Phase, Place, Unrecorded
from muonlab.sweeps.sweep import Driver
from muonlab.training.config import TrainConfig

POLL = 1.0  # seconds between two looks at what the others have done
DEATHS = 3  # workers that end without a new record between them, before `run_workers` gives up
PARENT = "MUONLAB_PARENT"  # the process without which a worker begins no more runs
UNTIL = "MUONLAB_UNTIL"  # when the minutes of its workers end, as time.time() has it

Shape = tuple[object, ...]


def work(
    phases: Mapping[str, Phase], at: Place, minutes: float | None = None, progress: bool = True
) -> Iterator[Record]:
    """Yields the record of each run that this process does of the phases, the first phase first.

    It begins no run that would not end in these minutes, as far as the records of these phases say
    how long one takes on this device (see `expected`); where they say nothing, it is tried. It ends
    when everything is recorded, or out of time, or when trials are missing that nobody is doing.
    Any number of processes may work on the same phases: each run is done by one.
    """
    end, engine = _end(minutes), Here(progress)
    while not orphaned():
        waits, records = False, _recorded(phases, at)
        paces = _paces(records)
        for name, config, grid in _ready(phases, at, records):
            if time.time() < end < math.inf:
                engine.load(config.corpus)  # the first run here would wait for it
            if time.time() + expected(config, paces) >= end:
                continue
            driver = Driver([config], at.path(name), engine, grid)
            yield from driver.run_all()
            if not driver.elsewhere:
                break  # a phase that stands before this one may have become ready
            waits = True  # another process does this run
        else:
            if not waits or time.time() >= end:
                return
            time.sleep(min(POLL, max(0.0, end - time.time())))


def run_workers(
    command: list[str], workers: int, progress: Callable[[], int], minutes: float | None = None
) -> int:
    """Runs the command in several processes and returns 0 when they have ended well, else 1.

    A process that ends badly is replaced, unless DEATHS of them end with no new record, counted by
    `progress`, between them. They share the cores, and end with this process. The minutes of all
    begin now, also of one that replaces another.
    """
    checks.number("workers", workers, 1, whole=True)
    threads = str(max(1, cores() // workers))
    environment = {"OMP_NUM_THREADS": threads, **os.environ, PARENT: str(os.getpid())}
    if minutes is not None:
        environment[UNTIL] = str(_end(minutes))
    start = partial(subprocess.Popen, command, env=environment)
    running, deaths, records = [start() for _ in range(workers)], 0, progress()
    try:
        while running:
            time.sleep(POLL)
            ended = [process for process in running if process.poll() is not None]
            running = [process for process in running if process not in ended]
            failed = [process for process in ended if process.returncode]
            for _ in failed:
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
    return sum(map(len, _recorded(phases, at)))


def expected(config: TrainConfig, paces: Mapping[Shape, float]) -> float:
    """Returns about how many seconds a run takes; 0: nobody knows.

    For each token it is as slow as the slowest of its shape; without one, as the slowest of all.
    """
    pace = paces.get(_shape(config), paces.get((), 0.0))
    return pace * config.steps * config.batch * config.context


def _paces(records: Iterable[Mapping[TrainConfig, Record]]) -> dict[Shape, float]:
    """Returns the seconds a token of each shape on this device, and under () the most of all."""
    paces: dict[Shape, float] = {}
    device = device_name(pick_device("auto"))
    for config, run in (pair for of_phase in records for pair in of_phase.items()):
        made = run.provenance
        if run.failure or made.get("device") != device or "started" not in made:
            continue
        ended, started = (datetime.fromisoformat(made[key]) for key in ("utc", "started"))
        pace = ((ended - started).total_seconds() + 1) / run.tokens  # clocks without fractions
        for shape in (_shape(config), ()):
            paces[shape] = max(paces.get(shape, 0.0), pace)
    return paces


def _end(minutes: float | None) -> float:
    """Returns when these minutes end, by time.time(): those of `run_workers`, if it began them."""
    if minutes is None:
        return math.inf
    checks.number("minutes", minutes, 0, above=True)
    return float(os.environ.get(UNTIL, time.time() + 60 * minutes))


def orphaned() -> bool:
    """Returns whether this process is a worker whose `run_workers` is gone."""
    return os.environ.get(PARENT, str(os.getppid())) != str(os.getppid())


def _recorded(phases: Iterable[str], at: Place) -> list[dict[TrainConfig, Record]]:
    return [known(at.path(name)).read() for name in phases]


def _ready(
    phases: Mapping[str, Phase], at: Place, records: Iterable[Mapping[TrainConfig, Record]]
) -> Iterator[tuple[str, TrainConfig, Grid]]:
    """Yields the runs that are not recorded, of phases whose trials are, and their grids."""
    for (name, phase), of_phase in zip(phases.items(), records, strict=True):
        try:
            grid = at.on_its_text(phase(at))
        except Unrecorded:
            continue
        yield from ((name, config, grid) for config in grid if config not in of_phase)


def _shape(config: TrainConfig) -> Shape:
    """Returns what decides how long a step takes, and what is beside the steps."""
    looks = math.ceil(config.steps / config.eval_every), bool(config.spectra_every)
    step = config.size, config.batch, config.context, config.rule, bool(config.muon)
    return *step, *looks, config.corpus
