"""Studies: equal trials at seed 0, then the best of each contestant at new seeds."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from muonlab.records.record import Record
from muonlab.records.store import path_of
from muonlab.sweeps.results import by_config, recorded
from muonlab.training.config import TrainConfig


def badness(record: Record) -> float:
    """Returns what is low for a good run: minus the sum of accuracies, or the loss at the end."""
    last = record.held_out[-1]
    return -sum(last["accuracy"]) if "accuracy" in last else last["overall"]


def best_trial(trials: Iterable[Record], by: Callable[[Record], float] = badness) -> Record:
    """Returns the record that ended best, for which `by` is lowest."""
    finished = [record for record in trials if not record.failure]
    if not finished:
        raise ValueError("every trial diverged: choose lower rates")
    return min(finished, key=by)


def best_at_new_seeds(
    tuning: str,
    trials: Sequence[TrainConfig],
    contestant: Callable[[TrainConfig], Hashable],
    seeds: int,
    by: Callable[[Record], float] = badness,
) -> list[TrainConfig]:
    """Returns, for each contestant of a recorded grid, its best trial at the seeds 1, 2, …

    Args:
        tuning: the name of the grid.
        trials: its configurations; they have seed 0, which does not count any more.
        contestant: gives the same value for all trials that compete with each other.
        by: what is lowest for the best of them.

    Raises:
        ValueError: the grid has not been run to its end.
    """
    known = by_config(recorded(tuning))
    if missing := sum(trial not in known for trial in trials):
        raise ValueError(
            f"{missing} of the trials that choose the rates are not in {path_of(tuning).name}: "
            f"run `muonlab ablate {tuning}` first"
        )
    groups: dict[Hashable, list[Record]] = {}
    for trial in trials:
        groups.setdefault(contestant(trial), []).append(known[trial])
    best = [TrainConfig(**best_trial(group, by).config) for group in groups.values()]
    return [replace(config, seed=seed) for config in best for seed in range(1, seeds + 1)]
