"""Recorded runs as what the explorer `runs` draws from."""

from collections.abc import Iterable
from typing import Any

from muonlab.experiments.records import Record

PARTS = ("overall", "head", "tail")


def runs_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns the held-out curves of each finished run, lowest final loss first, and a loss axis.

    A run with any matrix under Muon counts as `muon`, and its rate is `lr`; otherwise `adamw`.

    Raises:
        ValueError: no finished run.
    """
    runs = [_run(record) for record in records if not record.failure]
    if not runs:
        raise ValueError("no recorded run is finished: run `muonlab ablate lesson-04-tuning`")
    runs.sort(key=lambda run: run["overall"][-1])
    ranges = {part: _range([loss for run in runs for loss in run[part]]) for part in PARTS}
    return {"runs": runs, "range": ranges}


def _run(record: Record) -> dict[str, Any]:
    config, under_muon = record.config, bool(record.config["muon"])
    curves = ("step", "seconds", *PARTS)
    return {
        "optimizer": "muon" if under_muon else "adamw",
        "rate": config["lr"] if under_muon else config["adamw_matrix_lr"],
        "outer": config["adamw_lr"],
        **{name: [measured[name] for measured in record.held_out] for name in curves},
    }


def _range(losses: list[float]) -> list[float]:
    return [min(losses) - 0.1, max(losses) + 0.1]
