"""Figures that say what they draw, and that read without colour, in the dark and on a phone."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from muonlab import checks
from muonlab.classroom.looks import INK, SERIES, looks
from muonlab.statistics import Interval, mean_interval

ROW = 26  # characters in a line of a row's name: the axis needs the other half
CAPTION = 10.5
WIDTH = 5.0  # inches: text keeps a readable size where a phone makes the figure narrower
DIVERGING = "PRGn"  # purple below 0, green above: told apart without red or green
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKS: Any = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
Numbers = Iterable[float]


def style() -> None:
    """Sets one look for all figures."""
    plt.rcdefaults()
    own: dict[Any, Any] = {
        "figure.figsize": (WIDTH, 0.6 * WIDTH),
        "figure.constrained_layout.use": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.useoffset": False,
        "axes.titlesize": 11.5,
        "font.size": 11.5,
        "legend.frameon": False,
        "legend.fontsize": 10.5,
        "lines.scale_dashes": False,
    }
    plt.rcParams.update({**own, **dict.fromkeys(MARKS, INK)})


def lines(
    x: Numbers | Mapping[str, Numbers],
    series: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    logx: bool = False,
    logy: bool = False,
    ticks: Sequence[str] | None = None,
) -> Figure:
    """Returns a figure with one line a series; a contestant's look comes from its name.

    Args:
        x: for all series, or a mapping with the x of each.
        ticks: the names of 0, 1, … on the axis of x, where these are no numbers but cases.
        series: the numbers of each line; or a list of such lines, one a seed: their mean is then
            the line and their range a band, and the legend says so.
    """
    demand(series)
    for label, y in series.items():
        if logy and not (np.atleast_1d(_numbers(y)) > 0).any():
            raise ValueError(f"logy needs numbers above 0; {label!r} has none")
    figure, axes = plt.subplots()
    seeds = draw_lines(axes, x, series)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    _scales(axes, logx, logy)
    if ticks:
        axes.set_xticks(range(len(ticks)), labels=ticks)
    drawn = [f"line: mean, band: all {_count(seeds)} seeds"] * bool(seeds)
    if len(series) > 1 or drawn:
        legend(figure, "\n".join(drawn))
    return figure


def panels(
    x: Numbers | Mapping[str, Numbers],
    series: Mapping[str, Mapping[str, Any]],
    *,
    xlabel: str,
    ylabel: str,
    band: str,
) -> Figure:
    """Returns figures side by side that share their axes and the legend; see `lines`.

    Args:
        x: of all lines, or of each panel, by its title.
        series: the lines of each panel, by its title and their labels.
        band: what the band of a line with several stands for.
    """
    demand(series)
    figure, places = plt.subplots(1, len(series), sharey=True, figsize=(WIDTH, 0.55 * WIDTH))
    for axes, (title, each) in zip(places, series.items(), strict=True):
        draw_lines(axes, _at(x, title), each)
        axes.set(title=title, xlabel=xlabel)
        _scales(axes, False, False)
    low = 1.1 * min(0, *(axes.dataLim.y0 for axes in places))
    places[0].set(ylabel=ylabel, ylim=(low, None))
    legend(figure, band)
    return figure


def draw_lines(
    axes: Axes, x: Numbers | Mapping[str, Numbers], series: Mapping[str, Any]
) -> set[int]:
    """Draws what `lines` says; returns the numbers of seeds of those series that have a band."""
    seeds: set[int] = set()
    for (label, y), look in zip(series.items(), looks(series), strict=True):
        runs, at = np.atleast_2d(_numbers(y)), _numbers(_at(x, label))
        if runs.shape[1:] != at.shape:
            raise ValueError(f"{label!r} needs a y for each of {at.size} x, got {runs.shape[-1]}")
        axes.plot(at, runs.mean(0), label=label, markersize=5, markevery=_every(at), **look)
        if len(runs) > 1:
            seeds.add(len(runs))
            band = {"color": look["color"], "alpha": 0.25, "linewidth": 0}
            axes.fill_between(at, runs.min(0), runs.max(0), **band)
    return seeds


def strips(rows: Mapping[str, Mapping[str, float]], *, xlabel: str) -> Figure:
    """Returns one strip a row, cut into named parts, each as long as its number.

    Parts whose names begin alike ("k₁", "k₂") have one colour.
    """
    demand(rows)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.8 + 0.55 * len(rows)))
    _rows(axes, list(rows))
    kinds = list(dict.fromkeys(part[0] for parts in rows.values() for part in parts))
    for row, parts in enumerate(rows.values()):
        left = 0.0
        for part, length in parts.items():
            look: dict[str, Any] = {"facecolor": SERIES[kinds.index(part[0])]["light"]}
            axes.barh(row, length, 0.6, left, alpha=0.35, edgecolor=INK, linewidth=1, **look)
            axes.text(left + length / 2, row, part, ha="center", va="center")
            left += length
    axes.set_xlabel(xlabel, loc="right")
    return figure


def spectra(values: Mapping[str, Numbers], *, logy: bool = True) -> Figure:
    """Returns a figure of singular values, largest first; zeros are left out of a log axis."""
    demand(values)
    figure, axes = plt.subplots()
    _spectra(axes, values, logy)
    legend(figure)
    return figure


def dots(values: Mapping[str, Sequence[float]], *, xlabel: str) -> Figure:
    """Returns one row a name: each seed as a dot, and the 95 % interval of their mean as a bar."""
    demand(values)
    found = {name: _numbers(v) for name, v in values.items()}
    figure, axes = plt.subplots(figsize=_size(found, 1))
    _rows(axes, list(found))
    for row, (numbers, look) in enumerate(zip(found.values(), looks(found), strict=True)):
        effect = mean_interval(numbers.tolist())
        _effect(axes, row, effect, numbers, look["color"], look["marker"])
    n = _count({len(numbers) for numbers in found.values()})
    axes.set_xlabel(xlabel, loc="right")
    return _caption(figure, f"dots: {n} seeds; bar: mean and its 95 % interval")


def forest(
    differences: Mapping[str, Sequence[float]], *, xlabel: str, matters: float = 0.0
) -> Figure:
    """Returns effects with their 95 % intervals, the line at 0, and what is too small to matter.

    Args:
        differences: of each effect, one difference a seed.
        xlabel: what is contrasted, with its unit.
        matters: the size from which on an effect matters; what is smaller is shaded.
    """
    demand(differences)
    figure, axes = plt.subplots(figsize=_size(differences, 2))
    draw_forest(axes, differences, matters)
    n = _count({len(each) for each in differences.values()})
    axes.set_xlabel(xlabel, loc="right")
    told = f"dots: n = {n} seeds; bar: mean and its 95 % interval"
    shade = f"\nshaded: nearer to 0 than {matters:g}, the size asked about"
    return _caption(figure, told + shade * bool(matters))


def bars(settings: Mapping[str, Mapping[str, Sequence[float]]], *, xlabel: str) -> Figure:
    """Returns one row an effect, and in it a bar a setting: its 95 % interval, mean and seeds.

    Args:
        settings: by its name the effects of each setting, the same in all: differences, one a seed.
    """
    demand(settings)
    names, high = list(next(iter(settings.values()))), 0.8 / len(settings)
    if any({*effects} != {*names} for effects in settings.values()):
        raise ValueError(f"expected the effects {names} in each setting, got {settings}")
    size = WIDTH, 0.9 + 0.42 * len(settings) * len(names)
    figure, axes = plt.subplots(figsize=size)
    _rows(axes, names)
    axes.axvline(0, color=INK, linewidth=1)
    for number, (setting, look) in enumerate(zip(settings, looks(settings), strict=True)):
        axes.plot([], [], linewidth=2, markersize=7, label=setting, **look | {"linestyle": "-"})
        for row, name in enumerate(names):
            each, at = _numbers(settings[setting][name]), row + (number + 0.5) * high - 0.45
            effect = mean_interval(each.tolist())
            _effect(axes, at, effect, each, look["color"], look["marker"], 0.36 * high)
            end = max(effect.high, *each), at
            told: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 10.5}
            axes.annotate(f"{effect.mean:+.3f}".replace("-", "−"), end, (6, 0), **told)
    axes.margins(x=0.14)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.set_xlabel(xlabel, loc="right")
    n = _count({len(each) for some in settings.values() for each in some.values()})
    legend(figure, f"bar: mean and its 95 % interval; dots: {n} seeds")
    return figure


def matrix(matrices: Mapping[str, Any], *, shared: bool = True, logy: bool = False) -> Figure:
    """Returns each matrix as a heat map, and their singular values beside or below.

    Args:
        matrices: of each name, (m, n).
        shared: one scale of colours for all, symmetric around 0; else each has its own.
        logy: the axis of the singular values.
    """
    demand(matrices)
    found = {name: np.asarray(matrix, dtype=float) for name, matrix in matrices.items()}
    figure, maps, below = _places(len(found))
    ends = [np.abs(each).max() or 1.0 for each in found.values()]
    ends = [max(ends)] * len(ends) if shared else ends
    for axes, (name, each), end in zip(maps, found.items(), ends, strict=True):
        image = axes.imshow(each, cmap=DIVERGING, vmin=-end, vmax=end, interpolation="none")
        rows, columns = each.shape
        axes.set(title=name, xticks=[], yticks=[], xlabel=f"{rows} × {columns}")
        axes.spines[:].set_visible(True)
        ticks: dict[str, Any] = {"ticks": [-end, 0, end], "format": _minus}
        ticks |= {"orientation": "horizontal"}
        if not shared or len(found) == 1:
            figure.colorbar(image, cax=axes.inset_axes((0, -0.3, 1, 0.06)), **ticks)
    if shared and len(found) > 1:
        figure.colorbar(image, ax=maps, fraction=0.06, aspect=30, **ticks)
    _spectra(below, {name: np.linalg.svd(each, False, False) for name, each in found.items()}, logy)
    if len(found) > 1:
        below.legend()
    return figure


def maps(
    grids: Mapping[str, Mapping[Any, Mapping[Any, float]]],
    *,
    below: float,
    xlabel: str,
    ylabel: str,
    sides: Sequence[str] = (),
) -> Figure:
    """Returns grids[name][row][column] as cells of colour, rows from below; a low one is bright.

    All have one scale of colours; a number under `below` has a frame.

    Args:
        sides: two contestants; the first one's colour stands for numbers under `below`, the
            second one's for those above.
    """
    demand(grids)
    if len(columns := {(*row,) for grid in grids.values() for row in grid.values()}) != 1:
        raise ValueError(f"expected the same columns in each row, got {columns}")
    high = 0.64 if len(grids) < 3 else 0.42
    figure, places = plt.subplots(1, len(grids), figsize=(WIDTH, high * WIDTH), sharey=bool(sides))
    cells = [[[*row.values()] for row in grid.values()] for grid in grids.values()]
    found = checks.array("maps with as many rows each", cells)
    low, top, form = found.min(), found.max(), ".2f"
    colours: str | LinearSegmentedColormap = "viridis_r"
    if sides:
        far = np.abs(found - below).max()
        low, top, form = below - far, below + far, "+.2f"
        first, second = ((np.array(to_rgb(look["color"])) + 1) / 2 for look in looks(sides))
        colours = LinearSegmentedColormap.from_list("sides", np.array([first, [1] * 3, second]))
    for axes, (name, grid), cells in zip(places, grids.items(), found, strict=True):
        axes.imshow(cells, cmap=colours, origin="lower", vmin=low, vmax=top)
        axes.set(title=name, xlabel=xlabel)
        axes.set_xticks(range(len(cells[0])), [*next(iter(grid.values()))])
        axes.set_yticks(range(len(cells)), [*grid])
        for (row, column), value in np.ndenumerate(cells):
            ink = "black" if sides or value < (low + top) / 2 else "white"
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            look["fontsize"] = 10 if len(grids) < 3 else 8.5
            frame = {"edgecolor": ink, "facecolor": "none", "linewidth": 1.6}
            frame["pad"] = 4 if len(grids) < 3 else 2
            text = f"{value:{form}}".replace("-", "−")
            text = text.replace("0.", ".") if sides else text  # three maps leave little room
            axes.text(column, row, text, bbox=frame if value < below else None, **look)
    places[0].set_ylabel(ylabel)
    return figure


def legend(figure: Figure, drawn: str = "") -> None:
    """Puts the legend of the first axes above the figure, where it hides nothing.

    Args:
        drawn: how lines, bands or dots stand for seeds.
    """
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = max(1, min(3, 36 // (8 + max(map(len, labels)))))
    rows = -(-len(labels) // columns) + len(drawn.splitlines())
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=columns,
        title=drawn or None,
        title_fontsize=CAPTION,
        alignment="left",
        borderaxespad=0,
    )


def _places(count: int) -> tuple[Figure, list[Axes], Axes]:
    if count == 1:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 0.55 * WIDTH))
        return figure, [left], right
    figure = plt.figure(figsize=(WIDTH, 0.95 * WIDTH))
    grid = figure.add_gridspec(2, count, height_ratios=(1.15, 1))
    maps = [figure.add_subplot(grid[0, column]) for column in range(count)]
    return figure, maps, figure.add_subplot(grid[1, :])


def _spectra(axes: Axes, values: Mapping[str, Numbers], logy: bool) -> None:
    for (label, v), look in zip(values.items(), looks(values), strict=True):
        s = np.sort(_numbers(v))[::-1]
        s = s[s > 1e-12 * s.max(initial=0)] if logy else s
        at = np.arange(1, len(s) + 1)
        axes.plot(at, s, label=label, markersize=5, markevery=_every(at), **look)
    axes.set(xlabel="number, largest first", ylabel="singular value")
    _scales(axes, False, logy)
    if not logy:
        axes.set_ylim(bottom=0)


def draw_forest(
    axes: Axes, differences: Mapping[str, Sequence[float]], matters: float = 0.0
) -> None:
    """Draws what `forest` says: a row for each effect, with its numbers below its name."""
    effects = [mean_interval(list(each)) for each in differences.values()]
    unlike = len({effect.n for effect in effects}) > 1
    _rows(axes, list(differences), [_minus(e) + f", n = {e.n}" * unlike for e in effects])
    axes.axvline(0, color=INK, linewidth=1)
    if matters:
        axes.axvspan(-matters, matters, color=INK, alpha=0.12, linewidth=0)
    for row, (effect, each) in enumerate(zip(effects, differences.values(), strict=True)):
        _effect(axes, row, effect, _numbers(each), INK, "D")


def _size(rows: Mapping[str, Any], deep: int) -> tuple[float, float]:
    deep += max(fill(name, ROW).count("\n") for name in rows)
    return WIDTH, 1.15 + (0.14 + 0.17 * deep) * len(rows)


def _rows(axes: Axes, names: list[str], below: list[str] | None = None) -> None:
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    folded = [fill(name, ROW).splitlines() for name in names]
    axes.xaxis.set_major_locator(MaxNLocator(4))  # more run into each other on a phone
    at: dict[str, Any] = {"ha": "right", "textcoords": "offset points"}
    at["xycoords"] = axes.get_yaxis_transform()
    for row, parts in enumerate(folded):
        top = (14 if below else 7) * len(parts) - 11  # points above the middle of the row
        for down, line in enumerate(parts):  # as one text, a page's font would shift them
            axes.annotate(line, (-0.03, row), (0, top - 14 * down), va="baseline", **at)
        if below:
            axes.annotate(below[row], (-0.03, row), (0, -3), va="top", fontsize=10.5, **at)


def _effect(
    axes: Axes,
    row: float,
    effect: Interval,
    each: np.ndarray,
    colour: str,
    marker: str,
    down: float = 0.24,
) -> None:
    axes.plot(each, np.full(len(each), row + down), "o", color=colour, alpha=0.5, markersize=3)
    axes.plot([effect.low, effect.high], [row, row], color=colour, linewidth=2)
    axes.plot(effect.mean, row, marker, color=colour, markersize=7)


def _scales(axes: Axes, logx: bool, logy: bool) -> None:
    axes.set(xscale="log" if logx else "linear", yscale="log" if logy else "linear")
    drawn = sorted({float(x) for line in axes.lines for x in np.asarray(line.get_xdata())})
    # so many ticks and no more: by themselves they depend on the layout, and that on them
    if not logx:
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=all(x.is_integer() for x in drawn)))
    if not logy:
        axes.yaxis.set_major_locator(MaxNLocator(7))
    for axis in [axes.xaxis] * logx + [axes.yaxis] * logy:
        low, high = axis.get_view_interval()
        between = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=between, numticks=7))
        axis.set_major_formatter(FuncFormatter(_plain))
        axis.set_minor_formatter(NullFormatter())
    for line in axes.lines if logx else ():
        line.set_markevery(0.12 if len(np.asarray(line.get_xdata())) > 16 else 1)  # evenly, as seen
    if logx and len(drawn) <= 10:  # a few sizes: name each, instead of powers of ten
        axes.set_xticks(drawn, labels=[f"{value:g}" for value in drawn])
        axes.minorticks_off()


def _caption(figure: Figure, text: str) -> Figure:
    figure.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION)
    return figure


def _minus(value: object, place: Any = None) -> str:
    text = f"{value:.2g}" if isinstance(value, float) else str(value)
    return text.replace("-", "−")


def _plain(value: float, place: Any = None) -> str:
    """Returns a number of a log axis as text that any font has.

    >>> _plain(0.01), _plain(1e-6), _plain(2000)
    ('0.01', '10⁻⁶', '2000')
    """
    if 1e-3 <= value < 1e5 or not value:
        return f"{value:g}"
    digits, power = f"{value:e}".split("e")
    times = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{times}10{str(int(power)).translate(POWERS)}"


def _every(at: np.ndarray) -> int:
    return max(1, len(at) // 8)


def _count(seeds: set[int]) -> str:
    return " to ".join(f"{end}" for end in sorted({min(seeds), max(seeds)} if seeds else ()))


def _numbers(values: Any) -> np.ndarray:
    """Returns numbers, or one row of them a seed, whatever holds them."""
    try:
        return np.array([_numbers(v) if np.ndim(v) else float(v) for v in values])
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected numbers to draw, got {checks.told(values)}") from error


def _at(x: Any, name: str) -> Any:
    """Returns the x of one line or panel, where each has its own."""
    if isinstance(x, Mapping) and name not in x:
        raise ValueError(f"expected an x for {name!r}, got those of {[*x]}")
    return x[name] if isinstance(x, Mapping) else x


def demand(series: Any) -> None:
    """Raises unless there is something to draw, by name."""
    checks.kind("series by name, a dict", series, Mapping)
    if not series:
        raise ValueError(f"expected at least one of the series to draw, got {series}")
