"""Tables of recorded runs: one row a setting, over its seeds, against a setting of your choice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from muonlab.records.record import Record
from muonlab.statistics import paired_interval

Setting = tuple[tuple[str, str], ...]
LISTS = {"accuracy": "group", "errors": "after"}  # measures of many numbers, and what counts them


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns rows of cells as text, its columns aligned.

    >>> print(table(["name", "n"], [["a", "10"], ["bcdef", "2"]]))
    name   n
    a      10
    bcdef  2
    """
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def runs_table(
    runs: Iterable[Record], where: Mapping[str, str] = {}, against: Mapping[str, str] = {}
) -> str:
    """Returns the runs as text: what differs between settings, seeds, measures, differences.

    Args:
        where: only runs whose config shows these values, for example {"gated": "True"}.
        against: names one setting; the last column is each other's overall loss minus its, paired
            over the seeds that both have, with a 95 % interval.

    Raises:
        ValueError: no run is left, or `against` does not name exactly one setting.
    """
    runs = [run for run in runs if fits(run.config, where)]
    if not runs:
        raise ValueError(f"no recorded run has {_words(where) or 'anything'}")
    settings = _by_setting(runs)
    reference = _reference(settings, against) if against else None
    names = [name for name, _ in next(iter(settings))]
    heads = [*names, *_heads(runs), *(["difference"] if against else [])]
    return table(heads, [_row(dict(key), group, reference) for key, group in settings.items()])


def shown(value: Any) -> str:
    """Returns a value of a config as the table shows it: VO+FFN for groups, none for nothing.

    >>> shown(("VO", "FFN")), shown(()), shown(0.01)
    ('VO+FFN', 'none', '0.01')
    """
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _by_setting(runs: Sequence[Record]) -> dict[Setting, list[Record]]:
    fields = [name for name in runs[0].config if name != "seed"]
    varying = [f for f in fields if len({shown(run.config.get(f)) for run in runs}) > 1]
    settings: dict[Setting, list[Record]] = {}
    for run in runs:
        key = tuple((name, shown(run.config.get(name))) for name in varying)
        settings.setdefault(key, []).append(run)
    return settings


def _reference(
    settings: Mapping[Setting, list[Record]], against: Mapping[str, str]
) -> list[Record]:
    fitting = [group for group in settings.values() if fits(group[0].config, against)]
    if len(fitting) != 1:
        raise ValueError(
            f"{len(fitting)} of {len(settings)} settings have {_words(against)}: name exactly one, "
            "or leave fewer of them with --where"
        )
    return fitting[0]


def _row(
    setting: Mapping[str, str], group: Sequence[Record], reference: Sequence[Record] | None
) -> list[str]:
    finished = [run for run in group if not run.failure]
    cells = [*setting.values(), f"{len(finished)} of {len(group)}"]
    measures = [_measures(run) for run in finished]
    for name in _heads(group)[1:]:
        values = [m[name] for m in measures if m.get(name) is not None]
        cells.append(f"{numpy.mean(values):.3f}" if values else "")
    if reference is not None:
        cells.append(_difference(finished, reference))
    return cells


def _difference(group: Sequence[Record], reference: Sequence[Record]) -> str:
    ours, theirs = (
        {run.config["seed"]: run.held_out[-1]["overall"] for run in runs if not run.failure}
        for runs in (group, reference)
    )
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) < 2 or group[0] is reference[0]:
        return ""
    return str(paired_interval([ours[s] for s in seeds], [theirs[s] for s in seeds]))


def _heads(runs: Sequence[Record]) -> list[str]:
    finished = [run for run in runs if not run.failure]
    return ["runs", *(_measures(finished[0]) if finished else {})]


def _measures(run: Record) -> dict[str, float | None]:
    last = run.held_out[-1]
    for name, word in LISTS.items():
        if name in last:
            return {"overall": last["overall"]} | {
                f"{word} {number}": value for number, value in enumerate(last[name])
            }
    return {name: last[name] for name in ("overall", "head", "middle", "tail")}


def fits(config: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Returns whether a config shows the wanted values; ValueError names a field it lacks."""
    if unknown := wanted.keys() - config.keys():
        raise ValueError(f"no field {sorted(unknown)}; a config has {', '.join(config)}")
    return all(shown(config[name]) == value for name, value in wanted.items())


def _words(wanted: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in wanted.items())
