"""Recorded runs, grouped: who contested, at which seeds, and what came out."""

from collections.abc import Callable, Hashable, Iterable
from operator import itemgetter
from typing import Any

from muonlab.records.record import Record, contestant

Config = dict[str, Any]


def grouped(
    records: Iterable[Record],
    name: Callable[[Config], Hashable] = contestant,
    *,
    paired: bool = True,
    preset: str = "PRESET",
) -> dict[Any, list[Record]]:
    """Returns the finished runs of each contestant, in the order of their seeds.

    ValueError if there are none, or if they cannot be paired.

    Args:
        name: the contestant that a configuration belongs to.
        paired: whether all contestants need the same seeds, each once.
        preset: the grid to run where nothing is recorded; the error names it.
    """
    found: dict[Any, list[Record]] = {}
    for run in sorted((r for r in records if not r.failure), key=lambda r: r.config["seed"]):
        found.setdefault(name(run.config), []).append(run)
    if not found:
        raise ValueError(f"no recorded run is finished: run `muonlab ablate {preset}`")
    seeds = {who: [run.config["seed"] for run in runs] for who, runs in found.items()}
    first = next(iter(seeds.values()))
    if paired and any(some != first or len(some) > len({*some}) for some in seeds.values()):
        raise ValueError(f"the contestants need the same seeds, each once; got {seeds}")
    return found


def by_contestant(
    records: Iterable[Record],
    name: Callable[[Config], Hashable],
    measure: Callable[[dict[str, Any]], float] = itemgetter("overall"),
) -> dict[Any, list[float]]:
    """Returns what each contestant ended with, one number a seed; ValueError as `grouped`.

    `measure` takes the number from a run's last measurement.
    """
    return {who: [measure(r.held_out[-1]) for r in g] for who, g in grouped(records, name).items()}


def saved_steps(slow: Record, fast: Record) -> float:
    """Returns the share of its steps that `fast` had left when it reached the end of `slow`.

    Between its last two measurements the loss counts as a straight line, which flatters it where
    the rate falls to 0. Below 0: it never got there, if the line went on.
    """
    before, last = fast.held_out[-2:]
    slope = (before["overall"] - last["overall"]) / (last["step"] - before["step"])
    return (slow.held_out[-1]["overall"] - last["overall"]) / slope / last["step"]
