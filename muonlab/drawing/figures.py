"""Figures that say what they draw, and that read without colour, in the dark and on a phone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from muonlab import checks
from muonlab.cost.timeline import Part, ends
from muonlab.drawing.axes import (
    CAPTION,
    WIDTH,
    Numbers,
    count_of,
    demand,
    draw_lines,
    draw_spectra,
    legend,
    minus,
    numbers_of,
    scales,
    x_of,
)
from muonlab.drawing.looks import INK, looks
from muonlab.statistics import Interval, mean_interval

ROW = 26  # characters in a line of a row's name: the axis needs the other half


def lines(
    x: Numbers | Mapping[str, Numbers],
    series: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    logx: bool = False,
    logy: bool = False,
    ticks: Sequence[str] | None = None,
    points: float | None = None,
) -> Figure:
    """Returns a figure with one line a series; a contestant's look comes from its name.

    Args:
        x: for all series, or a mapping with the x of each.
        ticks: the names of 0, 1, … on the axis of x, where these are no numbers but cases.
        series: the numbers of each line; or a list of such lines, one a seed: their mean is then
            the line and their range a band, and the legend says so.
        points: the size of the marks, where each number is one and no line joins them.
    """
    demand(series)
    for label, y in series.items():
        if logy and not (np.atleast_1d(numbers_of(y)) > 0).any():
            raise ValueError(f"logy needs numbers above 0; {label!r} has none")
    figure, axes = plt.subplots()
    seeds = draw_lines(axes, x, series)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    scales(axes, logx, logy)
    if points is not None:
        checks.number("points", points, 0, 100, above=True)
        plt.setp(axes.lines, linestyle="none", markevery=1, markersize=points)
    if ticks:
        first = min(np.min(line.get_xdata()) for line in axes.lines)
        last = max(np.max(line.get_xdata()) for line in axes.lines)
        if first <= -1 or last > len(ticks) - 1:  # a point may stand a little beside its place
            raise ValueError(f"ticks must name 0 to {last:g}, the last x; got {len(ticks)} of them")
        axes.set_xticks(range(len(ticks)), labels=ticks)
    drawn = [f"line: mean, band: all {count_of(seeds)} seeds"] if seeds else []
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
    logy: bool = False,
) -> Figure:
    """Returns figures side by side that share their axes and the legend; see `lines`.

    Args:
        x: of all lines, or of each panel, by its title.
        series: the lines of each panel, by its title and their labels.
        band: what the band of a line with several stands for.
    """
    demand(series)
    shape: dict[str, Any] = {"figsize": (WIDTH, 0.55 * WIDTH), "squeeze": False}
    figure, [places] = plt.subplots(1, len(series), sharey=True, **shape)
    for axes, (title, lines_of) in zip(places, series.items(), strict=True):
        demand(lines_of)
        draw_lines(axes, x_of(x, title), lines_of)
        axes.set(title=title, xlabel=xlabel)
        scales(axes, False, logy)
        axes.locator_params(axis="x", nbins=4)  # more run into each other in a narrow panel
    low = 1.1 * min(0, *(axes.dataLim.y0 for axes in places))
    for axes in places if low else ():
        axes.axhline(0, color=INK, linewidth=1)
    places[0].set(ylabel=ylabel, ylim=(None if logy else low, None))
    legend(figure, band)
    return figure


def spectra(values: Mapping[str, Numbers], *, logy: bool = True) -> Figure:
    """Returns a figure of singular values, largest first; zeros are left out of a log axis."""
    demand(values)
    figure, axes = plt.subplots()
    draw_spectra(axes, values, logy)
    legend(figure)
    return figure


def dots(values: Mapping[str, Sequence[float]], *, xlabel: str) -> Figure:
    """Returns one row a name: each seed as a dot, and the 95 % interval of their mean as a bar."""
    demand(values)
    numbers_by_name = {name: numbers_of(v) for name, v in values.items()}
    figure, axes = plt.subplots(figsize=_size(numbers_by_name, 1))
    name_rows(axes, list(numbers_by_name))
    for row, (numbers, look) in enumerate(
        zip(numbers_by_name.values(), looks(numbers_by_name), strict=True)
    ):
        effect = mean_interval(numbers.tolist())
        _effect(axes, row, effect, numbers, look["color"], look["marker"])
    n = count_of({len(numbers) for numbers in numbers_by_name.values()})
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
    n = count_of({len(by_seed) for by_seed in differences.values()})
    axes.set_xlabel(xlabel, loc="right")
    legend_text = f"dots: n = {n} seeds; bar: mean and its 95 % interval"
    shade = f"\nshaded: nearer to 0 than {matters:g}, the size asked about"
    return _caption(figure, legend_text + (shade if matters else ""))


def bars(settings: Mapping[str, Mapping[str, Sequence[float]]], *, xlabel: str) -> Figure:
    """Returns one row an effect, and in it a bar a setting: its 95 % interval, mean and seeds.

    Args:
        settings: by its name the effects of each setting, the same in all: differences, one a seed.
    """
    demand(settings)
    demand(next(iter(settings.values())))
    names, high = list(next(iter(settings.values()))), 0.8 / len(settings)
    if any({*effects} != {*names} for effects in settings.values()):
        raise ValueError(f"expected the effects {names} in each setting, got {settings}")
    size = WIDTH, 0.9 + 0.42 * len(settings) * len(names)
    figure, axes = plt.subplots(figsize=size)
    name_rows(axes, names)
    axes.axvline(0, color=INK, linewidth=1)
    for number, (setting, look) in enumerate(zip(settings, looks(settings), strict=True)):
        axes.plot([], [], linewidth=2, markersize=7, label=setting, **look | {"linestyle": "-"})
        for row, name in enumerate(names):
            by_seed, at = numbers_of(settings[setting][name]), row + (number + 0.5) * high - 0.45
            effect = mean_interval(by_seed.tolist())
            _effect(axes, at, effect, by_seed, look["color"], look["marker"], 0.36 * high)
            end = max(effect.high, *by_seed), at
            form: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 10.5}
            axes.annotate(f"{effect.mean:+.3f}".replace("-", "−"), end, (6, 0), **form)
    axes.margins(x=0.14)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.set_xlabel(xlabel, loc="right")
    n = count_of({len(by_seed) for effects in settings.values() for by_seed in effects.values()})
    legend(figure, f"bar: mean and its 95 % interval; dots: {n} seeds")
    return figure


def lead_map(races: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns Muon's lead in several races, by tokens a step and by the size of the model.

    Races with the same place stand side by side, each with its lead on all and on rare tokens.

    Args:
        races: as `studies.comparisons.lead_map` gives them.
    """
    figure, panels = plt.subplots(1, 2, figsize=(1.6 * WIDTH, 0.6 * WIDTH), sharey=True)
    scales = {"tokens": "tokens a step", "size": "numbers in the hidden matrices"}
    parts = {"overall": "all tokens", "tail": "rare tokens"}
    drawn = looks(parts.values())
    for panel, (scale, label) in zip(panels, scales.items(), strict=True):
        panel.axhline(0, color=INK, linewidth=1)
        taken: Counter[float] = Counter()
        for race in races:
            x = race[scale] * 1.09 ** taken[race[scale]]
            taken[race[scale]] += 1
            leads = [race["lead"][part] for part in parts]
            panel.plot([x, x], [mean for mean, _, _ in leads], color=INK, linewidth=0.7, alpha=0.5)
            for (mean, low, high), look in zip(leads, drawn, strict=True):
                panel.plot([x, x], [low, high], color=look["color"], linewidth=1.5)
                panel.plot(x, mean, look["marker"], color=look["color"], markersize=6)
            if name := {"race-gpu": "GPU", "race-1200": "laptop"}.get(race["study"]):
                top = max(high for _, _, high in leads) + 0.06
                panel.text(x, top, name, ha="center", va="bottom", fontsize=CAPTION)
        panel.set(xscale="log", xlabel=label, ylim=(-0.05, 0.75))
        stops = sorted(taken)
        panel.set_xticks(stops, [f"{x / 1e6:.1f}M" if x > 1e5 else f"{x:,}" for x in stops])
        panel.minorticks_off()
    panels[0].set_ylabel("Muon's lead, nats")
    for name, look in zip(parts.values(), drawn, strict=True):
        panels[0].plot([], [], look["marker"], color=look["color"], label=name)
    legend(figure, "a point: a race with both sides tuned; bar: 95 % interval")
    return figure


def timelines(steps: Mapping[str, Sequence[Part]]) -> Figure:
    """Returns one training step a row: what a GPU does, and below it what its links send.

    Args:
        steps: by its name the bars of each way, as `cost.timeline.timeline` gives them, in seconds.
            A dotted line stands where the first way ends.
    """
    demand(steps)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.8 + 0.6 * len(steps)))
    long = [1000 * ends(list(bars)) for bars in steps.values()]
    name_rows(axes, list(steps), [f"{ms:.0f} ms" for ms in long])
    axes.axvline(long[0], color=INK, linewidth=1, linestyle=":")
    [muon] = looks(["Muon"])
    for row, bars in enumerate(steps.values()):
        for name, lane, start, end in bars:
            added = name in ("Newton-Schulz", "momenta")
            look = {"color": muon["color"]} if added else {"color": INK, "alpha": 0.4}
            high, at = (0.3, row - 0.2) if lane == "GPU" else (0.1, row + 0.12)
            left, wide = 1000 * start, 1000 * (end - start)
            axes.barh(at, wide, high, left, linewidth=0, **look)
    axes.barh(0, 0, color=INK, alpha=0.4, label="the model")
    axes.barh(0, 0, color=muon["color"], label="added by Muon")
    axes.set_xlabel("ms", loc="right")
    legend(figure, "thick: what a GPU computes; thin: what its links send")
    return figure


def draw_forest(
    axes: Axes, differences: Mapping[str, Sequence[float]], matters: float = 0.0
) -> None:
    """Draws what `forest` says: a row for each effect, with its numbers below its name."""
    checks.number("matters", matters, 0)
    if wrong := [name for name, by_seed in differences.items() if isinstance(by_seed, Interval)]:
        raise TypeError(f"expected differences, one a seed; {wrong[0]!r} is an interval already")
    effects = [mean_interval(list(by_seed)) for by_seed in differences.values()]
    unlike = len({effect.n for effect in effects}) > 1
    name_rows(axes, list(differences), [minus(e) + f", n = {e.n}" * unlike for e in effects])
    axes.axvline(0, color=INK, linewidth=1)
    if matters:
        axes.axvspan(-matters, matters, color=INK, alpha=0.12, linewidth=0)
    for row, (effect, by_seed) in enumerate(zip(effects, differences.values(), strict=True)):
        _effect(axes, row, effect, numbers_of(by_seed), INK, "D")


def _size(rows: Mapping[str, Any], deep: int) -> tuple[float, float]:
    deep += max(fill(name, ROW).count("\n") for name in rows)
    return WIDTH, 1.15 + (0.14 + 0.17 * deep) * len(rows)


def name_rows(axes: Axes, names: list[str], below: list[str] | None = None) -> None:
    """Makes a row for each name, from the top, with words below it, if there are any."""
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    folded = [fill(name, ROW).splitlines() for name in names]
    # more ticks run into each other on a phone
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
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
    by_seed: np.ndarray,
    colour: str,
    marker: str,
    down: float = 0.24,
) -> None:
    axes.plot(
        by_seed, np.full(len(by_seed), row + down), "o", color=colour, alpha=0.5, markersize=3
    )
    axes.plot([effect.low, effect.high], [row, row], color=colour, linewidth=2)
    axes.plot(effect.mean, row, marker, color=colour, markersize=7)


def _caption(figure: Figure, text: str) -> Figure:
    figure.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION)
    return figure
