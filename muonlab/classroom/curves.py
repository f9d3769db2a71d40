"""Recorded runs as what the explorers `runs` and `facts` draw from."""

from collections.abc import Iterable
from typing import Any

from muonlab.data.facts import selections
from muonlab.records.record import Record

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


def facts_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns accuracy by group as accuracy[feed-forward kind][name] = [seed][step][group].

    "steps" are those measured; "asked" is how often the law chooses a person of each group.

    Raises:
        ValueError: no finished run.
    """
    runs = sorted((r for r in records if not r.failure), key=lambda r: r.config["seed"])
    if not runs:
        raise ValueError("no recorded run is finished: run `muonlab ablate facts`")
    accuracy: dict[str, dict[str, list[Any]]] = {"not gated": {}, "gated": {}}
    for run in runs:
        kind = accuracy["gated" if run.config["gated"] else "not gated"]
        kind.setdefault(facts_name(run), []).append([m["accuracy"] for m in run.held_out])
    steps = [measured["step"] for measured in runs[0].held_out]
    m = len(runs[0].held_out[0]["accuracy"]) - 1
    return {"steps": steps, "asked": selections(m), "accuracy": accuracy}


def facts_name(run: Record) -> str:
    """Returns what steps the matrices of a run: AdamW, SGD, Muon, or Muon for some of them."""
    groups = tuple(run.config["muon"])
    if groups and run.config["rule"] == "sgd":
        return "SGD with momentum"
    return {(): "AdamW", ("QK", "VO", "FFN"): "Muon"}.get(groups, f"Muon({', '.join(groups)})")
