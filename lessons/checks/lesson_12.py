"""Checks of lesson 12: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import newton_schulz
from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import array


def e1(answer: Callable) -> None:
    """The squares of the row norms of U Vᵀ: those of the rows of U."""
    tall = torch.tensor([[3.0, 1.0], [0.0, 2.0], [1.0, -1.0], [0.5, 0.0]])
    wide = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    cases = [(tall,), (wide,), (rough(1, 3, 3),), (rough(2, 7, 3),), (rough(3, 3, 5),)]
    otherwise = (
        "Square the entries of U, and sum each row. A wide or a square matrix has 1 everywhere; in a tall "
        "one the numbers sum to n."
    )
    compare(answer, cases, _lengths, returns=array, otherwise=otherwise)


def _lengths(G: Tensor) -> tuple[Tensor, Mistakes]:
    U, S, Vh = torch.linalg.svd(G.double(), full_matrices=False)
    X, own, right = U @ Vh, G.square().sum(1), U.square().sum(1)
    kept = "That leaves the singular values unequal: in U Vᵀ every one of them is 1."
    return right, [
        (right.sqrt(), "These are the norms. Square them: no root at the end."),
        (right.square(), "You squared once more. The sum over a row of squares is the answer."),
        (own, "These are the squares of G's own rows. Orthogonalize first."),
        (own.sqrt(), "These are the norms of G's own rows. Orthogonalize first, then square."),
        (own / own.sum(), f"You divided G by its Frobenius norm. {kept}"),
        (own / S[0] ** 2, f"You divided G by its largest singular value. {kept}"),
        (
            torch.ones(len(G)),
            "You found 1 for every row. So it is in the whole m × m matrix U, or once rows are divided by their "
            "norms. Only the first min(m, n) columns of U belong to U Vᵀ: full_matrices=False.",
        ),
        (
            torch.full((len(G),), min(G.shape) / len(G)),
            "That is the mean over the rows. In a tall matrix each row has a length of its own.",
        ),
        (
            newton_schulz(G, dtype=torch.float32).square().sum(1),
            "Five Newton-Schulz steps come near the exact factor only. Take the SVD, or polar.",
        ),
        (X.square().mean(1), "That is the mean over a row. Sum the squares of a row."),
        (
            X.square().sum(0),
            "These are the lengths of the columns, or of the rows of V. Sum over a row of U Vᵀ: O Oᵀ = U Uᵀ.",
        ),
        (X.square().sum(), "You summed over the whole matrix. Sum over a row: dim 1."),
        (X.sum(1), "You summed the entries of a row, not their squares."),
        (X.sum(1).square(), "You summed first and squared then. Square the entries first."),
        (X.abs().sum(1), "You summed sizes of entries. Sum their squares."),
        (U.sum(1), "You summed the rows of U itself. Square the entries first."),
        (U.square().mean(1), "That is the mean over a row of U. Sum the squares of a row."),
        (
            U.square().sum(0),
            "Every column of U has length 1, and so has every row of Vᵀ. Sum over the rows of U: dim 1.",
        ),
        ((U * S.sqrt()).square().sum(1), "You scaled U by the roots of the singular values. In U Vᵀ every one is 1."),
        (X @ X.T, "That is all of O Oᵀ. The squared lengths are its diagonal."),
        (X.square(), "These are the squares of all entries. Sum over a row."),
    ]


def e2(answer: Callable) -> None:
    """The rows, divided by the root of their running mean square."""
    cases = [
        (torch.tensor([[0.6, 0.8, 0.1], [0.4, -0.2, 1.0]]), torch.tensor([0.5, 0.1]), 0.9),
        (rough(4, 4, 2), torch.tensor([0.5, 1.0, 0.1, 2.0]), 0.5),
        (rough(5, 3, 3), torch.tensor([0.3, 0.7, 1.5]), 0.75),
    ]
    otherwise = "First v ← β₂ v + (1 − β₂) mean(O²), the mean over each row; then each row of O over the root of its v."
    compare(answer, cases, _divided, returns=array, otherwise=otherwise)


def _divided(X: Tensor, v: Tensor, beta2: float) -> tuple[Tensor, Mistakes]:
    mean, norm, a, b = X.square().mean(1), X.norm(dim=1), beta2, 1 - beta2
    moved = a * v + b * mean

    def over(new: Tensor) -> Tensor:
        return X / new.sqrt()[:, None]

    right, squares = over(moved), "Take the mean of the squares."
    whole = "Return Ô as the division leaves it."
    return right, [
        (over(b * v + a * mean), "β₂ and 1 − β₂ have changed places: the old v weighs β₂."),
        (over(a * v + b * norm.square()), "You took the sum of the squares. Take their mean over the columns."),
        (over(a * v + b * norm), f"You took the norm of a row. {squares}"),
        (
            over(a * v + b * mean.sqrt()),
            "You averaged in the root of the mean square. v keeps squares; the root comes last.",
        ),
        (
            X / (a * v.sqrt() + b * mean.sqrt())[:, None],
            "You averaged the roots. Average the squares; the root comes last.",
        ),
        (over((a * v + b * X.mean(1)).abs()), "You took the mean of the entries. Square them first."),
        (over(a * v + b * X.mean(1)), "You took the mean of the entries. Square them first."),
        (over(a * v + b * X.mean(1).square()), f"You squared the mean. {squares}"),
        (over(a * v + b * X.abs().mean(1)), "You took the mean size of the entries. Square them first."),
        (over(a * v + b * X.var(1)), f"You took the variance, which subtracts the mean. {squares}"),
        (over(a * v + b * X.var(1, unbiased=False)), f"You took the variance, which subtracts the mean. {squares}"),
        (over(a * v + b * X.square().mean()), "You took one mean square for the whole matrix. Each row has its own."),
        (X / moved[:, None], "You divided by v. Divide by its root."),
        (over(v), "You divided by the old v. This step's rows belong in it first."),
        (
            over(mean),
            "You forgot the old v: rows that are long now and then are judged by this step alone.",
        ),
        (X * moved.sqrt()[:, None], "You multiplied by the root. Divide: long rows shall become shorter."),
        (
            X / (a * v[:, None] + b * X.square()).sqrt(),
            "Each entry has a mean square of its own in your answer. NorMuon keeps one a row.",
        ),
        (X / norm[:, None], "You returned O's rows scaled to norm 1, whatever v was."),
        (over(v + b * mean), "The old v is added whole. It weighs β₂."),
        (over(a * v + mean), "This step's mean is added whole. It weighs 1 − β₂."),
        (over(moved / b), "You corrected v for a start at 0. This rule does not: v comes from the step before."),
        (over(0.95 * v + 0.05 * mean), "You took 0.95 whatever beta2 was."),
        (
            0.2 * X.numel() ** 0.5 / right.norm() * right,
            f"That is the update, brought to its norm already. {whole}",
        ),
        (X.norm() / right.norm() * right, f"You restored O's norm. {whole}"),
        (right / right.norm(), f"You brought the result to norm 1. {whole}"),
        (moved, "That is the new v. Divide O's rows by its root."),
        (-right, "The sign is reversed. W ← W − … is a matter of the step."),
    ]


def e3(answer: Callable) -> None:
    """The released code's step: the norm that the update had before, times the shape's factor."""
    cases = [
        (torch.tensor([[0.9, 0.2], [0.1, 0.8], [0.3, -0.4]]), torch.tensor([[1.8, 0.4], [0.3, 2.4], [2.0, -2.0]])),
        (torch.tensor([[0.6, 0.1, 0.5], [0.2, 1.1, -0.1]]), torch.tensor([[1.0, 0.5, 1.5], [0.1, 3.0, -0.5]])),
        (rough(6, 8, 2), rough(7, 8, 2)),
        (rough(8, 3, 3), rough(9, 3, 3)),
    ]
    otherwise = "Multiply O_hat by one number: √max(1, m/n) times O's Frobenius norm over that of O_hat."
    compare(answer, cases, _released, returns=array, otherwise=otherwise)


def _released(X: Tensor, D: Tensor) -> tuple[Tensor, Mistakes]:  # the factor O, and Ô
    m, n = X.shape
    factor = max(1, m / n) ** 0.5
    kept = X.norm() / D.norm() * D
    spectral = torch.linalg.matrix_norm(X, 2) / torch.linalg.matrix_norm(D, 2)
    rows = X.norm(dim=1, keepdim=True) / D.norm(dim=1, keepdim=True)
    undone = "You gave each row its old norm back: that undoes NorMuon. One number multiplies all of O_hat."
    return factor * kept, [
        (
            0.2 * math.sqrt(m * n) / D.norm() * D,
            "That is the paper's rule, an RMS of 0.2. The released one restores O's norm.",
        ),
        (kept, "A tall matrix needs the factor √(m/n) of Muon's original scale."),
        (math.sqrt(m / n) * kept, "The factor is √max(1, m/n), not √(m/n): a wide matrix has 1."),
        (max(1, m / n) * kept, "The factor is a root: √max(1, m/n)."),
        (max(1, m / n) ** 2 * kept, "The factor is a root: √max(1, m/n), not a square."),
        (max(1, m // n) ** 0.5 * kept, "m // n drops the fraction. Divide with m / n."),
        (max(1, n / m) ** 0.5 * kept, "Rows and columns have changed places: √max(1, m/n), m the number of rows."),
        (min(1, m / n) ** 0.5 * kept, "It is the larger of 1 and m/n: max, not min."),
        (
            max(m / n, n / m) ** 0.5 * kept,
            "You divided the longer side by the shorter. A wide matrix has the factor 1.",
        ),
        (kept / factor, "You divided by the factor √max(1, m/n). Multiply by it."),
        (max(m, n) ** 0.5 * kept, "You multiplied by the root of the longer side. The factor is √max(1, m/n)."),
        (
            0.2 * max(m, n) ** 0.5 * kept,
            "That factor, 0.2·√max(m, n), is another scale of Muon's. The released rule has √max(1, m/n).",
        ),
        (factor * D.norm() / X.norm() * D, "The quotient is upside down: the norm before over the norm after."),
        (D / D.norm(), "That has norm 1. Give it the norm of O."),
        (factor * D / D.norm(), "Without O's norm it has norm 1 times the factor. Give it the norm of O."),
        (factor * X.norm() * D, "You multiplied by O's norm and did not divide by that of O_hat."),
        (
            factor * min(m, n) ** 0.5 * D / D.norm(),
            "You took √min(m, n), the norm of an exact factor. O comes from Newton-Schulz: take O.norm().",
        ),
        (factor * spectral * D, "You restored the spectral norm. The rule is about the Frobenius norm."),
        (factor * (X.norm() / D.norm()) ** 2 * D, "You divided the squares of the norms. Divide the norms."),
        (
            factor * X.abs().sum() / D.abs().sum() * D,
            "You took sums of sizes. The Frobenius norm is the root of the sum of squares.",
        ),
        (factor * rows * D, undone),
        (rows * D, undone),
        (X, "That is O again: one factor times O_hat keeps the rows even."),
        (factor * X, "That is O, scaled. The rule scales O_hat."),
        (factor * D.norm() / X.norm() * X, "You scaled O to the norm of O_hat. Scale O_hat to the norm of O."),
        (D, "You returned the rows as they came: their norm has not been restored."),
        (factor * D, "The shape's factor is there; the norm has not been restored."),
        (-factor * kept, "The sign is reversed. W ← W − … is a matter of the step."),
    ]
