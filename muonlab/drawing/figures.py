"""Figures that say what they draw, and that read without colour, in the dark and on a phone."""

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

NAME_WIDTH = 26  # characters in a line of a row's name: the axis needs the other half


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
            the line and their range a band, and the legend says so. NaN is left out.
        points: the size of the marks, where each number is one and no line joins them.
    """
    demand(series)
    figure, axes = plt.subplots()
    seeds = draw_lines(axes, x, series)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    scales(axes, logx, logy)
    if points is not None:
        size = points + 1  # marks have no edge, which would add a point
        plt.setp(axes.lines, linestyle="none", markevery=1, markersize=size)
    if ticks:
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


def forest(
    differences: Mapping[str, Sequence[float]], *, xlabel: str, matters: float = 0.0
) -> Figure:
    """Returns effects with their 95 % intervals, the line at 0, and what is too small to matter.

    Args:
        differences: of each effect, one difference a seed; its numbers stand below its name.
        xlabel: what is contrasted, with its unit.
        matters: the size from which on an effect matters; what is smaller is shaded.
    """
    demand(differences)
    checks.number("matters", matters, 0)
    if wrong := [name for name, by_seed in differences.items() if isinstance(by_seed, Interval)]:
        raise TypeError(f"expected differences, one a seed; {wrong[0]!r} is an interval already")
    deep = 2 + max(fill(name, NAME_WIDTH).count("\n") for name in differences)
    figure, axes = plt.subplots(figsize=(WIDTH, 1.15 + (0.2 + 0.17 * deep) * len(differences)))
    axes.axvline(0, color=INK, linewidth=1)
    seeds = {len(by_seed) for by_seed in differences.values()}
    text = f"dots: n = {count_of(seeds)} seeds; bar: mean and its 95 % interval"
    if matters:
        axes.axvspan(-matters, matters, color=INK, alpha=0.12, linewidth=0)
        text += f"\nshaded: nearer to 0 than {matters:g}, the size asked about"
    look = {"color": INK, "marker": "D"}
    effects = _draw_effects(axes, dict(enumerate(differences.values())), look)
    below = [minus(effect) + (f", n = {effect.n}" if len(seeds) > 1 else "") for effect in effects]
    name_rows(axes, list(differences), below)
    axes.set_xlabel(xlabel, loc="right")
    figure.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION)
    return figure


def bars(settings: Mapping[str, Mapping[str, Sequence[float]]], *, xlabel: str) -> Figure:
    """Returns one row an effect, and in it a bar a setting: its 95 % interval, mean and seeds.

    Args:
        settings: by its name the effects of each setting, the same in all: differences, one a seed.
    """
    demand(settings)
    names, high = list(next(iter(settings.values()))), 0.8 / len(settings)
    if any({*effects} != {*names} for effects in settings.values()):
        raise ValueError(f"expected the effects {names} in each setting, got {settings}")
    figure, axes = plt.subplots(figsize=(WIDTH, 0.9 + 0.42 * len(settings) * len(names)))
    axes.axvline(0, color=INK, linewidth=1)
    for number, (setting, look) in enumerate(zip(settings, looks(settings), strict=True)):
        at = np.arange(len(names)) + (number + 0.5) * high - 0.45
        by_row = {y: settings[setting][name] for y, name in zip(at, names, strict=True)}
        effects = _draw_effects(axes, by_row, look, 0.36 * high, setting)
        for effect, (y, by_seed) in zip(effects, by_row.items(), strict=True):
            end, mean = (max(effect.high, *by_seed), y), f"{effect.mean:+.3f}".replace("-", "−")
            axes.annotate(mean, end, (6, 0), textcoords="offset points", va="center", size=CAPTION)
    name_rows(axes, names)
    axes.margins(x=0.14)
    axes.set_xlabel(xlabel, loc="right")
    n = count_of({len(by_seed) for effects in settings.values() for by_seed in effects.values()})
    legend(figure, f"bar: mean and its 95 % interval; dots: {n} seeds")
    return figure


def lead_map(races: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns Muon's lead in several races, by tokens a step and by the size of the model.

    Races with the same place stand side by side, each with its lead on all and on rare tokens.

    Args:
        races: as `studies.comparisons.lead_points` gives them.
    """
    figure, panels = plt.subplots(1, 2, figsize=(1.6 * WIDTH, 0.6 * WIDTH), sharey=True)
    scales = {"tokens": "tokens a step", "size": "numbers in the hidden matrices"}
    parts = {"overall": "all tokens", "tail": "rare tokens"}
    drawn = looks(("overall", "joined", "tail"))[::2]  # as in the live map
    leads = np.array([[race["lead"][part] for part in parts] for race in races])  # of each three
    for panel, (scale, label) in zip(panels, scales.items(), strict=True):
        panel.axhline(0, color=INK, linewidth=1)
        stops = [race[scale] for race in races]
        x = [stop * 1.07 ** stops[:number].count(stop) for number, stop in enumerate(stops)]
        panel.vlines(x, *leads[:, :, 0].T, color=INK, linewidth=0.7, alpha=0.5)
        for number, (part, look) in enumerate(zip(parts.values(), drawn, strict=True)):
            mean, low, high = leads[:, number].T
            look = {**look, "linestyle": "none", "elinewidth": 1.5, "markersize": 6, "label": part}
            panel.errorbar(x, mean, (mean - low, high - mean), **look)
        for at, race, top in zip(x, races, leads[:, :, 2].max(1), strict=True):
            if name := {"race-gpu": "GPU", "race-1200": "laptop"}.get(race["study"]):
                line: Any = {"arrowstyle": "-", "color": INK, "linewidth": 0.7}
                away: Any = {"xytext": (3, 24), "textcoords": "offset points", "ha": "center"}
                panel.annotate(name, (at, top), **away, arrowprops=line, fontsize=CAPTION)
        ends = min(-0.05, 1.1 * leads.min()), max(0.75, 1.1 * leads.max())
        panel.set(xscale="log", xlabel=label, ylim=ends)
        stops = sorted({*stops})
        panel.set_xticks(stops, [f"{x / 1e6:.1f}M" if x > 1e5 else f"{x:,}" for x in stops])
        panel.minorticks_off()
    panels[0].set_ylabel("Muon's lead, nats")
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


def name_rows(axes: Axes, names: list[str], below: list[str] | None = None) -> None:
    """Makes a row for each name, from the top, with words below it, if there are any."""
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    folded = [fill(name, NAME_WIDTH).splitlines() for name in names]
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


def _draw_effects(
    axes: Axes,
    by_row: Mapping[float, Sequence[float]],
    look: Mapping[str, Any],
    down: float = 0.24,
    label: str | None = None,
) -> list[Interval]:
    """Draws at each height a mean and its interval, and the numbers of the seeds a little below."""
    import seaborn as sns

    numbers = [numbers_of(by_seed) for by_seed in by_row.values()]
    x, y = np.concatenate(numbers), np.repeat([*by_row], [*map(len, numbers)])
    row: dict[str, Any] = {"x": x, "color": look["color"], "legend": False, "ax": axes}
    sns.scatterplot(y=y + down, s=16, alpha=0.5, linewidth=0, **row)
    row |= {"orient": "y", "native_scale": True, "linestyle": "none", "label": label}
    mark = {"markers": look["marker"], "markersize": 7, "markeredgewidth": 1}
    bar = {"errorbar": lambda by_seed: mean_interval([*by_seed])[1:3], "err_kws": {"linewidth": 2}}
    sns.pointplot(y=y, **mark, **bar, **row)
    return [mean_interval(by_seed.tolist()) for by_seed in numbers]
