"""The table that sets the course beside the paper: built from claims."""

import tomllib

import pytest

from muonlab.classroom.claims import Claim
from muonlab.files import course
from muonlab.publishing import book


def a_claim(verdict, value=1.0):
    return Claim("99-c1", "So it is.", (value,), 0.0, 2.0, verdict=verdict)


def items():
    return tomllib.loads((course() / "book" / "paper.toml").read_text(encoding="utf-8"))["items"]


def test_every_result_of_the_paper_has_a_row_and_a_verdict():
    rows = book.verdicts().splitlines()[2:]
    verdicts = {row.split(" | ")[1] for row in rows}
    assert len(rows) == len(items())
    assert verdicts <= {"reproduced", "partly", "not", "not tried"}


def test_each_result_of_the_paper_has_claims_or_a_reason_why_not():
    assert len({item["item"] for item in items()}) == len(items()) >= 12
    for item in items():
        assert bool(item.get("claims")) != ("why_not" in item), item["item"]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["reproduced"], "reproduced"),
        (["reproduced", "partly"], "partly"),
        (["not"], "not"),
        (["not", "reproduced"], "partly"),
    ],
)
def test_a_verdict_is_what_the_claims_say_together(verdicts, expected):
    assert book.verdict_of([a_claim(verdict) for verdict in verdicts]) == expected


def test_a_claim_without_a_verdict_or_that_fails_is_refused():
    with pytest.raises(ValueError, match="must hold and have a verdict="):
        book.verdict_of([a_claim("")])
    with pytest.raises(ValueError, match="must hold"):
        book.verdict_of([a_claim("reproduced", value=9.0)])


def test_a_claim_that_no_lesson_makes_is_named():
    item = {"item": "Figure 1", "reports": "something", "claims": ["99-c1"]}
    with pytest.raises(ValueError, match="Figure 1: no lesson has the claims 99-c1"):
        book.paper_table([item], {})


def test_a_row_links_to_the_lesson_and_shows_the_value():
    item = {"item": "Figure 1", "reports": "something", "claims": ["99-c1"]}
    stored = {"99-c1": (a_claim("reproduced"), "99-end")}
    assert book.paper_table([item], stored).splitlines()[-1] == (
        "| Figure 1 | reproduced | something | [99-c1](../lessons/99-end) So it is. Measured 1. |"
    )
