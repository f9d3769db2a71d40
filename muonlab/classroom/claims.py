"""Claims: sentences that could be false, each with a measured value and a bound.

What a claim says stands in lessons/claims/NN.toml, a table for each id. A cell measures its value,
and the notebook stores that. The keys of a table:

- sentence, unit: the words, and what the value is counted in;
- at_least, at_most, within = [low, high]: one bound, inclusive;
- size: of a difference, from where on it matters, in the unit. The value is then an Interval of
  `muonlab.statistics`, or several, and each must lie within the bound as a whole: fewer seeds make
  intervals wider, and help no such claim;
- source, paper: what the sentence is from, and the value there;
- verdict: on a paper's result, in our word, one of VERDICTS.

An open claim has a size and no bound: it states an interval that cannot tell, and tests nothing.
"""

import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from muonlab import checks
from muonlab.classroom.output import Table
from muonlab.classroom.widget import own_text
from muonlab.files import LESSONS
from muonlab.statistics import Interval
from muonlab.studies.verdicts import verdict

EVIDENCE_FOLDER = "evidence"  # the folder, in that of the lessons, of what only a referee asks
CLAIM = "application/vnd.muonlab.claim+json"
BORDER = "border-left:4px solid {};padding:0.2em 0.8em;margin:0.4em 0"
VERDICTS = ("reproduced", "partly", "not", "open", "other experiment")
COLUMNS = ("claim", "verdict", "sentence", "measured", "in the paper")
BOUNDS = ("at_least", "at_most", "within")


class ClaimDoesNotHold(AssertionError):
    """The measured value is outside the bound that makes the sentence true."""


@dataclass(frozen=True)
class Claim:
    """One sentence, the closed interval that its values must lie in, and the values measured."""

    id: str
    sentence: str
    lower: float = -math.inf
    upper: float = math.inf
    value: tuple[Any, ...] = ()  # numbers; with a size, Intervals
    size: float = 0
    unit: str = ""
    source: str = ""
    paper: str = ""
    verdict: str = ""

    @property
    def holds(self) -> bool:
        """True when every value is finite and within the bound; NaN never is."""
        ends = [x for v in self.value for x in (v[:3] if self.size else (v,))]
        return all(math.isfinite(x) and self.lower <= x <= self.upper for x in ends)

    @property
    def open(self) -> bool:
        """True of a claim without a bound."""
        return math.isinf(self.lower) and math.isinf(self.upper)

    @property
    def sign(self) -> str:
        """Is ✗ fails or ✓ holds; of an open claim, what `verdicts.verdict` says."""
        if self.open and self.holds:
            return "; ".join(verdict(interval, self.size) for interval in self.value)
        return "✓ holds" if self.holds else "✗ fails"

    @property
    def judged(self) -> str:
        """The verdict on a paper's result, or "" when there is none or the claim fails."""
        return self.verdict if self.holds else ""

    @property
    def measured(self) -> str:
        """Each effect [its interval], unit and n; or the least and the greatest value and unit."""
        if self.size:
            seeds = " and ".join(dict.fromkeys(str(interval.n) for interval in self.value))
            return f"{'; '.join(map(str, self.value))} {self.unit}, n = {seeds}"
        finite = all(map(math.isfinite, self.value))
        ends = (min(self.value), max(self.value)) if finite else self.value
        return f"{' to '.join(dict.fromkeys(map(self._rounded, ends)))} {self.unit}".strip()

    @property
    def bound(self) -> str:
        """The bound in words, such as `at most 0.7` or `0.68 to 1.21`."""
        whole = "the whole interval " if self.size else ""
        ends = [end for end in (self.lower, self.upper) if math.isfinite(end)]
        if len(ends) == 1:
            return f"{whole}at {'most' if math.isinf(self.lower) else 'least'} {ends[0]:g}"
        return f"{whole}{self.lower:g} to {self.upper:g}" if ends else "none"

    def _rounded(self, value: float) -> str:
        """To a thousandth of the bound's scale; less is noise."""
        if not math.isfinite(value):
            return str(value)
        bounds = [abs(b) for b in (self.lower, self.upper) if math.isfinite(b)]
        if all(number.is_integer() for number in (value, *bounds)) and 1 <= max(bounds) < 1e4:
            return f"{value:.0f}"  # a count
        scale = max(bounds) or abs(value) or 1.0
        if abs(value) < scale / 1000 and value != 0:
            return f"less than {scale / 1000:.2g}"
        digits = 3 - math.floor(math.log10(max(scale, abs(value))))
        rounded = round(value, digits)
        return f"{rounded:.{max(digits, 0)}f}" if 1e-4 <= abs(rounded) < 1e6 else f"{rounded:.4g}"

    @property
    def told(self) -> str:
        """The verdict in words that cannot be read as one on the sentence."""
        return "not reproduced" if self.judged == "not" else self.judged

    @property
    def row(self) -> tuple[str, ...]:
        """The claim in a table below COLUMNS."""
        theirs = "; ".join(filter(None, (self.paper, self.source)))
        result = f"{self.measured} · bound: {self.bound}"
        return (self.id, self.told or self.sign, self.sentence, result, theirs)

    def __repr__(self) -> str:
        facts = f"{self.sentence} | {self.measured} | {self.bound}"
        return f"claim {self.id} {self.sign.removeprefix('✓ ')}: {facts}"

    @property
    def html(self) -> str:
        """The claim as a box that a link can name."""
        notes = {"value": self.measured, "bound": self.bound, "source": self.source}
        notes |= {"paper": self.paper, "the paper's result": self.told}
        facts = [f"{name} <b>{escape(text)}</b>" for name, text in notes.items() if text]
        look = BORDER.format("#949494" if self.open else "#029e73")
        id = escape(self.id)
        return (
            f'<div id="claim-{id}" style="{look}"><b>{self.sign}</b> · '
            f"{escape(self.sentence)}<br><small>claim {id} · {' · '.join(facts)}</small></div>"
        )

    def demand(self) -> None:
        """Raises ClaimDoesNotHold with the sentence, the value, the bound and what to do."""
        if not self.holds:
            raise ClaimDoesNotHold(
                f'claim {self.id} does not hold: "{self.sentence}" Measured {self.measured}; '
                f"the bound is {self.bound}. Run the lesson from its first cell. If it still "
                "fails, the sentence is false on this machine: correct it or report it."
            )


def defined(lesson: str, folder: Path = LESSONS) -> dict[str, Claim]:
    """Returns the claims of a lesson's file by id, without values; OSError where it has none.

    `folder` holds the lessons and claims/. TypeError: a key that no claim has.
    """
    tables = tomllib.loads(own_text("claims/{}.toml", lesson, folder))
    return {id: _defined(id, table) for id, table in tables.items()}


def _defined(id: str, table: dict[str, Any]) -> Claim:
    bounds = {key: table.pop(key) for key in BOUNDS if key in table}
    if len(bounds) > 1 or not (bounds or table.get("size")):
        raise ValueError(f"claim {id}: it needs one bound of {BOUNDS}, or, if it is open, a size")
    one_end = bounds.get("at_least", -math.inf), bounds.get("at_most", math.inf)
    lower, upper = map(float, bounds.get("within", one_end))
    return Claim(id, lower=lower, upper=upper, **table)


def claim(id: str, value: Any, folder: Path = LESSONS) -> Claim:
    """Returns the claim with a value: a number, an Interval, or a list of either.

    ValueError: its file does not know the id. TypeError: no value, or an Interval without a size,
    or a size and another value.
    """
    known = defined(id[:2], folder)
    checks.choice("a claim", id, known)
    many = isinstance(value, list | tuple) and not isinstance(value, Interval)
    values, size = tuple(value) if many else (value,), known[id].size
    if not values or any(isinstance(v, Interval) != bool(size) for v in values):
        takes = "whole Intervals, as of paired_interval," if size else "a number, or several"
        raise TypeError(f"claim {id}, of size {size}, takes {takes}; got {value!r}")
    if not size:
        values = tuple(float(v.item() if hasattr(v, "item") else v) for v in values)
    return replace(known[id], value=values)


def as_table(claims: Iterable[Claim]) -> Table:
    """Returns the claims as a table."""
    return Table(COLUMNS, [claim.row for claim in claims], "claims")


def claims_in(path: Path) -> list[Claim]:
    """Returns the claims stored in a notebook, in order: its values, and the words of their file.

    Each is checked against its bound when it is asked.
    """
    text = checks.text(path, "a notebook")
    try:
        cells = json.loads(text)["cells"]
        outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
        stored = [(data[CLAIM]["id"], [*data[CLAIM]["value"]]) for data in outputs if CLAIM in data]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"expected a notebook in {path}, got something else: {error!r}") from error
    own, above = path.parents[:2]
    lessons = above if own.name == EVIDENCE_FOLDER else own  # which holds claims/
    return [claim(id, [*map(_read, values)], lessons) for id, values in stored]


def _read(value: Any) -> Any:
    """Returns a stored value, an Interval of numbers where it is a list: no text stays one."""
    if not isinstance(value, list):
        return value
    mean, low, high, n = value
    return Interval(float(mean), float(low), float(high), int(n))


def stored_claims(lessons: Path) -> dict[str, tuple[Claim, str]]:
    """Returns the claims of all lessons by id, each with its page, as "04-nanogpt".

    A claim may have left its lesson for a page of evidence, as "evidence/race".
    """
    known = pages(lessons)
    if all(page.startswith(EVIDENCE_FOLDER) for page in known):
        raise FileNotFoundError(f"expected the folder of the lessons, got {lessons}: none is there")
    return {claim.id: (claim, page) for page, path in known.items() for claim in claims_in(path)}


def pages(lessons: Path) -> dict[str, Path]:
    """Returns the notebooks of lessons and evidence by page, as "04-nanogpt", "evidence/race"."""
    own = {path.stem: path for path in sorted(lessons.glob("[0-9][0-9]-*.ipynb"))}
    return own | {f"{EVIDENCE_FOLDER}/{path.stem}": path for path in evidence(lessons)}


def evidence(lessons: Path) -> list[Path]:
    """Returns the notebooks of evidence beside the lessons."""
    return sorted(lessons.glob(f"{EVIDENCE_FOLDER}/*.ipynb"))


def print_stored(folder: Path, lesson: str | None = None) -> int:
    """Prints the stored claims, all or one lesson's; returns 1 when one fails or is missing."""
    lessons = [lesson] if lesson else sorted(path.stem for path in folder.glob("claims/*.toml"))
    known = [id for number in lessons for id in defined(number, folder)]
    stored = {id: claim for id, (claim, _) in stored_claims(folder).items() if id in known}
    print(as_table(stored.values()).text)
    for id in known:
        if id not in stored:
            print(f"claim {id} has no stored result: run `make lessons`")
    return int(len(stored) < len(known) or not all(claim.holds for claim in stored.values()))
