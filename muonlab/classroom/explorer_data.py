"""What the explorers `runs`, `isotropy` and `facts` draw from: recorded runs, by name and kind."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from muonlab.data.facts import selections
from muonlab.records.record import Record, contestant
from muonlab.records.runs import grouped
from muonlab.statistics import paired_interval
from muonlab.theory.spectra import Isotropy

GROUPS = {
    "VO": ("v", "o"),
    "W_out": ("w_out",),
    "W_in": ("w_in",),
    "W_gate": ("w_gate",),
    "QK": ("q", "k"),
}
KINDS = {False: "not gated", True: "gated"}  # of the feed-forward layer
PARTS = ("overall", "head", "tail")
DIGITS = 4
Spectra = dict[str, dict[str, dict[str, Tensor]]]


def runs_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns the held-out curves of each finished run, lowest final loss first, and a loss axis.

    A run with any matrix under Muon counts as `muon`, and its rate is `lr`; otherwise `adamw`.

    Raises:
        ValueError: no finished run.
    """
    found = grouped(records, paired=False, preset="lesson-04-tuning")
    runs = [_curves(record) for group in found.values() for record in group]
    runs.sort(key=lambda run: run["overall"][-1])
    losses = {part: [loss for run in runs for loss in run[part]] for part in PARTS}
    ranges = {part: [min(all) - 0.1, max(all) + 0.1] for part, all in losses.items()}
    return {"runs": runs, "range": ranges}


def _curves(record: Record) -> dict[str, Any]:
    config, under_muon = record.config, bool(record.config["muon"])
    return {
        "optimizer": "muon" if under_muon else "adamw",
        "rate": config["lr"] if under_muon else config["adamw_matrix_lr"],
        "outer": config["adamw_lr"],
        **{name: [at[name] for at in record.held_out] for name in ("step", "seconds", *PARTS)},
    }


def facts_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns accuracy by group as accuracy[feed-forward kind][name] = [seed][step][group].

    "steps" are those measured; "asked" is how often the law chooses a person of each group.

    Raises:
        ValueError: no finished run.
    """
    found = _by_kind(records, "facts")
    accuracy = {
        kind: {
            n: [[at["accuracy"] for at in run.held_out] for run in runs] for n, runs in g.items()
        }
        for kind, g in found.items()
    }
    first = _first(found).held_out
    asked = selections(len(first[0]["accuracy"]) - 1)
    return {"steps": [at["step"] for at in first], "asked": asked, "accuracy": accuracy}


def bands_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns bands[kind][group][name][metric] = {mean, low, high}, a number for each of "steps".

    A number is a mean over the matrices of a group; mean, low and high are over the seeds.
    """
    runs = _with_spectra(records)
    found = _measured(runs)
    bands: dict[str, Any] = {kind: {} for kind in found}
    for kind, named in found.items():
        for name, groups in named.items():
            for group, numbers in groups.items():
                by_seed = numbers.mean((2, 3))  # (seeds, steps, 4)
                bands[kind].setdefault(group, {})[name] = {
                    metric: _band(by_seed[..., i]) for i, metric in enumerate(Isotropy._fields)
                }
    seeds = {kind: {name: len(g) for name, g in named.items()} for kind, named in runs.items()}
    return {"steps": [at["step"] for at in _first(runs).spectra], "seeds": seeds, "bands": bands}


def _band(by_seed: Tensor) -> dict[str, list[float]]:
    ends = {"mean": by_seed.mean(0), "low": by_seed.amin(0), "high": by_seed.amax(0)}
    return {name: [float(f"{v:.{DIGITS}g}") for v in row.tolist()] for name, row in ends.items()}


def measured_spectra(records: Iterable[Record]) -> Spectra:
    """Returns spectra[feed-forward kind][name][group], each (seeds, steps, matrices, layers, 4).

    The four numbers are those of `theory.spectra.Isotropy`; step 0 is that of the first weights. VO
    has two matrices a layer.

    Raises:
        ValueError: no finished run with spectra.
    """
    return _measured(_with_spectra(records))


def final_losses(records: Iterable[Record]) -> dict[str, dict[str, list[float]]]:
    """Returns losses[feed-forward kind][name]: the held-out loss at the end, one a seed."""
    return {
        kind: {name: [run.held_out[-1]["overall"] for run in runs] for name, runs in named.items()}
        for kind, named in _with_spectra(records).items()
    }


def ahead_from(a: Tensor, b: Tensor) -> int:
    """Returns the number of the first measurement from which on a is certainly above b.

    Args:
        a, b: (seeds, measurements); "certainly": the 95 % interval of a - b lies above 0.

    >>> ahead_from(torch.tensor([[0.0, 1.0], [0.0, 1.1]]), torch.zeros(2, 2))
    1
    """
    lows = [paired_interval(*pair).low for pair in zip(a.T.tolist(), b.T.tolist(), strict=True)]
    return max((number for number, low in enumerate(lows, start=1) if low <= 0), default=0)


def _with_spectra(records: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    return _by_kind((run for run in records if run.spectra), "lesson-09-seeds")


def _by_kind(records: Iterable[Record], preset: str) -> dict[str, dict[str, list[Record]]]:
    """Returns the finished runs as found[feed-forward kind][name], in the order of their seeds."""
    runs = grouped(records, _kind_and_name, paired=False, preset=preset)
    found: dict[str, dict[str, list[Record]]] = {}
    for kind, name in sorted(runs, key=lambda key: key[0] == KINDS[True]):  # not gated first
        found.setdefault(kind, {})[name] = runs[kind, name]
    return found


def _kind_and_name(config: dict[str, Any]) -> tuple[str, str]:
    return KINDS[config["gated"]], contestant(config)


def _first(found: dict[str, dict[str, list[Record]]]) -> Record:
    return next(iter(next(iter(found.values())).values()))[0]


def _measured(found: dict[str, dict[str, list[Record]]]) -> Spectra:
    return {k: {name: _by_group(runs) for name, runs in g.items()} for k, g in found.items()}


def _by_group(runs: list[Record]) -> dict[str, Tensor]:
    known = {group: names for group, names in GROUPS.items() if names[0] in runs[0].spectra[0]}
    return {
        group: torch.tensor(
            [[[at[name] for name in names] for at in run.spectra] for run in runs],
            dtype=torch.float64,
        )
        for group, names in known.items()
    }
