"""Claims as pages of the book show them: in tables and in sentences, each a link to its cell."""

from collections.abc import Iterable, Mapping
from functools import cache
from re import compile, sub

from muonlab.classroom.claims import COLUMNS, Claim, stored_claims
from muonlab.records.table import markdown
from printing.released import folder

SPECIAL = compile(r"([\\`*_\[\]<>&$])")  # what Markdown would take for itself
SPACE = "\N{NO-BREAK SPACE}"
Placed = tuple[Claim, str]  # a claim, and the name of its lesson


@cache
def stored() -> dict[str, Placed]:
    """Returns the claims of all lessons, by id."""
    return stored_claims(folder())


def literal(text: str) -> str:
    """Returns a text as Markdown that shows it as it is."""
    return SPECIAL.sub(r"\\\1", text)


def link(claim_and_lesson: Placed, words: str = "") -> str:
    """Returns HTML that leads to a claim's cell: its id, or other words."""
    claim, lesson = claim_and_lesson
    return f'<a href="../lessons/{lesson}.html#claim-{claim.id}">{words or claim.id}</a>'


def classed(heads: Iterable[str], rows: Iterable[Iterable[str]], name: str) -> str:
    """Returns a Markdown table with a class, for the style sheet."""
    return f":::{{table}}\n:class: {name}\n\n{markdown([*heads], [[*r] for r in rows])}\n:::"


def claims_table(claims: Iterable[Placed], notes: Mapping[str, str] = {}) -> str:
    """Returns claims as a table; a note, by id, says how one was measured."""
    rows = []
    for claim, lesson in claims:
        verdict, sentence, measured, theirs = map(literal, claim.row[1:])
        how = notes.get(claim.id)
        measured += f" · {literal(how)}" if how else ""
        rows.append((link((claim, lesson)), verdict, sentence, measured, theirs))
    return classed(COLUMNS, rows, "claims")


def brief(asked: str) -> str:
    """Returns what `measured` does; of an effect, its mean alone."""
    return sub(r" \[[^<]*", "", measured(asked))


def measured(asked: str) -> str:
    """Returns what a claim measured, a link to its box: "04-c17 2" asks for its second value.

    Without a place, numbers are told from the least to the greatest. KeyError where no lesson has
    the claim; ValueError where it has several effects and no place says which.
    """
    id, _, place = asked.partition(" ")
    claim, lesson = stored()[id]
    values = claim.value[int(place) - 1 :][:1] if place else claim.value
    if claim.size and len(values) != 1:
        raise ValueError(f"{id} has {len(claim.value)} effects: name one, such as `{id} 1`")
    if claim.size:  # an interval and its n, which stays on one line
        [effect] = values
        return link((claim, lesson), f"{effect}, n{SPACE}={SPACE}{effect.n}")
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(values), max(values)))
    return link((claim, lesson), " to ".join(ends))
