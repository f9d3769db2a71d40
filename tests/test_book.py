"""The built book in a real Chromium, from file://, with the network cut. `make book` first."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from test_browser import browser, open_page, resize  # noqa: F401  a fixture

from muonlab.classroom.widget import LESSONS
from printing import book

pytestmark = pytest.mark.browser
HTML = LESSONS.parent / "book" / "_build" / "html"
FOLDERS = ("book", "book/reference", "lessons", "lessons/evidence")
MOVED = {HTML / f"{name}.html" for name in book.MOVED}  # a browser is on another page at once
LESSON_PAGES = sorted((HTML / "lessons").glob("*.html"))
OTHERS = {p for folder in FOLDERS for p in (HTML / folder).glob("*.html")} - MOVED
PAGES = [*LESSON_PAGES, *sorted(OTHERS - {*LESSON_PAGES})]  # as pytest groups tests by number
MEGABYTES = 2
KEPT = """Object.keys(localStorage).filter(k => k.startsWith('muonlab prediction'))
  .map(k => localStorage[k])"""
each_path = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def seen(pages):
    """A test of each page, of all tests on the same visit."""
    how = {"indirect": True, "ids": lambda path: path.stem, "scope": "module"}
    return pytest.mark.parametrize("page", pages, **how)


def opened(browser, path, width=1280, theme="light"):  # noqa: F811
    """A page; page.outside holds every address that it asked another host for."""
    page = open_page(browser, width)
    page.set_default_timeout(30_000)
    page.path, page.outside = path, []
    page.route(re.compile("^https?:"), lambda r: (page.outside.append(r.request.url), r.abort()))
    page.add_init_script(f"localStorage.setItem('mode', '{theme}')")
    page.goto(path.as_uri())
    return page


@pytest.fixture
def visit(browser):  # noqa: F811
    """Opens pages that only this test sees."""
    pages = []
    yield lambda *how, **options: pages.append(opened(browser, *how, **options)) or pages[-1]
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def page(request, browser):  # noqa: F811
    """A page with its widgets, for all tests of it; each says how it looks at it."""
    page = opened(browser, request.param)
    if views := page.locator('script[type*="widget-view"]').count():
        page.locator(".muonlab").nth(views - 1).wait_for()
    yield page
    page.context.close()


def look(page, width=1280, theme="light"):
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    resize(page, width)


def test_the_book_is_built_and_has_a_page_for_each_lesson():
    assert len(LESSON_PAGES) == len(list(LESSONS.glob("*.ipynb"))), "run `make book`"


class Page(HTMLParser):
    """The ids, links and images of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.images = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found.get("id"), found.get("name") if tag == "a" else None} - {None}
        if tag == "img":
            self.images.append(found)
        if tag == "svg" and found.get("role") == "img":
            self.images.append({"alt": found.get("aria-label"), "src": "an inline figure"})
        for name in ("href", "src"):
            if found.get(name) and tag in ("a", "img", "script", "link", "source"):
                self.links.append((tag, found[name]))


parsed = cache(Page)


@each_path
def test_links_and_anchors_resolve(path):
    broken = []
    for tag, link in parsed(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if tag != "a" and parts.scheme != "data":
                broken.append(f"{link}: from another host")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            broken.append(f"{link}: no such file")
        elif parts.fragment and unquote(parts.fragment) not in parsed(target).ids:
            broken.append(f"{link}: no such anchor")
    assert broken == []


@each_path
def test_a_page_is_small_and_every_picture_has_words(path):
    assert path.stat().st_size <= MEGABYTES * 1e6
    for image in parsed(path).images:
        assert len(image.get("alt") or "") >= 20 or image.get("alt") == "", image.get("src")[:80]


def violations(page, **options):
    """What axe-core finds on the page, by all its rules unless the options say which."""
    # without the elements that are in order, which nobody reads, it takes half the time
    options = {"resultTypes": ["violations"], **options}
    return Axe().run(page, options=options).response["violations"]


@each_path
def test_no_table_is_left_as_markdown_and_no_path_of_this_machine_is_shown(path):
    text = path.read_text(encoding="utf-8")
    assert "<p>|" not in text
    assert str(LESSONS.parent) not in text


# Contrast takes axe-core seconds a page, and colours are those of one sheet: these have them all.
# Pages on our modules are made alike, and the first stands for them.
COLOURED = {
    "intro",
    "map",
    "answer",
    "paper",
    "claims",
    "07-one-step",
    "13-latent-attention-moe",
}
UNLIKE = [page for page in PAGES if page.parent.name != "reference" or page.stem == "benchmark"]


def test_the_pages_whose_colours_are_tested_exist():
    assert not COLOURED - {page.stem for page in UNLIKE}


@seen(UNLIKE)
def test_a_page_is_quiet_local_and_accessible(page):
    look(page)
    assert page.outside == []
    assert page.faults == []
    if page.path.stem not in COLOURED:
        assert serious(page, rules={"color-contrast": {"enabled": False}}) == {}
        return
    assert serious(page) == {}
    page.emulate_media(reduced_motion="reduce")  # or some colours would still be on their way
    look(page, theme="dark")
    assert serious(page, runOnly=["color-contrast"]) == {}  # the others do not look at colours


def serious(page, **options):
    return {
        v["id"]: [node["html"][:120] for node in v["nodes"][:3]]
        for v in violations(page, **options)
        if v["impact"] in ("serious", "critical")
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_that_a_reader_has_chosen_is_kept(theme, visit):
    page = visit(HTML / "book" / "intro.html", theme=theme)
    assert page.locator("html").get_attribute("data-theme") == theme


@seen(PAGES)
def test_a_phone_shows_the_whole_width(page):
    look(page, 375)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for _ in range(20):  # a moment after a resize the theme makes what scrolls reachable by Tab
        if not (wrong := violations(page, runOnly=["scrollable-region-focusable", "target-size"])):
            break
        page.wait_for_timeout(200)
    assert wrong == []


AT_END = """control => control.max
  ? control.value === control.max : control.selectedIndex === control.options.length - 1"""


@seen(LESSON_PAGES)
def test_every_live_figure_reacts_and_every_quiz_answers(page):
    look(page)
    for explorer in page.locator(".muonlab-explorer").all():
        sentence = explorer.locator(".muonlab-sentence")
        before = sentence.inner_text()
        control = explorer.locator("input[type=range], select").first
        control.focus()
        slider = control.get_attribute("type") == "range"
        more, fewer = ("ArrowRight", "ArrowLeft") if slider else ("ArrowDown", "ArrowUp")
        page.keyboard.press(fewer if control.evaluate(AT_END) else more)
        assert sentence.inner_text() != before
    questions = page.locator(".muonlab-quiz [role=group]")
    assert questions.count() == 4
    for question in questions.all():
        feedback = question.locator(".muonlab-feedback")
        verdicts = set()
        for option in question.locator(".muonlab-option").all():
            option.click()
            verdicts.add(feedback.inner_text()[:8])
            assert len(feedback.inner_text()) >= 20 or "Right" in feedback.inner_text()
        assert verdicts == {"✓ Right.", "✗ Not ri"}
    assert page.faults == []


@seen(LESSON_PAGES)
def test_a_prediction_stays_in_the_browser_and_meets_its_outcome(page):
    group = page.locator(".muonlab-predict").first
    outcome = page.locator("[data-prediction]").first
    right = outcome.get_attribute("data-right")
    assert outcome.text_content() == "You have not predicted."
    assert not outcome.is_visible()
    options = [label.inner_text().strip() for label in group.locator("label").all()]
    wrong = next(option for option in options if option != right)
    group.locator("input").nth(options.index(wrong)).check()
    assert outcome.inner_text() == f"You predicted: {wrong}."
    for _ in range(4):
        page.locator(".muonlab-predict").first.locator("input").nth(options.index(right)).check()
        assert page.evaluate(KEPT) == [right]
        page.wait_for_timeout(200)
        path, page = page.path, page.context.new_page()
        page.path = path
        page.goto(path.as_uri())
        page.locator(".muonlab-predict input").first.wait_for()
        if page.evaluate(KEPT) == [right]:
            break  # else Chromium 150 gave this page an old copy of the storage: one time in a
            # hundred on file://, and to a page of three lines as well
    found = page.locator("[data-prediction]").first.inner_text()
    assert found == "Your prediction came true."


def test_results_are_seen_without_a_click_on_paper_and_without_scripts(visit, browser):  # noqa: F811
    path = HTML / "lessons" / "02-newton-schulz.html"
    page = visit(path)
    page.locator("[data-prediction]").first.wait_for(state="attached")
    assert page.locator("#claim-02-c5").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#claim-02-c5").is_visible()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(path.as_uri())
    assert plain.locator("#claim-02-c5").is_visible()
    context.close()


CUT = """names => [...document.querySelectorAll(names)].filter(node =>
    node.checkVisibility({contentVisibilityAuto: true}) && node.scrollWidth > node.clientWidth + 1
).map(node => node.textContent.slice(0, 60))"""
OPEN = '() => document.querySelectorAll("details").forEach(node => node.open = true)'


@seen(LESSON_PAGES)
def test_no_code_and_no_printed_result_is_cut(page):
    page.evaluate(OPEN)
    for width in (1440, 1280, 375):
        look(page, width)
        assert page.evaluate(CUT, "article pre") == [], f"at {width} pixels"


@seen(LESSON_PAGES)
def test_text_figures_and_widgets_end_at_one_right_edge(page):
    look(page, 1440)
    page.evaluate(OPEN)
    edges = page.evaluate(
        """() => [...document.querySelectorAll("article section > p, article .muonlab, "
        + "article .cell_output > .text_html:only-child > img")]
        .map(node => Math.round(node.getBoundingClientRect().right))"""
    )
    assert len(set(edges)) == 1


@seen(LESSON_PAGES)
def test_a_formula_is_whole_and_stands_on_the_ground_of_its_text(page):
    look(page, width=375, theme="dark")
    page.evaluate(OPEN)
    looks = page.locator("article span.math").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundImage)"
    )
    assert set(looks) <= {"none"}, "a cover for what scrolls is a black box in a line of text"
    cut = """all => all.filter(one => {
      const box = one.parentElement;
      return getComputedStyle(one).overflow !== "visible"  // cuts the tops of raised signs
        || one.getBoundingClientRect().left < box.getBoundingClientRect().left - 1
        || box.scrollWidth < one.scrollWidth - 1;  // the rest cannot be reached
    }).map(one => one.textContent)"""
    assert page.locator("article div.math mjx-container").evaluate_all(cut) == []


@pytest.mark.parametrize("name", ["lessons/13-latent-attention-moe", "book/claims"])
def test_a_dark_page_is_printed_light_and_is_dark_again(name, visit):
    page = visit(HTML / f"{name}.html", theme="dark")
    now = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.onPaper = {now} }})")
    page.pdf()
    assert page.evaluate("window.onPaper") == "light"
    assert page.evaluate(now) == "dark"


@pytest.mark.parametrize("name", ["lessons/05-associative-memory", "book/claims"])
def test_on_paper_a_long_table_goes_on_and_a_small_thing_stays_whole(name, visit):
    page = visit(HTML / f"{name}.html")
    page.emulate_media(media="print")
    look = "all => [...new Set(all.map(one => getComputedStyle(one).{}))]"
    assert page.locator("article table").evaluate_all(look.format("breakInside")) == ["auto"]
    # browsers never split what may scroll, nor what is measured as a container
    boxes = page.locator("article :is(.text_html, .pst-scrollable-table-container, div.math)")
    assert boxes.evaluate_all(look.format("overflow")) == ["visible"]
    code = page.locator("article :is(div.cell, div[class*=highlight-])")
    assert set(code.evaluate_all(look.format("containerType"))) <= {"normal"}
    whole = page.locator(
        "article :is(.cell_input, .admonition, .muonlab-exercise, .muonlab-predict, "
        ".muonlab-quiz [role=group])"
    )
    assert set(whole.evaluate_all(look.format("breakInside"))) <= {"avoid"}


def test_on_a_phone_tables_of_words_fit_and_rows_hide_no_shade(visit):
    for name in ("06-heavy-tails", "15-when-it-does-not-win"):
        page = visit(HTML / "lessons" / f"{name}.html", width=375)
        page.locator(".muonlab-quiz").wait_for()
        page.evaluate(OPEN)
        words = page.locator(
            "article :is(.pst-scrollable-table-container, .text_html:has(td[style*=min-width]))"
        )
        assert words.count() >= 1
        over = words.evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)")
        assert max(over) <= 1
        rows = page.locator(".pst-scrollable-table-container :is(tr, td)").evaluate_all(
            "all => all.map(one => getComputedStyle(one).backgroundColor)"
        )
        assert set(rows) <= {"rgba(0, 0, 0, 0)"}


def test_the_home_page_begins_with_the_playground(visit):
    page = visit(HTML / "book" / "intro.html", width=375)
    playground = page.locator(".muonlab-playground")
    sentence = playground.locator(".muonlab-sentence:not(:empty)")
    sentence.wait_for()
    before = sentence.inner_text()
    playground.get_by_role("button", name="Too many facts").click()
    page.wait_for_function("document.querySelector('.muonlab-sentence').textContent.includes('36')")
    assert sentence.inner_text() != before
    assert page.locator("#playground").count() == 1, "what other pages link to"
    assert (
        playground.bounding_box()["y"]
        < page.get_by_role("heading", level=2).first.bounding_box()["y"]
    )


def test_search_finds_a_term(visit):
    page = visit(HTML / "search.html")
    page.goto(f"{(HTML / 'search.html').as_uri()}?q=isotropy")
    # Results are inserted one by one: the lesson's may come after the first.
    page.locator('#search-results li a[href*="09-isotropy"]').first.wait_for()


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_magnifier_stands_beside_what_one_types(visit, width, theme):
    page = visit(HTML / "search.html", width=width, theme=theme)
    form = page.locator("form.bd-search").locator("visible=true")
    icon, field = form.locator(".fa-magnifying-glass"), form.locator("input[type=search]")
    assert icon.bounding_box()["width"] > 10
    assert icon.bounding_box()["x"] + icon.bounding_box()["width"] <= field.bounding_box()["x"]


def test_the_page_of_all_claims_is_in_no_answer_of_the_search():
    """It holds nearly every word, and would come first whatever one asks."""
    text = (HTML / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    page, other = map(index["docnames"].index, ("book/claims", "book/glossary"))
    pages = set()
    for numbers in (*index["terms"].values(), *index["titleterms"].values()):
        pages |= {numbers} if isinstance(numbers, int) else set(numbers)
    assert other in pages
    assert page not in pages


def test_all_claims_are_on_their_page_and_lead_to_their_cells():
    page = parsed(HTML / "book" / "claims.html")
    links = [urlsplit(link).fragment for _, link in page.links if "#claim-" in link]
    paths = book.pages().values()
    assert links == [f"claim-{claim.id}" for path in paths for claim in book.collect(path)]


@pytest.mark.parametrize("name", ["claims", "paper", "errata"])
@pytest.mark.parametrize("width", [1280, 800])
def test_no_table_of_sentences_is_cut(visit, name, width):
    page = visit(HTML / "book" / f"{name}.html", width)
    tables = page.locator("table:is(.claims, .cards)")
    over = tables.evaluate_all(
        "t => t.map(x => x.getBoundingClientRect().right"
        " - x.closest('article').getBoundingClientRect().right)"
    )
    assert max(over) <= 1


@pytest.mark.parametrize("name", ["claims", "paper", "errata"])
def test_on_a_phone_a_row_is_a_card_and_nothing_is_cut(visit, name):
    page = visit(HTML / "book" / f"{name}.html", width=375)
    rows = page.locator("table:is(.claims, .cards) tbody tr")
    assert rows.count() >= 40
    assert set(rows.evaluate_all("r => r.map(x => getComputedStyle(x).display)")) == {"block"}
    ends = page.locator("table:is(.claims, .cards) td").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().left + cell.scrollWidth)"
    )
    assert 0 < max(ends) <= 375


def test_on_a_phone_a_card_says_what_its_cells_are(visit):
    page = visit(HTML / "book" / "paper.html", width=375)
    label = "cell => getComputedStyle(cell, '::before').content"
    for name, heads in (("results", 3), ("gaps", 3)):
        row = page.locator(f"table.{name} tbody tr:not(:has(td:empty))").first
        said = [row.locator("td").nth(n + 1).evaluate(label) for n in range(heads)]
        assert len(set(said)) == heads
        assert all(text.endswith(': "') for text in said)


def test_the_page_on_the_paper_begins_with_ten_lines_and_folds_the_rest(visit):
    page = visit(HTML / "book" / "paper.html")
    shown = page.locator("article table:visible")
    assert shown.count() == 1
    assert shown.locator("tbody tr").count() == 10
    assert shown.bounding_box()["y"] < 300, "without scrolling"
    best, worst = (
        page.locator(f'table.claims a[href$="claim-{id}"]').first for id in ("16-c7", "04-c17")
    )
    assert not best.is_visible()
    page.get_by_text("Our claims in numbers").click()
    assert best.is_visible()
    assert worst.is_visible()


@pytest.mark.parametrize("name", ["errata", "claims"])
def test_long_tables_are_filtered_by_words_and_by_lesson_and_all_is_there_without_scripts(
    name,
    visit,
    browser,  # noqa: F811
):
    path = HTML / "book" / f"{name}.html"
    page = visit(path)
    shown = page.locator(f"table.{name} tbody tr:visible")
    status = page.locator(".muonlab-filter [role=status]")
    every = shown.count()
    assert every >= 100
    assert status.inner_text() == f"{every} of {every} {name}"
    page.get_by_label("Lesson or page").select_option("14")
    fewer = shown.count()
    assert 0 < fewer < every
    assert all("14" in row for row in shown.locator("td:first-child").all_inner_texts())
    page.get_by_label("Words").fill("bf16")
    assert 0 < shown.count() < fewer
    assert "bf16" in shown.first.inner_text()
    assert status.inner_text() == f"{shown.count()} of {every} {name}"
    page.get_by_label("Words").fill("no such words")
    assert shown.count() == page.locator(f"table.{name}:visible").count() == 0
    assert serious(page) == {}
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(path.as_uri())
    assert plain.locator(f"table.{name} tbody tr:visible").count() == every
    context.close()


def test_each_room_of_the_package_has_a_page_that_the_index_leads_to():
    pages = sorted((HTML / "book" / "reference").glob("*.html"))
    index = parsed(HTML / "book" / "reference.html")
    led = {urlsplit(link).path.rsplit("/")[-1] for tag, link in index.links if tag == "a"}
    assert len(pages) >= 15
    assert {path.name for path in pages} <= led


def test_no_id_and_no_sign_of_a_recap_breaks_over_two_lines(visit):
    for path in (HTML / "lessons" / "15-when-it-does-not-win.html", HTML / "book" / "paper.html"):
        cells = visit(path, width=800).locator("table.claims tbody td:nth-child(-n + 2)")
        looks = cells.evaluate_all("cells => cells.map(c => getComputedStyle(c).whiteSpace)")
        assert set(looks) == {"nowrap"}


def test_a_page_says_what_it_is_to_those_who_link_to_it():
    text = (HTML / "lessons" / "08-many-steps.html").read_text(encoding="utf-8")
    assert re.search(r'property="og:title" content="Does the balance last', text)
    assert 'property="og:site_name" content="muonlab"' in text
    icon = re.search(r'<link rel="icon" href="([^"]+)"', text)[1]
    assert (HTML / "lessons" / icon).exists()
    home = (HTML / "book" / "intro.html").read_text(encoding="utf-8")
    assert re.search("<title>(.*?)</title>", home)[1].count("muonlab") == 1
    assert 'property="og:image" content="' in text
    assert (HTML / "og.png").read_bytes()[:4] == b"\x89PNG"
    assert Path(HTML / "lessons" / "08-many-steps.html").exists()
