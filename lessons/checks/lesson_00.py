"""Check of lesson 00: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call


def e1(answer: Callable) -> None:
    """The largest singular value divided by the smallest."""
    matrix = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.0]])
    s = torch.linalg.svdvals(matrix)
    came = float(call(answer, matrix))
    expected = (s[0] / s[-1]).item()
    if math.isclose(came, expected, rel_tol=1e-4):
        return
    others = {
        "The quotient is upside down: largest divided by smallest.": 1 / expected,
        "You returned the difference; the question asks for the quotient.": (s[0] - s[-1]).item(),
        "You returned the largest singular value only. Divide it by the smallest.": s[0].item(),
        "You used the entries of the matrix, not its singular values.": math.inf,
        "You divided by the second singular value; the smallest is the last one.": (
            s[0] / s[1]
        ).item(),
        "You returned the square: these are eigenvalues of M Mᵀ, not singular values.": expected**2,
    }
    for message, value in others.items():
        if math.isclose(came, value, rel_tol=1e-4):
            raise Wrong(message)
    raise Wrong(
        f"For [[3, 1, 0], [0, 1, 2], [1, 0, 1]] the answer is {expected:.3f}; you returned {came:.3f}."
    )
