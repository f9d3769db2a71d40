"""Check of lesson 00: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import call, expect


def e1(answer: Callable) -> None:
    """The largest singular value divided by the smallest."""
    matrix = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.0]])
    s = torch.linalg.svdvals(matrix)
    came = float(call(answer, matrix))
    expected = (s[0] / s[-1]).item()
    mistakes = [
        (1 / expected, "The quotient is upside down: largest divided by smallest."),
        ((s[0] - s[-1]).item(), "You returned the difference; the question asks for the quotient."),
        (s[0].item(), "You returned the largest singular value only. Divide it by the smallest."),
        (math.inf, "You used the entries of the matrix, not its singular values."),
        ((s[0] / s[1]).item(), "You divided by the second singular value; the smallest is the last one."),
        (expected**2, "You returned the square: these are eigenvalues of M Mᵀ, not singular values."),
    ]
    otherwise = f"For [[3, 1, 0], [0, 1, 2], [1, 0, 1]] the answer is {expected:.3f}; you returned {came:.3f}."
    expect(came, expected, mistakes, otherwise)
