"""Figures that read without colour: every series has a colour, a dash and a marker of its own."""

import base64
import io
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn
from matplotlib.figure import Figure

DASHES = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (4, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")


def style() -> None:
    """Sets one look for all figures; the svg salt makes their bytes the same in every run."""
    own = {
        "figure.figsize": (6.6, 3.6),
        "figure.facecolor": "white",
        "figure.constrained_layout.use": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.hashsalt": "muonlab",
    }
    seaborn.set_theme(context="notebook", style="ticks", palette="colorblind", rc=own)


def look(number: int) -> dict[str, Any]:
    """Returns the dash and the marker of a series, by its number."""
    return {"linestyle": DASHES[number % 6], "marker": MARKERS[number % 6]}


def lines(
    x: Iterable[float] | Mapping[str, Iterable[float]],
    series: Mapping[str, Iterable[float]],
    *,
    xlabel: str,
    ylabel: str,
    logx: bool = False,
    logy: bool = False,
) -> Figure:
    """Returns a figure with one line a series, told apart by colour, dash and marker.

    x holds for all series, or is a mapping with the x of each.
    """
    figure, axes = plt.subplots()
    drawn: set[float] = set()
    for number, (label, y) in enumerate(series.items()):
        at = _numbers(x[label] if isinstance(x, Mapping) else x)
        every = max(1, len(at) // 8)
        axes.plot(at, _numbers(y), label=label, markevery=every, markersize=5, **look(number))
        drawn |= set(at.tolist())
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set(xscale="log" if logx else "linear", yscale="log" if logy else "linear")
    if logx and len(drawn) <= 10:  # a few sizes: name each, instead of powers of ten
        axes.set_xticks(sorted(drawn), labels=[f"{value:g}" for value in sorted(drawn)])
        axes.minorticks_off()
    if len(series) > 1:
        axes.legend()
    return figure


def spectra(values: Mapping[str, Iterable[float]], *, logy: bool = True) -> Figure:
    """Returns a figure of singular values, largest first; zeros are left out of a log axis."""
    falling = {label: np.sort(_numbers(v))[::-1] for label, v in values.items()}
    at = {label: range(1, len(s) + 1) for label, s in falling.items()}
    xlabel, ylabel = "number, largest first", "singular value"
    figure = lines(at, falling, xlabel=xlabel, ylabel=ylabel, logy=logy)
    figure.axes[0].legend()
    return figure


def intervals(values: Mapping[str, Iterable[float]], *, xlabel: str) -> Figure:
    """Returns one row a name: each value (a seed) as a dot, their range as a line, their mean."""
    figure, axes = plt.subplots(figsize=(7, 0.8 + 0.5 * len(values)))
    for row, numbers in enumerate(map(_numbers, values.values())):
        colour = f"C{row}"
        axes.plot([numbers.min(), numbers.max()], [row, row], color=colour, linewidth=2)
        axes.plot(numbers, np.full(len(numbers), row), "o", color=colour, alpha=0.5)
        axes.plot(numbers.mean(), row, MARKERS[row % 6], color=colour, markersize=10, mec="black")
    axes.set_yticks(range(len(values)), labels=list(values))
    axes.set(xlabel=xlabel, ylim=(len(values) - 0.5, -0.5))
    return figure


def as_svg(figure: Figure) -> bytes:
    """Returns the figure as SVG, the same bytes in every run, and closes it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", facecolor="white", metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()


def as_html(figure: Figure, alt: str) -> str:
    """Returns the figure as one <img> with its text alternative, and closes it."""
    data = base64.b64encode(as_svg(figure)).decode()
    look = "max-width:100%;height:auto;background:white;border-radius:4px"
    return f'<img alt="{escape(alt)}" style="{look}" src="data:image/svg+xml;base64,{data}">'


def _numbers(values: Iterable[float]) -> np.ndarray:
    return np.array([float(v) for v in values])
