"""The built book as a visitor gets it over http, in a real Chromium. `make book` first."""

import functools
import http.server
import re
import threading

import pytest
from test_book import HTML, serious
from test_browser import browser, open_page  # noqa: F401  a fixture

import pictures
from printing import book

pytestmark = pytest.mark.browser
MOST = {"book/intro.html": 7.5e5}  # bytes of a page without formulas, with all that it loads


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    """The address of the built book on a server of its own."""
    handler = functools.partial(Quiet, directory=HTML)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(browser):  # noqa: F811
    page = open_page(browser)
    yield page
    page.context.close()


def heaviest():
    """The largest page without formulas; all load the same beside their own text."""
    pages = [p for p in HTML.rglob("*.html") if "slides" not in p.parts and p.parent != HTML]
    plain = [path for path in pages if 'class="math' not in path.read_text("utf-8")]
    assert len(plain) > 20
    return max(plain, key=lambda path: path.stat().st_size).relative_to(HTML).as_posix()


HERE = "node => node.checkVisibility() && node.getBoundingClientRect().toJSON()"


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (390, 844)])
def test_homes_first_screen_is_headline_figure_and_what_moves_it(site, page, size):
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{site}/book/intro.html")
    page.locator(".muonlab-sentence", has_text="Step 40.").wait_for()
    parts = {"h1": 1, "h1 + p": 1, ".muonlab-facts": 2, ".muonlab-play": 1}
    parts |= {".muonlab-drive input": 1, ".muonlab-three button": 3}
    parts |= {".muonlab-playground .muonlab-sentence": 1}
    if width > 1000:
        parts[".muonlab-go"] = 3
    for name, count in parts.items():
        boxes = [node.evaluate(HERE) for node in page.locator(f"article {name}").all()]
        assert len(boxes) == count, name
        for box in boxes:
            assert 0 <= box["left"] < box["right"] <= width
            assert 48 <= box["top"] < box["bottom"] <= height, name
    facts = page.locator(".muonlab-facts").first.evaluate(HERE)
    assert facts["width"] > 0.65 * width, "nothing stands beside the figure"
    for sign in (".muonlab-home .bd-sidebar-secondary", ".dropdown-download-buttons"):
        assert page.locator(sign).locator("visible=true").count() == 0


def test_the_button_of_the_contents_shows_them_on_home_and_search_is_there(site, page):
    page.goto(f"{site}/book/intro.html")
    contents = page.locator("#pst-primary-sidebar")
    assert not contents.is_visible()
    page.locator(".primary-toggle").click()
    assert contents.get_by_role("link", name="The map", exact=True).is_visible()
    page.locator(".primary-toggle").click()
    contents.wait_for(state="hidden")
    page.locator(".bd-header-article .search-button").click()
    page.locator("#pst-search-dialog input").wait_for()


@pytest.mark.parametrize("path", ["book/intro.html", "search.html", None])
def test_a_page_without_formulas_loads_less_than_a_megabyte(site, page, path):
    loaded = {}
    page.on("requestfinished", lambda r: loaded.update({r.url: r.sizes()["responseBodySize"]}))
    page.goto(f"{site}/{path or heaviest()}", wait_until="networkidle")
    assert sum(loaded.values()) > 3e5, "less than the theme alone"
    assert sum(loaded.values()) < MOST.get(path, 1e6), sorted(loaded, key=loaded.get)[-3:]
    assert page.faults == []


def test_icons_are_drawn_without_the_font(site, page):
    drawn = set(
        re.findall(r"^\.(fa-[a-z-]+)", (HTML / "_static/icons.css").read_text("utf-8"), re.M)
    )
    for path in (HTML / "book/map.html", HTML / "lessons/02-newton-schulz.html"):
        used = re.findall(r'class="[^"]*\b(fa-(?!solid|lg)[a-z-]+)', path.read_text("utf-8"))
        assert set(used) <= drawn
    page.goto(f"{site}/book/map.html")
    looks = page.locator(".fa-bars").first.evaluate(
        "node => { const s = getComputedStyle(node, '::before');"
        " return [s.maskImage.slice(0, 9), parseFloat(s.width)] }"
    )
    assert looks[0] == 'url("data'
    assert looks[1] > 8


def test_search_finds_the_answer_in_a_visitors_own_words(site, page):
    page.goto(f"{site}/search.html?q=does+muon+beat+adam")
    page.locator("#search-results li a").first.wait_for()
    page.wait_for_function(
        "document.querySelector('.search-summary').textContent.includes('found')"
    )
    first = page.locator("#search-results li a").first
    assert first.get_attribute("href").startswith("book/answer.html")


def test_the_map_shows_what_the_reader_did(site, page):
    page.goto(f"{site}/lessons/02-newton-schulz.html")
    page.locator(".muonlab-predict input").first.check()
    for question in page.locator(".muonlab-quiz [role=group]").all():
        question.locator(".muonlab-option").first.click()
    right = page.locator(".muonlab-quiz > .muonlab-note").inner_text()[0]
    asked = page.locator(".muonlab-predict").count()
    page.goto(f"{site}/book/map.html")
    link = page.locator(".muonlab-map a[data-lesson='02']")
    told = f"1 of {asked} predicted · quiz {right} of 4"
    assert link.locator(".progress").text_content() == told
    assert link.get_attribute("aria-label").endswith(f"Needs lesson 01. You: {told}.")
    wide = link.locator("rect").evaluate_all("all => all.map(r => r.getBoundingClientRect().width)")
    assert wide[1] / wide[0] == pytest.approx(2 / (asked + 1), abs=0.01)
    other = page.locator(".muonlab-map a[data-lesson='03']")
    assert other.locator(".progress").text_content() == ""
    other.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/lessons/03-muon.html")


@pytest.mark.parametrize("width", [375, 1280])
def test_the_map_is_read_by_all(site, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}/book/map.html")
    names = page.get_by_role("list", name="The lessons").get_by_role("link")
    assert names.count() == len(book.lessons())
    over = page.locator(".muonlab-map text").evaluate_all(
        "all => all.filter(t => t.checkVisibility() && t.getBoundingClientRect().right"
        " > t.parentNode.querySelector('rect').getBoundingClientRect().right).length"
    )
    assert over == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == {}


def test_without_scripts_the_map_leads_and_home_says_what_is_missing(site, browser):  # noqa: F811
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{site}/book/map.html")
    plain.locator(".muonlab-map a[data-lesson='05']").click()
    assert plain.url.endswith("/lessons/05-associative-memory.html")
    plain.goto(f"{site}/book/intro.html")
    told = plain.locator("article noscript p")  # which is no text to Playwright, but is shown
    assert told.is_visible()
    assert "needs JavaScript" in told.inner_html()
    context.close()


def test_every_page_has_a_name_and_a_preview():
    names = {}
    pages = {p for folder in ("book", "lessons") for p in (HTML / folder).rglob("*.html")}
    for path in sorted(pages - {HTML / f"{moved}.html" for moved in book.MOVED}):
        head = path.read_text("utf-8").split("</head>")[0]
        told = dict(re.findall(r'<meta property="og:(\S+)" content="([^"]*)"', head))
        (title,) = re.findall("<title>(.*?) &#8212; muonlab</title>", head)
        assert told["site_name"] == "muonlab"
        assert len(told["title"]) > 3
        assert told["image"].endswith("og.png")
        assert len(told["image:alt"]) > 20
        assert len(told["description"]) > 30, path
        assert not re.search(r"[a-z]\+\d", told["description"])
        (icon,) = re.findall('<link rel="icon" href="([^"]*)"', head)
        assert (path.parent / icon).read_bytes() == pictures.mark()
        names.setdefault(title, []).append(path.stem)
    assert [both for both in names.values() if len(both) > 1] == []
    assert (HTML / "og.png").read_bytes() == pictures.SOCIAL.read_bytes()
