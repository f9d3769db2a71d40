"""Verdicts: on a difference, on what others report, and on a hypothesis by recorded runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from muonlab import checks
from muonlab.records.record import Record, contestant, several_runs
from muonlab.records.table import fits, measures, words
from muonlab.statistics import Interval, mean_interval
from muonlab.studies.hypothesis import Hypothesis, Setting


def verdict(interval: Interval, size: float) -> str:
    """Returns one of four words on a difference that matters from `size` on, the same everywhere.

    "leads": the whole interval lies on one side of 0, the mean at least `size` from it. "leads a
    little": the same with a mean nearer to 0. "level": the interval lies within ±size. Else "open":
    more seeds can tell, and these cannot. The sign of the mean says which side leads.

    >>> verdict(Interval(0.04, 0.02, 0.06, n=10), size=0.02)
    'leads'
    >>> verdict(Interval(0.012, 0.004, 0.02, n=10), size=0.02)
    'leads a little'
    >>> verdict(Interval(-0.004, -0.018, 0.01, n=10), size=0.02)
    'level'
    >>> verdict(Interval(0.013, -0.005, 0.03, n=5), size=0.02)
    'open'
    """
    if interval.low > 0 or interval.high < 0:
        return "leads" if abs(interval.mean) >= size else "leads a little"
    return "level" if -size <= interval.low and interval.high <= size else "open"


FACTOR = 2  # sizes are alike up to it


def reproduction(ours: Interval, theirs: float | str, factor: float = FACTOR) -> str:
    """Returns whether ours reproduces another's effect: "reproduced", "partly", "not" or "open".

    "partly": the same direction, and another size. theirs: their effect in our unit and direction,
    or, where they report the order alone, "above" or "below" 0. Sizes are alike up to the factor.

    >>> reproduction(Interval(0.1, 0.05, 0.15, n=5), 0.4)
    'partly'
    >>> reproduction(Interval(0.1, -0.1, 0.3, n=5), "above")
    'open'
    """
    reported = 0 if isinstance(theirs, str) else theirs
    turned = {"above": False, "below": True}[theirs] if isinstance(theirs, str) else theirs < 0
    low, high = (-ours.high, -ours.low) if turned else (ours.low, ours.high)
    if low > 0:
        alike = not reported or 1 / factor <= abs(ours.mean / reported) <= factor
        return "reproduced" if alike else "partly"
    return "not" if high < abs(reported) / factor else "open"


def reproduction_of_small(ours: Interval, theirs: float, factor: float = FACTOR) -> str:
    """Returns the same of an effect that they call small: ours is no larger, either way.

    >>> reproduction_of_small(Interval(0.01, -0.01, 0.03, n=5), 0.02)
    'reproduced'
    >>> reproduction_of_small(Interval(0.1, 0.05, 0.2, n=5), 0.02)
    'not'
    """
    most = factor * abs(theirs)
    if -most < ours.low and ours.high < most:
        return "reproduced"
    return "not" if ours.low > most or ours.high < -most else "open"


# What no search tunes: unlike on two sides, it decides more than what they name.
ALIKE = ("corpus", "eval_tokens", "size", "steps", "batch", "context", "pretraining")


@dataclass(frozen=True)
class Finding:
    """What the records say: how each side ended, one number a seed, in the order of `seeds`."""

    hypothesis: Hypothesis
    seeds: tuple[int, ...]
    better: tuple[float, ...]
    than: tuple[float, ...]
    unchanged: tuple[tuple[float, ...], ...] = ()  # of a change, both sides without it

    @property
    def leads(self) -> list[float]:
        """How far `better` ended ahead of `than`, one number a seed; of a change, how much more."""
        leads, *without = self.pairs.values()
        return [a - b for a, b in zip(leads, *without, strict=True)] if without else leads

    @property
    def pairs(self) -> dict[str, list[float]]:
        """The same of each pair of sides by name, one pair or, with a change, two."""
        names, ends = self.hypothesis.names, (self.better, self.than, *self.unchanged)
        pairs = {}
        for n in range(0, len(ends), 2):
            sides = [*zip(names[n : n + 2], ends[n : n + 2], strict=True)]
            (less, low), (large, high) = sides[::-1] if self.hypothesis.more else sides
            pairs[f"{large} minus {less}"] = [b - a for a, b in zip(low, high, strict=True)]
        return pairs

    @property
    def word(self) -> str:
        """Who leads, in the words of `verdict`: "Muon leads", "level", …

        Of a change, with which of its values the lead is larger.
        """
        word, asked = verdict(self.interval, self.hypothesis.matters), self.hypothesis
        better, other = asked.changes if asked.change else asked.names
        return f"{other if self.interval.mean < 0 else better} {word}" if "leads" in word else word

    @property
    def interval(self) -> Interval:
        """How far it ended ahead, paired over the seeds, at 95 %."""
        return mean_interval(self.leads)

    @property
    def verdict(self) -> str:
        """Is "supported" or "refuted" if the whole interval is on one side, or "cannot tell".

        With by=0 a tie at all seeds, as of shares that are 0, is on neither.
        """
        (_, low, high, _), by = self.interval, self.hypothesis.by
        if low >= by and (by or low > 0):
            return "supported"
        return "refuted" if high < by else "cannot tell"


def judge(hypothesis: Hypothesis, runs: Iterable[Record]) -> Finding:
    """Returns what recorded runs say about a hypothesis; runs of other settings do not matter.

    Raises:
        ValueError: a side without runs, with a failed run, with a seed twice or with runs of
            several settings; seeds, a text, or of ALIKE what it does not name, unlike on
            both; no such metric.
    """
    sides = both_sides(hypothesis, several_runs(runs))
    names = " and ".join(hypothesis.names)
    seeds, shared = {*sides[0]}.union(*sides), {*sides[0]}.intersection(*sides)
    if odd := sorted(seeds - shared):
        which = f"{names} have been run at seed {', '.join(map(str, odd))}"
        raise ValueError(f"only some of {which}: run the others too, or leave those runs out")
    used = [run for side in sides for run in side.values()]
    named = {*hypothesis.better, *hypothesis.shared}
    apart = {f for f in ALIKE if f not in named and _values(used, f) > 1}
    texts = [{side[seed].provenance.get("corpus_sha256") for side in sides} for seed in sides[0]]
    apart |= {"corpus_sha256" for of_pair in texts if len(of_pair - {None}) > 1}
    if apart:
        raise ValueError(f"{names} differ in {', '.join(sorted(apart))}, which nobody has named")
    better, than, *rest = (tuple(end_of(side[s], hypothesis) for s in sides[0]) for side in sides)
    return Finding(hypothesis, tuple(sides[0]), better, than, tuple(rest))


def both_sides(hypothesis: Hypothesis, runs: Sequence[Record]) -> list[dict[int, Record]]:
    """Returns the runs of each side by seed, in the order of its names; ValueError as `judge`."""
    sides = zip(hypothesis.names, hypothesis.settings, strict=True)
    return [_by_seed(runs, side, name) for name, side in sides]


def _by_seed(runs: Sequence[Record], side: Setting, name: str) -> dict[int, Record]:
    ours = [run for run in runs if fits(run.config, side)]
    ours.sort(key=lambda run: run.config["seed"])
    if not ours:
        setting = ", ".join(words(side))
        others = ", ".join(sorted({contestant(run.config) for run in runs})) or "nothing"
        raise ValueError(f"no run of {name} ({setting}) is among the {len(runs)} records: {others}")
    if failed := next((run for run in ours if run.failure), None):  # an interval would hide it
        raise ValueError(f"{name} failed at seed {failed.config['seed']} ({failed.failure})")
    if mixed := [f for f in ours[0].config if f != "seed" and _values(ours, f) > 1]:
        raise ValueError(f"{name} has several settings of {', '.join(mixed)}: name one of each")
    if _values(ours, "seed") < len(ours):
        raise ValueError(f"{name} has a seed twice: delete the second line")
    return {run.config["seed"]: run for run in ours}


def _values(runs: Sequence[Record], name: str) -> int:
    values = (run.config[name] for run in runs)
    return len({(*value,) if isinstance(value, list) else value for value in values})


def end_of(run: Record, hypothesis: Hypothesis) -> float:
    """Returns what a run ended with, in the metric of a hypothesis; ValueError without a number.

    Called on the first trial, it finds out before the others what a metric of your own raises.
    """
    metric = hypothesis.metric
    end: Any = measures(run).get(metric) if isinstance(metric, str) else metric(run)
    checks.number(f"{hypothesis.measure} of a run on {run.config['corpus']}", end)
    return float(end)
