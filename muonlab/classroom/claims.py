"""Claims: sentences that could be false, each with a measured value and a bound."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from muonlab.classroom.output import Table

MIME = "application/vnd.muonlab.claim+json"
LOOK = "border-left:4px solid #029e73;padding:0.2em 0.8em;margin:0.4em 0"
SIGNS = ("✗ does not hold", "✓ holds")
VERDICTS = ("reproduced", "partly", "not")  # on a paper's result
NOTES = ("source", "paper", "verdict")
CALL = re.compile(r'lesson\.claim\(\s*"([^"]*)"')


class ClaimDoesNotHold(AssertionError):
    """The measured value is outside the bound that makes the sentence true."""


@dataclass(frozen=True)
class Claim:
    """One sentence, the values measured for it, and the closed interval that they must lie in."""

    id: str
    sentence: str
    value: tuple[float, ...]
    lower: float | None
    upper: float | None
    source: str = ""
    paper: str = ""
    verdict: str = ""

    @property
    def holds(self) -> bool:
        """True when every value is finite and within the bound; NaN never is."""
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
        return all(math.isfinite(v) and low <= v <= high for v in self.value)

    @property
    def measured(self) -> str:
        """The least and the greatest value, to a thousandth of the bound's scale; less is noise."""
        finite = all(map(math.isfinite, self.value))
        ends = (min(self.value), max(self.value)) if finite else self.value
        return " to ".join(dict.fromkeys(map(self._rounded, ends)))

    @property
    def bound(self) -> str:
        """The bound in words, such as `at most 0.7` or `0.68 to 1.21`."""
        if self.lower is None:
            return f"at most {self.upper:g}"
        if self.upper is None:
            return f"at least {self.lower:g}"
        return f"{self.lower:g} to {self.upper:g}"

    def _rounded(self, value: float) -> str:
        if not math.isfinite(value):
            return str(value)
        bounds = [abs(b) for b in (self.lower, self.upper) if b is not None]
        if all(number.is_integer() for number in (value, *bounds)) and 1 < max(bounds) < 1e4:
            return f"{value:.0f}"  # a count
        scale = max(bounds) or abs(value) or 1.0
        if abs(value) < scale / 1000 and value != 0:
            return f"less than {scale / 1000:.2g}"
        digits = 3 - math.floor(math.log10(max(scale, abs(value))))
        rounded = round(value, digits)
        return f"{rounded:.{max(digits, 0)}f}" if 1e-4 <= abs(rounded) < 1e6 else f"{rounded:.4g}"

    def __repr__(self) -> str:
        facts = f"{self.sentence} | {self.measured} | {self.bound}"
        return f"claim {self.id} {SIGNS[self.holds][2:]}: {facts}"

    @property
    def html(self) -> str:
        """The claim as a box that a link can name."""
        notes = {"source": self.source, "paper": self.paper}
        facts = [f"measured <b>{self.measured}</b>", f"bound {self.bound}"]
        facts += [f"{name}: {escape(text)}" for name, text in notes.items() if text]
        return (
            f'<div id="claim-{self.id}" style="{LOOK}"><b>{SIGNS[self.holds]}</b> · '
            f"{escape(self.sentence)}<br><small>claim {self.id} · {' · '.join(facts)}</small></div>"
        )

    def as_json(self) -> dict[str, Any]:
        """Returns what the notebook stores, full precision, so that it can be checked again."""
        texts = {name: getattr(self, name) for name in ("id", "sentence", *NOTES)}
        bound = [self.lower, self.upper]
        return {**texts, "value": list(self.value), "bound": bound, "holds": self.holds}

    def demand(self) -> None:
        """Raises ClaimDoesNotHold with the sentence, the value, the bound and what to do."""
        if not self.holds:
            raise ClaimDoesNotHold(
                f'claim {self.id} does not hold: "{self.sentence}" Measured {self.measured}; '
                f"the bound is {self.bound}. Run the lesson from its first cell. If it still "
                "fails, the sentence is false on this machine: correct it or report it."
            )


def claim(
    id: str,
    sentence: str,
    value: Any,
    *,
    within: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    **notes: str,
) -> Claim:
    """Returns a Claim; `Lesson.claim` says what belongs in it, a ValueError what is missing."""
    if [within, at_least, at_most].count(None) != 2:
        bounds = "within=(low, high), at_least= or at_most="
        raise ValueError(f"claim {id} needs exactly one bound: {bounds}")
    if (verdict := notes.get("verdict", "")) not in ("", *VERDICTS):
        raise ValueError(f"claim {id}: verdict= is one of {', '.join(VERDICTS)}; {verdict!r} came")
    values = tuple(map(float, value if isinstance(value, tuple | list) else (value,)))
    if not values:
        raise ValueError(f"claim {id} has no value: give a number, or a tuple (low, high)")
    lower, upper = (None if b is None else float(b) for b in within or (at_least, at_most))
    return Claim(id, sentence, values, lower, upper, **notes)


def judged(claim: Claim) -> str:
    """Returns a claim's verdict on a paper's result, or "" when it has none or does not hold."""
    return claim.verdict if claim.holds else ""


def as_table(claims: Iterable[Claim]) -> Table:
    """Returns the claims as a table, with verdicts where one of them judges a paper's result."""
    claims = list(claims)
    heads = ["claim", "sentence", "measured", "bound", "holds?"]
    rows = [
        [c.id, c.sentence, c.measured, c.bound, "✓ holds" if c.holds else "✗ fails"] for c in claims
    ]
    if any(c.verdict for c in claims):
        heads.append("the paper")
        rows = [[*row, judged(c)] for row, c in zip(rows, claims, strict=True)]
    return Table(heads, rows)


def collect(path: Path) -> list[Claim]:
    """Returns the claims stored in a notebook, in order; each is checked against its own bound."""
    outputs = (output for cell in _code_cells(path) for output in cell["outputs"])
    return [_read(o["data"][MIME]) for o in outputs if MIME in o.get("data", {})]


def _read(s: dict[str, Any]) -> Claim:
    notes = {name: s.get(name, "") for name in NOTES}
    return Claim(s["id"], s["sentence"], tuple(s["value"]), *s["bound"], **notes)


def stored_claims(lessons: Path) -> dict[str, tuple[Claim, str]]:
    """Returns each claim of the notebooks in a folder by its id, with the name of its lesson."""
    return {c.id: (c, path.stem) for path in sorted(lessons.glob("*.ipynb")) for c in collect(path)}


def missing(path: Path) -> list[str]:
    """Returns the ids of claims that a notebook's cells make and no output holds."""
    source = "\n".join("".join(cell["source"]) for cell in _code_cells(path))
    stored = {claim.id for claim in collect(path)}
    return [id for id in CALL.findall(source) if id not in stored]


def print_stored(folder: Path, lesson: str | None = None) -> int:
    """Prints the stored claims, all or one lesson's; returns 1 when one fails or is missing."""
    name = f"{lesson or '[0-9][0-9]'}-*"
    notebooks = sorted(folder.glob(f"{name}.ipynb"))
    if not notebooks:
        raise FileNotFoundError(f"no notebook {name}.ipynb in {folder}: run `make lessons`")
    claims = [claim for path in notebooks for claim in collect(path)]
    print(as_table(claims).text)
    unbuilt = {p.stem for p in folder.glob(f"text/{name}.md")} - {p.stem for p in notebooks}
    lost = [f"claim {id}" for path in notebooks for id in missing(path)]
    lost += [f"lesson {stem}" for stem in sorted(unbuilt)]
    for what in lost:
        print(f"{what} has no stored result: run `make lessons`")
    return int(bool(lost) or not all(claim.holds for claim in claims))


def _code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]
