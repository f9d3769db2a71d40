"""The book's live figures in a real Chromium: right numbers, and usable by eye, finger and key."""

import json
import re
from functools import cache

import nbformat
import pytest
import torch
from explorer_oracles import LOGITS, ORACLES, POINTS, RECIPES, leadmap_data, recipe
from test_browser import Questions, browser, open_page, resize
from test_figures import contrast

from muonlab.classroom import explore
from muonlab.classroom.explorer_data import bands_data, facts_data, logits_data, trials_data
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz
from muonlab.classroom.widget import Widget, script
from muonlab.data.load import load_corpus
from muonlab.drawing.looks import STYLES
from muonlab.files import LESSONS
from muonlab.notebooks import STATE, VIEW
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
        "isotropy": lambda: bands_data({f"{n:,}": recorded(f"race-{n}") for n in (150, 1200)}),
        "facts": lambda: facts_data(recorded("facts-400"), load_corpus("facts-9")),
        "logits": lambda: logits_data(LOGITS),
        "tenfacts": lambda: {"keys": rotation(10, 0).tolist(), "values": rotation(10, 1).tolist()},
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


@pytest.fixture
def page(browser):
    page = open_page(browser)
    page.set_default_timeout(20_000)
    yield page
    assert page.faults == []
    page.context.close()


# --- an explorer at all its points, on one visit -------------------------------------------------

questions = Questions()
every = questions.of(explore.names())


@pytest.mark.parametrize("name", explore.names())
def test_an_explorer_gives_the_right_answer_to_every_question(name, page, tmp_path, subtests):
    page.name = name
    opened(page, at_points(name), tmp_path)
    questions.ask(name, page, subtests)


def first(page):
    return page.locator(".muonlab-explorer").first


VIEWED = """async ([source, points, data]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const module = (await import(url)).default;
  const controls = module.controls.map(({ format, ...rest }) => rest);
  const defaults = Object.fromEntries(controls.map((c) => [c.name, c.value]));
  const at = points.map((point) => ({ ...defaults, ...point }));
  return [controls, at, at.map((values) => module.view(values, data).series)];
}"""


def viewed(page):
    """The controls of an explorer, the points in full, and the series its script makes of them."""
    name = page.name
    return page.evaluate(VIEWED, [explore.module(name), POINTS[name], data(name)])


@every
def are_numbers_and_sentence_those_of_the_package(page):
    sentences = page.locator(".muonlab-sentence").all_inner_texts()
    controls, values, pictures = viewed(page)
    check_that_points_reach_everywhere(controls, values)
    for point, series, sentence in zip(values, pictures, sentences, strict=True):
        expected = ORACLES[page.name]([s["x"] for s in series], **point)
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
    pair = (torch.as_tensor(v, dtype=torch.float64) for v in (found, expected))
    torch.testing.assert_close(
        *pair, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{where}: {m}"
    )


LOOKS = """(group) => [...group.children].map((series) => {
  const [line, marker] = series.querySelectorAll("path");
  const hidden = line.getAttribute("stroke-width") === "0";
  const dash = hidden ? "none" : line.getAttribute("stroke-dasharray");
  const drawn = marker?.getAttribute("fill") ? marker.getAttribute("d") : "";
  const shape = drawn.split("z")[0].split("l").slice(1);
  return `${dash} ${shape}`;
})"""


@every
def does_a_picture_say_its_finding_and_need_no_colour(page):
    for explorer in page.locator(".muonlab-explorer").all():
        sentence = explorer.get_by_role("status").inner_text()
        title = explorer.locator(".muonlab-title").text_content()
        label = explorer.get_by_role("img").get_attribute("aria-label")
        assert label == (f"{title}. {sentence}" if title else sentence)
        looks = explorer.locator("svg[role=img] g[clip-path]").evaluate(LOOKS)
        assert len(set(looks)) == len(looks)
        assert explorer.locator(".muonlab-legend > :not(.muonlab-mark)").count() == len(looks)
        assert all(explorer.locator(".muonlab-legend span").all_inner_texts())


CUT = """(svgs) => svgs.flatMap((svg) => [...svg.querySelectorAll("text")].filter((text) => {
  const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
  return Math.max(b.left - a.left, a.right - b.right, b.top - a.top, a.bottom - b.bottom) > 1;
}).map((text) => text.textContent).filter((words) => words))"""


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
    const c = line.getBoundingClientRect();
    const near = marked.some((b) => c.left < b.right && b.left < c.right
      && c.top < b.bottom && b.top < c.bottom + 1);  // a level curve has no height
    if (!near || line.getAttribute("stroke-width") === "0") continue;
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


@every
def is_no_label_cut_or_struck_through(page):
    pictures = page.locator("svg[role=img]")
    for width in (1440, 375, 1280):
        resize(page, width)
        assert pictures.evaluate_all(CUT) == [], f"at {width} pixels"
        assert pictures.evaluate_all(CROSSED) == [], f"at {width} pixels"
        assert page.locator("select").evaluate_all(SELECTS) == [], f"at {width} pixels"


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


@questions.of(name for name in explore.names() if name != "balls")  # no axes
def do_the_pointer_and_the_keys_read_off_what_is_drawn(page):
    explorer = first(page)
    pad, bubble = explorer.locator(".muonlab-pad"), explorer.locator(".muonlab-readout")
    series = viewed(page)[2][0]
    assert not bubble.is_visible()
    box = pad.bounding_box()
    outer = explorer.locator(".muonlab-figure").bounding_box()
    for share in (0.02, 0.37, 0.71):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.6 * box["height"])
        lines, words = reading(explorer)
        assert "; ".join(lines) == words
        check_reading(lines, series)
        inner = bubble.bounding_box()
        assert outer["x"] - 1 <= inner["x"] <= outer["x"] + outer["width"] - inner["width"] + 1
    page.mouse.move(0, 0)
    assert not bubble.is_visible()
    pad.focus()
    spoken = set()
    for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        lines, words = reading(explorer)
        spoken.add(words)
        check_reading(lines, series)
    assert len(spoken) >= 3
    assert page.evaluate("window.scrollY") == 0
    page.keyboard.press("Escape")
    assert not bubble.is_visible()


@questions.of(["power"])
def are_the_ends_of_a_curve_read_at_its_ends(page):
    series = [s for s in viewed(page)[2][0] if len(s["x"]) > 1]  # a point has no ends
    first(page).locator(".muonlab-pad").focus()
    for key, at in (("Home", 0), ("End", -1)):
        page.keyboard.press(key)
        lines = reading(first(page))[0]
        assert numbers(lines[0])[0] == series[0]["x"][at]
        read = [numbers(line.rsplit(": ", 1)[1])[0] for line in lines[1:]]
        assert read == pytest.approx([s["y"][at] for s in series], rel=1e-3)


@questions.of(["facts"])
def is_a_range_over_seeds_read_with_its_ends(page):
    series = viewed(page)[2][0][0]
    first(page).locator(".muonlab-pad").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    ends = [series[part][-2] for part in ("y", "low", "high")]
    assert numbers(reading(first(page))[0][1]) == pytest.approx(ends, rel=1e-3)


@questions.of(["isotropy"])
def does_what_a_finger_read_go_away_when_it_scrolls_or_touches_anything_else(page):
    pad, bubble = first(page).locator(".muonlab-pad"), first(page).locator(".muonlab-readout")
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


@questions.of(["circle"])
def does_paper_show_the_picture_without_its_controls(page):
    page.emulate_media(media="print")
    assert not first(page).locator(".muonlab-controls").is_visible()
    assert first(page).locator("svg[role=img]").is_visible()
    assert first(page).locator(".muonlab-sentence").is_visible()
    page.emulate_media(media="null")


@questions.of(["table1"])
def does_an_axis_name_at_least_two_numbers_on_a_phone(page):
    resize(page, 375)
    for picture in page.locator("svg[role=img]").all():
        words = picture.locator("text[text-anchor=middle]").all_text_contents()
        assert sum(bool(re.fullmatch(NUMBER, word.replace("−", "-"))) for word in words) >= 2
    resize(page, 1280)


@questions.of(["polynomial"])
def does_the_polynomial_go_through_the_point_that_was_dragged(page):
    handle = first(page).locator(".muonlab-handle").nth(1)
    handle.focus()
    for _ in range(8):
        page.keyboard.press("ArrowDown")
    title = first(page).locator(".muonlab-title").inner_text().replace("−", "-").replace(" ", "")
    a, b, c = map(float, re.search(r"=([\d.]+)x([+-][\d.]+)x³([+-][\d.]+)x⁵", title).groups())
    at, height = numbers(handle.get_attribute("aria-valuetext"))
    assert at == 0.6
    assert height == pytest.approx(a * at + b * at**3 + c * at**5, abs=1e-3)
    assert height < scalar_map("jordan", 1)(torch.tensor(0.6)).item() - 0.1
    assert first(page).get_by_role("combobox", name="numbers by").input_value() == "custom"


DRAGGED = ["circle", "norms", "polynomial", "zipf", "breakeven", "power", "isotropy", "balls"]
DRAGGED += ["cobweb", "leadmap"]


@questions.of(DRAGGED)
def are_points_dragged_by_the_mouse_and_by_the_keys(page):
    explorer = first(page)
    handles = explorer.locator(".muonlab-handle")
    assert handles.count()
    for handle in handles.all():
        handle.scroll_into_view_if_needed()
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


@questions.of(["zipf", "breakeven", "power", "circle"])
def does_a_point_answer_the_other_keys_of_a_slider_while_the_page_stays(page):
    handle = first(page).locator(".muonlab-handle").first
    handle.focus()
    before = page.evaluate("scrollY")
    words = set()
    for key in ("Home", "End", "PageDown"):
        page.keyboard.press(key)
        words.add(handle.get_attribute("aria-valuetext"))
        assert page.evaluate("scrollY") == before
    assert len(words) == 3


@questions.of(["leadmap"])
def does_a_race_stay_chosen_in_another_order_and_none_come_after_the_last(page):
    explorer = first(page)
    sentence, slider = explorer.locator(".muonlab-sentence"), explorer.locator("input")
    races = len(data("leadmap")["races"])
    assert races < int(slider.get_attribute("max"))
    slider.focus()
    page.keyboard.press("End")
    assert slider.input_value() == str(races)
    name = sentence.inner_text().partition(" (")[0]
    page.locator(".muonlab-explorer").nth(1).locator("input").press("Home")  # another map moves
    explorer.get_by_role("combobox", name="sort by").select_option("steps")
    assert sentence.inner_text().startswith(f"{name} (")
    assert 0 < int(slider.input_value()) < races
    assert explorer.locator(".muonlab-label").all_text_contents() == ["laptop", "GPU"]
    handle = explorer.locator(".muonlab-handle")
    assert handle.get_attribute("aria-label").startswith(name.lower())
    slider.press("Home")


@every
def does_every_control_react_and_say_its_name_and_value(page):
    explorers = page.locator(".muonlab-explorer").all()[:8]
    specs = [spec for spec in viewed(page)[0] if "cells" not in spec]
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


# --- pages of their own --------------------------------------------------------------------------

TICKED = """async ([source, ranges]) => {
  const end = "export default (range) => ticks(extent({ range }, []), false, 5).length;";
  const url = URL.createObjectURL(new Blob([source + end], { type: "text/javascript" }));
  const module = (await import(url)).default;
  return ranges.map(module);
}"""


def test_an_axis_without_length_has_an_end(page):
    ranges = [[1, 1], [0, 0], [1e16, 1e16 + 2], [3, 1], [0, 1]]
    assert all(0 < count < 20 for count in page.evaluate(TICKED, [script("plot.js"), ranges]))


def test_a_notebook_stores_the_data_of_todays_records():
    explorers = [state for _, state in stored() if "values" in state]
    for name in ("trials", "isotropy", "facts", "table1"):
        saved = [state["data"] for state in explorers if state["name"] == name]
        assert saved, name
        assert all(shown == data(name) for shown in saved), f"{name}: run `make lessons`"


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


TARGETS = ".muonlab input[type=range], .muonlab select, .muonlab-predict label, .muonlab button"


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
    if touch:
        check_that_a_finger_reads_off(page)
    context.close()


def check_that_a_finger_reads_off(page):
    explorer = page.locator(".muonlab-explorer").nth(explore.names().index("isotropy"))
    pad, bubble = explorer.locator(".muonlab-pad"), explorer.locator(".muonlab-readout")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    page.touchscreen.tap(box["x"] + 0.7 * box["width"], box["y"] + 0.3 * box["height"])
    inner = bubble.bounding_box()
    assert 0 <= inner["x"] <= 375 - inner["width"]
    assert "Muon:" in bubble.inner_text()
    assert pad.evaluate("node => getComputedStyle(node).touchAction") == "pan-y"


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
  const read = () => "#" + [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
    .map((part) => part.toString(16).padStart(2, "0")).join("");
  const paper = read(), style = getComputedStyle(node);
  const drawn = style.stroke !== "none" && style.fill === "none" ? style.stroke : style.fill;
  fill(node instanceof SVGElement ? drawn : style.color);
  return [node.getAttribute("class") ?? node.tagName, paper, read()];
})"""
TEXTS = "span, select, p, button, legend, b, label, i, text"


def test_texts_and_lines_stand_out_in_light_and_dark(page, tmp_path):
    opened(page, one_of_each(), tmp_path)
    options = page.locator(".muonlab-option")
    options.evaluate_all("nodes => nodes.forEach((node) => node.click())")
    kinds = [("who", "contestants"), ("series", "series")]
    colours = [f"{kind}-{i}" for kind, part in kinds for i in range(len(STYLES[part]))]
    # of the series, whether or not a picture needs all
    probes = [f"<i class=colour style='color: var(--muonlab-{colour})'></i>" for colour in colours]
    add = "(el, probes) => el.insertAdjacentHTML('beforeend', probes)"
    page.locator(".muonlab").first.evaluate(add, "".join(probes))
    for theme, (choose, variables, paper) in THEMES.items():
        page.evaluate(f"delete document.documentElement.dataset.theme; {choose}")
        page.add_style_tag(content=f"html {{{variables}}} body {{background: {paper}}}")
        for selector, least in ((f":is({TEXTS}):not(.colour)", 4.5), (".muonlab-line, .colour", 3)):
            inks = page.locator(f".muonlab :is({selector})").evaluate_all(INK)
            assert [ink for ink in inks if contrast(*ink[1:]) < least] == [], theme


def test_a_quiz_leads_to_the_section_and_takes_the_focus_there(page, tmp_path):
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
    for motion, behavior in (("reduce", "auto"), ("no-preference", "smooth")):
        page.emulate_media(reduced_motion=motion)
        link.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.textContent") == f"{section}#"
        assert page.evaluate("window.how") == behavior
