"""The pictures of README, home and the answer: drawn from records, each with its words."""

import math
from collections.abc import Callable
from operator import itemgetter

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from muonlab.drawing import axes, figures, heatmaps, svg
from muonlab.drawing.looks import INK, looks
from muonlab.optim.orthogonalize import polar
from muonlab.records.runs import curves, grouped
from muonlab.studies import comparisons
from muonlab.studies.comparisons import GPU, LAPTOP
from printing import gpu

GRADIENT = torch.tensor([[1.0, 0.55], [0.25, 0.45]], dtype=torch.float64)
RARITY = {"frequent": "head", "middle": "middle", "rare": "tail"}  # of tokens, half, 40 %, a tenth
BOTH = ("AdamW", "Muon")
PLACES = {"on a GPU": GPU, "on a laptop": LAPTOP}
LOSS_ALT = (
    "Held-out loss of a small language model over 1,000 steps on a GPU; Muon's curve lies below "
    "AdamW's all along."
)
LEAD_ALT = "Muon's lead at the end, on a GPU larger the rarer the tokens, on a laptop small on all."
ALT = f"Left: {LOSS_ALT[0].lower()}{LOSS_ALT[1:]} Right: {LEAD_ALT}"
MAP_ALT = (
    "Muon's lead in every race, by tokens a step and by the size of the model: largest in the race "
    "on a GPU, where both are largest, and there larger on rare tokens than on all."
)


def first_result() -> Figure:
    """Returns the race on a GPU: held-out loss by step, and the lead by how rare a token is."""
    axes.style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=(3, 2))
    draw_losses(left)
    draw_leads(right)
    axes.legend(figure, "both sides tuned; band: all 5 seeds; bars: mean, 95 % interval")
    return figure


def in_two() -> tuple[Figure, Figure]:
    """Returns the two halves of `first_result`, which a phone shows one below the other."""
    axes.style()
    (left, above), (right, below) = (plt.subplots(figsize=(w, 3.2)) for w in (4.8, 3.2))
    draw_losses(above)
    draw_leads(below)
    axes.legend(left, "both sides tuned; band: all 5 seeds")
    axes.legend(right, "bars: mean, 95 % interval")
    return left, right


def draw_losses(panel: Axes) -> None:
    runs = grouped(GPU.runs, preset=GPU.phase)
    steps = curves(runs["Muon"])[0]
    axes.draw_lines(panel, steps, {name: curves(runs[name])[1] for name in BOTH})
    panel.set(xlabel="step", ylabel="held-out loss, nats a token", xticks=steps[1::2])


def draw_leads(panel: Axes) -> None:
    colours = looks([f"a race {where}" for where in PLACES])
    for shift, ((where, comparison), look) in enumerate(zip(PLACES.items(), colours, strict=True)):
        leads = [comparison.interval(itemgetter(part)) for part in RARITY.values()]
        places = [place + 0.4 * shift - 0.2 for place in range(len(leads))]
        heights = [lead.mean for lead in leads]
        reach = [lead.high - lead.mean for lead in leads]
        bars = panel.bar(places, heights, 0.36, color=look["color"], label=f"lead {where}")
        panel.errorbar(places, heights, reach, color=INK, fmt="none", linewidth=1)
        panel.bar_label(bars, [f"{height:.2f}" for height in heights], padding=5, fontsize=9.5)
    panel.set_xticks(range(len(RARITY)), [*RARITY])
    panel.set(xlabel="tokens", ylabel="Muon's lead, nats", ylim=(0, 0.7))


def leads_mapped() -> Figure:
    """Returns where Muon's lead is large: every recorded race, by tokens a step and by size."""
    axes.style()
    return figures.lead_map(comparisons.lead_points())


def geometry() -> tuple[Figure, str]:
    """Returns a circle of inputs, what a gradient makes of it, and what Muon's step makes of it."""
    axes.style()
    figure, panels = plt.subplots(1, 3, figsize=(3.6, 1.5))
    angle = torch.linspace(0, 2 * math.pi, 200, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()])
    drawn = {"inputs": torch.eye(2), "gradient": GRADIENT, "Muon": polar(GRADIENT)}
    for panel, (name, matrix) in zip(panels, drawn.items(), strict=True):
        x, y = (matrix.double() @ circle).tolist()
        panel.plot(x, y, color=looks([name])[0]["color"], linewidth=2)
        panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", title=name)
        panel.axis("off")
    return figure, (
        "A circle, the ellipse that a gradient makes of it, and a circle again under Muon's step: "
        "as long in all directions."
    )


def understand() -> tuple[Figure, str]:
    """Returns what a memory of facts answers: before training, after a gradient, after Muon."""
    axes.style()
    figure, panels = plt.subplots(1, 3, figsize=(3.6, 1.5))
    facts = 8
    often = 1 / torch.arange(1, facts + 1, dtype=torch.float64)
    often /= often.sum()
    gradient = torch.diag(often) - often.expand(facts, facts) / facts  # E = I: keys are axes
    noise = torch.randn(facts, facts, generator=torch.Generator().manual_seed(0))
    drawn = {"before": noise, "gradient": gradient, "Muon": polar(gradient)}
    for panel, (name, scores) in zip(panels, drawn.items(), strict=True):
        most = float(scores.abs().max())
        heatmaps.draw_cells(panel, scores, (-most, most), "PiYG", cbar=False)
        panel.set(xticks=[], yticks=[], title=name)
    return figure, (
        "Three heat maps: noise, a diagonal that fades towards rare facts under the gradient, an "
        "even diagonal under Muon."
    )


def check() -> tuple[Figure, str]:
    """Returns which share of Muon's gain some of the matrices bring, in the race on a GPU."""
    axes.style()
    figure, panel = plt.subplots(figsize=(3.6, 1.5))
    gains = {name.replace(" ", ""): gaps["overall"] for name, gaps in gpu.below().items()}
    shares = {name: gain / gains["all"] for name, gain in gains.items()}
    panel.barh([*shares][::-1], [*shares.values()][::-1], color=looks(["Muon"])[0]["color"])
    panel.axvline(0, color=INK, linewidth=1)
    panel.set(xlabel="share of Muon's gain", xticks=[0, 0.5, 1])
    alt = "Values, output and feed-forward bring all of Muon's gain, queries and keys none."
    return figure, alt


COURSE = {"course-build": geometry, "course-understand": understand, "course-test": check}
PICTURES: dict[str, Callable[[], tuple[Figure, str]]] = {
    "first-result": lambda: (first_result(), ALT),
    "lead-map": lambda: (leads_mapped(), MAP_ALT),
} | COURSE


def as_svg(name: str) -> bytes:
    """Returns the bytes of one of PICTURES: the same for the same records."""
    return svg.standalone(*PICTURES[name]())


def picture(name: str) -> str:
    """Returns one of PICTURES as a page holds it."""
    if name == "first-result":
        halves = zip(in_two(), (LOSS_ALT, LEAD_ALT), strict=True)
        parts = "".join(svg.inline(figure, alt) for figure, alt in halves)
        return f'<div class="cell_output"><div class="muonlab-halves">{parts}</div></div>'
    inline = svg.inline(*PICTURES[name]())
    if name not in COURSE:  # may scroll
        inline = f'<div class="output text_html">{inline}</div>'
    return f'<div class="cell_output">{inline}</div>'
