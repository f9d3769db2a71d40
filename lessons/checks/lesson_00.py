"""Check of lesson 00: what is wrong with an answer, said so that it can be mended."""

import torch

from muonlab.classroom.exercise import Answer, Look, compare, rough
from muonlab.classroom.kinds import number

HINT = "Divide the largest singular value by the smallest; svdvals gives them, the largest first."


def e1(answer: Answer) -> None:
    """The largest singular value divided by the smallest."""
    wide = torch.tensor([[3.0, 1.0, 0.0, 2.0], [0.0, 1.0, 2.0, -1.0], [1.0, 0.0, 1.0, 0.5]])
    tall = torch.tensor([[0.1, -0.3], [0.2, 0.3], [-0.4, 0.5], [0.7, 0.1]])
    compare(answer, [(wide,), (tall,), (rough(0, 4, 4),)], _unevenness, returns=number, otherwise=HINT)


def _unevenness(matrix: torch.Tensor) -> Look:
    s = torch.linalg.svdvals(matrix.double())
    expected = s[0] / s[-1]
    return expected, [
        (1 / expected, "The quotient is upside down: largest divided by smallest."),
        (s[0] - s[-1], "You returned the difference; the question asks for the quotient."),
        (s[-1] - s[0], "You returned a difference; the question asks for the largest divided by the smallest."),
        (s[0], "You returned the largest singular value only. Divide it by the smallest."),
        (s[-1], "You returned the smallest singular value only. Divide the largest by it."),
        (matrix.max() / matrix.min(), "You used the entries of the matrix, not its singular values."),
        (matrix.abs().max() / matrix.abs().min(), "You used the sizes of the entries, not the singular values."),
        (s[0] / s[1], "You divided by the second singular value; the smallest is the last one."),
        (s[1] / s[-1], "You divided the second singular value. The largest is the first: index 0."),
        (expected**2, "You returned the square: these are eigenvalues of M Mᵀ, not singular values."),
        (s.sum() / s[-1], "You added all singular values. The largest one alone stands above."),
        (s[0] / s.mean(), "You divided by the mean of the singular values. Divide by the smallest."),
        (s[0] / s.median(), "You divided by the middle singular value. Divide by the smallest."),
        (s.norm() / s[-1], "You divided the Frobenius norm. The largest singular value is norm(2) of linalg."),
        (expected.log(), "You returned the logarithm of the quotient."),
    ]
