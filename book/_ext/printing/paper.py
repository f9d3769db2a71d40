"""The page on arXiv 2509.26030: what it reports, beside what lessons and records say.

book/paper.toml holds the paper's side and the ids that answer it. Verdicts and values are those of
the claims, and each verdict on an interval is the one that a rule gives; seeds, steps and protocols
are those of the records.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from muonlab.classroom.claims import VERDICTS, Claim
from muonlab.files import course
from muonlab.statistics import Interval, paired_interval
from muonlab.studies.evidence import EVIDENCE
from muonlab.studies.table1 import ADAMW, MUON, paper_losses, row_losses, widened
from muonlab.studies.verdicts import FACTOR, reproduction, reproduction_of_small
from muonlab.sweeps.results import recorded
from printing.claims import Placed, claims_table, classed, link, literal, stored

PROTOCOLS = {"fair": "both sides tuned alike", "one": "as many trials, AdamW with one rate"}
PROTOCOLS |= {"paper": "one rate for AdamW", "rates": "rates tuned, averages not", "": ""}
DECIDED = VERDICTS[:3]  # what speaks for the paper or against it
runs_of = cache(recorded)


def protocol(study: str) -> str:
    """Returns how the runs of a study were tuned, a key of PROTOCOLS, as they were recorded."""
    if any(study in known.finals for known in EVIDENCE.values()):
        return "fair"
    adamw = [run.config for run in runs_of(study) if not run.config["muon"]]
    return "rates" if any(config["adamw_matrix_lr"] for config in adamw) else "paper"


def steps(*studies: str) -> str:
    """Returns the steps of the runs of some studies, in words."""
    lengths = {run.config["steps"] for study in studies for run in runs_of(study)}
    return " and ".join(f"{n:,}" for n in sorted(lengths)) + " steps"


@dataclass(frozen=True)
class Paper:
    """What book/paper.toml holds, and the claims of the lessons."""

    items: Sequence[Mapping[str, Any]]
    runs: Mapping[str, Sequence[str]]  # study: the claims that its runs decide
    stored: Mapping[str, Placed]
    effects: Mapping[str, Any]  # claim: the paper's effect, or one for each value
    little: Mapping[str, Any]  # the same, where the paper says that the effect is small
    one_rate: Sequence[str] = ()  # where AdamW had one rate for all its parameters, in a fair study

    def answers(self, item: Mapping[str, Any]) -> list[Placed]:
        """Returns an item's claims, those kindest to the paper first.

        ValueError names those that no lesson has, that fail, or that have no verdict.
        """
        ids = item.get("claims", [])
        if lost := [id for id in ids if id not in self.stored or not self.stored[id][0].judged]:
            raise ValueError(f"{item['item']}: no lesson has, with a verdict, {', '.join(lost)}")
        ours = [self.stored[id] for id in ids]
        return sorted(ours, key=lambda answer: VERDICTS.index(answer[0].judged))

    def rule(self, claim: Claim, factor: float = FACTOR) -> str:
        """Returns the verdict of the rule; of an experiment that decides nothing, of its order.

        A claim without intervals, such as a theorem or a count, keeps ours.
        """
        if not claim.size:
            return claim.judged
        little = claim.id in self.little
        effects = (self.little if little else self.effects)[claim.id]
        theirs = effects if isinstance(effects, list) else [effects] * len(claim.value)
        judge = reproduction_of_small if little else reproduction
        pairs = zip(claim.value, theirs, strict=True)
        return one_verdict({judge(value, reported, factor) for value, reported in pairs})

    def word(self, asked: str) -> str:
        """Returns one verdict on some claims, such as "16-c13 04-c22".

        A claim without a verdict is judged by the first one's effect: in its unit and direction.
        """
        first, *others = (self.stored[id][0] for id in asked.split())
        judged = (claim.judged or self.rule(replace(claim, id=first.id)) for claim in others)
        verdicts = {first.judged, *judged}
        other = len(verdicts) > 1 and "other experiment" in verdicts
        return "other experiment" if other else one_verdict(verdicts)

    def how(self, id: str) -> tuple[str, str]:
        """Returns a claim's protocol, "" where nothing was tuned, and its steps and protocol."""
        studies = [study for study, ids in self.runs.items() if id in ids]
        kinds = ["one"] if id in self.one_rate else [*dict.fromkeys(map(protocol, studies))] or [""]
        words = f"{steps(*studies)}, {' or '.join(PROTOCOLS[k] for k in kinds)}" if studies else ""
        return kinds[0], words

    def summary(self) -> str:
        """Returns a row for each result of the paper, those that reproduce best first."""
        rows = []
        for item in self.ranked():
            ours = self.answers(item)
            kinds = {c[0].id: self.how(c[0].id)[0] for c in ours}
            alike = [c for c in ours if c[0].judged != "other experiment"]
            theirs = [c for c in alike if kinds[c[0].id] in ("paper", "one", "")]
            tried = "fair", "rates", "one", ""
            listed = sorted(ours, key=lambda answer: item["claims"].index(answer[0].id))
            fair = [c for k in tried for c in listed if kinds[c[0].id] == k and c not in theirs]
            title = f"**{literal(item['item'])}**: {literal(item['reports'])}"
            as_there, tuned = (self.told(answer[0]) if answer else "" for answer in (theirs, fair))
            as_there = as_there if ours else literal(item["why_not"])
            rows.append((title, as_there, tuned, counts(ours) or "no claim"))
        heads = ("the paper reports", "here, as there", "here, otherwise", "verdicts")
        return classed(heads, rows, "cards results")

    def ranked(self) -> list[Mapping[str, Any]]:
        """Returns the items by the share of what is decided that is reproduced, then by number."""

        def strength(item: Mapping[str, Any]) -> tuple[float, int]:
            verdicts = [claim.judged for claim, _ in self.answers(item)]
            decided = sum(verdict in DECIDED for verdict in verdicts)
            share = verdicts.count("reproduced") / decided if decided else -1
            return share, decided or len(verdicts)

        return sorted(self.items, key=strength, reverse=True)

    def told(self, answer: Placed) -> str:
        """Returns a claim's sentence and effect; of more than two, the least and the greatest."""
        claim, values = answer[0], sorted(answer[0].value)
        shown, unit = claim.measured, ""
        if claim.size:
            ends = f"{values[0]} to {values[-1]}"
            shown = "; ".join(map(str, claim.value)) if len(values) < 3 else ends
            unit = f" {claim.unit}, n = {values[0].n}"
        how = self.how(claim.id)[1]
        facts = ", ".join(filter(None, (f"**{literal(shown)}**{literal(unit)}", literal(how))))
        return f"{link(answer)} {literal(claim.sentence)} {facts}"

    def rows(self, claims: Sequence[Placed]) -> str:
        """Returns claims in full, with their steps, protocols and the effects beside them."""
        facts = {c.id: (self.how(c.id)[1], self.beside(c.id)) for c, _ in claims}
        return claims_table(claims, {id: " · ".join(filter(None, f)) for id, f in facts.items()})

    def beside(self, id: str) -> str:
        """Returns the paper's effect, in the claim's unit and direction, or ""."""
        effects = self.little.get(id, self.effects.get(id, ""))
        effect = "; ".join(map(str, effects)) if isinstance(effects, list) else str(effects)
        size = " (small)" if id in self.little else ""
        return f"the paper's effect: {effect}{size}" if effect else ""

    def sections(self) -> str:
        """Returns all claims, a fold for each result of the paper."""
        parts = []
        for item in self.ranked():
            if ours := self.answers(item):
                title = f"{literal(item['item'])}: {counts(ours)}"
                parts.append(f"::::{{dropdown}} {title}\n{self.rows(ours)}\n::::")
        return "\n\n".join(parts)

    def against(self) -> str:
        """Returns the claims that find the opposite: those that decide, and other experiments."""
        return self.rows([f for f in self.all() if f[0].judged == "not"] + self.opposite())

    def opposite(self) -> list[Placed]:
        """Returns the experiments that decide nothing, but whose order is not the paper's."""
        return [answer for answer in self.all() if self.order(answer[0]) == "not"]

    def order(self, claim: Claim) -> str:
        """Returns the verdict on the order of an experiment that decides nothing, or ""."""
        shows = claim.judged == "other experiment" and claim.id in self.effects
        return self.rule(claim) if shows else ""

    def check(self) -> None:
        """Raises ValueError unless each verdict on intervals is the one that the rule gives."""
        by_rule = ((claim.id, claim.judged, self.verdict(claim)) for claim, _ in self.all())
        if odd := [f"{id} is {ours!r}, not {rule!r}" for id, ours, rule in by_rule if ours != rule]:
            raise ValueError(f"lessons/claims has verdicts that the rule has not: {'; '.join(odd)}")

    def verdict(self, claim: Claim, factor: float = FACTOR) -> str:
        """Returns the rule's verdict; an experiment that decides nothing keeps its own."""
        return claim.judged if claim.judged not in (*DECIDED, "open") else self.rule(claim, factor)

    def trained_by(self, factor: float) -> str:
        """Returns the verdicts on trained claims, were the rule's factor another."""
        judged = [(replace(c, verdict=self.verdict(c, factor)), "") for c, _ in self.trained()]
        return counts(judged)

    def trained(self) -> list[Placed]:
        """Returns the claims that rest on recorded runs of training."""
        known = {id for ids in self.runs.values() for id in ids}
        return [answer for answer in self.all() if answer[0].id in known]

    def all(self) -> list[Placed]:
        """Returns the claims of all items."""
        return [answer for item in self.items for answer in self.answers(item)]


def one_verdict(verdicts: set[str]) -> str:
    """Returns one verdict for several."""
    mixed = "partly" if verdicts & {"reproduced", "partly"} else "open"
    return verdicts.pop() if len(verdicts) == 1 else mixed


def counts(claims: Sequence[Placed]) -> str:
    """Returns how many claims have each verdict; reproduced are those of what is decided."""
    number = Counter(claim.judged for claim, _ in claims)
    decided = sum(number[verdict] for verdict in DECIDED)
    words = [f"{number['reproduced']} of {decided} reproduced"] if decided else []
    words += [f"{number[verdict]} {verdict}" for verdict in VERDICTS[1:] if number[verdict]]
    return ", ".join(words) + ("s" if number["other experiment"] > 1 else "")


@cache
def paper() -> Paper:
    """Returns what the page shows; ValueError where a verdict is not the rule's."""
    written = tomllib.loads((course() / "book" / "paper.toml").read_text(encoding="utf-8"))
    made = Paper(stored=stored(), **written)
    made.check()
    return made


# --- Table 1 -------------------------------------------------------------------------------------

BETTERED = "table-1200"  # a wider search has bettered some of its rows
THEIRS, FAIR = "cpu", ("race-1200", BETTERED)  # the first study that has a row shows it


def gaps(study: str, gated: bool) -> dict[str, Interval]:
    """Returns how far each row of Table 1 ends below all AdamW, in nats; {} if it never ran."""
    runs = [run for run in runs_of(study) if run.config["rule"] == "muon"]
    if study == BETTERED:
        runs = widened(runs, runs_of(f"{study}-wide"))
    if not any(run.config["gated"] is gated for run in runs):
        return {}
    losses = row_losses(runs, gated)
    return {row: paired_interval(losses[ADAMW], ends) for row, ends in losses.items()}


def gap(kind: str) -> str:
    """Returns our gap by the paper's protocol beside the paper's; kind: plain or gated."""
    theirs, ours = paper_losses(kind == "gated"), gaps(THEIRS, kind == "gated")[MUON]
    below = theirs[ADAMW][0] - theirs[MUON][0]
    how = f"nats (n = {ours.n}, {steps(THEIRS)})"
    return f"**{literal(str(ours))}** {how}, where the paper has **{below:.3f}**"


def table1(kind: str) -> str:
    """Returns Table 1 row by row, as gaps to all AdamW; kind: plain or gated."""
    losses, ours = paper_losses(kind == "gated"), gaps(THEIRS, kind == "gated")
    tuned = [(study, gaps(study, kind == "gated")) for study in FAIR]
    rows = []
    for row, (loss,) in losses.items():
        if row != ADAMW:
            fair = ((study, by_row[row]) for study, by_row in tuned if row in by_row)
            fairly = next((f"{x}, n = {x.n}, {steps(study)}" for study, x in fair), "")
            theirs = f"{losses[ADAMW][0] - loss:+.3f}"
            rows.append([*map(literal, (row, theirs, str(ours[row]), fairly))])
    label = f"here, as there (n = {ours[MUON].n}, {steps(THEIRS)})"
    return classed(("Muon takes", "the paper", label, "here, tuned alike"), rows, "cards gaps")
