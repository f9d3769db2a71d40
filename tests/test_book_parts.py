"""What the book's pages show is made from the lessons; the built pages have tests of their own."""

import json
import re
from types import SimpleNamespace

import pytest

from muonlab.classroom.claims import VERDICTS, claims_in, evidence
from muonlab.notebooks import folds
from printing import book
from printing.fold import fold


def rows(table):
    return [line for line in table.splitlines() if line.startswith("| ")]


def test_every_claim_is_in_the_table_with_its_value_its_bound_and_a_link_to_its_cell():
    made = book.claims()
    pages = {path.stem: path for path in book.lessons()}
    pages |= {f"evidence/{path.stem}": path for path in evidence(book.course() / "lessons")}
    collected = {page: claims_in(path) for page, path in pages.items()}
    stored = [(claim, page) for page, claims in collected.items() for claim in claims]
    assert len(stored) > 160
    found = {re.search(r">(\d\d-c\d+)<", row)[1]: row for row in rows(made) if "<a" in row}
    assert list(found) == [claim.id for claim, _ in stored]
    filled = sum(map(bool, collected.values()))
    assert made.count("\n## ") + 1 == filled, "no heading without claims"
    for claim, page in stored:
        row = found[claim.id]
        assert f'href="../lessons/{page}.html#claim-{claim.id}"' in row
        plain = re.sub(r"\\(.)", r"\1", row)
        assert f"| {claim.sentence} | {claim.measured} · bound: {claim.bound} |" in plain


def test_only_a_sentence_that_judges_a_paper_has_a_verdict():
    made = book.claims()
    verdicts = {row.split(" | ")[1] for row in rows(made) if "<a" in row}
    known = {"✓ holds", "not reproduced", *VERDICTS} - {"not"}
    assert {"✓ holds", "reproduced", "partly"} < verdicts <= known


def test_the_map_has_every_lesson_with_its_minutes_and_measured_seconds():
    found = rows(book.lesson_map())[2:]
    assert len(found) == len(book.lessons())
    for row in found:
        assert re.search(r"\| \d+\xa0min \| \d+\xa0min \| [1-9]\d?\xa0s \|$", row), row


def test_the_tiers_without_a_record_are_named(monkeypatch):
    monkeypatch.setattr(book, "read_runs", lambda path: ["a run"] * (path.stem != "paper"))
    assert book.tiers() == (
        "Recorded for the paper's Table 1: 1 runs on `cpu`, 1 runs on `gpu`. "
        "No run is recorded on `paper`."
    )


def test_a_widget_brings_its_code_and_cannot_end_its_own_script():
    page = book.widget("play", {"_esm": 'draw("</script>")'})
    view, state, loader = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    model = json.loads(state)["state"][json.loads(view)["model_id"]]["state"]
    assert model["_esm"] == 'draw("</script>")'
    assert loader == ""


def test_a_page_gets_what_it_asks_for_and_an_unknown_part_is_named():
    assert (
        book.fill("before <!-- made: lesson_map --> after") == f"before {book.lesson_map()} after"
    )
    assert book.fill("<!-- a plain comment -->") == "<!-- a plain comment -->"
    with pytest.raises(
        ValueError, match="nothing makes the part 'lesson_maps'; there are claims, tiers"
    ):
        book.fill("<!-- made: lesson_maps -->")


def code(source, *tags):
    outputs = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    return {
        "cell_type": "code",
        "source": source,
        "metadata": {"tags": [*tags]},
        "outputs": outputs,
    }


def folded(*cells):
    return json.loads(fold(json.dumps({"cells": cells})))["cells"]


def test_a_page_made_from_the_lessons_is_made_anew_by_each_build():
    asked = []
    app = SimpleNamespace(env=SimpleNamespace(note_reread=lambda: asked.append(1)))
    book._fill_page(app, "book/claims", ["<!-- made: tiers -->"])
    assert asked == [1]
    book._fill_page(app, "book/intro", ["no part is made here"])
    assert asked == [1]


@pytest.mark.parametrize(
    ("source", "tags", "tag", "button"),
    [
        ('x = 1\nlesson.predict("02-p9", "?", ["a", "b"])', [], "remove-input", None),
        ('lesson.explore(\n    "norms",\n    steps=0,\n)', [], "remove-input", None),
        ("lesson.recap()", [], "remove-input", None),
        ('x = f()\nlesson.explore("norms", x)', [], "hide-input", "Code of this explorer"),
        ('lesson.claim("02-c1", 1)\nlesson.show(f, alt="")', [], "hide-input", "of this figure"),
        ('lesson.reveal("02-p8", 1, "so")', [], "hide-input", "Code of this result"),
        ("print(1)", ["hide-input"], "hide-input", "Code of this result"),
        ('page.table(["x"], rows)', [], "hide-input", "Code of this table"),
        ('page = start_evidence("race")', [], "hide-input", "Code of the set-up"),
        ('by_hand = 2\nlesson.claim("02-c1", by_hand)', [], None, None),
        ("lesson.show(f(), alt=words)", ["by-hand"], None, None),
        ("print(2)", [], None, None),
    ],
)
def test_the_page_folds_what_makes_a_result_and_leaves_out_what_only_asks(
    source, tags, tag, button
):
    (cell,) = folded(code(source, *tags))
    found = cell["metadata"]
    assert folds(source, tags) is (tag is not None)  # so does the notebook
    assert {"remove-input", "hide-input"} & set(found["tags"]) == ({tag} if tag else set())
    assert (button or "") in found.get("mystnb", {}).get("code_prompt_show", "")
    assert ("mystnb" in found) == bool(button)
    assert cell["source"] == source


def test_an_exercise_stands_in_one_box_from_its_title_to_its_last_hint():
    hints = "<details><summary>Hint 1</summary>\n\na\n\n</details>\n\n"
    hints += "<details><summary>Solution 02-e1</summary>\n\nb\n\n</details>"
    before, stub, after = folded(
        {"cell_type": "markdown", "source": "Words.\n\n**Exercise 02-e1** · 5 minutes · easy"},
        code("...", "exercise"),
        {"cell_type": "markdown", "source": hints + "\n\nThe next paragraph."},
    )
    box = '<div class="muonlab-exercise" role="group" aria-label="Exercise 02-e1">'
    assert before["source"] == f"Words.\n\n{box}\n\n**Exercise 02-e1** · 5 minutes · easy"
    assert stub["outputs"] == []  # "not yet: run this cell" says nothing where there is no kernel
    assert after["source"].split("</div>")[1].strip() == "The next paragraph."
    assert '<details class="muonlab-hint"><summary>Hint 1' in after["source"]
    assert '<details class="muonlab-solution"><summary>Solution' in after["source"]


def test_every_exercise_of_the_lessons_closes_its_box():
    for path in book.lessons():
        cells = json.loads(fold(path.read_text(encoding="utf-8")))["cells"]
        words = "\n".join(c["source"] for c in cells if c["cell_type"] == "markdown")
        tags = [tag for cell in cells for tag in cell["metadata"].get("tags", [])]
        assert words.count("<div") == words.count("</div>") == tags.count("exercise")


def test_the_link_to_edit_a_page_leads_to_its_text():
    line = book.source_line("lessons/03-muon", "https://example.org/muonlab")
    assert 'href="https://example.org/muonlab/edit/main/lessons/text/03-muon.md"' in line
    assert "book/about.md" in book.source_line("book/about", "")


def test_the_address_of_the_book_comes_from_the_environment(monkeypatch):
    address = "https://example.org/muonlab"
    for site, expected in (("", ""), (address, f"{address}/"), (f"{address}/", f"{address}/")):
        monkeypatch.setenv("MUONLAB_SITE", site)
        config = SimpleNamespace()
        book._configure(SimpleNamespace(events=SimpleNamespace(listeners={})), config)
        assert config.ogp_site_url == expected


def test_a_page_of_several_widgets_has_one_loader():
    """Each loader draws all of them."""
    page = book.fill("<!-- made: playground -->\n\n<!-- made: lead_map -->")
    assert page.count(book.VIEW) == 2
    assert page.count(book.LOADER) == 1
    assert page.rstrip().endswith(book.LOADER)
