"""Typical answers to the exercises of lesson 08: wrong ones to reject, right ones to accept."""

import numpy as np
import torch


def centred(x, y):
    return x - x.mean(), y - y.mean()


ANSWERS = {
    "08-e1": {
        "wrong": {
            "the diagonal": lambda M, L: (M[0, 0].item(), M[L, L].item()),
            "exchanged": lambda M, L: (
                (M[L, L] - M[L, L + 1]).item(),
                (M[0, 0] - M[0, 1]).item(),
            ),
            "the other block": lambda M, L: (
                (M[0, 0] - M[0, L]).item(),
                (M[L, L] - M[L, 0]).item(),
            ),
            "added": lambda M, L: ((M[0, 0] + M[0, 1]).item(), (M[L, L] + M[L, L + 1]).item()),
            "one block": lambda M, L: ((M[0, 0] - M[0, 1]).item(), (M[1, 1] - M[1, 0]).item()),
        },
        "right": {
            "from the ends": lambda M, L: (
                (M[0, 0] - M[1, 0]).item(),
                (M[-1, -1] - M[-1, -2]).item(),
            ),
            "tensors": lambda M, L: (M[1, 1] - M[0, 1], M[L, L] - M[L + 1, L]),
        },
    },
    "08-e2": {
        "wrong": {
            "through the origin": lambda x, y: ((x * y).sum() / (x * x).sum()).item(),
            "x on y": lambda x, y: (
                (centred(x, y)[0] @ centred(x, y)[1]) / centred(x, y)[1].square().sum()
            ).item(),
            "two points": lambda x, y: ((y[-1] - y[0]) / (x[-1] - x[0])).item(),
            "neighbours": lambda x, y: (y.diff() / x.diff()).mean().item(),
            "correlation": lambda x, y: torch.corrcoef(torch.stack([x, y]))[0, 1].item(),
        },
        "right": {
            "polyfit": lambda x, y: np.polyfit(x.numpy(), y.numpy(), 1)[0],
            "lstsq": lambda x, y: torch.linalg.lstsq(
                torch.stack([x, torch.ones_like(x)], dim=1), y[:, None]
            ).solution[0],
            "covariance": lambda x, y: (
                torch.cov(torch.stack([x, y]))[0, 1] / x.var(correction=1)
            ).item(),
        },
    },
}
