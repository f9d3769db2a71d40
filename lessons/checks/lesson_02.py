"""Checks of lesson 02: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call


def e1(answer: Callable) -> None:
    """One cubic step, 1.5 X - 0.5 X Xᵀ X."""
    generator = torch.Generator().manual_seed(0)
    for rows, columns in ((4, 4), (3, 5)):
        X = torch.randn(rows, columns, generator=generator)
        X = X / X.norm()
        _one_cubic(call(answer, X, shape=(rows, columns)).double(), X.double())


def _one_cubic(Y: torch.Tensor, X: torch.Tensor) -> None:
    cube = X @ X.T @ X
    if torch.allclose(Y, 1.5 * X - 0.5 * cube, atol=1e-5):
        return
    others = {
        "The sign of the cubic term is wrong: 1 must stay at 1, so a + b = 1.": 1.5 * X
        + 0.5 * cube,
        "The factors are exchanged: a + b = 1 and a + 3b = 0 give a = 3/2, b = -1/2.": -0.5 * X
        + 1.5 * cube,
        "a = 2, b = -1 keeps 1 at 1, but the curve is not flat there: p'(1) must be 0.": 2 * X
        - cube,
        "X**3 cubes each entry. A cube of the singular values is X @ X.T @ X.": 1.5 * X
        - 0.5 * X**3,
        "The linear term lost its factor 3/2.": X - 0.5 * cube,
        "You divided by the norm again; the input is already small enough.": (1.5 * X - 0.5 * cube)
        / (1.5 * X - 0.5 * cube).norm(),
    }
    for message, value in others.items():
        if torch.allclose(Y, value, atol=1e-5):
            raise Wrong(message)
    u = torch.linalg.svd(X, full_matrices=False)
    came = (u.U[:, 0] @ Y @ u.Vh[0]).item()
    s = u.S[0].item()
    raise Wrong(
        f"A singular value {s:.3f} should become {1.5 * s - 0.5 * s**3:.3f}; yours became {came:.3f}."
    )


def e2(answer: Callable) -> None:
    """The product of the factors a."""
    triples = [(8.0, -20.0, 15.0), (4.0, -3.0, 0.5), (1.5, -0.5, 0.0)]
    came = float(call(answer, triples))
    a = [t[0] for t in triples]
    if math.isclose(came, math.prod(a), rel_tol=1e-6):
        return
    others = {
        "You added the factors. Each step multiplies what the step before left.": sum(a),
        "You took a power of the first a. The numbers may change from step to step.": a[0] ** 3,
        "You took a power of the last a. The numbers may change from step to step.": a[-1] ** 3,
        "You returned the first factor only. What do the other steps do?": a[0],
        "You multiplied a + b + c, which is p(1). Close to 0 only a counts.": math.prod(
            map(sum, triples)
        ),
        "You started from 0: a product starts from 1.": 0.0,
    }
    for message, value in others.items():
        if math.isclose(came, value, rel_tol=1e-6):
            raise Wrong(message)
    raise Wrong(
        f"For the factors 8, 4 and 1.5 the growth is {math.prod(a):g}; you returned {came:g}."
    )


def e3(answer: Callable) -> None:
    """steps (4 k² n + 2 k³), k the shorter side."""
    for rows, columns, steps in ((64, 256, 5), (256, 64, 5), (100, 100, 3)):
        came = float(call(answer, rows, columns, steps))
        k, n = sorted((rows, columns))
        if came == steps * (4 * k * k * n + 2 * k**3):
            continue
        others = {
            "You forgot the factor steps.": 4 * k * k * n + 2 * k**3,
            "You counted one product with X; a step has two, XXᵀ and the last one.": steps
            * (2 * k * k * n + 2 * k**3),
            "The product A A is missing: 2k³ more in each step.": steps * 4 * k * k * n,
            "A multiplication and an addition count as two: the factor 2 is missing.": steps
            * (2 * k * k * n + k**3),
            "A tall matrix is transposed first: the Gram matrix has the shorter side.": steps
            * (4 * rows * rows * columns + 2 * rows**3),
        }
        for message, value in others.items():
            if came == value:
                raise Wrong(message)
        expected = steps * (4 * k * k * n + 2 * k**3)
        raise Wrong(
            f"{rows} × {columns} with {steps} steps costs {expected:,}; you returned {came:,.0f}."
        )
