"""The decks: what goes on slides, and in a real Chromium, from file://, with the network cut."""

import re
from functools import cache

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from test_book import moves, visit  # noqa: F401  a fixture
from test_browser import browser  # noqa: F401  a fixture

import slides
from muonlab.classroom.quiz import questions
from muonlab.files import course
from muonlab.notebooks import STATE
from printing.released import lessons

FIRST = "# Why?\n\nA hook.\n\nA picture.\n\n> **You will be able to**\n> 1. ask.\n>\n"
FIRST += "> Read 7 min · do 9 min · needs lesson 01 · no GPU"
SLIDES = ".slides section:not(.stack)"
SHAPE = """slide => {
  const at = slide.getBoundingClientRect(), scale = Reveal.getScale(), ends = [];
  const measure = () => {
    for (const node of slide.querySelectorAll(':not(aside, aside *, svg *, mjx-assistive-mml *)')) {
      const box = node.getBoundingClientRect();
      if (box.width) ends.push([(box.bottom - at.top) / scale, (box.right - at.left) / scale]);
    }
  };
  measure();
  slide.querySelectorAll(".muonlab-option").forEach(option => (option.click(), measure()));
  return [0, 1].map(side => Math.max(...ends.map(end => end[side])));
}"""  # the lowest and the rightmost place, whatever is clicked in a quiz
LETTERS = """slide => {
  const found = [], walk = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, holder = node.parentElement;
    const box = holder.getBoundingClientRect();
    if (!node.textContent.trim() || !box.width || holder.closest("aside, script, style")) continue;
    const size = parseFloat(getComputedStyle(holder).fontSize), at = holder.getScreenCTM?.();
    const pixels = size * (at ? Math.hypot(at.a, at.b) : Reveal.getScale());
    const lent = holder.closest('svg[id^="figure-"]') ? 2 : 0; // one tall figure has 18
    found.push([pixels * 1920 / innerWidth + lent, node.textContent.trim()]);
  }
  return found.sort((one, other) => one[0] - other[0])[0];
}"""  # the smallest on a slide, in pixels of a projector, and a word in it
GO = f"n => {{ const s = document.querySelectorAll('{SLIDES}')[n];"
GO += " const {h, v} = Reveal.getIndices(s); Reveal.slide(h, v) }"
CLAIM = "<div>It is.<br><small>claim 02-c1 · <b>1</b></small></div>"
PLAN = (course() / "book" / "teach-class.md").read_text(encoding="utf-8")
each = pytest.mark.parametrize("lesson", lessons(), ids=lambda path: path.stem)


@cache
def deck_of(lesson):
    return slides.deck(nbformat.read(lesson, as_version=4))


def lesson_of(count):
    """A lesson with a prediction, its outcome, and so many figures; then what is on no slide."""
    states = {"p": {"id": "02-p1", "choice": -1, "question": "Which?", "options": ["a", "b"]}}
    states |= {"x": {"values": {}}, "y": {"values": {}}}
    view = {name: new_output("display_data", {slides.VIEW: {"model_id": name}}) for name in states}
    figure = new_output("display_data", {"text/html": '<svg id="f" viewBox="0 0 300 200">'})
    tall = new_output("display_data", {"text/html": '<svg id="f" viewBox="0 0 300 900">'})
    came = new_output("display_data", {"text/markdown": '<span data-prediction="02-p1">'})
    code = [[view["x"]], [view["y"]], *[[figure]] * count, [view["p"]], [figure], [came], [tall]]
    cells = [
        new_markdown_cell(FIRST),
        new_code_cell('lesson = start("02")', outputs=[figure]),
        new_markdown_cell("## A"),
    ]
    cells += [new_code_cell(outputs=outputs) for outputs in code]
    cells += [new_markdown_cell("Then $x$.\n\n## Limits\n\nFew.\n\n## Recap")]
    cells += [new_code_cell(outputs=[figure])]
    models = {name: {"state": state} for name, state in states.items()}
    return new_notebook(cells=cells, metadata={"widgets": {STATE: {"state": models}}})


def shown(deck):
    outputs = [out for cell in deck.cells for out in cell.get("outputs", [])]
    return [next(iter(out.data)).rsplit("/")[-1] for out in outputs]


def titles(deck):
    words = [cell.source for cell in deck.cells if cell.cell_type == "markdown"]
    return [title for text in words for title in re.findall(r"^##? (.*)", text, re.M)]


def test_a_deck_keeps_the_order_of_its_lesson_and_shows_each_figure_once():
    deck = slides.deck(lesson_of(1))
    view, svg, told = "vnd.jupyter.widget-view+json", "html", "markdown"
    assert shown(deck) == [svg, view, view, svg, view, svg, told]
    assert titles(deck) == ["Why?", "Why?", *["A"] * 5, "Limits"]
    first, notes = (cell.source for cell in deck.cells[:2])
    assert "1. ask." in first
    assert "Read" not in first
    assert "A picture." not in first
    assert "7 minutes to read and 9 to do; it needs lesson 01" in notes
    asides = [c.source for c in deck.cells if "<aside" in c.source]
    assert len(asides) == len(titles(deck))
    assert "Then `x`." not in asides[0]
    assert "A picture." in asides[1]
    assert "Which? (a; b)" in asides[5]
    assert "## A\n\nWhich?" in [cell.source for cell in deck.cells]  # above its outcome


def test_a_question_stands_below_the_words_that_it_needs():
    lesson = lesson_of(0)
    place = next(n for n, cell in enumerate(lesson.cells) if "A" in cell.source[:5])
    hint = "<details>\n\nhint\n\n</details>"
    words = ["Far.", "## A", "long " * 90, "$$p(x)$$", hint, "Applied five times."]
    lesson.cells[place].source = "\n\n".join(words)
    cells = [cell.source for cell in slides.deck(lesson).cells]
    assert "## A\n\n$$p(x)$$\n\nApplied five times." in cells
    on_slides = [source for source in cells if "<aside" not in source]
    assert not any("Far." in source or "long" in source for source in on_slides)


def test_a_proof_stands_on_slides_of_its_own_and_above_a_claim():
    lesson = lesson_of(0)
    claim = {slides.CLAIM: {"id": "02-c1"}, "text/plain": "claim 02-c1", "text/html": CLAIM}
    cells = [
        new_markdown_cell("## P\n\n**Box 1.** One.\n\n**Exercise 02-e1** · 7 minutes · medium"),
        new_code_cell("def f(): ..."),
        new_markdown_cell("**Box 2.** Two."),
        new_code_cell("x = 1"),
        new_code_cell(outputs=[new_output("display_data", claim)]),
    ]
    lesson.cells[2:2] = cells
    deck = slides.deck(lesson)
    sources = [cell.source for cell in deck.cells]
    assert "## P\n\n**Box 1.** One." in sources
    assert [source for source in sources if "Two." in source] == ["## P\n\n**Box 2.** Two."]
    below = deck.cells[sources.index("## P\n\n**Box 2.** Two.") + 1]
    assert below.outputs[0].data["text/html"] == "<div>It is.</div>"
    assert "claim 02-c1" in sources[sources.index("## P\n\n**Box 2.** Two.") + 2]


def test_of_too_many_slides_the_last_figures_go_and_what_is_needed_stays():
    deck = slides.deck(lesson_of(30))
    found = shown(deck)
    assert len(titles(deck)) == slides.MOST
    assert found.count("markdown") == 1
    assert found.count("vnd.jupyter.widget-view+json") == 2  # the second explorer has gone
    assert set(deck.metadata.widgets[STATE]["state"]) == {"x", "p"}


def test_a_lesson_without_its_minutes_is_named():
    broken = lesson_of(0)
    broken.cells[0].source = "# Why?"
    with pytest.raises(ValueError, match=r"its question and its minutes, not '# Why\?"):
        slides.deck(broken)


@each
def test_every_lesson_has_a_deck_with_its_predictions_and_its_whole_quiz(lesson):
    deck = deck_of(lesson)
    states = [model["state"] for model in deck.metadata.widgets[STATE]["state"].values()]
    asked = {state["id"] for state in states if "choice" in state}
    code = "\n".join(cell.source for cell in nbformat.read(lesson, as_version=4).cells)
    assert asked == set(re.findall(r'lesson\.predict\(\s*"(.*?)"', code))
    quiz = [q["text"] for state in states for q in state.get("questions", [])]
    assert sorted(quiz) == sorted(q["text"] for q in questions(lesson.name[:2]))
    notes = "\n".join(cell.source for cell in deck.cells if "<aside" in cell.source)
    for question in questions(lesson.name[:2]):
        for option in question["options"]:
            assert slides.FORMULA.sub(r"`\1`", option.get("misconception", "")) in notes
    assert any("values" in state for state in states)
    assert 8 <= len(titles(deck)) <= slides.MOST


def in_slides(deck):
    """The slides in order, each as its words and its outputs; an explorer as its widget's state."""
    models = deck.metadata.widgets[STATE]["state"]
    for place, cell in enumerate(deck.cells):
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            outputs = deck.cells[place + 1].get("outputs", [])
            states = [models[view]["state"] for out in outputs if (view := slides._view(out))]
            yield cell.source, [out.data for out in outputs], states


@each
def test_what_a_slide_speaks_of_stands_on_it(lesson):
    for words, outputs, states in in_slides(deck_of(lesson)):
        shown_html = "".join(data.get("text/html", "") for data in outputs)
        whole = words + shown_html + "".join(state.get("question", "") for state in states)
        assert set(re.findall(r"\bbox (\d)", whole)) <= set(re.findall(r"\*\*Box (\d)", words))
        pictured = "<svg" in shown_html
        assert pictured or not re.search(r"\b(figure|next cell|below:|above:)", words), words
        assert "<small" not in shown_html


@each
def test_a_quiz_counts_on_from_slide_to_slide(lesson):
    quizzes = [s for *_, states in in_slides(deck_of(lesson)) for s in states if "questions" in s]
    starts = [int(re.search(r"number \+ (\d+)}\. \$", state["_esm"])[1]) for state in quizzes]
    assert starts == [1 + 2 * place for place in range(len(quizzes))]


@pytest.mark.parametrize("row", re.findall(r"^\| \d+ to .*slides of lesson.*", PLAN, re.M))
def test_the_plan_of_a_class_names_the_slides_that_hold_what_it_asks_for(row):
    _, _, what, source, _ = row.split("|")
    id, numbers = re.search(r"slides of lesson (\d\d), (.*)", source).groups()
    deck = deck_of(next(path for path in lessons() if path.name[:2] == id))
    slide_at = dict(enumerate(in_slides(deck), start=1))
    spans = re.findall(r"(\d+)(?: to (\d+))?", numbers)
    shown_numbers = {n for first, last in spans for n in range(int(first), int(last or first) + 1)}
    assert shown_numbers <= set(slide_at)
    asked = re.findall(r"([\w-]+) \(slide (\d+)\)", what)
    assert asked
    for thing, number in asked:
        _, outputs, states = slide_at[int(number)]
        assert int(number) in shown_numbers
        if re.fullmatch(r"\d\d-p\d+", thing):
            assert thing in [state.get("id") for state in states]
            assert int(number) + 1 in shown_numbers  # its outcome
        elif thing == "figure":
            assert "<svg" in outputs[0]["text/html"]
        else:
            assert "values" in states[0], f"no explorer on slide {number} of lesson {id}"


@pytest.mark.browser
@each
def test_a_deck_is_quiet_local_alive_and_fits(lesson, visit):  # noqa: F811
    page = visit(slides.DECKS / f"{lesson.stem}.html")
    page.set_viewport_size({"width": 1280, "height": 720})
    views = page.locator('script[type*="widget-view"]').count()
    page.locator(".muonlab").nth(views - 1).wait_for(state="attached")
    for number, slide in enumerate(page.locator(SLIDES).all()):
        page.evaluate(GO, number)
        smallest, word = slide.evaluate(LETTERS)
        assert smallest >= 20, word
        for explorer in slide.locator(".muonlab-explorer").all():
            moves(page, explorer)
        for choice in slide.locator(".muonlab-predict input").all()[:1]:
            choice.check()
        bottom, right = slide.evaluate(SHAPE)
        assert bottom < 721, number  # a letter's foot may reach into half a pixel
        assert right <= 1281, number
        assert len(slide.locator("aside.notes").text_content().strip()) > 20, number
    assert 8 <= number + 1 <= slides.MOST
    assert page.get_by_text("You have not predicted.").count() == 0
    assert page.outside == []
    assert page.faults == []


@pytest.mark.browser
def test_a_clicker_turns_the_page_and_paper_gets_every_slide(visit):  # noqa: F811
    path = slides.DECKS / "02-newton-schulz.html"
    page = visit(path)
    page.evaluate(GO, 2)
    page.locator(".muonlab-explorer input").first.focus()
    page.keyboard.press("PageDown")
    assert page.evaluate("Reveal.getIndices().h") == 3
    count = page.locator(SLIDES).count()
    asks = "slide => Boolean(slide.querySelector('.muonlab-quiz'))"
    quiz = next(n for n, s in enumerate(page.locator(SLIDES).all()) if s.evaluate(asks))
    page.evaluate(GO, quiz)
    page.locator(SLIDES).nth(quiz).locator(".muonlab-option").first.click()
    page.locator(".muonlab-link").first.click()
    assert page.evaluate("Reveal.getCurrentSlide().innerText").startswith("Three numbers")
    page.goto(f"{path.as_uri()}?print-pdf")
    page.locator(".pdf-page").nth(count - 1).wait_for(state="attached")
    assert page.locator(".pdf-page").count() == count
    assert len(re.findall(rb"/Type /Page\b", page.pdf(prefer_css_page_size=True))) == count


@pytest.mark.browser
def test_one_page_leads_to_every_deck(visit):  # noqa: F811
    page = visit(slides.DECKS / "index.html")
    links = page.locator(".toctree-wrapper a").all()
    names = [link.get_attribute("href") for link in links]
    assert names == [f"{path.stem}.html" for path in lessons()]
    assert page.locator(SLIDES).first.evaluate(SHAPE)[0] <= 720
