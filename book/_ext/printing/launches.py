"""Where the time of an optimizer step went on a GPU, and how many kernels it launches: a figure."""

import math
from datetime import datetime

import matplotlib.pyplot as plt

from muonlab.benchmark.bench import BYTES
from muonlab.benchmark.on_gpu import GPTS, LAYER
from muonlab.drawing import axes, svg
from muonlab.drawing.looks import looks
from printing.gpu import record

SET = "paper, 12 x 768"
SPENT = ("products, at the card's speed", "Newton-Schulz beyond that", "rest of the step")
BARS = {  # by row of the figure: what the timings and the counts call it, and which count it is
    "torch.optim.Muon": ("torch.optim.Muon", 0),
    "muonlab, timed": ("muonlab Muon", 0),
    "muonlab, now": ("muonlab Muon", -1),
}


def kernels() -> dict[str, int]:
    """Returns the kernels of a step, by row of the figure."""
    counts = [row for row in record("launches")["counts"] if row["set"] == SET]
    return {name: counts[which][who] for name, (who, which) in BARS.items()}


def times() -> dict[str, list[float]]:
    """Returns the milliseconds of SPENT by row; the last row has not been timed.

    Newton-Schulz was timed apart, on stacks of 12 of either shape of the model's matrices.
    """
    timings, (layers, width) = record("gpu-h200"), GPTS[SET]
    shapes = [sorted((m * width, n * width)) for m, n in LAYER] * layers
    stacks = [row for row in timings["newton_schulz"] if row["shape"] in shapes]
    [step] = [row for row in timings["optimizer_step"] if row["set"] == SET]
    parts = {}
    for name, (who, _) in [*BARS.items()][:2]:
        of_one = [(row["shape"], row[who.split()[0]] / row["stack"]) for row in stacks]
        spent = sum(ms * shapes.count(shape) for shape, ms in of_one)
        floor = step["floor at peak"]
        parts[name] = [floor, spent - floor, step[who] - spent]
    return parts


def launch_figure() -> str:
    """Returns the figure as a page holds it, and what it says in words."""
    parts, counts = times(), kernels()
    axes.style()
    figure, (above, below) = plt.subplots(2, 1, figsize=(axes.WIDTH, 3.2))
    *colours, own = (look["color"] for look in looks([*SPENT, "kernels"]))
    begin = [0.0] * len(parts)
    for n, (label, colour) in enumerate(zip(SPENT, colours, strict=True)):
        widths = [row[n] for row in parts.values()]
        above.barh([*parts], widths, left=begin, color=colour, label=label)
        begin = [start + width for start, width in zip(begin, widths, strict=True)]
    above.barh([*BARS][-1], 0)
    above.text(0, len(parts), "  not timed yet", va="center")
    above.set(xlabel=f"ms of one step, {record('gpu-h200')['device']}")
    bars = below.barh([*counts], [*counts.values()], color=own)
    below.bar_label(bars, [f"{count:,}" for count in counts.values()], padding=3)
    below.set(xlabel="kernels of one step", xlim=(0, 1.2 * max(counts.values())))
    for panel in (above, below):
        panel.invert_yaxis()
    layers, width = GPTS[SET]
    axes.legend(figure, f"{layers * len(LAYER)} matrices of {layers} layers, width {width}")
    words = launch_words()
    return f'<div class="cell_output">{svg.inline(figure, words)}</div>\n\n{words}'


def launch_words() -> str:
    """Returns what the figure shows, in sentences."""
    parts, counts, timings = times(), kernels(), record("gpu-h200")
    (floor, beyond, rest), theirs = parts["muonlab, timed"], sum(parts["torch.optim.Muon"])
    whole, before = floor + beyond + rest, counts["muonlab, timed"]
    layers, width = GPTS[SET]
    numbers = sum(map(math.prod, LAYER)) * layers * width**2
    memory = 1e-6 * BYTES * numbers / timings["peak"]["copy GB/s"]
    day = datetime.fromisoformat(timings["provenance"]["utc"])
    return (
        f"On {day.day} {day:%B %Y} a step on {layers * len(LAYER)} matrices took {whole:.1f} ms on "
        f"an {timings['device']}. The products alone would take {floor:.1f} ms at the card's "
        f"speed, one pass over memory {memory:.1f} ms. Newton-Schulz, timed apart, took "
        f"{floor + beyond:.1f} ms. The step launched {before:,} kernels, on average one every "
        f"{1000 * whole / before:.0f} µs. torch.optim.Muon took {theirs:.1f} ms and launched "
        f"{counts['torch.optim.Muon']:,}. Today's step launches {counts['muonlab, now']}. Its time "
        "on a card has not been measured."
    )
