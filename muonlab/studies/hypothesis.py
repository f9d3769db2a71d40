"""A hypothesis with a size, stated before its runs, and what their records say about it."""

import dataclasses
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from muonlab.data.corpus import CLASSES
from muonlab.files import replace_file
from muonlab.optim.routing import GROUPS
from muonlab.records.record import Record
from muonlab.statistics import Interval, paired_interval

METRICS = ("overall", *CLASSES)
STATEMENT, RUNS = "hypothesis.json", "runs.jsonl"


@dataclass(frozen=True)
class Hypothesis:
    """Muon on the groups `lower` ends at least `by` nats below Muon on the groups `than`.

    No group means AdamW alone. The loss is the last held-out one, over all tokens or a class.

    >>> print(Hypothesis(lower=("VO",), than=(), by=0.05))
    Muon on VO ends at least 0.05 nats below AdamW alone (held-out loss, overall)
    """

    lower: tuple[str, ...]
    than: tuple[str, ...] = ()
    by: float = 0.0
    metric: str = "overall"

    def __post_init__(self) -> None:
        for name in ("lower", "than"):
            object.__setattr__(self, name, _groups(name, getattr(self, name)))
        if set(self.lower) == set(self.than):
            raise ValueError(f"both sides are {shown(self.lower)}: name two that differ")
        if self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}; got {self.metric!r}")
        if not 0 <= self.by < math.inf:
            raise ValueError(
                f"by must be a finite number of nats, 0 or more, got {self.by}: to predict the "
                "other direction, exchange lower and than"
            )

    def __str__(self) -> str:
        size = f"at least {self.by:g} nats " if self.by else ""
        sides = f"{shown(self.lower)} ends {size}below {shown(self.than)}"
        return f"{sides} (held-out loss, {self.metric})"


def shown(groups: Sequence[str]) -> str:
    """Returns a contestant in words.

    >>> shown(("VO", "FFN")), shown(())
    ('Muon on VO+FFN', 'AdamW alone')
    """
    return f"Muon on {'+'.join(groups)}" if groups else "AdamW alone"


@dataclass(frozen=True)
class Statement:
    """A hypothesis and when it was stated; its runs belong into the file `runs`."""

    hypothesis: Hypothesis
    utc: str
    runs: Path


def state(hypothesis: Hypothesis, folder: Path) -> Statement:
    """Returns the hypothesis with the time at which `folder` first got it; made when missing.

    Until a run is recorded there, another hypothesis takes its place, with a new time.

    Raises:
        ValueError: runs recorded for another hypothesis or for none, or a broken statement.
    """
    path, runs = folder / STATEMENT, folder / RUNS
    old = _read(path) if path.exists() else None
    if old and old[0] == hypothesis:
        return Statement(hypothesis, old[1], runs)
    if runs.exists():
        told = f"{old[0]}, stated at {old[1]}" if old else "no hypothesis"
        raise ValueError(
            f"{folder} has recorded runs already, made for: {told}. After the result it cannot "
            f"become: {hypothesis}. State a new hypothesis in a new folder, for new runs"
        )
    utc = datetime.now(UTC).isoformat(timespec="seconds")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**dataclasses.asdict(hypothesis), "utc": utc}, indent=1)
    replace_file(path, f"{text}\n".encode())
    return Statement(hypothesis, utc, runs)


@dataclass(frozen=True)
class Finding:
    """What the records say: losses in nats, one a seed, in the order of `seeds`."""

    hypothesis: Hypothesis
    seeds: tuple[int, ...]
    lower: tuple[float, ...]
    than: tuple[float, ...]

    @property
    def interval(self) -> Interval:
        """How far `lower` ended below `than`, paired over the seeds, at 95 %."""
        return paired_interval(self.than, self.lower)

    @property
    def verdict(self) -> str:
        """Is "supported" or "refuted" if the whole interval is on one side, or "cannot tell"."""
        if self.interval.low >= self.hypothesis.by:
            return "supported"
        return "refuted" if self.interval.high < self.hypothesis.by else "cannot tell"


def judge(hypothesis: Hypothesis, runs: Iterable[Record]) -> Finding:
    """Returns what recorded runs say about a hypothesis; runs of other contestants do not matter.

    Raises:
        ValueError: a contestant without runs, with a failed run, with a seed twice or with runs of
            several settings; fewer than two seeds, or not the same for both; no such loss.
    """
    runs = list(runs)
    lower, than = (by_seed(runs, groups) for groups in (hypothesis.lower, hypothesis.than))
    if odd := sorted(lower.keys() ^ than.keys()):
        raise ValueError(
            f"only one of {shown(hypothesis.lower)} and {shown(hypothesis.than)} has been run at "
            f"seed {', '.join(map(str, odd))}: run the other too, or leave those runs out"
        )
    if len(lower) < 2:
        raise ValueError(f"an interval needs at least two seeds, and there is {len(lower)}")
    losses = (tuple(_loss(side[s], hypothesis.metric) for s in lower) for side in (lower, than))
    return Finding(hypothesis, tuple(lower), *losses)


def by_seed(runs: Sequence[Record], groups: tuple[str, ...]) -> dict[int, Record]:
    """Returns a contestant's runs by seed, in order; ValueError as `judge` says."""
    ours = [run for run in runs if set(run.config["muon"]) == set(groups)]
    ours.sort(key=lambda run: run.config["seed"])
    if not ours:
        others = sorted({shown(run.config["muon"]) for run in runs})
        raise ValueError(f"no run of {shown(groups)} among {', '.join(others) or 'no records'}")
    if failed := next((run for run in ours if run.failure), None):
        raise ValueError(
            f"{shown(groups)} failed at seed {failed.config['seed']} ({failed.failure}): an "
            "interval over the other seeds would hide that"
        )
    if fields := [f for f in ours[0].config if f != "seed" and _values(ours, f) > 1]:
        raise ValueError(
            f"the runs of {shown(groups)} have several settings of {', '.join(fields)}: choose one"
        )
    if _values(ours, "seed") < len(ours):
        raise ValueError(f"{shown(groups)} has a seed twice: delete the second line")
    return {run.config["seed"]: run for run in ours}


def _values(runs: Sequence[Record], field: str) -> int:
    return len({json.dumps(run.config[field]) for run in runs})


def _loss(run: Record, metric: str) -> float:
    value = run.held_out[-1].get(metric)
    if value is None:
        raise ValueError(
            f"a run on {run.config['corpus']} has no loss {metric!r}: its text has no such tokens"
        )
    return value


def _groups(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    if isinstance(groups, str):
        raise ValueError(f"{name} takes several groups: write ({groups!r},)")
    if unknown := [group for group in groups if group not in GROUPS]:
        raise ValueError(f"{name} must hold groups of {', '.join(GROUPS)}; got {unknown[0]!r}")
    return tuple(groups)


def _read(path: Path) -> tuple[Hypothesis, str]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        utc = fields.pop("utc")
        return Hypothesis(**fields), utc
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is no statement of a hypothesis ({error}): delete it if no run was made for it"
        ) from error
