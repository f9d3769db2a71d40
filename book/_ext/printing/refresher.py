"""The four figures of the refresher: what the course takes for known, drawn as the lessons draw."""

from collections.abc import Callable

import torch
from matplotlib.figure import Figure

from muonlab.drawing import axes, figures, heatmaps, svg


def svd() -> tuple[Figure, str]:
    """A matrix, and the sum of its first one and two singular directions."""
    torch.manual_seed(0)
    A = torch.randn(8, 8) @ torch.diag(0.5 ** torch.arange(8.0)) @ torch.randn(8, 8)
    U, S, Vt = torch.linalg.svd(A)
    parts = {f"{k} of 8": U[:, :k] @ torch.diag(S[:k]) @ Vt[:k] for k in (1, 2)}
    words = f"Two of eight directions keep {(S[:2].square().sum() / S.square().sum()):.0%} of "
    return heatmaps.matrix({"A": A, **parts}), f"{words}the sum of squares of the matrix."


def softmax() -> tuple[Figure, str]:
    """Probability and cross-entropy of the right token, by its logit, beside nine others at 0."""
    logit = torch.linspace(-4, 8, 61)
    p = logit.exp() / (logit.exp() + 9)
    series = {"probability": p, "cross-entropy, nats": -p.log()}
    figure = figures.lines(logit, series, xlabel="logit of the right token", ylabel="value")
    return figure, "As the logit rises, the probability makes an S, and the loss falls to 0."


def adamw() -> tuple[Figure, str]:
    """A gradient that changes its sign once, its first average, and the step of AdamW."""
    g = torch.cat([torch.ones(30), -0.1 * torch.ones(30)])
    m = v = torch.tensor(0.0)
    means, steps = [], []
    for t, value in enumerate(g, 1):
        m, v = 0.9 * m + 0.1 * value, 0.99 * v + 0.01 * value**2
        mean = m / (1 - 0.9**t)
        means.append(mean)
        steps.append(mean / (v / (1 - 0.99**t)).sqrt())
    series = {"gradient": g, "first average": means, "AdamW's step / rate": steps}
    figure = figures.lines(torch.arange(1, 61), series, xlabel="step", ylabel="value")
    return figure, "A constant gradient gives steps of 1. After its sign turns, they turn later."


def attention() -> tuple[Figure, str]:
    """The scores of five tokens, and their softmax by row without the tokens that come later."""
    torch.manual_seed(1)
    q, k = torch.randn(2, 5, 4)
    scores = q @ k.T / 4**0.5
    later = torch.ones(5, 5).triu(1).bool()
    weights = scores.masked_fill(later, -torch.inf).softmax(1)
    figure = heatmaps.matrix({"scores": scores, "weights": weights}, shared=False)
    return figure, "The weights of each row sum to 1; above the diagonal all are 0."


FIGURES: dict[str, Callable[[], tuple[Figure, str]]] = {
    draw.__name__: draw for draw in (svd, softmax, adamw, attention)
}


def drawn(name: str) -> str:
    """Returns a figure of the refresher as a page holds it."""
    axes.style()
    return f'<div class="cell_output">{svg.inline(*FIGURES[name]())}</div>'
