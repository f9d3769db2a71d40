"""What the book's pages show is made from the lessons; the built pages have tests of their own."""

import json
import re
from types import SimpleNamespace

import pytest

from muonlab.classroom import explore
from muonlab.classroom.claims import VERDICTS, collect
from muonlab.publishing import book


def rows(table):
    return [line for line in table.splitlines() if line.startswith("| ")]


def test_every_claim_is_in_the_table_with_its_value_its_bound_and_a_link_to_its_cell():
    made = book.claims()
    stored = [(claim, path.stem) for path in book.lessons() for claim in collect(path)]
    assert len(stored) > 160
    found = {re.search(r">(\d\d-c\d+)<", row)[1]: row for row in rows(made) if "<a" in row}
    assert list(found) == [claim.id for claim, _ in stored]
    for claim, lesson in stored:
        row = found[claim.id]
        assert f'href="../lessons/{lesson}.html#claim-{claim.id}"' in row
        plain = re.sub(r"\\(.)", r"\1", row)
        assert f"| {claim.sentence} | {claim.measured} · bound: {claim.bound} |" in plain


def test_only_a_sentence_that_judges_a_paper_has_a_verdict():
    made = book.claims()
    verdicts = {row.split(" | ")[1] for row in rows(made) if "<a" in row}
    assert verdicts == {"✓ holds", *VERDICTS}


def test_the_map_has_every_lesson_with_its_minutes_and_measured_seconds():
    found = rows(book.lesson_map())[2:]
    assert len(found) == len(book.lessons())
    for row in found:
        assert re.search(r"\| \d+ min \| \d+ min \| [1-9]\d? s \|$", row), row


def test_the_tiers_without_a_record_are_named(monkeypatch):
    monkeypatch.setattr(book, "recorded", lambda name: ["a run"] * (name != "paper"))
    assert book.tiers() == (
        "Recorded for the paper's Table 1: 1 runs on `cpu`, 1 runs on `gpu`. "
        "No run is recorded on `paper`."
    )


def test_an_explorer_brings_its_code_and_cannot_end_its_own_script():
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", book.explorer("manysteps"), re.DOTALL)
    view, state, loader = scripts
    model = json.loads(state)["state"][json.loads(view)["model_id"]]["state"]
    assert model["_esm"] == explore.module("manysteps")
    assert loader == ""


def test_a_page_gets_what_it_asks_for_and_an_unknown_part_is_named():
    assert book.fill("before <!-- made: map --> after") == f"before {book.lesson_map()} after"
    assert book.fill("<!-- a plain comment -->") == "<!-- a plain comment -->"
    with pytest.raises(ValueError, match="nothing makes the part 'maps'; there are claims, tiers"):
        book.fill("<!-- made: maps -->")


def test_the_code_of_a_question_is_folded_and_no_other():
    path = book.lessons()[0]
    cells = json.loads(book.fold(path.read_text(encoding="utf-8")))["cells"]
    tags = [set(cell["metadata"].get("tags", [])) for cell in cells]
    folded = [t for t in tags if "hide-input" in t]
    assert len(folded) == 2
    assert all(t & {"quiz", "prediction"} for t in folded)


def test_the_link_to_edit_a_page_leads_to_its_text():
    line = book.source_line("lessons/03-muon", "https://example.org/muonlab")
    assert 'href="https://example.org/muonlab/edit/main/lessons/text/03-muon.md"' in line
    assert "book/about.md" in book.source_line("book/about", "")


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("", ""),
        ("https://example.org/muonlab", "https://example.org/muonlab/"),
        ("https://example.org/muonlab/", "https://example.org/muonlab/"),
    ],
)
def test_the_address_of_the_book_comes_from_the_environment(site, expected, monkeypatch):
    monkeypatch.setenv("MUONLAB_SITE", site)
    config = SimpleNamespace()
    book._configure(SimpleNamespace(events=SimpleNamespace(listeners={})), config)
    assert config.ogp_site_url == expected
