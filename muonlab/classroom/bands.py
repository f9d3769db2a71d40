"""Recorded spectra by group of matrices, and what the explorer `isotropy` draws from."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

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
KINDS = {False: "not gated", True: "gated"}
DIGITS = 4
Spectra = dict[str, dict[str, dict[str, Tensor]]]


def measured_spectra(records: Iterable[Record]) -> Spectra:
    """Returns spectra[feed-forward kind][name][group], each (seeds, steps, matrices, layers, 4).

    The four numbers are those of `theory.spectra.Isotropy`; step 0 is that of the first weights. VO
    has two matrices a layer.

    Raises:
        ValueError: no finished run with spectra.
    """
    return {
        kind: {name: _by_group(runs) for name, runs in named.items()}
        for kind, named in _sorted(records).items()
    }


def final_losses(records: Iterable[Record]) -> dict[str, dict[str, list[float]]]:
    """Returns losses[feed-forward kind][name]: the held-out loss at the end, one a seed."""
    return {
        kind: {name: [run.held_out[-1]["overall"] for run in runs] for name, runs in named.items()}
        for kind, named in _sorted(records).items()
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


def bands_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns bands[kind][group][name][metric] = {mean, low, high}, a number for each of "steps".

    A number is a mean over the matrices of a group; mean, low and high are over the seeds.
    """
    records = list(records)
    found = measured_spectra(records)
    bands: dict[str, Any] = {}
    for kind, named in found.items():
        for name, groups in named.items():
            for group, numbers in groups.items():
                by_seed = numbers.mean((2, 3))  # (seeds, steps, 4)
                bands.setdefault(kind, {}).setdefault(group, {})[name] = {
                    metric: _band(by_seed[..., i]) for i, metric in enumerate(Isotropy._fields)
                }
    seeds = {kind: {n: len(g["VO"]) for n, g in named.items()} for kind, named in found.items()}
    return {"steps": _steps(records), "seeds": seeds, "bands": bands}


def _sorted(records: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    runs = [run for run in records if run.spectra]
    key = lambda config: (KINDS[config["gated"]], contestant(config))  # noqa: E731
    found = grouped(runs, key, paired=False, preset="lesson-09-seeds")
    return {
        kind: {name: group for (its_kind, name), group in found.items() if its_kind == kind}
        for kind in KINDS.values()
        if any(its_kind == kind for its_kind, _ in found)
    }


def _by_group(runs: list[Record]) -> dict[str, Tensor]:
    known = {group: names for group, names in GROUPS.items() if names[0] in runs[0].spectra[0]}
    return {
        group: torch.tensor(
            [[[at[name] for name in names] for at in run.spectra] for run in runs],
            dtype=torch.float64,
        )
        for group, names in known.items()
    }


def _steps(records: list[Record]) -> list[int]:
    first = next(run for run in records if run.spectra and not run.failure)
    return [at["step"] for at in first.spectra]


def _band(by_seed: Tensor) -> dict[str, list[float]]:
    ends = {"mean": by_seed.mean(0), "low": by_seed.amin(0), "high": by_seed.amax(0)}
    return {name: [float(f"{v:.{DIGITS}g}") for v in row.tolist()] for name, row in ends.items()}
