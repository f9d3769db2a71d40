"""Recorded runs as what the explorers `runs` and `facts` draw from."""

from collections.abc import Iterable
from typing import Any

from muonlab.data.facts import selections
from muonlab.records.record import Record, contestant
from muonlab.records.runs import grouped

PARTS = ("overall", "head", "tail")


def runs_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns the held-out curves of each finished run, lowest final loss first, and a loss axis.

    A run with any matrix under Muon counts as `muon`, and its rate is `lr`; otherwise `adamw`.

    Raises:
        ValueError: no finished run.
    """
    found = grouped(records, paired=False, preset="lesson-04-tuning")
    runs = [_run(record) for group in found.values() for record in group]
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


def facts_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns accuracy by group as accuracy[feed-forward kind][name] = [seed][step][group].

    "steps" are those measured; "asked" is how often the law chooses a person of each group.

    Raises:
        ValueError: no finished run.
    """
    kinds = {False: "not gated", True: "gated"}
    key = lambda config: (kinds[config["gated"]], contestant(config))  # noqa: E731
    found = grouped(records, key, paired=False, preset="facts")
    accuracy: dict[str, dict[str, list[Any]]] = {kind: {} for kind in kinds.values()}
    for (kind, name), runs in found.items():
        accuracy[kind][name] = [[at["accuracy"] for at in run.held_out] for run in runs]
    first = next(iter(found.values()))[0].held_out
    groups = len(first[0]["accuracy"])
    return {
        "steps": [measured["step"] for measured in first],
        "asked": selections(groups - 1),
        "accuracy": accuracy,
    }


def facts_name(run: Record) -> str:
    """Returns what steps the matrices of a run, and which of them, see `contestant`."""
    return contestant(run.config)
