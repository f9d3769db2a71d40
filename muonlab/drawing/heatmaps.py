"""Matrices and grids of numbers as cells of colour."""

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

DIVERGING = "PRGn"  # purple below 0, green above: told apart without red or green


def matrix(matrices: Mapping[str, Any], *, shared: bool = True, logy: bool = False) -> Figure:
    """Returns each matrix as a heat map, and their singular values beside or below.

    Args:
        matrices: of each name, (m, n).
        shared: one scale of colours for all, symmetric around 0; else each has its own.
        logy: the axis of the singular values.
    """
    demand(matrices)
    checks.choice("shared", shared, (True, False))
    arrays = {name: checks.array("matrices", matrix) for name, matrix in matrices.items()}
    if not all(m.ndim == 2 and m.size and np.isfinite(m).all() for m in arrays.values()):
        raise ValueError(f"expected matrices (m, n) of finite numbers, got {arrays}")
    figure, maps, below = _places(len(arrays))
    ends = [np.abs(M).max() or 1.0 for M in arrays.values()]
    ends = [max(ends)] * len(ends) if shared else ends
    for axes, (name, M), end in zip(maps, arrays.items(), ends, strict=True):
        image = axes.imshow(M, cmap=DIVERGING, vmin=-end, vmax=end, interpolation="none")
        rows, columns = M.shape
        axes.set(title=name, xticks=[], yticks=[], xlabel=f"{rows} × {columns}")
        axes.spines[:].set_visible(True)
        ticks: dict[str, Any] = {"ticks": [-end, 0, end], "format": minus}
        ticks |= {"orientation": "horizontal"}
        if not shared or len(arrays) == 1:
            figure.colorbar(image, cax=axes.inset_axes((0, -0.3, 1, 0.06)), **ticks)
    if shared and len(arrays) > 1:
        figure.colorbar(image, ax=maps, fraction=0.06, aspect=30, **ticks)
    draw_spectra(below, {name: np.linalg.svd(M, False, False) for name, M in arrays.items()}, logy)
    if len(arrays) > 1:
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
    """Returns grids[name][row][column] as cells of colour, rows from below; a high one is bright.

    All have one scale of colours; a number under `below` has a frame.

    Args:
        sides: two contestants; the first one's colour stands for numbers under `below`, the
            second one's for those above.
    """
    demand(grids)
    if len(columns := {(*row,) for grid in grids.values() for row in grid.values()}) != 1:
        raise ValueError(f"expected the same columns in each row, got {columns}")
    high = 0.64 if len(grids) < 3 else 0.42
    shape: dict[str, Any] = {"figsize": (WIDTH, high * WIDTH), "squeeze": False}
    figure, [places] = plt.subplots(1, len(grids), sharey=bool(sides), **shape)
    cells = [[[*row.values()] for row in grid.values()] for grid in grids.values()]
    grid_values = checks.array("maps with as many rows each", cells)
    checks.number("below", below)
    if not (grid_values.ndim == 3 and grid_values.size and np.isfinite(grid_values).all()):
        raise ValueError(
            f"expected finite numbers in cells, got {checks.told(grid_values.tolist())}"
        )
    low, top, form = grid_values.min(), grid_values.max(), ".2f"
    colours: str | LinearSegmentedColormap = "viridis"
    if sides:
        if len(sides) != 2 or sides[0] == sides[1]:
            raise ValueError(f"sides are two different contestants, got {sides}")
        far = np.abs(grid_values - below).max()
        low, top, form = below - far, below + far, "+.2f"
        first, second = ((np.array(to_rgb(look["color"])) + 1) / 2 for look in looks(sides))
        colours = LinearSegmentedColormap.from_list("sides", np.array([first, [1] * 3, second]))
    for axes, (name, grid), cells in zip(places, grids.items(), grid_values, strict=True):
        axes.imshow(cells, cmap=colours, origin="lower", vmin=low, vmax=top)
        axes.set(title=name, xlabel=xlabel)
        axes.set_xticks(range(len(cells[0])), [*next(iter(grid.values()))])
        axes.set_yticks(range(len(cells)), [*grid])
        for (row, column), value in np.ndenumerate(cells):
            ink = "black" if sides or value > (low + top) / 2 else "white"
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            look["fontsize"] = 10 if len(grids) < 3 else 8.5
            frame = {"edgecolor": ink, "facecolor": "none", "linewidth": 1.6}
            frame["pad"] = 4 if len(grids) < 3 else 2
            text = f"{value:{form}}".replace("-", "−")
            text = text.replace("0.", ".") if sides else text  # three maps leave little room
            axes.text(column, row, text, bbox=frame if value < below else None, **look)
    places[0].set_ylabel(ylabel)
    return figure


def _places(count: int) -> tuple[Figure, list[Axes], Axes]:
    if count == 1:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 0.55 * WIDTH))
        return figure, [left], right
    figure = plt.figure(figsize=(WIDTH, 0.95 * WIDTH))
    grid = figure.add_gridspec(2, count, height_ratios=(1.15, 1))
    maps = [figure.add_subplot(grid[0, column]) for column in range(count)]
    return figure, maps, figure.add_subplot(grid[1, :])
