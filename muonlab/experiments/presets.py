"""The named grids whose records the lessons show; `muonlab ablate NAME` runs one."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import muonlab
from muonlab.experiments import records
from muonlab.experiments.config import TrainConfig
from muonlab.experiments.records import Record

RESULTS = Path(muonlab.__file__).parents[1] / "data" / "results"

BASE = TrainConfig(steps=200, batch=16, context=64, eval_tokens=65_536)
RATES = tuple(round(10 ** (-3.5 + k / 4), 6) for k in range(7))  # 0.000316, 0.000562 … 0.01
EMBEDDING_RATE = RATES[4]  # AdamW's share of a Muon run; fixed before anything was tuned
MUON_RATES = tuple(round(10 ** (-3 + k / 4), 6) for k in range(7))  # 0.001, 0.001778 … 0.031623
SEEDS = tuple(range(1, 6))  # seed 0 chose the rates, so it does not count


def preset(name: str) -> list[TrainConfig]:
    """Returns the configurations of a named grid.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]()


def lesson_04_tuning() -> list[TrainConfig]:
    """Returns seven trials for AdamW and seven for Muon, one seed, each rate 1.8 times the last.

    AdamW's trials vary the one rate of all its parameters. Muon's vary `lr` alone: the embedding
    and the head keep AdamW at a rate that was fixed beforehand, so no trial is spent on it.
    """
    adamw = [replace(BASE, muon=(), adamw_lr=rate) for rate in RATES]
    muon = [replace(BASE, lr=rate, adamw_lr=EMBEDDING_RATE) for rate in MUON_RATES]
    return adamw + muon


def lesson_04_seeds() -> list[TrainConfig]:
    """Returns the best trial of each optimizer in lesson-04-tuning, at five seeds not used there.

    Raises:
        ValueError: lesson-04-tuning has not been run to its end.
    """
    tuning = {record.run_id: record for record in _recorded("lesson-04-tuning")}
    missing = [c for c in lesson_04_tuning() if records.run_id(c) not in tuning]
    if missing:
        raise ValueError(
            f"{len(missing)} of the trials that choose the rates are not in {RESULTS.name}/"
            "lesson-04-tuning.jsonl: run `muonlab ablate lesson-04-tuning` first"
        )
    trials = [tuning[records.run_id(c)] for c in lesson_04_tuning()]
    best = [
        best_trial(record for record in trials if bool(record.config["muon"]) is under_muon)
        for under_muon in (False, True)
    ]
    return [replace(TrainConfig(**b.config), seed=seed) for b in best for seed in SEEDS]


def best_trial(trials: Iterable[Record]) -> Record:
    """Returns the record with the lowest overall held-out loss at its end."""
    finished = [record for record in trials if not record.diverged]
    if not finished:
        raise ValueError("every trial diverged: choose lower rates")
    return min(finished, key=lambda record: record.held_out[-1]["overall"])


def _recorded(name: str) -> list[Record]:
    path = RESULTS / f"{name}.jsonl"
    return records.read(path) if path.exists() else []


PRESETS: dict[str, Callable[[], list[TrainConfig]]] = {
    "lesson-04-tuning": lesson_04_tuning,
    "lesson-04-seeds": lesson_04_seeds,
}
