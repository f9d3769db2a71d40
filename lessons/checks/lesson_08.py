"""Checks of lesson 08: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call, expect
from muonlab.theory.theorems import TwoBlock


def e1(answer: Callable) -> None:
    """a and b without the constants of their blocks."""
    for K, L in ((9, 4), (12, 3)):
        M = TwoBlock(K, L, a=2.0, b=5.0, c11=0.5, c12=-0.25, c21=0.75, c22=-1.0).dense()
        came = call(answer, M, L, returns=tuple)
        if len(came) != 2:
            raise Wrong(f"Expected two numbers, a and b; {len(came)} came.")
        _diagonals(tuple(map(float, came)))


def _diagonals(came: tuple[float, float]) -> None:
    mistakes = [
        (
            (2.5, 4.0),
            "You read the diagonal itself, which is a + c₁₁ and b + c₂₂: take the constants away.",
        ),
        ((5.0, 2.0), "a and b are exchanged: a belongs to the first L facts."),
        ((2.75, 3.25), "Take away the constant of the same block: c₁₁ beside a, c₂₂ beside b."),
        ((3.0, 3.0), "You added the constants; they are in the diagonal already."),
        ((2.0, 2.0), "Both numbers are a. b stands in the block of the rare facts, from row L on."),
    ]
    otherwise = f"For a matrix with a = 2 and b = 5 you returned {came[0]:g} and {came[1]:g}."
    expect(came, (2.0, 5.0), mistakes, otherwise, within=1e-9)


def e2(answer: Callable) -> None:
    """Σ xy / Σ x² of centred x and y."""
    x = torch.tensor([1.0, 2.0, 4.0, 7.0], dtype=torch.float64)
    y = torch.tensor([5.0, 4.0, 1.0, -7.0], dtype=torch.float64)
    came = float(call(answer, x, y))
    cx, cy = x - x.mean(), y - y.mean()
    right = (cx @ cy / (cx @ cx)).item()
    mistakes = [
        (x @ y / (x @ x), "Your line goes through the origin. Take the mean away from x and y first."),
        (cx @ cy / (cy @ cy), "x and y are exchanged: divide by the squares of x."),
        ((y[-1] - y[0]) / (x[-1] - x[0]), "You used the first and the last point alone. The others count too."),
        (
            (y.diff() / x.diff()).mean(),
            "This is the mean of the slopes between neighbours, which counts close points too much.",
        ),
        (-right, "The sign is turned round: y falls where x grows, so the slope is negative."),
        (
            cx @ cy / (cx.norm() * cy.norm()),
            "This is the correlation, between -1 and 1. Divide by the squares of x alone.",
        ),
    ]
    otherwise = f"For four test points the slope is {right:.4f}; you returned {came:.4f}."
    expect(came, right, mistakes, otherwise, within=1e-6)
