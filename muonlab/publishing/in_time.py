"""Every comparison in equal time, as tables: what is left of Muon's lead if its step is longer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from statistics import mean
from typing import Any

from muonlab.classroom.explorer_data import learner
from muonlab.publishing.claims import table
from muonlab.records.record import contestant
from muonlab.records.runs import Measure, leads_in_time, step_ratio
from muonlab.studies.evidence import FEWER_STEPS
from muonlab.sweeps.results import recorded

LONGER = (1.0, 1.1, 1.2)  # Muon's step, times AdamW's
HEADS = ("comparison", "clock", "equal steps", "1.1", "1.2", "by its clock", "n")


@dataclass(frozen=True)
class Comparison:
    """Two contestants of a study, in one plan of steps; Muon has plans of fewer, too."""

    told: str
    study: str  # in FEWER_STEPS
    steps: int
    where: dict[str, Any] = field(default_factory=dict)  # options, where a study has several
    rivals: tuple[str, str] = ("AdamW", "Muon")
    who: Callable[[dict[str, Any]], str] = contestant

    def row(self, measure: Measure) -> Iterator[str]:
        """Yields the cells below HEADS; – where a step is longer than Muon's plans reach."""
        found = [recorded(FEWER_STEPS[self.study][0].name), recorded(f"{self.study}-shorter")]
        judged, fewer = (
            [r for r in runs if self.where.items() <= r.config.items()] for runs in found
        )
        judged = [run for run in judged if run.config["steps"] == self.steps]
        clock = step_ratio(judged, self.rivals, self.who)
        most = self.steps / min(run.config["steps"] for run in fewer)
        yield from (self.told, f"{clock:.2f}")
        for longer in (*LONGER, clock):
            how = ([longer], measure, self.rivals, self.who)
            yield f"{leads_in_time(judged + fewer, *how)[0]}" if longer <= most else "–"
        yield f"{len({run.config['seed'] for run in judged})}"


def _facts(told: str, steps: int, adamw: str, muon: str) -> Comparison:
    who = (adamw, muon), learner
    return Comparison(f"{steps:,} steps, {told}", f"facts-{steps}", steps, {}, *who)


TEXT = (
    Comparison("1,200 steps, one rate", "race", 1200),
    Comparison("the same, weight decay tuned, too", "decay-tuned", 1200),
    Comparison("the same, a rate for each kind of matrix", "rates", 1200),
    Comparison("the same, 4,096 different tokens", "vocabulary", 1200),
    Comparison("4,800 steps, one rate", "race-4800", 4800),
    Comparison("8 sequences a step, 1,600 steps", "batch", 1600, {"batch": 8}),
    Comparison("8 sequences a step, 100 steps", "batch-100", 100, {"batch": 8}),
    Comparison("128 sequences a step, 100 steps", "batch-128", 100, {"batch": 128}),
    *(
        Comparison(
            f"600 steps, {attention} attention{', experts' * bool(experts)}",
            "latent-600",
            600,
            {"attention": attention, "experts": experts},
        )
        for experts in (0, 16)
        for attention in ("multi-head", "latent")
    ),
    *(
        Comparison(
            f"on to code, 300 steps, {first}'s model", "finetuning", 300, {"pretrained_by": first}
        )
        for first in ("AdamW", "Muon")
    ),
)
LOWER = "AdamW, VO and FFN slower"
FACTS = tuple(
    _facts(f"Muon on {on} against {told}", steps, adamw, muon)
    for steps in (400, 1200)
    for on, muon, told, adamw in (
        ("VO and FFN", "Muon(VO, FFN)", "AdamW slower there", LOWER),
        ("all", "Muon", "AdamW slower on VO and FFN", LOWER),
        ("all", "Muon", "AdamW slower on all", "AdamW, all slower"),
        ("all", "Muon", "AdamW with one rate", "AdamW"),
    )
)
REGRESSION = Comparison("linear regression in context, 600 steps", "regression-600", 600)


def in_time(part: str) -> str:
    """Returns a table, of "overall", "tail" (losses on text), "facts" or "regression".

    Of facts: Muon's share of right answers minus AdamW's, in the groups that lesson 10 judges.
    """
    if part == "facts":
        rows = (c.row(partial(_wrong, first=7 + (c.steps > 400))) for c in FACTS)
    elif part == "regression":
        rows = (c.row(itemgetter("overall")) for c in [REGRESSION])
    else:
        rows = (c.row(itemgetter(part)) for c in TEXT)
    return table(HEADS, rows, "in-time")


def _wrong(at: dict[str, Any], first: int) -> float:
    return -mean(at["accuracy"][first:])
