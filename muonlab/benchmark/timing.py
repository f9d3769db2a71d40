"""Time pieces of code against one another, on a machine that may be doing other things."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import psutil

SAMPLE = 0.2  # seconds: the system counts processor time in hundredths
BUSY = 0.05  # the share of the machine that other processes may have in a sample


def in_turn(
    contestants: Mapping[str, Callable[[], object]],
    samples: int = 7,
    rounds: int = 30,
    *,
    floor: float | None = None,
    count: int = 1,
    **more: Any,
) -> list[dict[str, Any]]:
    """Returns a row for each contestant: its median time, the ratio to the first's, and `more`.

    They are timed in turns, so that a slow minute slows all of them, until each has so many samples
    in which other processes were quiet. TimeoutError says how often they were not, if so many
    rounds do not suffice.

    Args:
        floor: seconds that no program can do without; its ratio to the first is added.
        count: how many things one call does; the milliseconds are those of one.
    """
    calls = {name: _calls(run) for name, run in contestants.items()}
    accepted: dict[str, list[float]] = {name: [] for name in contestants}
    turns = 0
    while min(map(len, accepted.values())) < samples:
        if turns == rounds:
            taken = rounds * len(calls)
            busy = f"{taken - sum(map(len, accepted.values()))} of {taken} samples"
            raise TimeoutError(f"other processes were busy in {busy}: close them and run again")
        turns += 1
        for name, run in contestants.items():
            accepted[name] += _sample(run, calls[name])
    medians = {name: median(seconds) for name, seconds in accepted.items()}
    first = next(iter(medians.values()))
    if floor is not None:
        more["floor"] = floor / first
    rows = []
    for name, seconds in medians.items():
        row = {"name": name, "milliseconds": 1000 * seconds / count, "ratio": seconds / first}
        taken = len(accepted[name])
        rows.append({**more, **row, "samples": taken, "rejected": turns - taken})
    return rows


def _calls(run: Callable[[], object]) -> int:
    run()  # a first call compiles and allocates
    start = time.perf_counter()
    run()
    return max(1, round(SAMPLE / max(time.perf_counter() - start, 1e-6)))


def _sample(run: Callable[[], object], calls: int) -> list[float]:
    """Returns the seconds of a call, or nothing when other processes were busy meanwhile."""
    others, start = _others(), time.perf_counter()
    for _ in range(calls):
        run()
    seconds = time.perf_counter() - start
    allowed = BUSY * (psutil.cpu_count() or 1) * seconds + 0.02
    return [seconds / calls] if _others() - others <= allowed else []


def _others() -> float:
    """Returns the processor seconds that all other processes have used since the start."""
    times = psutil.cpu_times()._asdict()
    # Linux counts a guest's time twice, once as a user's
    idle = ("idle", "iowait", "guest", "guest_nice")
    return sum(times.values()) - sum(times.get(n, 0.0) for n in idle) - time.process_time()
