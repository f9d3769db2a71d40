"""A question about any two settings, with a size, stated before its runs."""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from muonlab import checks
from muonlab.files import prepare_file, replace_file
from muonlab.records.provenance import now
from muonlab.records.record import Record, contestant
from muonlab.records.table import fits, words
from muonlab.studies.evidence import knobs_of
from muonlab.studies.protocol import MATTERS
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Place, cross
from muonlab.training.config import TrainConfig
from muonlab.training.own_rule import step_name, text_of

STATEMENT, FINAL_RUNS = "hypothesis.json", "runs.jsonl"
TOKEN_CLASSES = ("overall", "head", "middle", "tail")
LOSSES = (*TOKEN_CLASSES, *(f"unseen_{name}" for name in TOKEN_CLASSES))  # of all; of what is new
PLANNED = ("steps", "batch", "context", "warmup", "decay", "pretraining")  # alike, in a fair plan
Setting = Mapping[str, Any]  # some fields of TrainConfig


@dataclass(frozen=True)
class Hypothesis:
    """Runs with the fields `better` end at least `by` better than runs with the fields `than`.

    What only one of the two names has its default in the other. What nobody names is tuned for each
    side (`search`), or has its default. A negative `by` says "no worse than by so much".

    The metric is one that the task measures: the loss "overall", or on "head", "middle" or "tail",
    and "unseen_overall", … where the text is new; on regression "overall" is the squared error; on
    facts there is "accuracy 9", that of the tenth group. More is better for accuracy alone. A
    function of a `Record` is a metric of your own, of which less is better.

    Args:
        shared: fields of both sides, such as the text and the steps.
        change: fields that change the difference: with them it is larger by at least `by`. So there
            are four sides, at the same seeds, and the result is a difference of differences.
        longer: a step of `better` takes so many times as long, so it gets fewer steps: equal time.

    Raises:
        ValueError: a field or a value that TrainConfig does not take, sides that do not differ.

    >>> print(Hypothesis({"momentum": 0.8}, {"momentum": 0.95}, by=0.05, shared={"steps": 24}))
    Muon with momentum=0.8 ends at least 0.05 nats below Muon with momentum=0.95 (overall, steps=24)
    >>> print(Hypothesis({"rule": "normuon"}, {"rule": "muon"}, by=-0.02))
    NorMuon ends at most 0.02 nats above Muon (overall)
    >>> print(Hypothesis({"muon": ("VO", "FFN")}, {"muon": ()}, change={"warmup": 0.0}))
    Muon(VO, FFN) leads AdamW by more with warmup=0 than with warmup=0.1 (overall)
    """

    better: Setting
    than: Setting
    by: float = 0.0
    metric: str | Callable[[Record], float] = "overall"
    shared: Setting = field(default_factory=dict)
    change: Setting = field(default_factory=dict)
    longer: float = 1.0

    def __post_init__(self) -> None:
        defaults = {o.name: o.default for o in dataclasses.fields(TrainConfig) if o.name != "seed"}
        for name in ("better", "than", "shared", "change"):
            for own in getattr(self, name):
                checks.choice(f"a field in {name}", own, defaults)
        self._set(shared={f: defaults[f] for f in self.change} | {**self.shared})
        self._give_equal_time()
        named = [*dict.fromkeys([*self.better, *self.than])]
        for name in ("change", "shared"):
            if twice := sorted(getattr(self, name).keys() & {*named}):
                raise ValueError(f"{twice[0]} is in {name}, so it cannot be named for one side too")
        sides = self.sides()
        of_side = {"change": sides[0], "better": sides[0], "than": sides[1], "shared": sides[-1]}
        fields_of = {"change": self.change, "shared": self.shared, "better": named, "than": named}
        for name, config in of_side.items():
            self._set(**{name: {f: getattr(config, f) for f in fields_of[name]}})
        self._check_sides(sides)
        self._check_metric(sides[0].corpus)

    def _set(self, **fields: Setting) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _give_equal_time(self) -> None:
        checks.number("longer", self.longer, 0.1, 10)
        if self.longer == 1:
            return
        plan = TrainConfig(**{**self.shared, **self.than}).steps
        steps = round(plan / self.longer)
        if self.better.get("steps", steps) != steps:
            raise ValueError(f"longer={self.longer:g} gives `better` {steps:,} of {plan:,} steps")
        shared = {f: v for f, v in self.shared.items() if f != "steps"}
        better, than = {**self.better, "steps": steps}, {**self.than, "steps": plan}
        self._set(shared=shared, better=better, than=than)

    def _check_sides(self, sides: Sequence[TrainConfig]) -> None:
        if len({side.corpus for side in sides}) > 1:
            raise ValueError("losses on two texts cannot be compared: name one corpus in shared")
        idle = set.intersection(*(side.idle() for side in sides))
        compared = [(self.better, self.than)]
        compared += [(self.change, self.shared)] if self.change else []
        for fields, others in compared:
            if fits(others, {f: v for f, v in fields.items() if f not in idle}):
                raise ValueError(f"{', '.join(words(fields))} changes nothing here: name another")

    def _check_metric(self, corpus: str) -> None:
        checks.number("by", self.by)
        if isinstance(self.metric, str):
            checks.choice(f"metric on {corpus}", self.metric, metrics_on(corpus))
            return
        step_name(self.metric), text_of(self.metric)  # it is stated with both
        if not self.by:
            raise ValueError("your own metric needs a size that matters: by=… above or below 0")

    def __str__(self) -> str:
        better, than = self._named(self._apart)[:2]
        size = f"at least {self.by:g} {self.unit} " if self.by > 0 else ""
        size = f"at most {-self.by:g} {self.unit} " if self.by < 0 else size
        if self.change:
            text = f"{better} leads {than} by {size}{'less' if self.by < 0 else 'more'}"
            text += f" with {self.changes[0]} than with {self.changes[1]}"
        else:
            above = self.more != (self.by < 0)
            text = f"{better} ends {size}{'above' if above else 'below'} {than}"
        unchanged = {f: v for f, v in self.shared.items() if f not in self.change}
        where = [self.measure, *words(unchanged)]
        where += [f"equal time, a step {self.longer:g} times as long"] if self.longer != 1 else []
        return f"{text} ({', '.join(where)})" + (f"; {self.unequal}" if self.unequal else "")

    @property
    def unequal(self) -> str:
        """In what the plans of the two sides are unequal, beside their optimizers, or ""."""
        pair = self.sides()[:2]
        apart = {n: [getattr(side, n) for side in pair] for n in PLANNED}
        apart["tokens read"] = [side.steps * side.batch * side.context for side in pair]
        if self.longer != 1:
            del apart["steps"], apart["tokens read"]  # the time is equal
        parts = [f"{n} {a:,} and {b:,}" for n, (a, b) in apart.items() if a != b]
        return f"unequal plans: {', '.join(parts)}" if parts else ""

    @property
    def measure(self) -> str:
        """The name of its metric."""
        return self.metric if isinstance(self.metric, str) else step_name(self.metric)

    @property
    def more(self) -> bool:
        """Whether a higher value of the metric is better."""
        return isinstance(self.metric, str) and self.metric.startswith("accuracy")

    @property
    def unit(self) -> str:
        """What a difference is counted in."""
        if self.more or not isinstance(self.metric, str):
            return f"of {self.measure.partition(' ')[0]}"
        regression = self.sides()[0].corpus.startswith("regression-")
        return "of squared error" if regression else "nats"

    @property
    def matters(self) -> float:
        """The size from which on a difference matters, MATTERS or, of your own metric, that of by.

        `verdicts.verdict` takes it.
        """
        return MATTERS if isinstance(self.metric, str) else abs(self.by)

    @property
    def settings(self) -> list[Setting]:
        """The fields of each side, in the order of `sides`: they tell its runs from others."""
        changes = [self.change, {}] if self.change else [{}]
        pair = (self.better, self.than)
        return [{**self.shared, **change, **side} for change in changes for side in pair]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sides, after whose steps they are and in what else they differ."""
        return self._named(self._apart | {*self.change})

    @property
    def changes(self) -> tuple[str, str]:
        """What `change` compares, in words: the fields with it, and without."""
        without = {f: self.shared[f] for f in self.change}
        return " and ".join(words(self.change)), " and ".join(words(without))

    @property
    def _apart(self) -> set[str]:
        return {f for f, v in self.better.items() if v != self.than[f]} - {"muon", "rule"}

    def _named(self, shown: set[str]) -> tuple[str, ...]:
        names = []
        for config, fields in zip(self.sides(), self.settings, strict=True):
            rest = " and ".join(words({f: v for f, v in fields.items() if f in shown}))
            names.append(contestant(vars(config)) + (f" with {rest}" if rest else ""))
        return tuple(names)

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that follow from its words."""
        text = json.dumps(self.fields(), sort_keys=True)
        return sha256(text.encode()).hexdigest()[:8]

    def fields(self) -> dict[str, Any]:
        """Returns it as JSON holds it, your own metric by its text; what is unused is left out."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if not isinstance(self.metric, str):
            fields["metric"] = {self.measure: text_of(self.metric)}
        unused = {"change": {}, "longer": 1}
        return {f: v for f, v in fields.items() if f not in unused or v != unused[f]}

    def sides(self) -> tuple[TrainConfig, ...]:
        """Returns the settings: `better` and `than`; of a change both with it, then without."""
        return tuple(TrainConfig(**fields) for fields in self.settings)

    def seeds(self, count: int) -> list[int]:
        """Returns seeds that follow from its words: others for another hypothesis, and never 0."""
        first = 1000 * (int(self.id, 16) % 1_000_000) + 1
        return [*range(first, first + count)]

    def search(
        self, trials: int, knobs: Callable[[TrainConfig], tuple[Knob, ...]] = knobs_of
    ) -> Search:
        """Returns the tuning of all sides at seed 0, alike: of each knob that it does not name."""
        named = {*self.better, *self.shared}

        def free(config: TrainConfig) -> tuple[Knob, ...]:
            return tuple(knob for knob in knobs(config) if not named & knob.options)

        contest = (*self.better, *self.change)
        return Search("tuning", [*self.sides()], (trials,), free, contest)

    def finals(self, search: Search, at: Place, count: int) -> Grid:
        """Returns the best of all sides at new seeds; a broken sweep holds pairs."""
        best = search.best(at)
        return [c for seed in self.seeds(count) for c in cross(best, seed=seed)]


def metrics_on(corpus: str) -> list[str]:
    """Returns the names of what is measured on a text."""
    if facts := re.match(r"facts-(\d+)", corpus):
        return ["overall", *(f"accuracy {group}" for group in range(int(facts[1]) + 1))]
    return ["overall"] if corpus.startswith("regression-") else [*LOSSES]


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
        return self.folder / FINAL_RUNS


def state(hypothesis: Hypothesis, folder: Path, **plan: float) -> Statement:
    """Returns the hypothesis with the time at which `folder` first got it; made when missing.

    Until a run, or a trial, is recorded there, another hypothesis or plan takes its place, with a
    new time.

    Args:
        plan: what is planned: pairs=4, spread=0.05, truth=0.1, hours=0.01, "trials a side".

    Raises:
        ValueError: runs recorded for another hypothesis or for none, or a broken statement.
    """
    checks.kind("a Hypothesis", hypothesis, Hypothesis)
    for name, value in plan.items():
        checks.number(name, value)
    folder = Path(folder)
    path = prepare_file(folder / STATEMENT)
    old = _read(path) if path.exists() else {}
    begun = any(folder.glob("*.jsonl"))
    fields = json.loads(json.dumps(hypothesis.fields()))  # as the file has them
    if old.get("fields") == fields and (old["plan"] == plan or begun):
        return Statement(hypothesis, old["utc"], folder, old["plan"])
    if begun:
        earlier = f"{old['words']}, stated at {old['utc']}" if old else "no hypothesis"
        message = f"{folder} has recorded runs already, made for: {earlier}"
        raise ValueError(f"{message}. It cannot become: {hypothesis}. State that in a new folder")
    utc = now()
    text = json.dumps({"words": str(hypothesis), **fields, "utc": utc, "plan": plan}, indent=1)
    replace_file(path, f"{text}\n".encode())
    return Statement(hypothesis, utc, folder, plan)


def _read(path: Path) -> dict[str, Any]:
    """Returns what a statement holds: its words, fields, time and plan."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        kept = {name: fields.pop(name) for name in ("words", "utc", "plan")}
        return kept | {"fields": fields}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no statement of a hypothesis ({error}): delete it") from error
