"""The picture of the README, from recorded runs: `python -m muonlab.publishing.picture`."""

import io

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.lib.stride_tricks import sliding_window_view

from muonlab.classroom import figures, svg
from muonlab.files import course, replace_file
from muonlab.records.record import Record
from muonlab.records.runs import grouped
from muonlab.sweeps.results import recorded

PATH = course() / "book" / "assets" / "first-result.svg"
PARTS = ("head", "middle", "tail")
SMOOTH = 9  # steps: a batch of one step scatters more than ten seeds do
ALT = (
    "Left: training loss of a small language model by step, under AdamW and under Muon. Right: the "
    "final difference of the held-out loss on frequent, middling and rare tokens."
)


def draw(title: str = "") -> Figure:
    """Returns the figure: training loss by step, with all seeds, and the lead by class."""
    figures.style()
    runs = grouped(recorded("lesson-04-seeds"), preset="lesson-04-seeds")
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=(3, 2))
    losses = {n: np.array([run.train_loss for run in runs[n]]) for n in ("AdamW", "Muon")}
    means = {n: sliding_window_view(each, SMOOTH, 1).mean(-1) for n, each in losses.items()}
    seeds, points = means["Muon"].shape
    figures.draw_lines(left, SMOOTH // 2 + np.arange(1, points + 1), means)
    left.set(xlabel="step", ylabel="training loss, nats per token")
    figures.draw_forest(right, {f"{part} tokens": _leads(runs, part) for part in PARTS})
    right.set_xlabel("AdamW's final loss minus Muon's", loc="right")
    told = f"left: mean of {SMOOTH} steps, band: all {seeds} seeds; right: held out, 95 % interval"
    figures.legend(figure, "\n".join(filter(None, (title, told))))
    return figure


def _leads(runs: dict[str, list[Record]], part: str) -> list[float]:
    ends = ([run.held_out[-1][part] for run in runs[name]] for name in ("AdamW", "Muon"))
    return [adamw - muon for adamw, muon in zip(*ends, strict=True)]


def as_svg() -> bytes:
    """Returns the picture's bytes: the same for the same records."""
    return svg.standalone(draw(), ALT)


def as_png() -> bytes:
    """Returns the picture in the shape that pages which link to the book show: 1200 x 630."""
    buffer = io.BytesIO()
    figure = draw("muonlab: why Muon trains language models better than Adam")
    figure.set_size_inches(8, 8 * 630 / 1200)
    figure.draw_without_rendering()
    figure.savefig(buffer, format="png", dpi=1200 / 8, facecolor="white")
    plt.close(figure)
    return buffer.getvalue()


def main() -> None:
    """Writes the picture."""
    PATH.parent.mkdir(parents=True, exist_ok=True)
    replace_file(PATH, as_svg())
    print(f"{PATH.name}: written")


if __name__ == "__main__":
    main()
