"""A lesson where no widget lives: pictures of its explorers, the words of its questions."""

import nbformat
import pytest
from nbconvert import HTMLExporter
from test_browser import browser

import still
from muonlab.notebooks import VIEW, released
from printing import fold
from printing.released import lessons

browser = browser  # the fixture of test_browser
each = pytest.mark.parametrize("lesson", lessons(), ids=lambda path: path.stem)
WIDGET = "cell => cell.insertAdjacentHTML('beforeend', '<div class=\"muonlab\"></div>')"


@each
def test_every_widget_has_its_still_and_they_are_small(lesson):
    bytes_of_stills = 0
    for cell in nbformat.read(lesson, as_version=4).cells:
        outputs = cell.get("outputs", [])
        for place, output in enumerate(outputs):
            above = outputs[place - 1].get("data", {}) if place else {}
            assert fold.is_still(output) == (VIEW in above)
            if fold.is_still(output):
                bytes_of_stills += len(output.data["text/html"])
    assert 1_000 < bytes_of_stills < 40_000


def test_stills_are_made_anew_and_the_books_pages_have_none():
    notebook = released(lessons()[2])
    before = nbformat.writes(notebook)
    still.add_stills(notebook)
    assert len(nbformat.writes(notebook).splitlines()) == len(before.splitlines())
    assert fold.STILL in before
    assert fold.STILL not in fold.fold(before)


def test_without_a_browser_a_line_says_where_it_lives_and_words_are_escaped(monkeypatch, tmp_path):
    monkeypatch.setattr(still, "CHROMIUM", tmp_path / "chromium")
    with still.camera() as shoot:
        assert shoot is None
        assert "in JupyterLab" in still.still({"name": "cobweb", "values": {}}, shoot)
    asked = {"choice": -1, "question": "a < b?", "options": ["<b>"]}
    assert "<p>a &lt; b?</p><ul><li>&lt;b&gt;</li></ul>" in still.still(asked, None)


@pytest.mark.browser
def test_an_exported_lesson_shows_its_explorers_offline_and_hides_the_pictures_of_live_ones(
    tmp_path, browser
):
    html, _ = HTMLExporter().from_filename(str(lessons()[2]))
    path = tmp_path / "lesson.html"
    path.write_text(html, encoding="utf-8")
    page = browser.new_context(offline=True).new_page()
    page.goto(path.as_uri())
    pictures = page.locator(f".{fold.STILL} img")
    assert pictures.count() == 2
    for picture in pictures.all():
        assert picture.is_visible()
        assert picture.evaluate("picture => picture.naturalWidth") > 300
        assert len(picture.get_attribute("alt")) > 30
    area = pictures.first.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea ')]")
    area.evaluate(WIDGET)
    assert not pictures.first.is_visible()
    assert pictures.last.is_visible()
