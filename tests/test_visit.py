"""The built book as a visitor gets it over http, in a real Chromium. `make book` first."""

import functools
import http.server
import re
import threading

import pytest
from test_book import HTML
from test_browser import browser, open_page, resize  # noqa: F401  a fixture

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


def test_homes_first_screen_is_headline_figure_and_what_moves_it(site, page):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{site}/book/intro.html")
    page.locator(".muonlab-sentence", has_text="Step 40:").wait_for()
    parts = {"h1": 1, "h1 + p": 1, ".muonlab-facts": 2, ".muonlab-play": 1}
    parts |= {".muonlab-drive input": 1, ".muonlab-three button": 3}
    parts |= {".muonlab-playground .muonlab-sentence": 1}
    for width, height in ((1440, 900), (1280, 720), (390, 844)):
        resize(page, width, height)
        wide = {".muonlab-go": 3} if width > 1000 else {}
        for name, count in (parts | wide).items():
            boxes = [node.evaluate(HERE) for node in page.locator(f"article {name}").all()]
            assert len(boxes) == count, name
            for box in boxes:
                assert 0 <= box["left"] < box["right"] <= width
                assert 48 <= box["top"] < box["bottom"] <= height, name
        facts = page.locator(".muonlab-facts").first.evaluate(HERE)
        assert facts["width"] > 0.65 * width, "nothing stands beside the figure"
        for sign in (".muonlab-home .bd-sidebar-secondary", ".dropdown-download-buttons"):
            assert page.locator(sign).locator("visible=true").count() == 0
    assert page.locator("#playground").count() == 1, "what other pages link to"


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
    page.wait_for_timeout(500)  # on a busy machine its last events come after it
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
