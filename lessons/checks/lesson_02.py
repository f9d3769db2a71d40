"""Checks of lesson 02: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import call, expect


def e1(answer: Callable) -> None:
    """One cubic step, 1.5 X - 0.5 X Xᵀ X."""
    generator = torch.Generator().manual_seed(0)
    for rows, columns in ((4, 4), (3, 5)):
        X = torch.randn(rows, columns, generator=generator)
        X = X / X.norm()
        _one_cubic(call(answer, X, shape=(rows, columns)).double(), X.double())


def _one_cubic(Y: torch.Tensor, X: torch.Tensor) -> None:
    cube = X @ X.T @ X
    mistakes = [
        (1.5 * X + 0.5 * cube, "The sign of the cubic term is wrong: 1 must stay at 1, so a + b = 1."),
        (-0.5 * X + 1.5 * cube, "The factors are exchanged: a + b = 1 and a + 3b = 0 give a = 3/2, b = -1/2."),
        (2 * X - cube, "a = 2, b = -1 keeps 1 at 1, but the curve is not flat there: p'(1) must be 0."),
        (1.5 * X - 0.5 * X**3, "X**3 cubes each entry. A cube of the singular values is X @ X.T @ X."),
        (X - 0.5 * cube, "The linear term lost its factor 3/2."),
        (
            (1.5 * X - 0.5 * cube) / (1.5 * X - 0.5 * cube).norm(),
            "You divided by the norm again; the input is already small enough.",
        ),
    ]
    u = torch.linalg.svd(X, full_matrices=False)
    came = (u.U[:, 0] @ Y @ u.Vh[0]).item()
    s = u.S[0].item()
    otherwise = f"A singular value {s:.3f} should become {1.5 * s - 0.5 * s**3:.3f}; yours became {came:.3f}."
    expect(Y, 1.5 * X - 0.5 * cube, mistakes, otherwise, within=1e-5)


def e2(answer: Callable) -> None:
    """The product of the factors a."""
    triples = [(8.0, -20.0, 15.0), (4.0, -3.0, 0.5), (1.5, -0.5, 0.0)]
    came = float(call(answer, triples))
    a = [t[0] for t in triples]
    mistakes = [
        (sum(a), "You added the factors. Each step multiplies what the step before left."),
        (a[0] ** 3, "You took a power of the first a. The numbers may change from step to step."),
        (a[-1] ** 3, "You took a power of the last a. The numbers may change from step to step."),
        (a[0], "You returned the first factor only. What do the other steps do?"),
        (math.prod(map(sum, triples)), "You multiplied a + b + c, which is p(1). Close to 0 only a counts."),
        (0.0, "You started from 0: a product starts from 1."),
    ]
    otherwise = f"For the factors 8, 4 and 1.5 the growth is {math.prod(a):g}; you returned {came:g}."
    expect(came, math.prod(a), mistakes, otherwise, within=1e-6)


def e3(answer: Callable) -> None:
    """steps (4 k² n + 2 k³), k the shorter side."""
    for rows, columns, steps in ((64, 256, 5), (256, 64, 5), (100, 100, 3)):
        came = float(call(answer, rows, columns, steps))
        k, n = sorted((rows, columns))
        mistakes = [
            (4 * k * k * n + 2 * k**3, "You forgot the factor steps."),
            (
                steps * (2 * k * k * n + 2 * k**3),
                "You counted one product with X; a step has two, XXᵀ and the last one.",
            ),
            (steps * 4 * k * k * n, "The product A A is missing: 2k³ more in each step."),
            (steps * (2 * k * k * n + k**3), "A multiplication and an addition count as two: the factor 2 is missing."),
            (
                steps * (4 * rows * rows * columns + 2 * rows**3),
                "A tall matrix is transposed first: the Gram matrix has the shorter side.",
            ),
        ]
        expected = steps * (4 * k * k * n + 2 * k**3)
        otherwise = f"{rows} × {columns} with {steps} steps costs {expected:,}; you returned {came:,.0f}."
        expect(came, expected, mistakes, otherwise, within=0)
