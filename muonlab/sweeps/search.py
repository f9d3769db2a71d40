"""Tuning on equal terms: every contestant's knobs, with as many trials, at the same points.

A search goes in rounds. The first spreads its trials over the whole ranges by Sobol's points, which
leave no gaps as chance does. A later round spreads its own over a third of each range (in
logarithms), around the best trial so far; it may leave the range, so an optimum at an edge is
followed. Its first point is the middle, so it begins with the best so far again: eight trials are
seven new ones. Where a round found nothing better, the next goes on with the points that follow.

Where settings end close together, one seed chooses by chance. In a runoff the first few settings of
each contestant run at two more seeds, and the lowest mean of the three is the best.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, chain, count, islice
from math import comb, exp, inf, log
from statistics import mean
from typing import Any, Literal

import torch
from torch.quasirandom import SobolEngine

from muonlab.records.record import Record
from muonlab.records.table import table
from muonlab.sweeps.study import Contest, Grid, Phase, Place, Tuning, badness, best_trial, cross
from muonlab.training.config import TrainConfig

NEAR = 1 / 3  # of a range: what a later round covers
EDGE = 0.1  # of a range (in `beyond`: of what was tried): where a best value asks for more
CHOOSING = [101, 102]  # the seeds of a runoff: as the trials' own, 0, they never count afterwards


Trials = dict[tuple[Any, ...], list[list[Record]]]  # by contestant and round


@dataclass(frozen=True)
class Knob:
    """A number to tune on a logarithmic scale, and its range."""

    fields: str  # of TrainConfig, which share the value; "betas.0" is the first of the betas
    low: float
    high: float
    average: bool = False  # it weighs the past; low (to 0.5) and high are what it leaves, 1 - it

    @property
    def options(self) -> set[str]:
        """The fields of TrainConfig that it turns, whole."""
        return {name.partition(".")[0] for name in self.fields.split()}

    @property
    def ends(self) -> tuple[float, float]:
        """The range as a configuration holds it, the lower value first."""
        return (1 - self.high, 1 - self.low) if self.average else (self.low, self.high)

    def shown(self, config: TrainConfig) -> str:
        """Returns its value in a configuration, as that holds it."""
        value = self.value(config)
        return f"{1 - value if self.average else value:.4g}"

    def value(self, config: TrainConfig) -> float:
        """Returns the knob's value in a configuration, or 1 - it of an average."""
        name, _, index = self.fields.split()[0].partition(".")
        setting = getattr(config, name)
        setting = setting[int(index)] if index else setting
        return 1 - setting if self.average else setting

    def position(self, config: TrainConfig) -> float:
        """Returns where that lies in the range: 0 at `low`, 1 at `high`, below or above outside."""
        return log(self.value(config) / self.low) / log(self.high / self.low)

    def turn(self, values: dict[str, Any], position: float) -> None:
        """Sets its fields among those of a configuration: the value there, to three digits."""
        value = float(f"{self.low * exp(position * log(self.high / self.low)):.3g}")
        value = round(1 - min(value, 1), 9) if self.average else value  # 0: no past at all
        for field in self.fields.split():
            name, _, index = field.partition(".")
            parts = [*values[name]] if index else [value]
            parts[int(index or 0)] = value
            values[name] = tuple(parts) if index else value


@dataclass(frozen=True)
class Search:
    """A tuning in rounds; `contest` tells whose a trial is, as in `Tuning`."""

    name: str  # of its phases, with the number of the round behind
    sides: Grid | Phase  # the setting that each contestant starts from
    rounds: tuple[int, ...]  # trials of each contestant
    knobs: Callable[[TrainConfig], tuple[Knob, ...]]  # those of a contestant
    contest: Contest
    # Where each round looks: over the whole ranges, around the best so far (of the first round, the
    # sides), or around other settings. Where nothing is said: the first over all, later ones near.
    around: tuple[Literal["all", "best"] | Phase, ...] = ()
    runoff: int = 0  # how many of each contestant's trials run again at other seeds; 0: none
    in_turns: bool = False  # the first trial of each contestant, then the second of each, …

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """The phases, one for each round, and the runoff."""
        grids = {f"{n + 1}": self._grid(n) for n in range(len(self.rounds))}
        if self.runoff:
            grids["runoff"] = self._runoff
        return tuple(Tuning(f"{self.name}-{n}", grid, self.contest) for n, grid in grids.items())

    def best(self, at: Place, rounds: int | None = None) -> Grid:
        """Returns the best setting of each contestant: of all trials, or of the first rounds."""
        groups = self._groups(at, rounds)
        if rounds is not None or not self.runoff:
            return [TrainConfig(**best_trial(runs).config) for runs in groups]
        again = self.tunings[-1].recorded(at)

        def mean_end(finalist: tuple[TrainConfig, Record]) -> float:
            runs = [finalist[1], *(again[c] for c in cross(finalist[0], seed=CHOOSING))]
            return mean(map(_end, runs))

        return [min(self._finalists(runs).items(), key=mean_end)[0] for runs in groups]

    def _search(self, at: Place, rounds: int | None) -> tuple[Trials, set[TrainConfig]]:
        """Returns what is recorded, by contestant and round, and all that was tried."""
        trials: Trials = {}
        tried: set[TrainConfig] = set()
        for number, tuning in enumerate(self.tunings[: len(self.rounds)][:rounds]):
            # its grid from what is found so far: asked of the phase, each round would search anew
            grid = self._round(number, at, trials, tried)
            runs = replace(tuning, trials=grid).recorded(at)
            tried |= runs.keys()
            for config, run in runs.items():
                who = tuning.contestant(config)
                trials.setdefault(who, [[] for _ in self.rounds])[number].append(run)
        return trials, tried

    def _groups(self, at: Place, rounds: int | None = None) -> list[list[Record]]:
        """Returns the trials of each contestant."""
        return [[*chain(*by_round)] for by_round in self._search(at, rounds)[0].values()]

    def _finalists(self, runs: list[Record]) -> dict[TrainConfig, Record]:
        best_trial(runs)  # or none has finished
        # a round that found nothing better begins with the same setting again
        settings = {TrainConfig(**run.config): run for run in sorted(runs, key=_end)}
        return dict([*settings.items()][: self.runoff])

    def _runoff(self, at: Place) -> Grid:
        finalists = [c for runs in self._groups(at) for c in self._finalists(runs)]
        return cross(finalists, seed=CHOOSING)

    def trials(self, at: Place) -> Trials:
        """Returns what is recorded, by contestant and round; ValueError if trials are missing."""
        return self._search(at, None)[0]

    def beyond(self, at: Place) -> dict[TrainConfig, Record]:
        """Returns a trial further than all so far for each best value at an edge of these.

        All else stays as the best has it, whose own record stands behind. They choose nothing: one
        number at one seed, which favours the best, hints whether an edge hides a better value.
        """
        trials: dict[TrainConfig, Record] = {}
        for best, group in zip(self.best(at), self._groups(at), strict=True):
            runs = {TrainConfig(**run.config): run for run in group}
            for knob in self.knobs(best):
                places = [*map(knob.position, runs)]
                low, high = min(places), max(places)
                place = knob.position(best)
                for room, step in ((place - low, -NEAR / 2), (high - place, NEAR / 2)):
                    values = dict(vars(best))
                    knob.turn(values, place + step)
                    further = TrainConfig(**values)
                    if room < EDGE * (high - low) and not low <= knob.position(further) <= high:
                        trials[further] = runs[best]
        return trials

    def budget(self, at: Place) -> dict[tuple[Any, ...], list[float]]:
        """Returns each contestant's expected best after 1, 2, … trials, from those recorded.

        The trials of a round are taken in any order, the rounds in theirs. So one sees whether
        more trials would change the answer. A trial that diverged counts as the worst of the rest.
        """
        budget = {}
        for who, rounds in self.trials(at).items():
            worst = max(badness(run) for run in chain(*rounds) if not run.failure)
            budget[who] = expected_best([[min(_end(r), worst) for r in runs] for runs in rounds])
        return budget

    def settings(self, at: Place) -> dict[tuple[Any, ...], list[str]]:
        """Returns each contestant's best values, a knob each, and where they lie in its range."""
        who = self.tunings[0].contestant
        return {
            who(c): [f"{knob.shown(c)} ({knob.position(c):.0%})" for knob in self.knobs(c)]
            for c in self.best(at)
        }

    def _grid(self, number: int) -> Phase:
        return lambda at: self._round(number, at, *self._search(at, number))

    def _round(self, number: int, at: Place, before: Trials, tried: set[TrainConfig]) -> Grid:
        where = self.around[number] if number < len(self.around) else "best" if number else "all"
        if callable(where):
            sides = where(at)
        elif number:
            groups = [chain(*by_round) for by_round in before.values()]
            sides = [TrainConfig(**best_trial(runs).config) for runs in groups]
        else:
            sides = self.sides(at) if callable(self.sides) else self.sides
        trials, near = self.rounds[number], where != "all"
        grids = [self._around(side, trials, near, tried) for side in at.on_its_text(sides)]
        return [*chain(*(zip(*grids, strict=True) if self.in_turns else grids))]

    def _around(self, side: TrainConfig, trials: int, near: bool, tried: set[TrainConfig]) -> Grid:
        if not (knobs := tuple(self.knobs(side))):
            return [side]
        turned = (_turned(side, knobs, number, near) for number in count(1))
        new = (config for config in turned if config == side or config not in tried)
        return [*islice(new, trials)]


def _end(run: Record) -> float:
    return inf if run.failure else badness(run)


@lru_cache(maxsize=2**14)  # a search asks for its trials over and over, and each is checked whole
def _turned(side: TrainConfig, knobs: tuple[Knob, ...], number: int, near: bool) -> TrainConfig:
    """Returns the side, its knobs at the point of that number: over their ranges, or near it."""
    values = dict(vars(side))
    for knob, u in zip(knobs, _point(len(knobs), number), strict=True):
        knob.turn(values, knob.position(side) + NEAR * (u - 0.5) if near else u)
    return TrainConfig(**values)


@cache
def _point(axes: int, number: int) -> list[float]:
    engine = SobolEngine(axes).fast_forward(number)
    return engine.draw(1, dtype=torch.float64)[0].tolist()


def expected_best(rounds: list[list[float]]) -> list[float]:
    """Returns the expected lowest of 1, 2, … results, drawn in any order within each round.

    Of N sorted results, the k-th is the lowest of n drawn ones in C(N - k, n - 1) of C(N, n) cases.

    >>> expected_best([[3.0, 1.0], [2.0, 0.0]])
    [2.0, 1.0, 0.5, 0.0]
    """
    expectations: list[float] = []
    best = inf
    for results in rounds:
        capped = sorted(min(best, result) for result in results)
        size = len(capped)
        for n in range(1, size + 1):
            cases = (comb(size - k, n - 1) * low for k, low in enumerate(capped, 1))
            expectations.append(sum(cases) / comb(size, n))
        best = min([best, *results])
    return expectations


def outcome(search: Search, at: Place) -> str:
    """Returns a table of a search: each contestant's best values, and what its trials were worth.

    Behind a value stands where it lies in its range, 0 % to 100 %; a round may go beyond.
    """
    budgets = search.budget(at)
    ends = [*accumulate(map(len, next(iter(search.trials(at).values()))))]
    counts = sorted({n for n in (1, 4, ends[0] // 2, *ends) if 0 < n <= ends[-1]})
    rows = []
    for config, (who, values) in zip(search.best(at), search.settings(at).items(), strict=True):
        fields = (knob.fields.split()[0] for knob in search.knobs(config))
        best = "; ".join(map(" ".join, zip(fields, values, strict=True)))
        rows.append([str(who), best, *(f"{budgets[who][n - 1]:.4f}" for n in counts)])
    return table(["contestant", "best", *(f"after {n}" for n in counts)], rows)
