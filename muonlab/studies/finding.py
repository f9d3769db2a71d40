"""What recorded runs say about a hypothesis: each side's ends, paired over seeds, and a verdict."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muonlab import checks
from muonlab.records.record import Record, contestant, several
from muonlab.records.table import fits, measures, words
from muonlab.statistics import Interval, mean_interval
from muonlab.studies.hypothesis import Hypothesis, Setting
from muonlab.training.config import TrainConfig


@dataclass(frozen=True)
class Finding:
    """What the records say: how each side ended, one number a seed, in the order of `seeds`."""

    hypothesis: Hypothesis
    seeds: tuple[int, ...]
    better: tuple[float, ...]
    than: tuple[float, ...]

    @property
    def leads(self) -> list[float]:
        """How far `better` ended ahead of `than`, one number a seed."""
        sign = -1 if self.hypothesis.more else 1
        return [sign * (t - b) for b, t in zip(self.better, self.than, strict=True)]

    @property
    def interval(self) -> Interval:
        """How far it ended ahead, paired over the seeds, at 95 %."""
        return mean_interval(self.leads)

    @property
    def verdict(self) -> str:
        """Is "supported" or "refuted" if the whole interval is on one side, or "cannot tell"."""
        if self.interval.low >= self.hypothesis.by:
            return "supported"
        return "refuted" if self.interval.high < self.hypothesis.by else "cannot tell"


def judge(hypothesis: Hypothesis, runs: Iterable[Record]) -> Finding:
    """Returns what recorded runs say about a hypothesis; runs of other settings do not matter.

    Raises:
        ValueError: a side without runs, with a failed run, with a seed twice or with runs of
            several settings; fewer than two seeds, or not the same for both; no such metric.
    """
    checks.kind("a Hypothesis", hypothesis, Hypothesis)
    runs = several(runs)
    better, than = both_sides(hypothesis, runs)
    if odd := sorted(better.keys() ^ than.keys()):
        raise ValueError(
            f"only one of {' and '.join(hypothesis.names)} has been run at "
            f"seed {', '.join(map(str, odd))}: run the other too, or leave those runs out"
        )
    if len(better) < 2:
        raise ValueError(f"an interval needs at least two seeds, and there is {len(better)}")
    ends = (tuple(_end(side[s], hypothesis.metric) for s in better) for side in (better, than))
    return Finding(hypothesis, tuple(better), *ends)


def both_sides(hypothesis: Hypothesis, runs: Sequence[Record]) -> list[dict[int, Record]]:
    """Returns the runs of either side by seed, in order, `better` first; ValueError as `judge`."""
    return [
        by_seed(runs, {**hypothesis.shared, **side}, name)
        for name, side in zip(hypothesis.names, (hypothesis.better, hypothesis.than), strict=True)
    ]


def by_seed(
    runs: Sequence[Record], side: Setting | tuple[str, ...], name: str = "this side"
) -> dict[int, Record]:
    """Returns a side's runs by seed, in order; ValueError as `judge`. A tuple: Muon's groups."""
    fields = {"muon": side} if isinstance(side, tuple) else side
    for field in fields:
        checks.choice("a field of a side", field, vars(TrainConfig()))
    if isinstance(fields.get("muon"), str):
        raise TypeError(f"muon takes several groups, as ('QK',); got {fields['muon']!r}")
    ours = [run for run in several(runs) if fits(run.config, fields)]
    ours.sort(key=lambda run: run.config["seed"])
    if not ours:
        setting = ", ".join(words(fields))
        others = ", ".join(sorted({contestant(run.config) for run in runs})) or "nothing"
        raise ValueError(f"no run of {name} ({setting}) is among the {len(runs)} records: {others}")
    if failed := next((run for run in ours if run.failure), None):
        raise ValueError(
            f"{name} failed at seed {failed.config['seed']} ({failed.failure}): an "
            "interval over the other seeds would hide that"
        )
    if mixed := [f for f in ours[0].config if f != "seed" and _values(ours, f) > 1]:
        raise ValueError(
            f"the runs of {name} have several settings of {', '.join(mixed)}: name one of each "
            "in the hypothesis"
        )
    if _values(ours, "seed") < len(ours):
        raise ValueError(f"{name} has a seed twice: delete the second line")
    return {run.config["seed"]: run for run in ours}


def _values(runs: Sequence[Record], name: str) -> int:
    return len({json.dumps(run.config[name]) for run in runs})


def _end(run: Record, metric: str) -> float:
    measured = measures(run)
    if (value := measured.get(metric)) is None:
        names = ", ".join(name for name, value in measured.items() if value is not None)
        raise ValueError(
            f"a run on {run.config['corpus']} has no {metric!r}; its records hold {names}"
        )
    checks.number(metric, value)
    return value
