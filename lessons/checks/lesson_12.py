"""Checks of lesson 12: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import polar
from muonlab.classroom.exercise import call, expect, rounded


def e1(answer: Callable) -> None:
    """The squares of the row norms of U Vᵀ: those of the rows of U."""
    for m, n in ((6, 3), (3, 5), (4, 4)):
        G = _matrix(m, n, 1)
        _one_factor(call(answer, G, shape=(m,)).double(), G)


def _one_factor(came: Tensor, G: Tensor) -> None:
    O, n = polar(G), G.size(1)  # noqa: E741  the paper's letter
    squares = O.square().sum(1)
    U, S, _ = torch.linalg.svd(G, full_matrices=False)
    mistakes = [
        (squares.sqrt(), "These are the norms. Square them: no root at the end."),
        (G.square().sum(1), "These are the squares of G's own rows. Orthogonalize first."),
        ((U * S).square().sum(1), "You kept the singular values. In U Vᵀ every one of them is 1."),
        (
            torch.ones_like(squares),
            "You took the whole m × m matrix U, whose rows all have norm 1. Only its first min(m, n) "
            "columns belong to U Vᵀ: full_matrices=False.",
        ),
        (squares / n, "That is the mean over a row. Sum the squares of a row."),
        (O.sum(1), "You summed the entries of a row, not their squares."),
        (U.sum(1), "You summed the rows of U itself. Square the entries first."),
        (U.square().mean(1), "That is the mean over a row of U. Sum the squares of a row."),
    ]
    otherwise = (
        f"For a {len(G)} × {n} matrix expected {rounded(squares)}, got {rounded(came)}. "
        "The columns of V are orthonormal, so they keep the lengths of U's rows."
    )
    expect(came, squares, mistakes, otherwise)


def e2(answer: Callable) -> None:
    """The rows, divided by the root of their running mean square."""
    O, v = _matrix(4, 3, 2), torch.tensor([0.5, 1.0, 0.1, 2.0], dtype=torch.float64)  # noqa: E741
    for beta2 in (0.9, 0.5):
        _one_division(call(answer, O, v, beta2, shape=(4, 3)).double(), O, v, beta2)


def _one_division(came: Tensor, O: Tensor, v: Tensor, beta2: float) -> None:  # noqa: E741
    def divided(square: Tensor, old: float = beta2, new: float = 1 - beta2) -> Tensor:
        return O / (old * v + new * square).sqrt()[:, None]

    square, n = O.square().mean(1), O.size(1)
    expected = divided(square)
    mistakes = [
        (divided(square, 1 - beta2, beta2), "β₂ and 1 − β₂ have changed places: the old v weighs β₂."),
        (divided(n * square), "You took the sum of the squares. Take their mean over the columns."),
        (divided(O.mean(1)), "You took the mean of the entries. Square them first."),
        (O / (beta2 * v + (1 - beta2) * square)[:, None], "You divided by v. Divide by its root."),
        (O / v.sqrt()[:, None], "You divided by the old v. This step's rows belong in it first."),
        (
            O / square.sqrt()[:, None],
            "You forgot the old v: rows that are long now and then are judged by this step alone.",
        ),
        (
            O * (beta2 * v + (1 - beta2) * square).sqrt()[:, None],
            "You multiplied by the root. Divide: long rows shall become shorter.",
        ),
        (
            O / (beta2 * v[:, None] + (1 - beta2) * O.square()).sqrt(),
            "Each entry has a mean square of its own in your answer. NorMuon keeps one a row.",
        ),
        (O / O.norm(dim=1, keepdim=True), "You returned O's rows scaled to norm 1, whatever v was."),
        (divided(square, 1.0), "The old v is added whole. It weighs β₂."),
    ]
    otherwise = f"For β₂ = {beta2} expected a first row of {rounded(expected[0])}, got {rounded(came[0])}."
    expect(came, expected, mistakes, otherwise)


def e3(answer: Callable) -> None:
    """The released code's step: the norm that the update had before, times the shape's factor."""
    for m, n in ((3, 6), (6, 3), (4, 4)):
        O = _matrix(m, n, 3)  # noqa: E741
        divided = O / O.norm(dim=1, keepdim=True)
        _one_rescale(call(answer, O, divided, shape=(m, n)).double(), O, divided)


def _one_rescale(came: Tensor, O: Tensor, divided: Tensor) -> None:  # noqa: E741
    m, n = O.shape
    kept = divided * (O.norm() / divided.norm())
    expected = max(1.0, m / n) ** 0.5 * kept
    spectral = torch.linalg.matrix_norm(O, 2) / torch.linalg.matrix_norm(divided, 2)
    mistakes = [
        (
            0.2 * math.sqrt(m * n) / divided.norm() * divided,
            "That is the paper's rule, entries of RMS 0.2. The released one restores O's norm.",
        ),
        (kept, "A tall matrix needs the factor √(m/n) of Muon's original scale."),
        (math.sqrt(m / n) * kept, "The factor is √max(1, m/n), not √(m/n): a wide matrix has 1."),
        (max(1.0, m / n) * kept, "The factor is a root: √max(1, m/n)."),
        (max(1.0, n / m) ** 0.5 * kept, "Rows and columns have changed places: √max(1, m/n), m the number of rows."),
        (
            max(1.0, m / n) ** 0.5 * (divided.norm() / O.norm()) * divided,
            "The quotient is upside down: the norm before over the norm after.",
        ),
        (divided / divided.norm(), "That has norm 1. Give it the norm of O."),
        (
            max(1.0, m / n) ** 0.5 * spectral * divided,
            "You restored the spectral norm. The rule is about the Frobenius norm.",
        ),
        (O, "That is O again, row by row: one factor for the whole matrix keeps the rows even."),
        (divided, "You returned the rows as they came: their norm has not been restored."),
    ]
    otherwise = f"For a {m} × {n} matrix expected the Frobenius norm {expected.norm():.4f}, got {came.norm():.4f}."
    expect(came, expected, mistakes, otherwise)


def _matrix(m: int, n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(m, n, generator=generator, dtype=torch.float64)
