"""Table 1 of arXiv 2509.26030 and ours: losses by row, and what the explorer `table1` draws."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from muonlab.records.record import Record
from muonlab.records.runs import by_contestant
from muonlab.statistics import paired_interval
from muonlab.studies.ablation import ALL, OWN_ROWS, PAPER_ROWS
from muonlab.studies.grids import KINDS

ADAMW, MUON = "all AdamW", "all Muon"
Losses = Mapping[str, Sequence[float]]  # by row: one a seed, the same order of seeds in each


def row_name(groups: Iterable[str]) -> str:
    """Returns how the lesson calls a row, by the groups that Muon takes.

    >>> row_name(["VO", "FFN"]), row_name([]), row_name(["QK", "VO", "FFN"])
    ('VO+FFN', 'all AdamW', 'all Muon')
    """
    return {(): ADAMW, ALL: MUON}.get(tuple(groups), "+".join(groups))


def _order() -> list[str]:
    """Few matrices first: single groups before pairs, and in each the order of the forward pass."""
    singles = ["Q", "K", "QK", "V", "O", "VO", "W_in", "W_out", "W_gate", "FFN"]
    known = [row_name(groups) for groups in (*PAPER_ROWS, *OWN_ROWS)]
    rest = sorted(set(known) - {*singles, ADAMW, MUON, "VO+FFN"}, key=known.index)
    return [ADAMW, *singles, *rest, "VO+FFN", MUON]


ROWS = _order()


def paper_losses(gated: bool) -> dict[str, list[float]]:
    """Returns the paper's losses by row, one run each."""
    found = {row_name(groups): losses[gated] for groups, losses in PAPER_ROWS.items()}
    return {row: [found[row]] for row in ROWS if found.get(row) is not None}


def row_losses(records: Iterable[Record], gated: bool) -> dict[str, list[float]]:
    """Returns the final held-out loss of each row by seed, rows in the order of ROWS.

    Raises:
        ValueError: no runs of this kind, or rows that did not finish at the same seeds.
    """
    runs = [run for run in records if run.config["gated"] is gated]
    found = by_contestant(runs, lambda config: row_name(config["muon"]))
    return {row: found[row] for row in ROWS if row in found}


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


def table1_data(frozen: Iterable[Record], retuned: Iterable[Record]) -> dict[str, Any]:
    """Returns tables[feed-forward kind][source] = {loss, share, gap}, each by row and seed."""
    frozen, retuned = list(frozen), list(retuned)
    tables = {
        "gated" if gated else "not gated": {
            "paper": _table(paper_losses(gated)),
            "frozen": _table(row_losses(frozen, gated)),
            "retuned": _table(row_losses(retuned, gated)),
        }
        for gated in KINDS
    }
    return {"tables": tables}


def _table(losses: Losses) -> dict[str, Any]:
    gap = [a - m for a, m in zip(losses[ADAMW], losses[MUON], strict=True)]
    interval = list(paired_interval(losses[ADAMW], losses[MUON])) if len(gap) > 1 else gap
    return {"loss": losses, "share": recovered(losses), "gap": interval}
