"""Table 1 of arXiv 2509.26030 and ours: which matrices Muon takes, and what a model then ends with.

What the paper's protocol runs on each tier of machines stands in tiers.json (`TIERS`), here what
comes out by row (`row_losses`), and what the explorer `table1` draws (`table1_data`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muonlab import checks
from muonlab.files import data_beside
from muonlab.records.record import Record, several_runs
from muonlab.records.runs import by_contestant
from muonlab.statistics import paired_interval
from muonlab.sweeps.study import Grid, cross
from muonlab.training.config import TrainConfig

ALL_GROUPS = ("QK", "VO", "FFN")
_ROWS = data_beside(__file__, "paper_rows.json")
PAPER_ROWS: dict[tuple[str, ...], list[float | None]] = {(*k.split(),): _ROWS[k] for k in _ROWS}
"""What Muon takes, the rest is AdamW's → held-out loss at 160M, non-gated and gated, or None.

Source: arXiv 2509.26030v2, Table 1."""

OWN_ROWS = (("QK", "FFN"), ("FFN",), ("Q",), ("K",))  # what the paper left out
TABLE_SEEDS = [1, 2, 3]


@dataclass(frozen=True)
class Tier:
    """How large a machine the table needs."""

    base: TrainConfig
    rates: list[float]  # tried for AdamW, and for Muon


_PROTOCOL = TrainConfig(nesterov=False, betas=(0.8, 0.95), weight_decay=0.0)
_TIERS = data_beside(__file__, "tiers.json")
TIERS = {n: Tier(replace(_PROTOCOL, **tier["run"]), tier["rates"]) for n, tier in _TIERS.items()}
"""The paper does not state batch, length and schedule; those of the tier "paper" are ours."""


def rows(gated: bool) -> list[tuple[str, ...]]:
    """Returns the sets of groups in the table of one kind of feed-forward layer."""
    theirs = [groups for groups, losses in PAPER_ROWS.items() if losses[gated] is not None]
    return [*theirs, *OWN_ROWS]


def table_rows(bases: Grid) -> Grid:
    """Returns every row that each base's kind of feed-forward layer has, at the table's seeds."""
    return [c for base in bases for c in cross(base, muon=rows(base.gated), seed=TABLE_SEEDS)]


def one_rate(base: TrainConfig, rates: list[float]) -> Grid:
    """Returns AdamW's trials, of both kinds: one rate for all parameters, as in the paper."""
    return cross(base, gated=[False, True], muon=(), adamw_lr=rates)


def tier_runs(tier: Tier) -> tuple[Grid, Grid]:
    """Returns runs that cost what a tier's tunings and its table cost; their rates are others."""
    tuning = cross(one_rate(tier.base, tier.rates), muon=[(), ALL_GROUPS])
    return tuning, table_rows(cross(tier.base, gated=[False, True]))


def widened(near: Iterable[Record], wide: Iterable[Record]) -> list[Record]:
    """Returns a table's runs, those of a wider search in place of the rows that it bettered."""
    near, better = several_runs(near), several_runs(wide)
    several_runs(near + better, alike=True)
    rows = {(run.config["gated"], *run.config["muon"]) for run in better}
    kept = [r for r in near if (r.config["gated"], *r.config["muon"]) not in rows]
    return kept + better


ADAMW, MUON = "all AdamW", "all Muon"
Losses = Mapping[str, Sequence[float]]  # by row: one a seed, the same order of seeds in each


def row_name(groups: Iterable[str]) -> str:
    """Returns how the lesson calls a row, by the groups that Muon takes.

    >>> row_name(["VO", "FFN"]), row_name([]), row_name(["QK", "VO", "FFN"])
    ('VO+FFN', 'all AdamW', 'all Muon')
    """
    groups = checks.several("groups, as ('QK',) or a list", groups)
    return MUON if {*groups} == {*ALL_GROUPS} else "+".join(groups) or ADAMW


# Few matrices first: single groups before pairs, and in each the order of the forward pass.
ROW_NAMES = [ADAMW, "Q", "K", "QK", "V", "O", "VO", "W_in", "W_out", "W_gate", "FFN"]
ROW_NAMES += ["VO+W_in", "VO+W_out", "VO+W_in+W_gate", "VO+W_out+W_gate", "VO+W_in+W_out"]
ROW_NAMES += ["V+FFN", "O+FFN", "QK+FFN", "VO+FFN", MUON]


def paper_losses(gated: bool) -> dict[str, list[float]]:
    """Returns the paper's losses by row, one run each."""
    losses_by_row = {row_name(groups): losses[gated] for groups, losses in PAPER_ROWS.items()}
    return {row: [loss] for row in ROW_NAMES if (loss := losses_by_row.get(row)) is not None}


def row_losses(records: Iterable[Record], gated: bool) -> dict[str, list[float]]:
    """Returns the final held-out loss of each row by seed, rows in the order of ROW_NAMES.

    Raises:
        ValueError: no runs of this kind, or rows that did not finish at the same seeds.
    """
    runs = [run for run in several_runs(records) if run.config["gated"] is gated]
    losses_by_row = by_contestant(runs, lambda config: row_name(config["muon"]))
    return {row: losses_by_row[row] for row in ROW_NAMES if row in losses_by_row}


def recovered(losses: Losses) -> dict[str, list[float]]:
    """Returns each row's share of the way from all AdamW to all Muon, seed by seed.

    >>> recovered({"all AdamW": [5.0], "QK": [4.5], "all Muon": [3.0]})
    {'all AdamW': [0.0], 'QK': [0.25], 'all Muon': [1.0]}
    """
    ends = list(zip(losses[ADAMW], losses[MUON], strict=True))
    return {
        row: [(a - x) / (a - m) for x, (a, m) in zip(values, ends, strict=True)]
        for row, values in losses.items()
    }


def table1_data(recipes: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """Returns tables[feed-forward kind][source] = {loss, share, gap}, each by row and seed.

    Args:
        recipes: the runs of each source but the paper, by the name that the explorer gives it.
    """
    tables = {}
    for kind, gated in (("not gated", False), ("gated", True)):
        ours = {name: row_losses(runs, gated) for name, runs in recipes.items()}
        losses = {"the paper, 160M": paper_losses(gated)} | ours
        tables[kind] = {name: _table(losses_of_kind) for name, losses_of_kind in losses.items()}
    return {"tables": tables}


def _table(losses: Losses) -> dict[str, Any]:
    gap = [a - m for a, m in zip(losses[ADAMW], losses[MUON], strict=True)]
    interval = list(paired_interval(losses[ADAMW], losses[MUON])[:3]) if len(gap) > 1 else gap
    return {"loss": losses, "share": recovered(losses), "gap": interval}
