"""The named grids whose records the lessons show; `muonlab ablate NAME` runs one."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import muonlab
from muonlab.experiments import records
from muonlab.experiments.config import TrainConfig
from muonlab.experiments.records import Record

RESULTS = Path(muonlab.__file__).parents[1] / "data" / "results"

BASE = TrainConfig(steps=150, batch=16, context=64, eval_tokens=65_536)
OUTER_RATES = (0.01, 0.02, 0.04, 0.08)  # AdamW's, of the embedding and the head, in either run
ADAMW_RATES = (0.00025, 0.0005, 0.001, 0.002)  # of the matrices under AdamW
MUON_RATES = (0.0025, 0.005, 0.01, 0.02)  # of the matrices under Muon
SEEDS = 5  # numbered from 1: seed 0 chose the rates, so it does not count


def preset(name: str) -> list[TrainConfig]:
    """Returns the configurations of a named grid.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]()


def lesson_04_tuning() -> list[TrainConfig]:
    """Returns sixteen trials for AdamW and sixteen for Muon, one seed, each rate twice the last.

    Both have two rates to tune, four values of each: that of the matrices, and that of the
    embedding and the head, which AdamW steps in either run. With one rate for all, AdamW would have
    to choose between the two, and its loss would show that choice rather than the optimizer.
    """
    pairs = list(product(OUTER_RATES, range(len(MUON_RATES))))
    adamw = [replace(BASE, muon=(), adamw_lr=o, adamw_matrix_lr=ADAMW_RATES[k]) for o, k in pairs]
    muon = [replace(BASE, lr=MUON_RATES[k], adamw_lr=outer) for outer, k in pairs]
    return adamw + muon


def lesson_04_seeds() -> list[TrainConfig]:
    """Returns the best trial of each optimizer in lesson-04-tuning, at ten other seeds.

    The first five left open whether the tail gains more than the head: the interval of the
    difference was -0.006 to 0.144. Five more were added, once, before anything else was looked at.
    """
    return _best_at_new_seeds("lesson-04-tuning", lambda config: bool(config.muon), 2 * SEEDS)


def lesson_03_tuning() -> list[TrainConfig]:
    """Returns five rates for each of four ways to orthogonalize, one seed.

    `update_rms` gives every update the same norm, so that a larger step cannot pass for a better
    direction. "exact" is the polar factor from an SVD in float64.
    """
    base = replace(BASE, adjust_lr_fn="update_rms", adamw_lr=OUTER_RATES[1])
    return [
        replace(base, ns_coefficients=name, ns_steps=steps, lr=rate)
        for name, steps in (("jordan", 3), ("jordan", 5), ("polar_express", 5), ("exact", 5))
        for rate in (
            MUON_RATES[0] / 2,
            *MUON_RATES,
        )  # without the lowest, two optima lie at an edge
    ]


def lesson_03_seeds() -> list[TrainConfig]:
    """Returns the best rate of each way in lesson-03-tuning, at five other seeds."""
    return _best_at_new_seeds("lesson-03-tuning", lambda c: (c.ns_coefficients, c.ns_steps))


def _best_at_new_seeds(
    tuning: str, contestant: Callable[[TrainConfig], Hashable], seeds: int = SEEDS
) -> list[TrainConfig]:
    """Returns, for each contestant of a recorded grid, its best trial at the seeds 1, 2, …

    Raises:
        ValueError: the grid has not been run to its end.
    """
    known = {record.run_id: record for record in recorded(tuning)}
    configs = preset(tuning)
    if missing := sum(records.run_id(config) not in known for config in configs):
        raise ValueError(
            f"{missing} of the trials that choose the rates are not in {RESULTS.name}/"
            f"{tuning}.jsonl: run `muonlab ablate {tuning}` first"
        )
    trials: dict[Hashable, list[Record]] = {}
    for config in configs:
        trials.setdefault(contestant(config), []).append(known[records.run_id(config)])
    best = [TrainConfig(**best_trial(group).config) for group in trials.values()]
    return [replace(config, seed=seed) for config in best for seed in range(1, seeds + 1)]


def best_trial(trials: Iterable[Record]) -> Record:
    """Returns the record with the lowest overall held-out loss at its end."""
    finished = [record for record in trials if not record.diverged]
    if not finished:
        raise ValueError("every trial diverged: choose lower rates")
    return min(finished, key=lambda record: record.held_out[-1]["overall"])


def recorded(name: str) -> list[Record]:
    """Returns the records kept in data/results for a grid; empty when it was never run."""
    path = RESULTS / f"{name}.jsonl"
    return records.read(path) if path.exists() else []


PRESETS: dict[str, Callable[[], list[TrainConfig]]] = {
    "lesson-03-tuning": lesson_03_tuning,
    "lesson-03-seeds": lesson_03_seeds,
    "lesson-04-tuning": lesson_04_tuning,
    "lesson-04-seeds": lesson_04_seeds,
}
