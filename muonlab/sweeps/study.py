"""A study: contestants are tuned with trials at seed 0, then the best of each runs at new seeds.

Each phase of it is a grid, recorded in a file that has its name. What a later phase runs follows
from the records of earlier ones, in the same folder and on the same text: its `Place`.
"""

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from muonlab.data.task import spelled
from muonlab.records.record import Record, several_runs
from muonlab.records.store import RESULTS, path_of
from muonlab.sweeps.results import known
from muonlab.training.config import TrainConfig

Grid = list[TrainConfig]


def cross(base: TrainConfig | Grid, **fields: Any) -> Grid:
    """Returns the base with every combination of the fields; a list holds values to try.

    >>> [(c.steps, c.seed) for c in cross(TrainConfig(), steps=[10, 20], seed=[1, 2])]
    [(10, 1), (10, 2), (20, 1), (20, 2)]
    """
    bases, *tried = (v if isinstance(v, list) else [v] for v in (base, *fields.values()))
    return [replace(b, **dict(zip(fields, v, strict=True))) for b, *v in product(bases, *tried)]


def badness(record: Record) -> float:
    """Returns what is low for a good run: minus the sum of accuracies, or the loss at the end."""
    last = record.held_out[-1]
    return -sum(last["accuracy"]) if "accuracy" in last else last["overall"]


def best_trial(trials: Iterable[Record], by: Callable[[Record], float] = badness) -> Record:
    """Returns the record with the lowest `by`; ValueError of none, or several texts or lengths."""
    finished = [record for record in several_runs(trials, alike=True) if not record.failure]
    if not finished:
        raise ValueError("expected a finished trial, got none: run them, or choose lower rates")
    return min(finished, key=by)


@dataclass(frozen=True)
class Place:
    """Where the phases of a study are recorded, and on which text they are run."""

    folder: Path = field(default_factory=lambda: RESULTS)  # the manual need not name this machine's
    corpus: str | None = None  # None: the study's own
    pieces: int | None = None  # of a batch, as the memory here asks for; None: the study's own

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(os.path.expanduser(self.folder)))
        object.__setattr__(self, "corpus", self.corpus and spelled(self.corpus))

    def path(self, phase: str) -> Path:
        """Returns the file of a phase's records."""
        return path_of(phase, self.corpus, self.folder)

    def on_its_text(self, grid: Grid) -> Grid:
        """Returns the grid on this place's text, in its pieces; ValueError if it compares texts."""
        texts = sorted({config.corpus for config in grid})
        if self.corpus and len(texts) > 1:
            raise ValueError(f"it compares {', '.join(texts)}: no --corpus can replace them")
        own = {k: v for k in ("corpus", "pieces") if (v := getattr(self, k)) is not None}
        return [c if own.items() <= vars(c).items() else replace(c, **own) for c in grid]

    def command(self, phase: str) -> str:
        """Returns the line for a terminal that runs a phase here."""
        words = ["muonlab", "ablate", phase]
        words += ["--corpus", self.corpus] if self.corpus else []
        words += ["--pieces", str(self.pieces)] if self.pieces else []
        words += [] if self.folder == RESULTS else ["--results", str(self.folder)]
        return shlex.join(words)


HERE = Place()


class Unrecorded(ValueError):
    """The trials that a phase follows from are not all recorded."""


Phase = Callable[[Place], Grid]
Contest = tuple[str, ...] | Callable[[TrainConfig], tuple[Any, ...]]


@dataclass(frozen=True)
class Tuning:
    """A phase at seed 0: contestants, with as many trials each, look for their best setting.

    Trials that agree in all fields of `contest`, or in what it returns, are of one contestant.
    """

    name: str
    trials: Grid | Phase  # a function where they start from the best of an earlier tuning
    contest: Contest

    def grid(self, at: Place) -> Grid:
        """Returns the trials on the text of a place."""
        return at.on_its_text(self.trials(at) if callable(self.trials) else self.trials)

    def contestant(self, trial: TrainConfig) -> tuple[Any, ...]:
        """Returns what all trials of one contestant share."""
        if callable(self.contest):
            return self.contest(trial)
        return tuple(getattr(trial, field) for field in self.contest)

    def recorded(self, at: Place) -> dict[TrainConfig, Record]:
        """Returns the trials with their records; Unrecorded if some are not there."""
        trials, runs = self.grid(at), known(at.path(self.name)).read()
        if missing := sum(trial not in runs for trial in trials):
            message = f"{missing} of the trials are not in {at.path(self.name)}"
            raise Unrecorded(f"{message}: run `{at.command(self.name)}` first")
        return {trial: runs[trial] for trial in trials}

    def best(self, at: Place, *more: "Tuning") -> Grid:
        """Returns the best trial of each contestant, here and in more; errors as `recorded`."""
        rivals: dict[tuple[Any, ...], list[Record]] = {}
        for tuning in (self, *more):
            for trial, run in tuning.recorded(at).items():
                rivals.setdefault(self.contestant(trial), []).append(run)
        return [TrainConfig(**best_trial(group).config) for group in rivals.values()]

    def at_new_seeds(self, seeds: int, **changes: Any) -> Phase:
        """Returns the phase that runs the best trial of each contestant at the seeds 1, 2, …"""
        return lambda at: cross(self.best(at), seed=[*range(1, seeds + 1)], **changes)


@dataclass(frozen=True)
class Study:
    """The tunings that a question needs, in order, and the phases that follow from them."""

    tunings: tuple[Tuning, ...]
    finals: dict[str, Phase]
    seeds: range = range(0)  # that judge what the tunings chose, where they are the same for all

    def phases(self) -> dict[str, Phase]:
        """Returns the grids by name, in order: each needs the records of those before it only."""
        return {tuning.name: tuning.grid for tuning in self.tunings} | self.finals
