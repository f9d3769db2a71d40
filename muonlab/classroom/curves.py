"""Recorded runs as what the explorer `runs` draws from."""

from collections.abc import Iterable
from typing import Any

from muonlab.experiments.records import Record

PARTS = ("overall", "head", "tail")


def runs_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns the held-out curves of each run, lowest rate first, and one loss axis for each part.

    A run with any matrix under Muon counts as `muon`, and its rate is `lr`; otherwise `adamw`.
    """
    runs = sorted((_run(record) for record in records), key=lambda run: run["rate"])
    ranges = {part: _range([loss for run in runs for loss in run[part]]) for part in PARTS}
    return {"runs": runs, "range": ranges}


def _run(record: Record) -> dict[str, Any]:
    under_muon = bool(record.config["muon"])
    return {
        "optimizer": "muon" if under_muon else "adamw",
        "rate": float(f"{record.config['lr' if under_muon else 'adamw_lr']:.2g}"),
        "steps": [measured["step"] for measured in record.held_out],
        "seconds": [measured["seconds"] for measured in record.held_out],
        **{part: [measured[part] for measured in record.held_out] for part in PARTS},
    }


def _range(losses: list[float]) -> list[float]:
    return [min(losses) - 0.1, max(losses) + 0.1]
