"""What every figure shares: one look, its lines, scales and legend, and numbers as text.

seaborn takes a second to import, so functions that draw import it: a command needs no figure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from muonlab import checks
from muonlab.drawing.looks import INK, SERIES, looks

CAPTION = 10.5
WIDTH = 5.0  # inches: text keeps a readable size where a phone makes the figure narrower
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKS: Any = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
OFF: Any = ("axes.spines.top", "axes.spines.right", "axes.formatter.useoffset")
OFF += ("legend.frameon", "lines.scale_dashes")
Numbers = Iterable[float]


def style() -> None:
    """Sets one look for all figures: seaborn's, in the colours of the page and of the course."""
    import seaborn as sns

    plt.rcdefaults()
    own: dict[Any, Any] = {"figure.figsize": (WIDTH, 0.6 * WIDTH), "lines.linewidth": 1.5}
    own |= {"figure.constrained_layout.use": True, "patch.edgecolor": "none"}
    own |= dict.fromkeys(OFF, False) | dict.fromkeys(MARKS, INK)
    colours = [look["light"] for look in SERIES]
    sns.set_theme("paper", "ticks", colours, font="DejaVu Sans", font_scale=1.2, rc=own)


def demand(series: Any) -> None:
    """Raises ValueError unless there is something to draw, by name."""
    # matplotlib hides a name with _ in front
    fit = all(isinstance(n, str) and n.strip() and not n.startswith("_") for n in series)
    if not (isinstance(series, Mapping) and series and fit):
        raise ValueError(f"expected series by names such as 'Muon', got {checks.short(series)}")


def legend(figure: Figure, drawn: str = "") -> None:
    """Puts one legend of all axes above the figure, where it hides nothing.

    Args:
        drawn: how lines, bands or dots stand for seeds.
    """
    mark_of: dict[str, Any] = {}
    for axes in figure.axes:
        marks, names = axes.get_legend_handles_labels()
        mark_of |= dict(zip(names, marks, strict=True))
    labels, handles = [*mark_of], [*mark_of.values()]
    columns = max(1, min(3, 36 // (8 + max(map(len, labels)))))
    rows = -(-len(labels) // columns) + len(drawn.splitlines())
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    place: dict[str, Any] = {"loc": "outside upper left", "alignment": "left", "borderaxespad": 0}
    place |= {"title": drawn or None, "title_fontsize": CAPTION}
    figure.legend(handles, labels, ncols=columns, **place)


def draw_lines(
    axes: Axes, x: Numbers | Mapping[str, Numbers], series: Mapping[str, Any]
) -> set[int]:
    """Draws what `lines` says; returns the numbers of seeds of those series that have a band."""
    import seaborn as sns

    seeds: set[int] = set()
    for (label, y), look in zip(series.items(), looks(series), strict=True):
        runs, at = np.atleast_2d(numbers_of(y)), numbers_of(x_of(x, label))
        somewhere = np.isfinite(at).all() and np.isfinite(runs).any() and not np.isinf(runs).any()
        if runs.shape[1:] != at.shape or not somewhere:
            came = f"{at.size} x and {runs.shape[-1]} y"
            raise ValueError(f"{label!r} needs a finite y, or NaN, for each finite x; got {came}")
        runs[:, np.isnan(runs).any(0)] = np.nan  # no mean over fewer seeds than the legend says
        marks = {"markersize": 6, "markeredgewidth": 0, "markevery": 0.12 if at.size > 16 else 1}
        band = {"errorbar": ("pi", 100), "err_kws": {"alpha": 0.25, "linewidth": 0}}
        values = {"x": np.tile(at, len(runs)), "y": runs.ravel(), "label": label, "legend": False}
        mean = "mean" if len(runs) > 1 else None
        sns.lineplot(**values, estimator=mean, sort=False, ax=axes, **band, **marks, **look)
        seeds |= {len(runs)} - {1}
    return seeds


def draw_spectra(axes: Axes, values: Mapping[str, Numbers], logy: bool) -> None:
    spectra = {}
    for label, v in values.items():
        s = np.sort(numbers_of(v))[::-1]
        if not (np.isfinite(s).all() and (s >= 0).all() and (s.any() if logy else s.size)):
            more = ", not all 0" if logy else ""
            raise ValueError(f"singular values are finite and >= 0{more}; not those of {label!r}")
        spectra[label] = s[s > 1e-12 * s.max(initial=0)] if logy else s
    draw_lines(axes, {label: range(1, len(s) + 1) for label, s in spectra.items()}, spectra)
    axes.set(xlabel="number, largest first", ylabel="singular value")
    scales(axes, False, logy)
    if not logy:
        axes.set_ylim(bottom=0)


def scales(axes: Axes, logx: bool, logy: bool) -> None:
    if logy and not all((np.asarray(line.get_ydata()) > 0).any() for line in axes.lines):
        raise ValueError("logy needs a y above 0 in each series")
    axes.set(xscale="log" if logx else "linear", yscale="log" if logy else "linear")
    drawn = sorted({float(x) for line in axes.lines for x in np.asarray(line.get_xdata())})
    # so many round ticks and no more: by themselves they depend on the layout, and that on them
    if not logx:
        whole = all(x.is_integer() for x in drawn)
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10], integer=whole))
    if not logy:
        axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    if logx and drawn and drawn[0] <= 0:
        raise ValueError(f"logx needs an x above 0, got {drawn[0]:g}")
    for axis in [axes.xaxis] * logx + [axes.yaxis] * logy:
        low, high = axis.get_view_interval()
        between = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=between, numticks=7))
        axis.set_major_formatter(FuncFormatter(tick))
        axis.set_minor_formatter(NullFormatter())
    if logx and len(drawn) <= 10:  # a few sizes: name each, instead of powers of ten
        named = [x for before, x in zip([0.0, *drawn], drawn, strict=False) if x > 1.2 * before]
        axes.set_xticks(named, labels=[f"{value:g}" for value in named])
        axes.minorticks_off()


def numbers_of(values: Any) -> np.ndarray:
    """Returns numbers, or one row of them a seed, whatever holds them."""
    try:
        return np.array([numbers_of(v) if np.ndim(v) else float(v) for v in values])
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected numbers to draw, got {checks.short(values)}") from error


def x_of(x: Any, name: str) -> Any:
    """Returns the x of one line or panel, where each has its own."""
    if isinstance(x, Mapping):
        checks.choice("a name in x", name, x)
    return x[name] if isinstance(x, Mapping) else x


def count_of(seeds: set[int]) -> str:
    return " to ".join(f"{end}" for end in sorted({min(seeds), max(seeds)} if seeds else ()))


def minus(value: object, place: Any = None) -> str:
    text = f"{value:.2g}" if isinstance(value, float) else str(value)
    return text.replace("-", "−")


def tick(value: float, place: Any = None) -> str:
    """Returns a number of a log axis as text that any font has.

    >>> tick(0.01), tick(1e-6), tick(2000)
    ('0.01', '10⁻⁶', '2000')
    """
    if 1e-3 <= value < 1e5 or not value:
        return f"{value:g}"
    digits, power = f"{value:e}".split("e")
    times = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{times}10{str(int(power)).translate(POWERS)}"
