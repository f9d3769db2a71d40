"""Matrices and grids of numbers as cells of colour."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure

from muonlab import checks
from muonlab.drawing.axes import WIDTH, demand, draw_spectra, minus
from muonlab.drawing.looks import looks

SPECTRUM = "_"  # no matrix is called so
DIVERGING = "PRGn"  # purple below 0, green above: told apart without red or green


def matrix(matrices: Mapping[str, Any], *, shared: bool = True) -> Figure:
    """Returns each matrix as a heat map, and their singular values beside or below.

    Args:
        matrices: of each name, (m, n).
        shared: one scale of colours for all, symmetric around 0; else each has its own.
    """
    demand(matrices)
    arrays = {name: checks.array("matrices", matrix) for name, matrix in matrices.items()}
    if not all(m.ndim == 2 and m.size and np.isfinite(m).all() for m in arrays.values()):
        raise ValueError(f"expected matrices (m, n) of finite numbers, got {arrays}")
    alone, above = len(arrays) == 1, [*arrays]
    rows: Any = [[*above, SPECTRUM]] if alone else [above, [SPECTRUM] * len(above)]
    shape: dict[str, Any] = {"figsize": (WIDTH, (0.55 if alone else 0.95) * WIDTH)}
    figure, places = plt.subplot_mosaic(rows, height_ratios=(1.15, 1)[: len(rows)], **shape)
    ends = {name: np.abs(M).max() for name, M in arrays.items()}
    for name, M in arrays.items():
        axes, end = places[name], (max(ends.values()) if shared else ends[name]) or 1.0
        ticks = {"ticks": [-end, 0, end], "format": minus, "orientation": "horizontal"}
        bar = {"cbar_ax": axes.inset_axes((0, -0.3, 1, 0.06)), "cbar_kws": ticks}
        names = {"xticklabels": False, "yticklabels": False}
        draw_cells(axes, M, (-end, end), DIVERGING, **names, **bar)
        axes.set(title=name, xlabel=f"{M.shape[0]} × {M.shape[1]}")
        axes.spines[:].set_visible(True)
    spectra = {name: np.linalg.svd(M, False, False) for name, M in arrays.items()}
    draw_spectra(places[SPECTRUM], spectra, logy=False)
    if not alone:
        places[SPECTRUM].legend()
    return figure


def maps(
    grids: Mapping[str, Mapping[Any, Mapping[Any, float]]],
    *,
    below: float,
    xlabel: str,
    ylabel: str,
    sides: Sequence[str] = (),
) -> Figure:
    """Returns grids[name][row][column] as cells of colour, rows from below; a high one is bright.

    All have one scale of colours; a number under `below` has a frame. Two stand in a row.

    Args:
        sides: two contestants; the first one's colour stands for numbers under `below`, the
            second one's for those above.
    """
    demand(grids)
    if len(columns := {(*row,) for grid in grids.values() for row in grid.values()}) != 1:
        raise ValueError(f"expected the same columns in each row, got {columns}")
    down, shared = -(-len(grids) // 2), sides and len({(*grid,) for grid in grids.values()}) == 1
    shape: dict[str, Any] = {"figsize": (WIDTH, 0.64 * WIDTH * down), "squeeze": False}
    figure, places = plt.subplots(down, min(2, len(grids)), sharey=bool(shared), **shape)
    cells = [[[*row.values()] for row in grid.values()] for grid in grids.values()]
    values = np.array(cells, dtype=float)
    low, top, form = values.min(), values.max(), ".2f"
    colours: str | LinearSegmentedColormap = "viridis"
    if sides:
        far = np.abs(values - below).max()
        low, top, form = below - far, below + far, "+.2f"
        first, second = ((np.array(to_rgb(look["color"])) + 1) / 2 for look in looks(sides))
        colours = LinearSegmentedColormap.from_list("sides", np.array([first, [1] * 3, second]))
    for axes in places.flat[len(grids) :]:
        axes.remove()
    for axes, (name, grid), cells in zip(places.flat, grids.items(), values, strict=False):
        names = {"xticklabels": [*next(iter(grid.values()))], "yticklabels": [*grid]}
        text = {"annot": True, "fmt": form, "annot_kws": {"fontsize": 10}}
        draw_cells(axes, cells, (low, top), colours, cbar=False, **names, **text)
        axes.set(title=name, xlabel=xlabel, ylim=(0, len(grid)))
        axes.tick_params(axis="y", rotation=0)
        for label, value in zip(axes.texts, cells.flat, strict=True):
            shown = label.get_text().replace("-", "−")
            label.set_text(re.sub(r"\b0\.", ".", shown) if sides else shown)
            if value < below:
                frame = {"edgecolor": label.get_color(), "facecolor": "none", "linewidth": 1.6}
                label.set_bbox(frame | {"pad": 4})
    for axes in places[:, 0]:
        axes.set_ylabel(ylabel)
    for axes in places[:, 1:].flat:
        axes.tick_params(left=not shared)  # the rows are named beside the first, and a tick is a −
    return figure


def draw_cells(
    axes: Axes, cells: Any, ends: tuple[float, float], colours: Any, **options: Any
) -> None:
    """Draws numbers (m, n) as squares, the first row above; `ends` of the scale, seaborn's options.

    They are one picture: as so many shapes they are a large SVG, with hairlines between them.
    """
    import seaborn as sns

    low, top = ends
    look = {"cmap": colours, "square": True, "rasterized": True}
    sns.heatmap(cells, ax=axes, vmin=low, vmax=top, **look, **options)
