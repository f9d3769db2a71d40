"""Every comparison in equal time, as tables: what is left of Muon's lead if its step is longer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter
from statistics import mean
from typing import Any

import matplotlib.pyplot as plt

from muonlab.classroom.axes import WIDTH, legend, style
from muonlab.classroom.explorer_data import learner
from muonlab.classroom.figures import name_rows
from muonlab.classroom.looks import INK, looks
from muonlab.classroom.svg import inline
from muonlab.publishing.claims import table, with_n
from muonlab.records.record import Record, contestant
from muonlab.records.runs import Measure, leads_in_time, step_ratio
from muonlab.statistics import Interval
from muonlab.studies.evidence import FEWER_STEPS
from muonlab.studies.protocol import MATTERS
from muonlab.sweeps.results import recorded

LONGER = (1.0, 1.1, 1.2)  # Muon's step, times AdamW's
SLOWER = "AdamW, VO and FFN slower"
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

    def leads(self, measure: Measure) -> list[Interval | None]:
        """Returns the lead at each of LONGER and at the clock; None beyond Muon's plans."""
        runs = self.judged() + self._runs(f"{self.study}-shorter")
        most = self.steps / min(run.config["steps"] for run in runs)
        how = measure, self.rivals, self.who
        return [
            leads_in_time(runs, [longer], *how)[0] if longer <= most else None
            for longer in (*LONGER, self.clock)
        ]

    @property
    def clock(self) -> float:
        """How much longer Muon's step took, in the final runs."""
        return step_ratio(self.judged(), self.rivals, self.who)

    @property
    def clocks(self) -> list[float]:
        """The same in each round of the search."""
        rounds = FEWER_STEPS[self.study][0].tunings
        trials = (self._runs(each.name, steps=self.steps) for each in rounds)
        return [step_ratio(runs, self.rivals, self.who) for runs in trials]

    def judged(self) -> list[Record]:
        """Returns the final runs."""
        return self._runs(FEWER_STEPS[self.study][0].name, steps=self.steps)

    def _runs(self, name: str, **options: Any) -> list[Record]:
        where = {**self.where, **options}.items()
        return [run for run in recorded(name) if where <= run.config.items()]


def _facts(told: str, steps: int, adamw: str, muon: str) -> Comparison:
    who = (adamw, muon), learner
    return Comparison(f"{steps:,} steps, {told}", f"facts-{steps}", steps, {}, *who)


TEXT = (
    Comparison("1,200 steps, one rate", "race", 1200),
    Comparison("1,200 steps, weight decay on both", "decay-tuned", 1200),
    Comparison("1,200 steps, a rate for each kind of matrix", "rates", 1200),
    Comparison("1,200 steps, 4,096 different tokens", "vocabulary", 1200),
    Comparison("4,800 steps, one rate", "race-4800", 4800),
    Comparison("1,600 steps of 8 sequences", "batch", 1600, {"batch": 8}),
    Comparison("100 steps of 8 sequences", "batch-100", 100, {"batch": 8}),
    Comparison("100 steps of 128 sequences", "batch-128", 100, {"batch": 128}),
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
    Comparison("300 steps of code, AdamW's model", "finetuning", 300, {"pretrained_by": "AdamW"}),
    Comparison("300 steps of code, Muon's model", "finetuning", 300, {"pretrained_by": "Muon"}),
)
FACTS = tuple(
    _facts(f"Muon on {on} against {told}", steps, adamw, muon)
    for steps in (400, 1200)
    for on, muon, told, adamw in (
        ("VO and FFN", "Muon(VO, FFN)", "AdamW slower there", SLOWER),
        ("all", "Muon", "AdamW slower on VO and FFN", SLOWER),
        ("all", "Muon", "AdamW slower on all", "AdamW, all slower"),
        ("all", "Muon", "AdamW with one rate", "AdamW"),
    )
)
REGRESSION = Comparison("linear regression in context, 600 steps", "regression-600", 600)


@cache
def measured(part: str) -> list[tuple[Comparison, list[Interval | None]]]:
    """Returns each comparison with its leads, of one of the parts that `in_time` knows."""
    if part == "facts":
        return [(c, c.leads(partial(_wrong, first=7 + (c.steps > 400)))) for c in FACTS]
    if part == "regression":
        return [(REGRESSION, REGRESSION.leads(itemgetter("overall")))]
    return [(c, c.leads(itemgetter(part))) for c in TEXT]


def in_time(part: str) -> str:
    """Returns a table, of "overall", "tail" (losses on text), "facts" or "regression".

    Of facts: Muon's share of right answers minus AdamW's, in the groups that lesson 10 judges.
    """
    rows = []
    for comparison, leads in measured(part):
        cells = [str(lead or "–") for lead in leads]
        n = next(lead.n for lead in leads if lead)
        ends = (f"{end(comparison.clocks):.2f}" for end in (min, max))
        clock = f"{comparison.clock:.2f} (trials {' to '.join(dict.fromkeys(ends))})"
        rows.append((comparison.told, clock, *cells, str(n)))
    return table(HEADS, rows, "cards in-time")


def counted() -> str:
    """Returns in how many comparisons on text one of the two ends lower, the interval beyond 0."""
    rows = []
    for place, told in enumerate(("equal steps", *map(str, LONGER[1:]), "by its clock")):
        cells = []
        for part in ("overall", "tail"):
            found = [leads[place] for _, leads in measured(part)]
            signs = [(lead.low > 0) - (lead.high < 0) for lead in found if lead]
            cells += [str(signs.count(sign)) for sign in (1, 0, -1)]
        rows.append((told, *cells))
    words = "Muon lower", "not shown", "AdamW lower"
    heads = [f"{part}: {word}" for part in ("all tokens", "rare tokens") for word in words]
    return table(("Muon's step", *heads), rows, "counted")


def lead(asked: str) -> str:
    """Returns one lead as a link to the tables; asked: "tail; 4,800 steps, one rate; 1.1".

    The last part is a number of LONGER, or "clock". KeyError names a comparison that is not there.
    """
    part, told, longer = asked.split("; ")
    leads = {comparison.told: leads for comparison, leads in measured(part)}[told]
    found = leads[-1 if longer == "clock" else LONGER.index(float(longer))]
    if found is None:
        raise ValueError(f"no run of Muon is short enough for {asked!r}: take a smaller number")
    return f'<a href="equal-time.html">{with_n(found)}</a>'


def drawn(part: str) -> str:
    """Returns "overall" or "tail" as a figure: four leads a row, with their intervals."""
    style()
    found = measured(part)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.9 + 0.62 * len(found)))
    name_rows(axes, [comparison.told for comparison, _ in found])
    axes.axvline(0, color=INK, linewidth=1)
    axes.axvspan(-MATTERS, MATTERS, color=INK, alpha=0.1, linewidth=0)
    names = ["equal steps", *(f"equal time, a step {x:g} times as long" for x in LONGER[1:])]
    names.append("equal time, by the clock of the final runs")
    for number, (name, look) in enumerate(zip(names, looks(names), strict=True)):
        for row, (_, leads) in enumerate(found):
            if lead := leads[number]:
                y = row + 0.2 * (number - 1.5)
                axes.plot([lead.low, lead.high], [y, y], color=look["color"], linewidth=1.5)
                axes.plot(lead.mean, y, **look | {"linestyle": "none"}, markersize=6)
        axes.plot([], [], label=name, **look | {"linestyle": "-"}, markersize=6)
    axes.set_xlabel("Muon's lead, nats", loc="right")
    told = "mark: mean over seeds; bar: its 95 % interval"
    legend(figure, f"{told}\nshaded: nearer to 0 than {MATTERS:g}")
    alt = "Muon's mean lead is smaller, in every row, the longer its step takes."
    return f'<div class="cell_output">{inline(figure, alt)}</div>'


def _wrong(at: dict[str, Any], first: int) -> float:
    return -mean(at["accuracy"][first:])
