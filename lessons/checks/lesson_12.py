"""Checks of lesson 12: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import newton_schulz
from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import float_array


def e1(answer: Callable) -> None:
    """The squares of the row norms of U Vᵀ: those of the rows of U."""
    tall = torch.tensor([[3.0, 1.0], [0.0, 2.0], [1.0, -1.0], [0.5, 0.0]])
    wide = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    cases = [(tall,), (wide,), (rough(1, 3, 3),), (rough(2, 7, 3),), (rough(3, 3, 5),)]
    otherwise = (
        "Square the entries of U, and sum each row. A wide or a square matrix has 1 everywhere; in a tall "
        "one the numbers sum to n."
    )
    compare(answer, cases, _lengths, returns=float_array, otherwise=otherwise)


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


def e4(answer: Callable) -> None:
    """NorMuon's update: rows over the root of their running mean square, at a root mean square of 0.2."""
    cases = [
        (torch.tensor([[0.6, 0.8, 0.1], [0.4, -0.2, 1.0]]), torch.tensor([0.5, 0.1]), 0.9),
        (rough(4, 4, 2), torch.tensor([0.5, 1.0, 0.1, 2.0]), 0.5),
        (rough(5, 3, 3), torch.tensor([0.3, 0.7, 1.5]), 0.75),
    ]
    otherwise = (
        "First v ← β₂ v + (1 − β₂) mean(O²), the mean over each row; then each row of O over the root of its v; then "
        "the root mean square of 0.2."
    )
    compare(answer, cases, _evened, returns=float_array, otherwise=otherwise)


def _evened(X: Tensor, v: Tensor, beta2: float) -> tuple[Tensor, Mistakes]:
    mean, norm, a, b = X.square().mean(1), X.norm(dim=1), beta2, 1 - beta2
    moved = a * v + b * mean

    def sized(D: Tensor) -> Tensor:
        return 0.2 * X.numel() ** 0.5 / D.norm() * D

    def over(new: Tensor) -> Tensor:
        return sized(X / new.sqrt()[:, None])

    plain = X / moved.sqrt()[:, None]
    right, squares = sized(plain), "Piece 1 of 3: take the mean of the squares."
    last = "Piece 3 of 3:"
    return right, [
        (over(b * v + a * mean), "Piece 1 of 3: β₂ and 1 − β₂ have changed places: the old v weighs β₂."),
        (
            over(a * v + b * norm.square()),
            "Piece 1 of 3: you took the sum of the squares. Take their mean over the columns.",
        ),
        (over(a * v + b * norm), f"You took the norm of a row. {squares}"),
        (
            over(a * v + b * mean.sqrt()),
            "Piece 1 of 3: you averaged in the root of the mean square. v keeps squares; the root comes last.",
        ),
        (
            sized(X / (a * v.sqrt() + b * mean.sqrt())[:, None]),
            "Piece 1 of 3: you averaged the roots. Average the squares; the root comes last.",
        ),
        (over((a * v + b * X.mean(1)).abs()), "Piece 1 of 3: you took the mean of the entries. Square them first."),
        (over(a * v + b * X.mean(1)), "Piece 1 of 3: you took the mean of the entries. Square them first."),
        (over(a * v + b * X.mean(1).square()), f"You squared the mean. {squares}"),
        (over(a * v + b * X.abs().mean(1)), "Piece 1 of 3: you took the mean size of the entries. Square them first."),
        (over(a * v + b * X.var(1)), f"You took the variance, which subtracts the mean. {squares}"),
        (over(a * v + b * X.var(1, unbiased=False)), f"You took the variance, which subtracts the mean. {squares}"),
        (
            over(a * v + b * X.square().mean()),
            "Piece 1 of 3: you took one mean square for the whole matrix. Each row has its own.",
        ),
        (over(v), "Piece 1 of 3: you divided by the old v. This step's rows belong in it first."),
        (
            over(mean),
            "Piece 1 of 3: the old v is missing: rows that are long now and then are judged by this step alone.",
        ),
        (over(v + b * mean), "Piece 1 of 3: the old v is added whole. It weighs β₂."),
        (over(a * v + mean), "Piece 1 of 3: this step's mean is added whole. It weighs 1 − β₂."),
        (over(0.95 * v + 0.05 * mean), "Piece 1 of 3: you took 0.95 whatever beta2 was."),
        (sized(X / moved[:, None]), "Piece 2 of 3: you divided by v. Divide by its root."),
        (
            sized(X * moved.sqrt()[:, None]),
            "Piece 2 of 3: you multiplied by the root. Divide: long rows shall become shorter.",
        ),
        (
            sized(X / (a * v[:, None] + b * X.square()).sqrt()),
            "Piece 2 of 3: each entry has a mean square of its own in your answer. NorMuon keeps one a row.",
        ),
        (sized(X), "Piece 2 of 3: the rows are as uneven as before. Divide each by the root of its v."),
        (plain, f"{last} rows are divided, and the length is missing: multiply by 0.2 √(mn) over the norm."),
        (plain / plain.norm(), f"{last} the result has norm 1. Its entries shall have a root mean square of 0.2."),
        (0.2 * plain / plain.norm(), f"{last} √(mn) is missing: the norm is 0.2, not the root mean square."),
        (X.numel() ** 0.5 / plain.norm() * plain, f"{last} the 0.2 is missing."),
        (0.2 * plain, f"{last} divide by the norm of the rows after the division."),
        (X.norm() / plain.norm() * plain, f"{last} you restored O's norm. The entries have a root mean square of 0.2."),
        (
            0.2 * X.numel() ** 0.5 / X.norm() * plain,
            f"{last} you divided by the norm that O had before the division. Take the norm after it.",
        ),
        (0.2 * X.numel() / plain.norm() * plain, f"{last} the root is missing: √(m · n), not m · n."),
        (0.2 * max(X.shape) ** 0.5 * plain, f"{last} that is Muon's factor. Here 0.2 √(mn) over the norm."),
        (moved, "That is the new v. Divide O's rows by its root."),
        (-right, "The sign is reversed. W ← W − … is a matter of the step."),
    ]
