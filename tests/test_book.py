"""The built book in a real Chromium, from file://, with the network cut. `make book` first."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from test_browser import Questions, browser, open_page, resize  # noqa: F401  a fixture

import pictures
from muonlab.files import LESSONS
from printing import book

pytestmark = pytest.mark.browser
HTML = LESSONS.parent / "book" / "_build" / "html"
FOLDERS = ("book", "book/reference", "lessons", "lessons/evidence")
MOVED = {HTML / f"{name}.html" for name in book.MOVED}  # a browser is on another page at once
PAGES = sorted({p for folder in FOLDERS for p in (HTML / folder).glob("*.html")} - MOVED)
LESSON_PAGES = [path for path in PAGES if path.parent.name == "lessons"]
KEPT = "Object.entries(localStorage).flatMap(([k, v]) => /^muonlab prediction/.test(k) ? v : [])"


def named(*names):
    return [HTML / f"{name}.html" for name in names]


def opened(browser, path, width=1280, theme="light"):  # noqa: F811
    """A page; page.outside holds every address that it asked another host for."""
    page = open_page(browser, width)
    page.set_default_timeout(30_000)
    page.outside = []
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


# --- the files -----------------------------------------------------------------------------------


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


def what_is_broken(path, tag, link):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "from another host" if tag != "a" and parts.scheme != "data" else None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return "no such file"
    if parts.fragment and unquote(parts.fragment) not in parsed(target).ids:
        return "no such anchor"
    return None


def test_links_and_anchors_resolve():
    broken = [
        f"{path.stem}, {link}: {fault}"
        for path in PAGES
        for tag, link in parsed(path).links
        if (fault := what_is_broken(path, tag, link))
    ]
    assert broken == []


def test_a_page_is_small_every_picture_has_words_and_no_table_is_left_as_markdown():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) <= 2e6, path
        assert "<p>|" not in text, path
        assert str(LESSONS.parent) not in text, path
        for image in parsed(path).images:
            assert len(image.get("alt") or "") >= 20 or image.get("alt") == "", path


def test_every_page_has_a_name_and_a_preview():
    names = {}
    for path in PAGES:
        head = path.read_text("utf-8").split("</head>")[0]
        preview = dict(re.findall(r'<meta property="og:(\S+)" content="([^"]*)"', head))
        (title,) = re.findall("<title>(.*?) &#8212; muonlab</title>", head)
        assert title != "muonlab", "a tab says one name twice"
        assert preview["site_name"] == "muonlab"
        assert len(preview["title"]) > 3
        assert preview["image"].endswith("og.png")
        assert len(preview["image:alt"]) > 20
        assert len(preview["description"]) > 30, path
        assert not re.search(r"[a-z]\+\d", preview["description"])
        (icon,) = re.findall('<link rel="icon" href="([^"]*)"', head)
        assert (path.parent / icon).read_bytes() == pictures.mark()
        names.setdefault(title, []).append(path.stem)
    assert [stems for stems in names.values() if len(stems) > 1] == []
    assert (HTML / "og.png").read_bytes() == pictures.SOCIAL.read_bytes()


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
    assert links == [f"claim-{claim.id}" for path in paths for claim in book.claims_in(path)]


# --- one visit of each page ----------------------------------------------------------------------

questions = Questions()
# Contrast takes axe-core seconds a page, and colours are those of one sheet: these have them all.
COLOURED = named(
    *("book/intro", "book/map", "book/answer", "book/paper"),
    *("lessons/07-one-step", "lessons/13-latent-attention-moe"),
)
CARDS = named("book/claims", "book/paper", "book/errata")  # long tables of sentences
LONG = ["claims", "errata"]  # with a filter, which first leaves axe-core a few of their rows
# Pages on our modules are made alike, and one stands for them.
ALIKE = [p for p in PAGES if p.parent.name == "reference" and p.stem != "benchmark"]
UNLIKE = [p for p in PAGES if p not in ALIKE and p.stem not in LONG]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_gives_the_right_answer_to_every_question(path, visit, subtests):
    page = visit(path)
    if views := page.locator('script[type*="widget-view"]').count():
        page.locator(".muonlab").nth(views - 1).wait_for()
    questions.ask(path, page, subtests)
    assert page.outside == []
    assert page.faults == []


def test_every_question_is_asked():
    for question, pages in questions.subjects.items():
        assert pages, question
        assert {*pages} <= {*PAGES}, question


def look(page, width=1280, theme="light"):
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    resize(page, width)


def violations(page, **options):
    """What axe-core finds on the page, by all its rules unless the options say which."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], **options}
    run = "options => axe.run(options).then(({ violations }) => violations)"
    return {
        fault["id"]: [node["html"][:120] for node in fault["nodes"][:3]]
        for fault in page.evaluate(run, options)
        if fault["impact"] in ("serious", "critical")
    }


NO_CONTRAST = {"color-contrast": {"enabled": False}}


@questions.of(COLOURED)
def is_it_accessible_on_a_desk(page):
    assert violations(page, rules=NO_CONTRAST) == {}


@questions.of(COLOURED)
def do_its_words_stand_out_in_light_and_dark(page):
    page.emulate_media(reduced_motion="reduce")  # or some colours would still be on their way
    for theme in ("dark", "light"):
        look(page, theme=theme)
        assert violations(page, runOnly=["color-contrast"]) == {}
    page.emulate_media(reduced_motion="null")


@questions.of(PAGES)
def does_a_phone_show_the_whole_width(page):
    look(page, 375)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@questions.of(UNLIKE)
def is_it_accessible_on_a_phone_and_large_enough_for_a_finger(page):
    look(page, 375)
    for _ in range(20):  # a moment after a resize the theme makes what scrolls reachable by Tab
        page.wait_for_timeout(200)
        if not (wrong := violations(page, rules=NO_CONTRAST | {"target-size": {"enabled": True}})):
            break
    assert wrong == {}


@questions.of(named("lessons/02-newton-schulz"))
def is_a_result_seen_without_a_click_and_on_paper(page):
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        assert page.locator("#claim-02-c5").is_visible()
    page.emulate_media(media="null")


ANSWERS = """questions => questions.map(question =>
  [...question.querySelectorAll(".muonlab-option")].map(option => {
    option.click();
    return question.querySelector(".muonlab-feedback").innerText;
  }))"""
AT_END = """control => control.max
  ? control.value === control.max : control.selectedIndex === control.options.length - 1"""


def moves(page, explorer):
    """Sees that a key on its first control changes the sentence of an explorer."""
    sentence = explorer.locator(".muonlab-sentence")
    before = sentence.inner_text()
    control = explorer.locator("input[type=range], select").first
    control.focus()
    slider = control.get_attribute("type") == "range"
    more, fewer = ("ArrowRight", "ArrowLeft") if slider else ("ArrowDown", "ArrowUp")
    page.keyboard.press(fewer if control.evaluate(AT_END) else more)
    assert sentence.inner_text() != before


@questions.of(LESSON_PAGES)
def does_every_live_figure_react_and_every_quiz_answer(page):
    look(page)
    for explorer in page.locator(".muonlab-explorer").all():
        moves(page, explorer)
    feedback = page.locator(".muonlab-quiz [role=group]").evaluate_all(ANSWERS)
    assert len(feedback) == 4
    for answers in feedback:
        assert {words[:8] for words in answers} == {"✓ Right.", "✗ Not ri"}
        assert all(len(words) >= 20 or "Right" in words for words in answers)


@questions.of(LESSON_PAGES)
def does_a_prediction_meet_its_outcome(page):
    group = page.locator(".muonlab-predict").first
    outcome = page.locator("[data-prediction]").first
    right = outcome.get_attribute("data-right")
    assert outcome.text_content() == "You have not predicted."
    assert not outcome.is_visible()
    options = [label.inner_text().strip() for label in group.locator("label").all()]
    assert right in options
    wrong = next(option for option in options if option != right)
    group.locator("input").nth(options.index(wrong)).check()
    assert outcome.inner_text() == f"You predicted: {wrong}."


@questions.of(named("lessons/02-newton-schulz"))
def does_a_prediction_stay_in_the_browser(page):
    right = page.locator("[data-prediction]").first.get_attribute("data-right")
    page.locator(".muonlab-predict").first.get_by_label(right, exact=True).check()
    assert page.evaluate(KEPT) == [right]
    page.reload()  # and not a second page: on file:// Chromium gives that one an old copy at times
    page.locator(".muonlab-predict input").first.wait_for()
    assert page.locator("[data-prediction]").first.inner_text() == "Your prediction came true."


CUT = """names => [...document.querySelectorAll(names)].filter(node =>
    node.checkVisibility({contentVisibilityAuto: true}) && node.scrollWidth > node.clientWidth + 1
).map(node => node.textContent.slice(0, 60))"""
OPEN = '() => document.querySelectorAll("details").forEach(node => node.open = true)'
EDGES = """() => [...document.querySelectorAll("article section > p, article .muonlab, "
  + "article .cell_output > .text_html:only-child > img")]
  .map(node => Math.round(node.getBoundingClientRect().right))"""


@questions.of(LESSON_PAGES)
def is_all_code_whole_and_do_text_figures_and_widgets_end_at_one_edge(page):
    page.evaluate(OPEN)
    for width in (1280, 1440, 375):
        look(page, width)
        assert page.evaluate(CUT, "article pre") == [], f"at {width} pixels"
        if width == 1440:
            assert len({*page.evaluate(EDGES)}) == 1


@questions.of(LESSON_PAGES)
def is_a_formula_whole_and_stands_on_the_ground_of_its_text(page):
    page.evaluate(OPEN)
    look(page, width=375, theme="dark")
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


@questions.of(named("lessons/06-heavy-tails", "lessons/15-when-it-does-not-win"))
def do_tables_of_words_fit_a_phone_and_hide_no_shade(page):
    page.evaluate(OPEN)
    look(page, width=375)
    words = page.locator(
        "article :is(.pst-scrollable-table-container, .text_html:has(td[style*=min-width]))"
    )
    over = words.evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)")
    assert max(over) <= 1
    rows = page.locator(".pst-scrollable-table-container :is(tr, td)").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert set(rows) <= {"rgba(0, 0, 0, 0)"}


@questions.of(named("lessons/05-associative-memory", "book/claims"))
def does_a_long_table_go_on_on_paper_and_a_small_thing_stay_whole(page):
    page.emulate_media(media="print")
    style = "all => [...new Set(all.map(one => getComputedStyle(one).{}))]"
    assert page.locator("article table").evaluate_all(style.format("breakInside")) == ["auto"]
    # browsers never split what may scroll, nor what is measured as a container
    boxes = page.locator("article :is(.text_html, .pst-scrollable-table-container, div.math)")
    assert boxes.evaluate_all(style.format("overflow")) == ["visible"]
    code = page.locator("article :is(div.cell, div[class*=highlight-])")
    assert set(code.evaluate_all(style.format("containerType"))) <= {"normal"}
    whole = page.locator(
        "article :is(.cell_input, .admonition, .muonlab-exercise, .muonlab-predict, "
        ".muonlab-quiz [role=group])"
    )
    assert set(whole.evaluate_all(style.format("breakInside"))) <= {"avoid"}
    page.emulate_media(media="null")


@questions.of([*CARDS, *named("lessons/15-when-it-does-not-win")])
def does_no_id_and_no_sign_of_a_recap_break_over_two_lines(page):
    cells = page.locator("table.claims tbody td:nth-child(-n + 2)")
    looks = cells.evaluate_all("cells => cells.map(c => getComputedStyle(c).whiteSpace)")
    assert set(looks) <= {"nowrap"}


@questions.of(CARDS)
def is_no_table_of_sentences_cut_and_is_a_row_a_card_on_a_phone(page):
    tables = page.locator("table:is(.claims, .cards)")
    for width in (1280, 800):
        look(page, width)
        over = tables.evaluate_all(
            "t => t.map(x => x.getBoundingClientRect().right"
            " - x.closest('article').getBoundingClientRect().right)"
        )
        assert max(over) <= 1
    look(page, 375)
    rows = tables.locator("tbody tr")
    assert rows.count() >= 40
    assert set(rows.evaluate_all("r => r.map(x => getComputedStyle(x).display)")) == {"block"}
    ends = tables.locator("td").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().left + cell.scrollWidth)"
    )
    assert 0 < max(ends) <= 375


@questions.of(named("book/answer", "book/paper"))
def does_a_card_say_what_its_cells_are(page):
    look(page, 375)
    label = "cell => getComputedStyle(cell, '::before').content"
    for name in ("leads",) if page.url.endswith("answer.html") else ("results", "gaps"):
        row = page.locator(f"table.{name} tbody tr:not(:has(td:empty))").first
        labels = [row.locator("td").nth(place).evaluate(label) for place in (1, 2, 3)]
        assert len(set(labels)) == 3
        assert all(text.endswith(': "') for text in labels)


@questions.of(named("book/paper"))
def does_the_page_on_the_paper_begin_with_ten_lines_and_fold_the_rest(page):
    look(page)
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


@questions.of(named(*(f"book/{name}" for name in LONG)))
def is_a_long_table_filtered_by_words_and_by_lesson(page):
    look(page)
    name = next(name for name in LONG if page.url.endswith(f"{name}.html"))
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
    assert violations(page) == {}
    look(page, 375)
    assert violations(page, runOnly=["target-size"]) == {}
    page.get_by_label("Words").fill("no such words")
    assert shown.count() == page.locator(f"table.{name}:visible").count() == 0


@questions.of(named("book/claims"))
def do_the_words_of_a_claim_stand_out_in_light_and_dark(page):
    page.get_by_label("Words").fill("bf16")  # a few rows: contrast takes seconds
    do_its_words_stand_out_in_light_and_dark(page)


OVER = """all => all.filter(text => text.checkVisibility() && text.getBoundingClientRect().right
  > text.parentNode.querySelector('rect').getBoundingClientRect().right).length"""


@questions.of(named("book/map"))
def do_the_words_of_the_map_stand_in_their_boxes(page):
    links = page.get_by_role("list", name="The lessons").get_by_role("link")
    assert links.count() == len(book.lessons())
    for width in (375, 1280):
        look(page, width)
        assert page.locator(".muonlab-map text").evaluate_all(OVER) == 0


# --- visits of their own -------------------------------------------------------------------------


def test_a_chosen_theme_is_kept_a_dark_page_is_printed_light_and_is_dark_again(visit):
    page = visit(HTML / "lessons" / "13-latent-attention-moe.html", theme="dark")
    now = "document.documentElement.dataset.theme"
    assert page.evaluate(now) == "dark"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.onPaper = {now} }})")
    page.pdf()
    assert page.evaluate("window.onPaper") == "light"
    assert page.evaluate(now) == "dark"


def test_the_magnifier_stands_beside_what_one_types(visit):
    page = visit(HTML / "search.html")
    for width in (1280, 375):
        resize(page, width)
        form = page.locator("form.bd-search").locator("visible=true")
        icon = form.locator(".fa-magnifying-glass").bounding_box()
        assert icon["width"] > 10
        assert icon["x"] + icon["width"] <= form.locator("input[type=search]").bounding_box()["x"]


def test_without_scripts_results_stand_the_map_leads_and_home_says_what_is_missing(browser):  # noqa: F811
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()

    def go(name):
        plain.goto((HTML / f"{name}.html").as_uri())

    go("lessons/02-newton-schulz")
    assert plain.locator("#claim-02-c5").is_visible()
    for name in LONG:
        go(f"book/{name}")
        rows = plain.locator(f"table.{name} tbody tr")
        assert rows.locator("visible=true").count() == rows.count() >= 100
    go("book/map")
    plain.locator(".muonlab-map a[data-lesson='05']").click()
    assert plain.url.endswith("/lessons/05-associative-memory.html")
    go("book/intro")
    missing = plain.locator("article noscript p")  # which is no text to Playwright, but is shown
    assert missing.is_visible()
    assert "needs JavaScript" in missing.inner_html()
    context.close()
