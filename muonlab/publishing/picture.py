"""The picture of the README, from recorded runs: `python -m muonlab.publishing.picture`."""

import io
from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from muonlab.classroom import figures
from muonlab.files import course, replace_file
from muonlab.records.record import Record
from muonlab.records.runs import grouped
from muonlab.statistics import paired_interval
from muonlab.sweeps.results import recorded

PATH = course() / "book" / "assets" / "first-result.svg"
PARTS = ("head", "middle", "tail")


def draw() -> Figure:
    """Returns the figure: loss by step with the range of five seeds, and the lead by class."""
    figures.style()
    runs = grouped(recorded("lesson-04-seeds"), preset="lesson-04-seeds")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(3, 2))
    for number, name in enumerate(("AdamW", "Muon")):
        _band(left, name, runs[name], number)
    left.set(xlabel="step", ylabel="held-out loss, nats per token")
    left.legend()
    _leads(right, runs["AdamW"], runs["Muon"])
    return figure


def _band(axes: Axes, name: str, records: Iterable[Record], number: int) -> None:
    steps = [measured["step"] for measured in next(iter(records)).held_out]
    losses = np.array([[measured["overall"] for measured in r.held_out] for r in records])
    axes.plot(steps, losses.mean(axis=0), label=name, markersize=5, **figures.look(number))
    axes.fill_between(steps, losses.min(axis=0), losses.max(axis=0), alpha=0.25)


def _leads(axes: Axes, adamw: list[Record], muon: list[Record]) -> None:
    for row, part in enumerate(PARTS):
        theirs, ours = ([r.held_out[-1][part] for r in group] for group in (adamw, muon))
        mean, low, high, _ = paired_interval(theirs, ours)
        axes.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", color="C2", capsize=4)
    axes.axvline(0, color="grey", linewidth=1)
    axes.set_yticks(range(len(PARTS)), labels=[f"{part} tokens" for part in PARTS])
    axes.set(xlabel="AdamW's loss minus Muon's", ylim=(len(PARTS) - 0.5, -0.5))


def as_svg() -> bytes:
    """Returns the picture's bytes: the same for the same records."""
    return figures.as_svg(draw())


def as_png() -> bytes:
    """Returns the picture in the shape that pages which link to the book show: 1200 x 630."""
    buffer = io.BytesIO()
    figure = draw()
    figure.set_size_inches(9, 9 * 630 / 1200)
    figure.suptitle("muonlab: why Muon trains language models better than Adam")
    figure.savefig(buffer, format="png", dpi=1200 / 9, facecolor="white")
    plt.close(figure)
    return buffer.getvalue()


def main() -> None:
    """Writes the picture."""
    PATH.parent.mkdir(parents=True, exist_ok=True)
    replace_file(PATH, as_svg())
    print(f"{PATH.name}: written")


if __name__ == "__main__":
    main()
