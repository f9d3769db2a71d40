"""The book's live figures in a real Chromium: right numbers, and usable by eye, finger and key."""

import json
import re
from functools import cache

import nbformat
import pytest
import torch
from explorer_oracles import ORACLES, POINTS, RECIPES, leadmap_data, recipe
from test_browser import browser, open_page, resize

from muonlab.classroom import explore
from muonlab.classroom.explorer_data import (
    bands_data,
    facts_data,
    logits_data,
    trials_data,
)
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz
from muonlab.classroom.widget import LESSONS, Widget, script
from muonlab.data.load import load_corpus
from muonlab.drawing.looks import STYLES
from muonlab.notebooks import STATE, VIEW
from muonlab.records.store import RESULTS
from muonlab.studies.races import RACE
from muonlab.studies.table1 import table1_data
from muonlab.sweeps.results import recorded
from muonlab.theory import rotation, scalar_map

pytestmark = pytest.mark.browser
browser = browser  # the fixture of test_browser
THEMES = {  # of the book's style sheet and of JupyterLab: what widgets.css may lean on
    "book, light": ("", "--pst-color-text-base:#16213a;--pst-color-background:#fffdf8;"
                    "--pst-color-surface:#f5f1e8;--pst-color-border:#d8d3c7", "#fffdf8"),
    "book, dark": ("document.documentElement.dataset.theme = 'dark'",
                   "--pst-color-text-base:#e9e6df;--pst-color-background:#10151f;"
                   "--pst-color-surface:#1c2431;--pst-color-border:#3c475a", "#10151f"),
    "lab, light": ("document.body.dataset.jpThemeLight = 'true'",
                   "--jp-ui-font-color1:rgba(0,0,0,.87);--jp-layout-color0:#fff;"
                   "--jp-layout-color1:#fff;--jp-layout-color2:#eee", "#fff"),
    "lab, dark": ("document.body.dataset.jpThemeLight = 'false'",
                  "--jp-ui-font-color1:#fff;--jp-layout-color0:#111;"
                  "--jp-layout-color1:#212121;--jp-layout-color2:#424242", "#111"),
}  # fmt: skip


@cache
def data(name):
    """What the lesson passes to the explorer."""
    made = {
        "trials": lambda: {f"{steps:,}": trials_data(RACE[steps]) for steps in (150, 1200)},
        "leadmap": leadmap_data,
        "isotropy": lambda: bands_data(
            {"150": recorded("race-150"), "1,200": recorded("race-1200")}
        ),
        "facts": lambda: facts_data(recorded("facts-400"), load_corpus("facts-9")),
        "logits": lambda: logits_data(
            json.loads((RESULTS / "mechanism.json").read_text())["logits"]["parts"]
        ),
        "tenfacts": lambda: dict(
            zip(("keys", "values"), (rotation(10, seed).tolist() for seed in (0, 1)), strict=True)
        ),
        "table1": lambda: table1_data({name: recipe(name) for name in RECIPES}),
    }
    return json.loads(json.dumps(made.get(name, dict)()))


def stored():
    """The widgets of the stored notebooks: (name of the lesson, state)."""
    for path in sorted(LESSONS.glob("*.ipynb")):
        saved = nbformat.read(path, as_version=4).metadata.widgets[STATE]
        yield from ((path.stem, model["state"]) for model in saved["state"].values())


def renewed(state):
    """The state of a widget with today's script and style: what a release would store."""
    if "values" in state:
        return {**state, "_esm": explore.module(state["name"]), "_css": Widget._css}
    kind = Quiz if "questions" in state else Prediction
    return {**state, "_esm": kind._esm, "_css": Widget._css}


def opened(page, states, folder):
    """A page as the book makes it, without a kernel, once it has drawn widgets of these states."""
    loader = (LESSONS.parent / "book" / "assets" / "live" / "widgets.js").read_text()
    models = {str(i): {"state": renewed(state)} for i, state in enumerate(states)}
    parts = [(VIEW, {"model_id": name}) for name in models] + [(STATE, {"state": models})]
    texts = [(kind, json.dumps(part).replace("</", "<\\/")) for kind, part in parts]
    body = "\n".join(f'<script type="{kind}">{text}</script>' for kind, text in texts)
    path = folder / "page.html"
    style = "<style>body { font-family: sans-serif }</style>"  # wide, as the book's
    page_text = f"<!doctype html><meta charset=utf-8>{style}<body>{body}<script>{loader}</script>"
    path.write_text(page_text)
    page.goto(path.as_uri())
    page.locator(".muonlab").nth(len(states) - 1).wait_for()
    return page


def at_points(name):
    drawn = data(name)
    return [{"name": name, "values": values, "data": drawn} for values in POINTS[name]]


def one_of_each():
    """One state of each explorer, a prediction and a quiz."""
    explorers = [at_points(name)[0] for name in explore.names()]
    saved = [state for lesson, state in stored() if lesson.startswith("02")]
    others = [next(s for s in saved if key in s) for key in ("choice", "questions")]
    return [*explorers, *others]


@pytest.fixture(scope="module")
def window(browser):
    page = open_page(browser)
    page.set_default_timeout(5000)
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def drawn(request, browser, tmp_path_factory):
    """An explorer at all its points, for the tests that only look at it."""
    page = open_page(browser)
    page.set_default_timeout(5000)
    page.name = request.param
    yield opened(page, at_points(page.name), tmp_path_factory.mktemp("drawn"))
    assert page.faults == []
    page.context.close()


each_drawn = pytest.mark.parametrize("drawn", explore.names(), indirect=True, scope="module")


@pytest.fixture
def page(window):
    """One window for all tests: each opens its own address, which forgets the one before."""
    window.faults.clear()
    yield window
    window.emulate_media(media="null", reduced_motion="null")
    assert window.faults == []


# --- numbers -----------------------------------------------------------------------------------

VIEWED = """async ([source, points, data]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const module = (await import(url)).default;
  const controls = module.controls.map(({ format, ...rest }) => rest);
  const defaults = Object.fromEntries(controls.map((c) => [c.name, c.value]));
  const at = points.map((point) => ({ ...defaults, ...point }));
  return [controls, at, at.map((values) => module.view(values, data).series)];
}"""


def viewed(page, name):
    """The controls of an explorer, the points in full, and the series its script makes of them."""
    return page.evaluate(VIEWED, [explore.module(name), POINTS[name], data(name)])


TICKED = """async ([source, ranges]) => {
  const end = "export default (range) => ticks(extent({ range }, []), false, 5).length;";
  const url = URL.createObjectURL(new Blob([source + end], { type: "text/javascript" }));
  const module = (await import(url)).default;
  return ranges.map(module);
}"""


def test_an_axis_without_length_has_an_end(page):
    ranges = [[1, 1], [0, 0], [1e16, 1e16 + 2], [3, 1], [0, 1]]
    assert all(0 < count < 20 for count in page.evaluate(TICKED, [script("plot.js"), ranges]))


def test_every_explorer_has_an_oracle():
    assert sorted(ORACLES) == sorted(POINTS) == explore.names()


@each_drawn
def test_numbers_and_sentence_are_those_of_the_package(drawn):
    name = drawn.name
    sentences = drawn.locator(".muonlab-sentence").all_inner_texts()
    controls, values, pictures = viewed(drawn, name)
    check_that_points_reach_everywhere(controls, values)
    for point, series, sentence in zip(values, pictures, sentences, strict=True):
        expected = ORACLES[name]([s["x"] for s in series], **point)
        assert len(series) == len(expected.y), point
        for axis, columns in (("y", expected.y), ("x", expected.x)):
            for found, column in zip((s[axis] for s in series), columns, strict=bool(columns)):
                check_equal(found, column, expected.tolerance, f"{axis} at {point}")
        ranges = [[s["low"], s["high"]] for s in series if "low" in s]
        assert len(ranges) == len(expected.ranges), point
        for found, both in zip(ranges, expected.ranges, strict=True):
            check_equal(found, both, expected.tolerance, f"ranges at {point}")
        for phrase in expected.phrases:
            assert re.search(rf"(?<![\d.]){re.escape(phrase)}(?!\d)", sentence), (phrase, sentence)


def check_that_points_reach_everywhere(controls, values):
    assert len(values) >= 5
    for control in controls:
        found = {point[control["name"]] for point in values}
        ends = [control.get("min", 0), control.get("max", control.get("cells", 0) - 1)]
        wanted = control.get("options") or ends
        assert found >= set(wanted), control["name"]


def check_equal(found, expected, tolerance, where):
    found, expected = (torch.as_tensor(v, dtype=torch.float64) for v in (found, expected))
    torch.testing.assert_close(
        found,
        expected,
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
        msg=lambda m: f"{where}: {m}",
    )


@pytest.mark.parametrize("name", ["trials", "isotropy", "facts", "table1"])
def test_a_notebook_stores_the_data_of_todays_records(name):
    saved = [state["data"] for _, state in stored() if state.get("name") == name]
    assert saved, name
    assert all(shown == data(name) for shown in saved), "run `make lessons`"


# --- controls ----------------------------------------------------------------------------------


def seen(explorer):
    """The sentence and what is drawn, without the names of the clips, which chance makes."""
    drawn = "nodes => nodes.map((node) => node.outerHTML).join()"
    parts = explorer.locator(".muonlab-figure").locator("path, line, text, span")
    return explorer.locator(".muonlab-sentence").inner_text(), parts.evaluate_all(drawn)


def moves(page, explorer, control):
    """Whether a key moves the control, and with it the sentence or the picture."""
    before, value = seen(explorer), control.input_value()
    last = control.get_attribute("max") or control.locator("option").last.get_attribute("value")
    slider = control.get_attribute("type") == "range"
    forward = ["ArrowDown", "ArrowRight"][slider], ["ArrowUp", "ArrowLeft"][slider]
    control.focus()
    page.keyboard.press(forward[float(value) == float(last) if slider else value == last])
    assert control.input_value() != value, "the key does nothing"
    return seen(explorer) != before


@pytest.mark.parametrize("name", explore.names())
def test_every_control_reacts_and_says_its_name_and_value(name, page, tmp_path):
    opened(page, at_points(name), tmp_path)
    explorers = page.locator(".muonlab-explorer").all()
    specs = [spec for spec in viewed(page, name)[0] if "cells" not in spec]
    for spec in specs:
        role = "combobox" if "options" in spec else "slider"
        controls = [e.get_by_role(role, name=spec["label"], exact=True) for e in explorers]
        assert any(moves(page, *pair) for pair in zip(explorers, controls, strict=True)), spec
        if "options" in spec:
            before = [seen(e) for e in explorers]
            for control in controls:
                now = control.input_value()
                control.select_option(next(o for o in spec["options"] if o != now))
            assert [seen(e) for e in explorers] != before
        else:
            label = controls[0].locator("xpath=..")
            text = controls[0].get_attribute("aria-valuetext")
            assert text
            assert text == label.locator(".muonlab-value").inner_text()
    inputs = explorers[0].locator("input, select")
    inputs.first.focus()
    for spec in specs:
        assert page.evaluate("document.activeElement.ariaLabel") == spec["label"]
        page.keyboard.press("Tab")


# --- reading off, and dragging -----------------------------------------------------------------

NUMBER = r"-?[\d,.]+(?:e-?\d+)?"


def reading(explorer):
    """The lines of the read-out, and the words that a screen reader says."""
    lines = explorer.locator(".muonlab-readout div").all_inner_texts()
    return lines, explorer.locator(".muonlab-pad").get_attribute("aria-valuetext")


def numbers(words):
    return [float(found.replace(",", "")) for found in re.findall(NUMBER, words)]


def check_reading(lines, series):
    """Each line is a point of the series that it names, to four digits."""

    def named(line):
        name = line.rsplit(": ", 1)[0]
        return [s for s in series if name in (s["label"], re.split("[,:]", s["label"])[0])]

    head = None
    if not named(lines[0]):  # where it is read: a number, or the name of a row
        first, *lines = lines
        head = numbers(first.rsplit(": ", 1)[1])[0] if ": " in first else None
    assert lines
    for line in lines:
        found = numbers(line.rsplit(": ", 1)[1])
        points = [p for s in named(line) for p in zip(s["x"], s["y"], strict=True)]
        assert any(is_read(found, point, head) for point in points if None not in point), line


def is_read(found, point, head):
    def close(a, b):
        return abs(a - b) <= 6e-4 * max(abs(b), 1e-4)

    x, y = point
    if len(found) >= 2 and close(found[0], x) and close(found[1], y):
        return True  # a point of a plane
    if close(found[0], x) and head is None:
        return True  # a row has a name instead of a number
    at = found[-1] if len(found) == 2 else head
    return at is not None and close(found[0], y) and close(at, x)


@pytest.mark.parametrize("name", [name for name in explore.names() if name != "balls"])  # no axes
def test_the_pointer_and_the_keys_read_off_what_is_drawn(name, page, tmp_path):
    opened(page, at_points(name)[:1], tmp_path)
    explorer, pad = page.locator(".muonlab-explorer"), page.locator(".muonlab-pad")
    bubble = page.locator(".muonlab-readout")
    series = viewed(page, name)[2][0]
    assert not bubble.is_visible()
    box = pad.bounding_box()
    for share in (0.02, 0.37, 0.71):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.6 * box["height"])
        lines, words = reading(explorer)
        assert "; ".join(lines) == words
        check_reading(lines, series)
        inner, outer = bubble.bounding_box(), explorer.locator(".muonlab-figure").bounding_box()
        assert outer["x"] - 1 <= inner["x"] <= outer["x"] + outer["width"] - inner["width"] + 1
    page.mouse.move(0, 0)
    assert not bubble.is_visible()
    pad.focus()
    said = {}
    for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        said[key] = reading(explorer)[1]
        check_reading(reading(explorer)[0], series)
    assert len(set(said.values())) >= 3
    assert page.evaluate("window.scrollY") == 0
    page.keyboard.press("Escape")
    assert not bubble.is_visible()


def test_the_ends_of_a_curve_are_read_at_its_ends(page, tmp_path):
    opened(page, at_points("power")[:1], tmp_path)
    series = [s for s in viewed(page, "power")[2][0] if len(s["x"]) > 1]  # a point has no ends
    page.locator(".muonlab-pad").focus()
    for key, at in (("Home", 0), ("End", -1)):
        page.keyboard.press(key)
        lines = page.locator(".muonlab-readout div").all_inner_texts()
        assert numbers(lines[0])[0] == series[0]["x"][at]
        read = [numbers(line.rsplit(": ", 1)[1])[0] for line in lines[1:]]
        assert read == pytest.approx([s["y"][at] for s in series], rel=1e-3)


def test_a_range_over_seeds_is_read_with_its_ends(page, tmp_path):
    opened(page, at_points("facts")[:1], tmp_path)
    first = viewed(page, "facts")[2][0][0]
    page.locator(".muonlab-pad").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    line = page.locator(".muonlab-readout div").nth(1).inner_text()
    assert numbers(line) == pytest.approx(
        [first[part][-2] for part in ("y", "low", "high")], rel=1e-3
    )


def test_a_finger_reads_off_a_phone(browser, tmp_path):
    context = browser.new_context(viewport={"width": 375, "height": 800}, has_touch=True)
    page = opened(context.new_page(), at_points("isotropy")[:1], tmp_path)
    box = page.locator(".muonlab-pad").bounding_box()
    page.touchscreen.tap(box["x"] + 0.7 * box["width"], box["y"] + 0.3 * box["height"])
    inner = page.locator(".muonlab-readout").bounding_box()
    assert inner["x"] >= 0
    assert inner["x"] + inner["width"] <= 375
    assert "Muon:" in page.locator(".muonlab-readout").inner_text()
    assert page.locator(".muonlab-pad").evaluate("n => getComputedStyle(n).touchAction") == "pan-y"
    context.close()


def test_what_a_finger_read_goes_away_when_it_scrolls_or_touches_anything_else(page, tmp_path):
    opened(page, at_points("isotropy")[:1], tmp_path)
    pad, bubble = page.locator(".muonlab-pad"), page.locator(".muonlab-readout")
    box = pad.bounding_box()
    finger = {"pointerType": "touch", "clientX": box["x"] + 99, "clientY": box["y"] + 50}
    page.mouse.move(5, 5)
    for leave in (lambda: pad.dispatch_event("pointercancel", finger), lambda: page.mouse.down()):
        pad.dispatch_event("pointerdown", finger)
        pad.dispatch_event("pointerup", finger)
        assert bubble.is_visible()
        leave()
        assert not bubble.is_visible()
    page.mouse.up()


def test_arrow_keys_pass_over_options_that_nobody_has_chosen(page, tmp_path):
    state = one_of_each()[-2]
    opened(page, [{**state, "choice": -1, "note": ""}], tmp_path)
    kept = "Object.values(localStorage)"
    for commit in ("Enter", "Tab"):  # or one goes on
        page.evaluate("localStorage.clear()")
        page.locator(".muonlab-predict input").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.locator(".muonlab-note").inner_text() == "Press Enter to choose this."
        assert page.evaluate(kept) == []
        page.keyboard.press(commit)
        chosen = page.locator(".muonlab-predict label", has=page.locator(":checked")).inner_text()
        assert page.evaluate(kept) == [chosen.strip()]
        assert "Saved in this browser." in page.locator(".muonlab-note").inner_text()


DRAGGED = [
    "circle",
    "norms",
    "polynomial",
    "zipf",
    "breakeven",
    "power",
    "isotropy",
    "balls",
    "cobweb",
]
DRAGGED += ["leadmap"]


@pytest.mark.parametrize("name", DRAGGED)
def test_points_are_dragged_by_the_mouse_and_by_the_keys(name, page, tmp_path):
    opened(page, at_points(name)[:1], tmp_path)
    explorer, handles = page.locator(".muonlab-explorer"), page.locator(".muonlab-handle")
    assert handles.count()
    for number in range(handles.count()):
        handle = handles.nth(number)
        assert handle.get_attribute("aria-label").endswith(", in the picture")
        before, box = seen(explorer), handle.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 40, box["y"] - 16, steps=3)
        page.mouse.move(box["x"] + 76, box["y"] - 30)
        page.mouse.up()
        assert seen(explorer) != before
        moved = handle.bounding_box()
        assert abs(moved["x"] - box["x"]) + abs(moved["y"] - box["y"]) > 10
        page.mouse.move(box["x"] + 152, box["y"] - 20)  # it was let go
        assert handle.bounding_box() == moved
        handle.focus()
        before, words = seen(explorer), handle.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        assert seen(explorer) != before
        assert handle.get_attribute("aria-valuetext") != words


def test_a_race_stays_chosen_in_another_order_and_none_comes_after_the_last(page, tmp_path):
    opened(page, at_points("leadmap")[:1], tmp_path)
    sentence, slider = page.locator(".muonlab-sentence"), page.locator("input")
    races = len(data("leadmap")["races"])
    assert races < int(slider.get_attribute("max"))
    slider.focus()
    page.keyboard.press("End")
    assert slider.input_value() == str(races)
    name = sentence.inner_text().partition(" (")[0]
    page.get_by_role("combobox", name="sort by").select_option("steps")
    assert sentence.inner_text().startswith(f"{name} (")
    assert 0 < int(slider.input_value()) < races
    assert page.locator(".muonlab-label").all_text_contents() == ["laptop", "GPU"]
    assert page.locator(".muonlab-handle").get_attribute("aria-label").startswith(name.lower())


@pytest.mark.parametrize("name", ["zipf", "breakeven", "power", "circle"])
def test_a_point_answers_the_other_keys_of_a_slider_and_the_page_stays(name, page, tmp_path):
    opened(page, at_points(name)[:1], tmp_path)
    page.set_viewport_size({"width": 800, "height": 300})  # so that there is where to scroll
    handle = page.locator(".muonlab-handle").first
    handle.focus()
    before = page.evaluate("scrollY")
    words = []
    for key in ("Home", "End", "PageDown"):
        page.keyboard.press(key)
        words.append(handle.get_attribute("aria-valuetext"))
        assert page.evaluate("scrollY") == before
    assert len(set(words)) == 3


def test_an_axis_names_at_least_two_numbers_on_a_phone(page, tmp_path):
    page.set_viewport_size({"width": 375, "height": 800})
    chosen = {"source": "2: two rates of AdamW", "kind": "gated"}
    state = at_points("table1")[0]
    opened(page, [state | {"values": state["values"] | chosen}], tmp_path)
    words = page.locator("svg text[text-anchor=middle]").all_text_contents()
    assert sum(bool(re.fullmatch(NUMBER, word.replace("−", "-"))) for word in words) >= 2


def test_the_polynomial_goes_through_the_point_that_was_dragged(page, tmp_path):
    opened(page, at_points("polynomial")[:1], tmp_path)
    handle = page.locator(".muonlab-handle").nth(1)
    handle.focus()
    for _ in range(8):
        page.keyboard.press("ArrowDown")
    title = page.locator(".muonlab-title").inner_text().replace("−", "-").replace(" ", "")
    a, b, c = map(float, re.search(r"=([\d.]+)x([+-][\d.]+)x³([+-][\d.]+)x⁵", title).groups())
    at, height = numbers(handle.get_attribute("aria-valuetext"))
    assert at == 0.6
    assert height == pytest.approx(a * at + b * at**3 + c * at**5, abs=1e-3)
    assert height < scalar_map("jordan", 1)(torch.tensor(0.6)).item() - 0.1
    assert page.get_by_role("combobox", name="numbers by").input_value() == "custom"


LOOKS = """(group) => [...group.children].map((series) => {
  const [line, marker] = series.querySelectorAll("path");
  const hidden = line.getAttribute("stroke-width") === "0";
  const dash = hidden ? "none" : line.getAttribute("stroke-dasharray");
  const drawn = marker?.getAttribute("fill") ? marker.getAttribute("d") : "";
  const shape = drawn.split("z")[0].split("l").slice(1);
  return `${dash} ${shape}`;
})"""


@each_drawn
def test_a_picture_says_its_finding_and_needs_no_colour(drawn):
    for explorer in drawn.locator(".muonlab-explorer").all():
        sentence = explorer.get_by_role("status").inner_text()
        title = explorer.locator(".muonlab-title").text_content()
        label = explorer.get_by_role("img").get_attribute("aria-label")
        assert label == (f"{title}. {sentence}" if title else sentence)
        looks = explorer.locator("svg[role=img] g[clip-path]").evaluate(LOOKS)
        assert len(set(looks)) == len(looks)
        assert explorer.locator(".muonlab-legend > :not(.muonlab-mark)").count() == len(looks)
        assert all(explorer.locator(".muonlab-legend span").all_inner_texts())


# --- looks -------------------------------------------------------------------------------------

TARGETS = ".muonlab input[type=range], .muonlab select, .muonlab-predict label, .muonlab button"
CUT = """(svgs) => svgs.flatMap((svg) => [...svg.querySelectorAll("text")].filter((text) => {
  const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
  return Math.max(b.left - a.left, a.right - b.right, b.top - a.top, a.bottom - b.bottom) > 1;
}).map((text) => text.textContent).filter((words) => words))"""


@pytest.mark.parametrize(("touch", "least"), [(False, 24), (True, 44)])
def test_a_narrow_page_fits_and_its_targets_are_large_enough(touch, least, browser, tmp_path):
    context = browser.new_context(viewport={"width": 375, "height": 800}, has_touch=touch)
    page = opened(context.new_page(), one_of_each(), tmp_path)
    assert page.evaluate("matchMedia('(pointer: coarse)').matches") is touch
    page.locator(".muonlab-option").evaluate_all("nodes => nodes.forEach((node) => node.click())")
    page.locator(".muonlab-link").first.wait_for()
    heights = "nodes => nodes.map((n) => [n.outerHTML, n.getBoundingClientRect().height])"
    small = [pair for pair in page.locator(TARGETS).evaluate_all(heights) if pair[1] < least]
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("svg[role=img]").evaluate_all(CUT) == []
    context.close()


CROSSED = """(svgs) => svgs.flatMap((svg) => {
  const frame = svg.getBoundingClientRect(), zoom = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")];
  const boxes = texts.map((text) => text.getBoundingClientRect());
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).map((b, j) => [a, b, i, i + 1 + j]));
  const found = pairs.filter(([a, b]) => over(a, b))
    .map(([a, b, i, j]) => `${texts[i].textContent} | ${texts[j].textContent}`);
  const marked = boxes.filter((_, i) => texts[i].matches(".muonlab-label"));
  for (const line of svg.querySelectorAll(".muonlab-line")) {
    if (line.getAttribute("stroke-width") === "0") continue;
    const length = line.getTotalLength();
    for (let at = 0; at < length; at += 2) {
      const point = line.getPointAtLength(at);
      const x = frame.left + zoom * point.x, y = frame.top + zoom * point.y;
      const struck = (b) => x > b.left && x < b.right && y > b.top + 3 && y < b.bottom - 3;
      if (marked.some(struck)) found.push("a curve strikes a label through");
    }
  }
  return [...new Set(found)];
})"""
SELECTS = """(selects) => selects.flatMap((select) => {
  const canvas = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(select);
  canvas.font = style.font;
  const arrow = 16, padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
  const wide = (text) => canvas.measureText(text).width > select.clientWidth - padding - arrow;
  return [...select.options].map((option) => option.text).filter(wide);
})"""


@each_drawn
def test_no_label_is_cut_or_struck_through(drawn):
    pictures = drawn.locator("svg[role=img]")
    for width in (1440, 375):
        resize(drawn, width)
        assert pictures.evaluate_all(CUT) == [], f"at {width} pixels"
        assert pictures.evaluate_all(CROSSED) == [], f"at {width} pixels"
        assert drawn.locator("select").evaluate_all(SELECTS) == [], f"at {width} pixels"


STROKES = """(explorer) => {
  const lines = [...explorer.querySelectorAll("svg[role=img] g[clip-path] > g")];
  const names = [...explorer.querySelectorAll(".muonlab-legend > span")];
  return lines.map((line, i) => {
    const [first, second] = line.querySelectorAll("path");
    const drawn = ["stroke", "stroke-dasharray"].map((name) => first.getAttribute(name));
    return [names[i].textContent.split(",")[0], drawn.join(" ")];
  });
}"""


def test_an_optimizer_looks_the_same_wherever_it_is_drawn(page, tmp_path):
    ways = [{"first": "Muon", "second": "AdamW"}, {"first": "AdamW", "second": "Muon"}]
    states = [{"name": "facts", "values": way, "data": data("facts")} for way in ways]
    states += [at_points("isotropy")[0], at_points("trials")[1]]
    opened(page, states, tmp_path)
    looks = {}
    for explorer in page.locator(".muonlab-explorer").all():
        for name, drawn in explorer.evaluate(STROKES):
            looks.setdefault(name, set()).add(drawn)
    assert sorted(looks) == ["AdamW", "Muon"]
    assert [len(found) for found in looks.values()] == [1, 1]
    assert looks["AdamW"] != looks["Muon"]


INK = """(nodes) => nodes.map((node) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const fill = (colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); };
  const ancestors = [];
  for (let up = node; up; up = up.parentElement) ancestors.unshift(up);
  ancestors.forEach((up) => fill(getComputedStyle(up).backgroundColor));
  const read = () => [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  const paper = read(), style = getComputedStyle(node);
  const drawn = style.stroke !== "none" && style.fill === "none" ? style.stroke : style.fill;
  fill(node instanceof SVGElement ? drawn : style.color);
  return [node.getAttribute("class") ?? node.tagName, paper, read()];
})"""
TEXTS = "span, select, p, button, legend, b, label, i, text"


def luminance(rgb):
    parts = [v / 255 for v in rgb]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_and_lines_stand_out_in_light_and_dark(theme, page, tmp_path):
    choose, variables, paper = THEMES[theme]
    opened(page, one_of_each(), tmp_path)
    page.evaluate(choose)
    page.add_style_tag(content=f"html {{{variables}}} body {{background: {paper}}}")
    options = page.locator(".muonlab-option")
    options.evaluate_all("nodes => nodes.forEach((node) => node.click())")
    kinds = [("who", "contestants"), ("series", "series")]
    colours = [f"{kind}-{i}" for kind, part in kinds for i in range(len(STYLES[part]))]
    for colour in colours:  # of the series, whether or not a picture needs all
        probe = f"<i class=colour style='color: var(--muonlab-{colour})'>"
        add = "(el, probe) => el.insertAdjacentHTML('beforeend', probe)"
        page.locator(".muonlab").first.evaluate(add, probe)
    for selector, least in ((f":is({TEXTS}):not(.colour)", 4.5), (".muonlab-line, .colour", 3)):
        pale = [
            (name, round(contrast(a, b), 2))
            for name, a, b in page.locator(f".muonlab :is({selector})").evaluate_all(INK)
            if contrast(a, b) < least
        ]
        assert pale == []


def test_paper_shows_the_picture_without_its_controls(page, tmp_path):
    opened(page, at_points("circle")[:1], tmp_path)
    page.emulate_media(media="print")
    assert not page.locator(".muonlab-controls").is_visible()
    assert page.locator("svg[role=img]").is_visible()
    assert page.locator(".muonlab-sentence").is_visible()


@pytest.mark.parametrize(("motion", "behavior"), [("reduce", "auto"), ("no-preference", "smooth")])
def test_a_quiz_leads_to_the_section_and_takes_the_focus_there(motion, behavior, page, tmp_path):
    page.emulate_media(reduced_motion=motion)
    opened(page, one_of_each()[-1:], tmp_path)
    page.locator(".muonlab-option").evaluate_all("nodes => nodes.forEach((node) => node.click())")
    link = page.locator(".muonlab-link").first
    section = link.inner_text().strip("“”")
    page.evaluate(
        """(section) => {
          for (const title of [`${section}, and more`, section])
            document.body.insertAdjacentHTML("beforeend", `<h2>${title}<a href="#">#</a></h2>`);
          Element.prototype.scrollIntoView = function (how) { window.how = how.behavior; };
        }""",
        section,
    )
    link.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == f"{section}#"
    assert page.evaluate("window.how") == behavior
