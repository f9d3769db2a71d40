"""Time pieces of code against one another, on a machine that may be doing other things."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

SAMPLE = 0.2  # seconds: the system counts processor time in hundredths
OTHERS = 0.05  # the share of the machine that other processes may have in a sample


@dataclass
class Timing:
    """How long one call takes."""

    samples: list[float] = field(default_factory=list)  # accepted, seconds a call
    rejected: int = 0  # samples in which other processes were busy

    @property
    def median(self) -> float:
        """Seconds a call; of the accepted samples."""
        return statistics.median(self.samples)


def race(
    contestants: Mapping[str, Callable[[], object]], samples: int = 7, rounds: int = 30
) -> dict[str, Timing]:
    """Returns each contestant's timing, taken in turns so that a slow minute slows all of them.

    The race ends when each has so many accepted samples. TimeoutError says how often other
    processes kept the machine busy, if so many rounds do not suffice.
    """
    calls = {name: _calls(run) for name, run in contestants.items()}
    timings = {name: Timing() for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            seconds, quiet = _sample(run, calls[name])
            if quiet:
                timings[name].samples.append(seconds)
            else:
                timings[name].rejected += 1
        if all(len(timing.samples) >= samples for timing in timings.values()):
            return timings
    busy = sum(timing.rejected for timing in timings.values())
    raise TimeoutError(
        f"other processes were busy in {busy} of {rounds * len(timings)} samples: "
        "close them and run again"
    )


def _calls(run: Callable[[], object]) -> int:
    run()  # a first call compiles and allocates
    start = time.perf_counter()
    run()
    return max(1, round(SAMPLE / max(time.perf_counter() - start, 1e-6)))


def _sample(run: Callable[[], object], calls: int) -> tuple[float, bool]:
    others, start = _others(), time.perf_counter()
    for _ in range(calls):
        run()
    seconds = time.perf_counter() - start
    allowed = OTHERS * (psutil.cpu_count() or 1) * seconds + 0.02
    return seconds / calls, _others() - others <= allowed


def _others() -> float:
    """Returns the processor seconds that all other processes have used since the start."""
    times = psutil.cpu_times()._asdict()
    idle = ("idle", "iowait", "guest")  # Linux counts a guest's time twice, once as user time
    return sum(times.values()) - sum(times.get(n, 0.0) for n in idle) - time.process_time()


def as_rows(
    timings: dict[str, Timing], floor: float | None = None, calls: int = 1, **more: Any
) -> list[dict[str, Any]]:
    """Returns a row for each timing, with its ratio to the first, and `more`.

    Args:
        floor: seconds that no program can do without; its ratio to the first is added.
        calls: how many things one call does; the milliseconds are those of one.
    """
    first = next(iter(timings.values())).median
    if floor is not None:
        more["floor"] = floor / first
    return [
        {
            **more,
            "name": name,
            "milliseconds": 1000 * timing.median / calls,
            "ratio": timing.median / first,
            "samples": len(timing.samples),
            "rejected": timing.rejected,
        }
        for name, timing in timings.items()
    ]
