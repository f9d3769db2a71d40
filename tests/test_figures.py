"""Figures: one look a contestant, numbers as drawn, and SVG that any page can hold."""

import itertools
import re
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot as plt

from muonlab.classroom import Lesson, bars, lines, maps, matrix, output, panels, spectra, timelines
from muonlab.cost.timeline import Part
from muonlab.drawing import axes, figures, looks, svg
from muonlab.experiments import paired_interval
from muonlab.files import course
from printing import picture

PAGES = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#14181e", "#111111")}
SEEN = {  # by Machado et al. 2009, DOI 10.1109/TVCG.2009.113, in linear RGB
    "by most": np.eye(3),
    "by protanopes": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "by deuteranopes": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


@pytest.fixture(autouse=True)
def closed():
    axes.style()
    yield
    plt.close("all")


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(colour, page):
    light = [float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (colour, page)]
    return max(light) / min(light)


def least_distance(colours, eye):
    """Of all pairs, in OKLab, where black and white are 1 apart."""
    seen = [np.clip(np.array(SEEN[eye]) @ linear(c), 0, 1) for c in colours]
    labs = [np.array(OKLAB) @ np.cbrt(np.array(LMS) @ s) for s in seen]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(labs, 2))


# --- the table of looks ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_every_colour_stands_out_from_its_pages(kind):
    colours = [look[kind] for look in (*looks.CONTESTANTS.values(), *looks.SERIES)]
    assert min(contrast(c, page) for c in colours for page in PAGES[kind]) >= 3


@pytest.mark.parametrize("eye", SEEN)
@pytest.mark.parametrize("kind", ["light", "dark"])
def test_contestants_are_told_apart_by_every_eye(kind, eye):
    everybody = [look[kind] for look in looks.CONTESTANTS.values()]
    assert least_distance(everybody, eye) >= 0.1
    assert least_distance([looks.CONTESTANTS[n][kind] for n in ("AdamW", "Muon")], eye) >= 0.2
    assert least_distance([look[kind] for look in looks.SERIES], eye) >= 0.11


def test_no_two_contestants_share_a_marker_or_a_dash():
    known = looks.CONTESTANTS.values()
    assert len({look["marker"] for look in known}) == len(known)
    assert len({tuple(look["dash"]) for look in known}) == len(known)
    assert {look["marker"] for look in (*known, *looks.SERIES)} <= looks.MARKERS.keys()


def test_a_contestant_is_known_by_its_name():
    for label, name in {
        "AdamW: W − W0": "AdamW",
        "latent, 16 experts, AdamW": "AdamW",
        "all Muon": "Muon",
        "Muon(QK)": "Muon(QK)",
        "U Vᵀ": "Muon",
        "coupled SignGD: odds of the worst": "sign descent",
        "SGD with momentum": "gradient descent",
        "NorMuon: even rows": "NorMuon",
        "noisy Adam, VO": "noisy Adam",
        "polar_express": None,
        "signal": None,
    }.items():
        assert looks.contestant_in(label) == name


def test_a_look_hangs_on_the_name_and_a_contestant_drawn_twice_keeps_its_colour_alone():
    pairs = ("AdamW", "Muon", "other"), ("one", "Muon", "NorMuon", "AdamW")
    first, second = (dict(zip(labels, looks.looks(labels), strict=True)) for labels in pairs)
    for name in ("AdamW", "Muon"):
        assert first[name] == second[name]
    assert first["AdamW"]["color"] == looks.CONTESTANTS["AdamW"]["light"]
    lines = looks.looks(["AdamW, 8", "AdamW, 32", "AdamW, 128"])
    different = [len({str(look[part]) for look in lines}) for part in lines[0]]
    assert dict(zip(lines[0], different, strict=True)) == {"color": 1, "marker": 3, "linestyle": 3}


def test_however_many_series_each_has_a_look():
    assert len(looks.looks(f"layer {number}" for number in range(72))) == 72


def test_no_lesson_draws_by_itself():
    for path in (course() / "lessons" / "text").glob("*.md"):
        code = path.read_text("utf-8").replace('color="gray"', "")  # a line to compare with
        assert not re.search(r"matplotlib|seaborn|plt\.|color=", code), path


# --- what is drawn -----------------------------------------------------------------------------


def drawn(figure):
    """The texts of a figure, as its SVG has them."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.inline(figure, "What the figure shows."))


def test_seeds_are_a_band_and_the_legend_says_so():
    runs = [[1.0, 2.0, 3.0], [3.0, 4.0, 8.0]]
    figure = lines([1, 2, 3], {"Muon": runs, "AdamW": [1, 1, 1]}, xlabel="step", ylabel="loss")
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata() == pytest.approx([2, 3, 5.5])
    band = axes.collections[0].get_paths()[0].vertices
    assert {tuple(v) for v in band} >= {(1, 1), (1, 3), (3, 3), (3, 8)}
    assert "line: mean, band: all 2 seeds" in drawn(figure)


def test_series_differ_without_colour():
    figure = lines(range(3), {n: [1, 2, 3] for n in "abcd"}, xlabel="x", ylabel="y", logy=True)
    assert len({line.get_marker() for line in figure.axes[0].lines}) == 4
    assert len({str(line._dash_pattern) for line in figure.axes[0].lines}) == 4


def test_a_few_sizes_on_a_log_axis_are_all_named_and_so_are_cases():
    shown = {"xlabel": "x", "ylabel": "y"}
    sizes = lines([64, 128, 512], {"a": [1, 2, 3]}, logx=True, **shown)
    assert [t.get_text() for t in sizes.axes[0].get_xticklabels()] == ["64", "128", "512"]
    cases = lines([0, 1], {"Muon": [1, 2]}, ticks=["plain", "both"], **shown)
    assert {"plain", "both"} <= {*drawn(cases)}


def test_series_may_have_an_x_of_their_own_and_a_spectrum_is_sorted():
    x = {"a": [1, 2], "b": [1, 2, 3]}
    figure = lines(x, {"a": [5, 6], "b": [7, 8, 9]}, xlabel="x", ylabel="y")
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [2, 3]
    s = spectra({"one": [1.0, 3.0, 2.0]})
    assert [*s.axes[0].lines[0].get_ydata()] == [3, 2, 1]


def check_effect(axes, row, by_seed):
    """At a row, or a little below, each seed is drawn, and their mean with its interval."""
    points = [point for dots in axes.collections for point in dots.get_offsets().tolist()]
    assert [x for x, y in points if row < y < row + 0.3] == by_seed
    lines = [(line.get_xydata(), line.get_marker() == "None") for line in axes.lines]
    (bar,) = (ends for ends, plain in lines if plain and np.allclose(ends[:, 1], row))
    (mean,) = (x for marks, plain in lines if not plain for x, y in marks if np.isclose(y, row))
    assert (mean, *bar[:, 0]) == pytest.approx(paired_interval(by_seed, [0.0] * len(by_seed))[:3])


LONG = [
    ("AdamW alone minus Muon on QK+VO+FFN", -0.25),
    ("latent attention × experts × Muon", -0.075),
    ("VO, gated", -0.0045),
]


@pytest.mark.parametrize(("name", "low"), LONG)
def test_no_number_of_an_axis_lies_over_the_next_whatever_the_rows_are_called(name, low):
    values = {name: [low, low / 2, -low / 3], "x": [low, low, low / 2]}
    figure = figures.forest(values, xlabel="nats")
    for _ in range(2):
        figure.draw_without_rendering()
    ticks = [t.get_window_extent() for t in figure.axes[0].get_xticklabels() if t.get_text()]
    assert len(ticks) >= 3
    seen = [box for box in ticks if box.x0 >= 0 and box.x1 <= figure.bbox.x1]
    assert all(a.x1 + 3 < b.x0 for a, b in itertools.pairwise(seen))
    names = [text.get_window_extent() for text in figure.axes[0].texts]
    assert all(a.y0 > b.y1 - 2 for a, b in itertools.pairwise(names))


def test_bars_have_an_interval_its_mean_and_the_seeds_for_each_setting_of_a_row():
    found = {"short": {"a": [0.1, 0.2, 0.3], "b": [0.0, 0.1, 0.2]}}
    found["long"] = {"a": [0.01, 0.02, 0.03], "b": [-0.03, -0.02, -0.01]}
    figure = bars(found, xlabel="nats")
    assert {"short", "long", "a", "b", "+0.200", "+0.020", "−0.020"} <= {*drawn(figure)}
    assert "bar: mean and its 95 % interval; dots: 3 seeds" in drawn(figure)
    for effects, shift in zip(found.values(), (-0.25, 0.15), strict=True):
        for row, by_seed in enumerate(effects.values()):
            check_effect(figure.axes[0], row + shift, by_seed)


def test_a_step_is_a_row_of_bars_with_what_muon_adds_in_its_own_colour():
    model = [Part("backward", "GPU", 0.0, 0.05), Part("reduce", "links", 0.01, 0.05)]
    added = [Part("momenta", "links", 0.05, 0.06), Part("Newton-Schulz", "GPU", 0.06, 0.09)]
    figure = timelines({"AdamW": model, "owners": [*model, *added]})
    [drawn] = figure.axes
    bars = [bar for bar in drawn.patches if bar.get_width()]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    np.testing.assert_allclose(ends, [(0, 50), (10, 50), (0, 50), (10, 50), (50, 60), (60, 90)])
    assert len({bar.get_facecolor() for bar in bars[:4]}) == 1
    assert len({bar.get_facecolor() for bar in bars[4:]} | {bars[0].get_facecolor()}) == 2
    thick = [bar.get_height() > 0.2 for bar in bars]
    assert thick == [True, False, True, False, False, True]
    assert {"50 ms", "90 ms"} <= {text.get_text() for text in drawn.texts}


def test_panels_show_what_lies_below_zero():
    shown = {"xlabel": "x", "ylabel": "y", "band": "all"}
    up = panels([1, 2], {"left": {"Muon": [1, 2]}}, **shown)
    assert [axes.get_title() for axes in up.axes] == ["left"]
    assert up.axes[0].get_ylim()[0] == 0
    both = panels([1, 2], {"left": {"Muon": [1, 2]}, "right": {"Muon": [3, -4]}}, **shown)
    assert both.axes[0].get_ylim()[0] < -4
    zero = [[line for line in axes.lines if [*line.get_ydata()] == [0, 0]] for axes in both.axes]
    assert [*map(len, zero)] == [1, 1]


def test_a_folded_name_ends_at_one_edge_whatever_the_font_of_the_page():
    figure = figures.forest({"VO+FFN beyond VO and FFN, not gated": [0.1, 0.2, 0.3]}, xlabel="nats")
    root = ElementTree.fromstring(svg.inline(figure, "A name that takes two lines."))
    ends = {t.text: (t.get("style"), t.get("x")) for t in root.iter("text")}
    first, second = ends["VO+FFN beyond VO and FFN,"], ends["not gated"]
    assert first == second
    assert "text-anchor: end" in first[0]


def test_a_matrix_is_drawn_on_one_scale_around_0_with_its_spectrum():
    G = torch.tensor([[3.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    figure = matrix({"gradient": G, "sign": G.sign()})
    *maps, below = figure.axes
    assert [axes.collections[0].get_clim() for axes in maps] == [(-3, 3), (-3, 3)]
    np.testing.assert_array_equal(maps[1].collections[0].get_array(), G.sign())
    assert maps[0].get_ylim() == (3, 0), "the first row is above"
    assert [list(line.get_ydata()) for line in below.lines] == [[3, 1], [1, 1]]
    apart = matrix({"gradient": G, "sign": G.sign()}, shared=False)
    assert [axes.collections[0].get_clim() for axes in apart.axes[:2]] == [(-3, 3), (-1, 1)]
    alone = matrix({"gradient": G})
    assert {"gradient", "3 × 2", "singular value"} <= {*drawn(alone)}


def test_maps_have_one_scale_and_frame_what_is_below():
    one = {"5": {0.1: 1.0, 0.2: 2.0}, "10": {0.1: 3.0, 0.2: 9.0}}
    other = {"1": {0.1: 4.0, 0.2: 4.5}, "2": {0.1: 5.0, 0.2: 6.0}}
    figure = maps({"a": one, "b": other}, below=2.5, xlabel="across", ylabel="up")
    left, right = figure.axes
    assert left.collections[0].get_clim() == right.collections[0].get_clim() == (1, 9)
    framed = {t.get_text() for axes in figure.axes for t in axes.texts if t.get_bbox_patch()}
    assert framed == {"1.00", "2.00"}
    assert [t.get_position() for t in left.texts if t.get_text() == "3.00"] == [(0.5, 1.5)]
    assert left.get_ylim() == (0, 2), "the first row is below"
    assert {"a", "b", "across", "up", "10", "0.1"} <= {*drawn(figure)}


def test_a_matrix_of_zeros_is_drawn_beside_a_small_one():
    figure = matrix({"W₀": torch.zeros(2, 2), "W": 0.25 * torch.eye(2)})
    assert [axes.collections[0].get_clim() for axes in figure.axes[:2]] == [(-0.25, 0.25)] * 2
    assert [list(line.get_ydata()) for line in figure.axes[2].lines] == [[0, 0], [0.25, 0.25]]


def test_a_map_of_two_sides_leaves_out_no_zero_but_the_first():
    grid = {"1": {"a": 10.5, "b": -0.25}}
    figure = maps({"one": grid}, below=0, xlabel="x", ylabel="y", sides=("Muon", "AdamW"))
    assert [text.get_text() for text in figure.axes[0].texts] == ["+10.50", "−.25"]


def test_maps_of_two_sides_name_their_own_rows_where_these_differ():
    row = {"a": 0.5, "b": -0.5}
    grids = {"one": {"1": row, "2": row}, "other": {"2": row, "1": row}}
    figure = maps(grids, below=0, xlabel="x", ylabel="y", sides=("Muon", "AdamW"))
    names = [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]
    assert names == [["1", "2"], ["2", "1"]]


def test_a_lead_beyond_those_recorded_is_not_cut_off():
    lead = {"overall": (1.0, 0.9, 1.2), "tail": (-0.2, -0.3, -0.1)}
    figure = figures.lead_map([{"tokens": 10, "size": 20, "study": "a class's", "lead": lead}])
    low, high = figure.axes[0].get_ylim()
    assert low < -0.3 < 1.2 < high


def test_a_number_that_is_missing_is_left_out_with_those_of_the_other_seeds():
    runs = [[1.0, np.nan, 3.0], [3.0, 5.0, 8.0]]
    figure = lines([1, 2, 3], {"Muon": runs, "AdamW": [1, np.nan, 2]}, xlabel="x", ylabel="y")
    several, one = (line.get_xydata().tolist() for line in figure.axes[0].lines)
    assert (several, one) == ([[1, 2], [3, 5.5]], [[1, 1], [3, 2]])


def test_drawing_takes_none_of_the_learners_random_numbers():
    np.random.seed(0)
    before = str(np.random.get_state())
    lines([1, 2], {"a": [[1, 2], [2, 3]]}, xlabel="x", ylabel="y")
    bars({"s": {"a": [0.1, 0.2], "b": [0.2, 0.4]}}, xlabel="x")
    matrix({"G": torch.eye(3)})
    assert str(np.random.get_state()) == before


# --- comparisons -------------------------------------------------------------------------------

# differences of such numbers are exact
LOSSES = {"AdamW": [5.0, 5.25, 5.5], "Muon": [4.75, 5.0, 5.375], "NorMuon": [4.5, 5.125, 5.0]}


def compared(*arguments, **options):
    """The intervals, the figure and the output of a comparison."""
    options = {"unit": "nats", "alt": "Muon ends below AdamW here."} | options
    display, inline = mock.Mock(), mock.Mock(return_value="<svg>")
    with mock.patch.object(output, "display", display), mock.patch.object(svg, "inline", inline):
        found = Lesson("04").compare(*arguments, **options)
    return found, inline.call_args.args[0], display.call_args.args[0]


def test_the_numbers_drawn_are_the_intervals_that_come_back():
    contrasts = {"lead": ("AdamW", "Muon"), "more": [("AdamW", "NorMuon"), ("Muon", "AdamW")]}
    found, figure, shown = compared(LOSSES, contrasts, matters=0.05)
    assert found["lead"] == paired_interval(LOSSES["AdamW"], LOSSES["Muon"])
    assert found["more"] == pytest.approx(paired_interval(LOSSES["Muon"], LOSSES["NorMuon"]))
    (axes,) = figure.axes
    assert list(axes.lines[0].get_xdata()) == [0, 0]
    for row, (a, b) in enumerate((("AdamW", "Muon"), ("Muon", "NorMuon"))):
        check_effect(axes, row, np.subtract(LOSSES[a], LOSSES[b]).tolist())
    shade = axes.patches[0]
    assert [shade.get_x(), shade.get_width()] == pytest.approx([-0.05, 0.1])
    for name, interval in found.items():
        assert f"{name} {interval}" in repr(shown)


def test_a_comparison_says_its_unit_its_seeds_and_what_matters_and_prints_no_dictionary():
    intervals, figure, _ = compared(LOSSES, {"lead": ("AdamW", "Muon")}, matters=0.05)
    assert {
        "nats",
        "dots: n = 3 seeds; bar: mean and its 95 % interval",
        "shaded: nearer to 0 than 0.05, the size asked about",
    } <= {*drawn(figure)}
    with mock.patch("builtins.print") as printed:
        data, _ = DisplayFormatter().format(intervals)  # as the last line of a cell
    assert data == {}
    printed.assert_not_called()


def test_where_seeds_differ_in_number_each_row_says_its_own():
    _, figure, _ = compared({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.3]})
    assert [text.rpartition("n = ")[2] for text in drawn(figure) if "], n = " in text] == ["3", "2"]
    _, figure, _ = compared({"a": [0.1, 0.2], "b": [0.1, 0.3]})
    assert not [text for text in drawn(figure) if "], n = " in text]


def test_differences_may_come_as_they_are():
    intervals, _, _ = compared({"effect": torch.tensor([0.1, 0.2])})
    assert intervals["effect"] == paired_interval([*map(float, torch.tensor([0.1, 0.2]))], [0, 0])


# --- SVG in a page -----------------------------------------------------------------------------


ALT = 'The "a" line rises; b is <flat>.'


def inline(**series):
    return svg.inline(lines([1, 2, 3], series, xlabel="x & y", ylabel="y"), ALT)


@pytest.fixture(scope="module")
def page():
    axes.style()
    return inline(**{"AdamW": [1, 2, 3], "Muon <b>": torch.ones(3)})


def test_a_figure_is_svg_with_its_words_and_the_same_bytes_each_time(page):
    assert inline(**{"AdamW": [1, 2, 3], "Muon <b>": torch.ones(3)}) == page
    root = ElementTree.fromstring(page)
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find("title").text == ALT
    assert {"Muon <b>", "x & y"} <= {node.text for node in root.iter("text")}
    assert plt.get_fignums() == []


def test_a_figure_takes_the_colours_and_the_font_of_its_page_and_nothing_of_another_host(page):
    assert not re.search(r"(fill|stroke): ?(#fff|white|black|#000)", page)
    body = page.split("</style>")[1]
    assert not re.search(r"#[0-9a-f]{6}", body), "a colour that does not follow the page"
    for kind in ("light", "dark"):
        assert looks.CONTESTANTS["AdamW"][kind] in page
    assert 'html[data-theme="dark"]' in page
    assert 'body[data-jp-theme-light="false"]' in page
    assert page.count("font-family") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)


def test_ids_are_a_figures_own_and_resolve(page):
    pages = page, inline(AdamW=[3, 2, 1])
    ids = [re.findall(r' id="([^"]*)"', text) for text in pages]
    assert not {*ids[0]} & {*ids[1]}
    for text, own in zip(pages, ids, strict=True):
        assert len(own) == len({*own})
        assert {*re.findall(r'(?:href="#|url\(#)([\w-]+)', text)} <= {*own}


def test_the_picture_of_the_readme_follows_light_and_dark_by_itself():
    text = picture.as_svg("first-result").decode()
    ElementTree.fromstring(text)
    assert "prefers-color-scheme:dark" in text
    assert looks.CONTESTANTS["Muon"]["dark"] in text
    assert "AdamW" in text
