"""Tables: rows of cells, and recorded runs, a row for each setting against one of your choice."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from muonlab import checks
from muonlab.records.record import Record, several_runs
from muonlab.statistics import paired_interval

ShownFields = tuple[tuple[str, str], ...]
LONGEST_CELL = 10_000  # characters of a cell


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns rows of cells as text, its columns aligned.

    >>> print(table(["name", "n"], [["a", "10"], ["bcdef", "2"]]))
    name   n
    a      10
    bcdef  2
    """
    lines = [[checks.printable(cell, LONGEST_CELL) for cell in line] for line in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def columns(rows: Iterable[Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Returns heads and rows of cells, from rows by head; what a row lacks is empty."""
    rows = list(rows)
    heads = [*dict.fromkeys(head for row in rows for head in row)]
    return heads, [[row.get(head, "") for head in heads] for row in rows]


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown, as its cells are; a | in one does not end it."""
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def runs_table(
    runs: Iterable[Record], where: Mapping[str, Any] = {}, against: Mapping[str, Any] = {}
) -> str:
    """Returns the runs as text: what differs between settings, seeds, measures, differences.

    Args:
        where: only runs whose config has, or shows, these values: {"gated": "True"}, {"lr": 0.01}.
        against: names one setting; the last column is each other's overall loss minus its, paired
            over the seeds that both have, with a 95 % interval.

    Raises:
        ValueError: no run is left, or `against` does not name exactly one setting.
    """
    chosen = [run for run in several_runs(runs) if fits(run.config, where)]
    if not chosen:
        raise ValueError(f"no recorded run has {', '.join(words(where)) or 'anything'}")
    settings = _by_setting(chosen)
    references = [group for group in settings.values() if fits(group[0].config, against)]
    if against and len(references) != 1:
        matches = f"{len(references)} of {len(settings)} settings have {', '.join(words(against))}"
        raise ValueError(f"{matches}: name exactly one, or leave fewer of them with --where")
    reference = references[0] if against else []
    return table(*columns(dict(s) | _cells(group, reference) for s, group in settings.items()))


def shown(value: Any) -> str:
    """Returns a value of a config as the table shows it: VO+FFN for groups, none for nothing.

    >>> shown(("VO", "FFN")), shown(()), shown(0.01), shown((2, 0.5))
    ('VO+FFN', 'none', '0.01', '2.0+0.5')
    """
    if isinstance(value, list | tuple):
        return "+".join(v if isinstance(v, str) else str(float(v)) for v in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _by_setting(runs: Sequence[Record]) -> dict[ShownFields, list[Record]]:
    fields = [name for name in runs[0].config if name != "seed"]
    varying = [f for f in fields if len({shown(run.config.get(f)) for run in runs}) > 1]
    settings = defaultdict(list)
    for run in runs:
        settings[tuple((f, shown(run.config.get(f))) for f in varying)].append(run)
    return settings


def _cells(group: Sequence[Record], reference: Sequence[Record]) -> dict[str, str]:
    finished = [run for run in group if not run.failure]
    cells = {"runs": f"{len(finished)} of {len(group)}"}
    if not finished:
        return cells
    measured = [measures(run) for run in finished]
    for name in measured[0]:
        values = [value for of_run in measured if (value := of_run.get(name)) is not None]
        cells[name] = f"{numpy.mean(values):.3f}" if values else ""
    if reference:
        cells["difference"] = "" if group is reference else _difference(finished, reference)
    return cells


def _difference(group: Sequence[Record], reference: Sequence[Record]) -> str:
    ours, theirs = (
        {run.config["seed"]: run.held_out[-1]["overall"] for run in runs if not run.failure}
        for runs in (group, reference)
    )
    pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    return str(paired_interval(*zip(*pairs, strict=True))) if len(pairs) > 1 else ""


def measures(run: Record) -> dict[str, float | None]:
    """Returns what a task measured at the end; numbers in a list count from 0."""
    measured: dict[str, float | None] = {}
    if not run.held_out:
        raise ValueError("expected a finished run, got a record whose held_out is []")
    for name, value in run.held_out[-1].items():
        if isinstance(value, list):
            measured |= {f"{name} {i}": v for i, v in enumerate(value)}
        elif name not in ("step", "seconds", "cpu_seconds"):
            measured[name] = value
    return measured


def fits(config: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Returns whether a config shows the wanted values; ValueError names a field it lacks.

    Groups count in any order.
    """
    for name in fields:
        checks.choice("a field of a config", name, config)
    return all(
        {*config[name]} == {*value}
        if name == "muon" and not isinstance(value, str)
        else shown(config[name]) == shown(value)
        for name, value in fields.items()
    )


def words(fields: Mapping[str, Any]) -> list[str]:
    """Returns fields and their values as `muonlab` reads and shows them."""
    return [f"{name}={shown(value)}" for name, value in fields.items()]
