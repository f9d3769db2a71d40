"""The picture of the README, from recorded runs: `python -m muonlab.publishing.picture`."""

import io
from operator import itemgetter

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from muonlab.classroom import axes, figures, svg
from muonlab.files import course, replace_file
from muonlab.records.record import contestant
from muonlab.records.runs import by_contestant, contrasted, curves, grouped
from muonlab.sweeps.results import recorded

PATH = course() / "book" / "assets" / "first-result.svg"
PARTS = ("head", "middle", "tail")
NAMES = ("AdamW", "Muon")
RACE = "race-1200"
ALT = (
    "Left: held-out loss of a small language model over 1,200 steps; Muon's curve is below AdamW's "
    "all along. Right: at the end Muon leads on the head, the middle and the tail of the tokens."
)


def draw(title: str = "") -> Figure:
    """Returns the figure: held-out loss by step, with all seeds, and the lead by class."""
    axes.style()
    records = recorded(RACE)
    runs = grouped(records, preset=RACE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=(3, 2))
    steps = curves(runs["Muon"])[0]
    axes.draw_lines(left, steps, {name: curves(runs[name])[1] for name in NAMES})
    left.set(xlabel="step", ylabel="held-out loss, nats per token", xticks=steps[1::2])
    ends = {part: by_contestant(records, contestant, itemgetter(part)) for part in PARTS}
    leads = {f"{part} tokens": contrasted(each, {"": NAMES})[""] for part, each in ends.items()}
    figures.draw_forest(right, leads)
    right.set_xlabel("AdamW's final loss minus Muon's, nats", loc="right")
    seeds = len(runs["Muon"])
    told = f"left: mean, band: all {seeds} seeds; right: the end, {seeds} seeds, 95 % interval"
    axes.legend(figure, "\n".join(filter(None, (title, told))))
    return figure


def as_svg() -> bytes:
    """Returns the picture's bytes: the same for the same records."""
    return svg.standalone(draw(), ALT)


def as_png() -> bytes:
    """Returns the picture in the shape that pages which link to the book show: 1200 x 630."""
    buffer = io.BytesIO()
    figure = draw("Does Muon train language models better than Adam, and why?")
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
