"""Recorded runs as contests: who ended where, and how many steps one saved on another."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from muonlab.records.record import Record


def overall(measured: dict[str, Any]) -> float:
    """Returns the held-out loss, or what a task has in its place."""
    return measured["overall"]


def by_contestant(
    records: Iterable[Record],
    name: Callable[[dict[str, Any]], Hashable],
    measure: Callable[[dict[str, Any]], float] = overall,
) -> dict[Any, list[float]]:
    """Returns what each contestant ended with, one number a seed, in the order of the seeds.

    Args:
        records: failed runs are left out.
        name: the contestant that a configuration belongs to.
        measure: the number to take from a run's last measurement.

    Raises:
        ValueError: no finished run, or contestants that did not finish at the same seeds.
    """
    found: dict[Any, list[float]] = {}
    seeds: dict[Any, list[int]] = {}
    for run in sorted((r for r in records if not r.failure), key=lambda r: r.config["seed"]):
        contestant = name(run.config)
        found.setdefault(contestant, []).append(measure(run.held_out[-1]))
        seeds.setdefault(contestant, []).append(run.config["seed"])
    if not found:
        raise ValueError("no recorded run is finished: `muonlab ablate` runs a preset")
    if len({tuple(numbers) for numbers in seeds.values()}) > 1:
        raise ValueError(f"the contestants need the same seeds, got {seeds}")
    return found


def saved_steps(slow: Record, fast: Record) -> float:
    """Returns the share of its steps that `fast` had left when it reached the end of `slow`.

    Between its last two measurements the loss counts as a straight line, which flatters it where
    the rate falls to 0. Below 0: it never got there, if the line went on.
    """
    before, last = fast.held_out[-2:]
    slope = (before["overall"] - last["overall"]) / (last["step"] - before["step"])
    return (slow.held_out[-1]["overall"] - last["overall"]) / slope / last["step"]
