"""The page that sets the course beside the paper: built from claims."""

import re
import tomllib

import pytest

from muonlab.classroom.claims import VERDICTS, Claim
from muonlab.files import course
from muonlab.publishing import book
from muonlab.statistics import Interval

ITEM = {"item": "Figure 1", "reports": "a | b < c", "claims": ["99-c1", "99-c2"]}


def a_claim(id="99-c1", verdict="reproduced", value=1.0):
    return Claim(id, "So it is.", 0.0, 2.0, (value,), verdict=verdict)


def stored(*verdicts):
    made = [a_claim(f"99-c{n}", verdict) for n, verdict in enumerate(verdicts, start=1)]
    return {claim.id: (claim, "99-end") for claim in made}


def items():
    return tomllib.loads((course() / "book" / "paper.toml").read_text(encoding="utf-8"))["items"]


def test_each_result_of_the_paper_has_claims_or_a_reason_why_not():
    assert len({item["item"] for item in items()}) == len(items()) >= 12
    for item in items():
        assert bool(item.get("claims")) != ("why_not" in item), item["item"]


def test_the_best_reproduction_and_the_worst_contradiction_are_on_the_page():
    ids = {id for item in items() for id in item.get("claims", [])}
    assert {"04-c17", "16-c7", "16-c9", "16-c10", "16-c13"} <= ids


def test_every_result_has_a_section_and_every_claim_a_verdict_and_a_link_to_its_box():
    page = book.verdicts()
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [item["item"] for item in items()]
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| <a")]
    ids = [id for item in items() for id in item.get("claims", [])]
    links = [re.search(r'/\d\d-[\w-]+\.html#claim-(\d\d-c\d+)">(.*?)</a>', row[0]) for row in rows]
    assert [link[1] for link in links] == [link[2] for link in links] == ids
    assert {row[1] for row in rows} <= set(VERDICTS)
    assert page.startswith(f"**{len(ids)} claims: ")


def test_verdicts_are_counted_for_each_result_and_for_all():
    known = stored("not", "reproduced", "not", "open")
    twice = [ITEM, ITEM | {"item": "Figure 2", "claims": ["99-c3", "99-c4"]}]
    made = book.paper_sections(twice, known)
    assert re.findall(r"\*\*(.*?)\*\*", made) == [
        "4 claims: 1 reproduced, 2 not, 1 open.",
        "2 claims: 1 reproduced, 1 not.",
        "2 claims: 1 not, 1 open.",
    ]


def test_a_claim_that_is_unknown_without_a_verdict_or_fails_is_named():
    for odd in ({}, stored(""), {"99-c1": (a_claim(value=9.0), "99-end")}):
        with pytest.raises(ValueError, match="Figure 1: no lesson has, with a verdict, 99-c1"):
            book.paper_sections([ITEM | {"claims": ["99-c1"]}], odd)


def test_a_row_shows_the_effect_its_interval_its_unit_and_its_seeds():
    effect = Claim(
        "99-c1", "A < B", 0.0, value=(Interval(0.1, 0.05, 0.15, 4),), size=0.02, unit="nats",
        paper="0.3", source="Table 1", verdict="partly",
    )  # fmt: skip
    row = book.claims_table([(effect, "99-end")]).splitlines()[-2]
    assert row == (
        '| <a href="../lessons/99-end.html#claim-99-c1">99-c1</a> | partly | A \\< B '
        "| +0.100 \\[+0.050, +0.150\\] nats, n = 4 · bound: all of it at least 0 | 0.3; Table 1 |"
    )


def test_what_was_not_tried_says_why_and_nothing_in_the_words_becomes_markup():
    item = {"item": "Table *2*", "reports": "a < b", "why_not": "<b> too [large]"}
    assert book.paper_sections([item], {}).strip() == (
        "## Table \\*2\\*\n\nThe paper reports: a \\< b.\n\n*Not tried.* \\<b\\> too \\[large\\]"
    )


def test_the_page_says_whose_the_words_are_and_what_is_tested():
    text = " ".join((course() / "book" / "paper.md").read_text(encoding="utf-8").split())
    assert "The words of the verdicts are ours; the bound beside them is tested." in text
    for verdict in VERDICTS:
        assert f"*{verdict}" in text.casefold()
