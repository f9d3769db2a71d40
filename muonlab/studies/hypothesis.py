"""A question about any two settings, with a size, stated before its runs."""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from muonlab import checks
from muonlab.files import prepare_file, replace_file
from muonlab.records.provenance import now
from muonlab.records.record import contestant
from muonlab.records.table import fits, words
from muonlab.studies.evidence import knobs_of
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Place, cross
from muonlab.training.config import TrainConfig

STATEMENT, RUNS = "hypothesis.json", "runs.jsonl"
PLAN = ("trials a side", "pairs", "spread", "truth", "hours")  # what is planned
TOKENS = ("overall", "head", "middle", "tail")
LOSSES = (*TOKENS, *(f"unseen_{name}" for name in TOKENS))  # all of a text; what is new in it
MEASURED = {"facts": ("overall", r"accuracy \d+"), "regression": ("overall",)}
Setting = Mapping[str, Any]  # some fields of TrainConfig


@dataclass(frozen=True)
class Hypothesis:
    """Runs with the fields `better` end at least `by` better than runs with the fields `than`.

    What only one of the two names has its default in the other. What nobody names is tuned for each
    side (`search`), or has its default. The metric is one that the task measures: the loss
    "overall", or on "head", "middle" or "tail", and "unseen_overall", … where the text is new; on
    regression "overall" is the squared error; on facts there is "accuracy 9", that of the tenth
    group. More is better for accuracy alone.

    Args:
        shared: fields of both sides, such as the text and the steps.

    Raises:
        ValueError: a field or a value that TrainConfig does not take, two sides that do not differ.

    >>> print(Hypothesis({"momentum": 0.8}, {"momentum": 0.95}, by=0.05, shared={"steps": 24}))
    Muon with momentum=0.8 ends at least 0.05 nats below Muon with momentum=0.95 (overall, steps=24)
    """

    better: Setting
    than: Setting
    by: float = 0.0
    metric: str = "overall"
    shared: Setting = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {option.name for option in dataclasses.fields(TrainConfig)} - {"seed"}
        for name in ("better", "than", "shared"):
            fields = getattr(self, name)
            if not isinstance(fields, Mapping):
                expected = 'fields and their values, such as {"momentum": 0.8}'
                raise ValueError(f"{name} takes {expected}; got {fields!r}")
            if unknown := sorted(fields.keys() - known):
                raise ValueError(f"{name}: a setting has no {unknown[0]!r}; {sorted(known)}")
        named = [*dict.fromkeys([*self.better, *self.than])]
        if twice := sorted(self.shared.keys() & {*named}):
            raise ValueError(f"{twice[0]} is shared, so it cannot be named for one side too")
        sides = self.sides()
        for name, config in zip(("better", "than"), sides, strict=True):
            object.__setattr__(self, name, {f: getattr(config, f) for f in named})
        object.__setattr__(self, "shared", {f: getattr(sides[0], f) for f in self.shared})
        if len({side.corpus for side in sides}) > 1:
            raise ValueError("losses on two texts cannot be compared: name one corpus in shared")
        if fits(self.better, self.than) or len({*self.names}) < 2:
            raise ValueError(f"both sides are {self.names[0]}: name two that differ")
        apart = {f for f in named if self.better[f] != self.than[f]}
        if apart <= sides[0].idle() & sides[1].idle():
            raise ValueError(f"{', '.join(sorted(apart))} does nothing here: name another field")
        task = sides[0].corpus.partition("-")[0]
        if not re.fullmatch("|".join(MEASURED.get(task, LOSSES)), str(self.metric)):
            known_metrics = ", ".join(MEASURED.get(task, LOSSES)).replace(
                r" \d+", " 9 (of group 9)"
            )
            raise ValueError(
                f"metric on {task} must be one of {known_metrics}; got {self.metric!r}"
            )
        if self.more and (text := re.match(r"facts-(\d+)", sides[0].corpus)):
            group, end = int(self.metric.partition(" ")[2]), int(text[1]) + 1
            checks.number(f"the group in metric on {text[0]}", group, 0, end, whole=True)
        most = 1 if self.more else checks.LARGEST
        checks.number("by (for the other direction, exchange better and than)", self.by, 0, most)

    def __str__(self) -> str:
        size = f"at least {self.by:g} {self.unit} " if self.by else ""
        where = ", ".join([self.metric, *words(self.shared)])
        better, than = self.names
        return f"{better} ends {size}{'above' if self.more else 'below'} {than} ({where})"

    @property
    def more(self) -> bool:
        """Whether a higher value of the metric is better."""
        return self.metric.startswith("accuracy")

    @property
    def unit(self) -> str:
        """What a difference is counted in."""
        if self.more:
            return "of accuracy"
        regression = self.sides()[0].corpus.startswith("regression")
        return "of squared error" if regression else "nats"

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two sides, after whose steps they are and in what else they differ."""
        apart = {f for f, v in self.better.items() if v != self.than[f]} - {"muon", "rule"}
        names = []
        for config, side in zip(self.sides(), (self.better, self.than), strict=True):
            rest = " and ".join(words({f: v for f, v in side.items() if f in apart}))
            names.append(contestant(vars(config)) + (f" with {rest}" if rest else ""))
        return names[0], names[1]

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that follow from its words."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return sha256(text.encode()).hexdigest()[:8]

    def sides(self) -> tuple[TrainConfig, TrainConfig]:
        """Returns both settings, the one that is to end better first."""
        better, than = (TrainConfig(**self.shared, **side) for side in (self.better, self.than))
        return better, than

    def seeds(self, count: int) -> list[int]:
        """Returns seeds that follow from its words: others for another hypothesis, and never 0."""
        checks.number("count", count, 1, whole=True)
        first = 1000 * (int(self.id, 16) % 1_000_000) + 1
        return [*range(first, first + count)]

    def search(
        self, trials: int, knobs: Callable[[TrainConfig], tuple[Knob, ...]] = knobs_of
    ) -> Search:
        """Returns the tuning of both sides at seed 0, alike: of each knob that it does not name."""
        named = {*self.better, *self.shared}
        checks.kind("a function of a setting as knobs, such as knobs_of", knobs, Callable)

        def free(config: TrainConfig) -> tuple[Knob, ...]:
            return tuple(knob for knob in knobs(config) if not named & knob.options)

        return Search("tuning", [*self.sides()], free, tuple(self.better), rounds=(trials,))

    def finals(self, search: Search, at: Place, count: int) -> Grid:
        """Returns the best of both sides at new seeds; a broken sweep holds pairs."""
        best = search.best(at)
        return [c for seed in self.seeds(count) for c in cross(best, seed=seed)]


@dataclass(frozen=True)
class Statement:
    """A hypothesis, when it was stated, and the plan of then; its runs belong into its folder."""

    hypothesis: Hypothesis
    utc: str
    folder: Path
    plan: Mapping[str, float]

    @property
    def at(self) -> Place:
        """Where its search is recorded."""
        return Place(self.folder)

    @property
    def runs(self) -> Path:
        """The file of its final runs."""
        return self.folder / RUNS


def state(hypothesis: Hypothesis, folder: Path, **plan: float) -> Statement:
    """Returns the hypothesis with the time at which `folder` first got it; made when missing.

    Until a run, or a trial, is recorded there, another hypothesis or plan takes its place, with a
    new time.

    Args:
        plan: what is planned, of PLAN: pairs=4, spread=0.05, truth=0.1, hours=0.01.

    Raises:
        ValueError: runs recorded for another hypothesis or for none, or a broken statement.
    """
    checks.kind("a Hypothesis", hypothesis, Hypothesis)
    for name, value in plan.items():
        checks.choice("a part of the plan", name, PLAN)
        checks.number(name, value, 0, whole=name in PLAN[:2])
    folder = Path(folder)
    path = prepare_file(folder / STATEMENT)
    old = _read(path) if path.exists() else None
    begun = any(folder.glob("*.jsonl"))
    if old and old.hypothesis == hypothesis and (old.plan == plan or begun):
        return old
    if begun:
        earlier = f"{old.hypothesis}, stated at {old.utc}" if old else "no hypothesis"
        raise ValueError(
            f"{folder} has recorded runs already, made for: {earlier}. After the result it cannot "
            f"become: {hypothesis}. State a new hypothesis in a new folder, for new runs"
        )
    utc = now()
    text = json.dumps(dataclasses.asdict(hypothesis) | {"utc": utc, "plan": plan}, indent=1)
    replace_file(path, f"{text}\n".encode())
    return Statement(hypothesis, utc, folder, plan)


def _read(path: Path) -> Statement:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        utc, plan = fields.pop("utc"), fields.pop("plan")
        return Statement(Hypothesis(**fields), utc, path.parent, plan)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is no statement of a hypothesis ({error}): delete it if no run was made for it"
        ) from error
