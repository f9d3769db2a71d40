"""Checks of lesson 15: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Wrong, call, expect, rounded


def e1(answer: Callable) -> None:
    """‖G‖_*² / ‖G‖_F² over ‖A‖_F² / ‖A‖_op²."""
    for rows, columns, tokens in ((5, 4, 9), (3, 6, 6)):
        G, A = _matrix(rows, columns, 1), _matrix(tokens, columns, 2)
        A[:, 0] *= 3  # so that the stable rank is far from the other counts
        came = call(answer, G, A)
        if not isinstance(came, int | float) and not (isinstance(came, Tensor) and came.ndim == 0):
            raise Wrong(f"Expected one number; {came!r} came.")
        _one_quotient(float(came), G, A)


def _one_quotient(came: float, G: Tensor, A: Tensor) -> None:
    s, a = torch.linalg.svdvals(G), torch.linalg.svdvals(A)
    nuclear, stable = s.sum() ** 2 / s.square().sum(), a.square().sum() / a[0] ** 2
    expected = (nuclear / stable).item()
    mistakes = [
        (stable / nuclear, "The quotient is upside down: the nuclear rank stands above."),
        (nuclear.sqrt() / stable, "Square the nuclear rank's two norms: ‖G‖_*² / ‖G‖_F²."),
        (nuclear / stable.sqrt(), "Square the stable rank's two norms: ‖A‖_F² / ‖A‖_op²."),
        ((nuclear / stable).sqrt(), "Square the norms. Roots of both ranks have another quotient."),
        (nuclear / (s.square().sum() / s[0] ** 2), "You took the stable rank of G. It belongs to A."),
        (nuclear / (a.sum() ** 2 / a.square().sum()), "You took the nuclear rank of A too. A has the stable rank."),
        ((a.sum() ** 2 / a.square().sum()) / (s.square().sum() / s[0] ** 2), "G and A have changed places."),
        (nuclear, "That is the nuclear rank alone. Divide it by the stable rank of A."),
        (1 / stable, "You squared each singular value before the sum. Sum first, then square."),
        (nuclear - stable, "That is the difference. Divide."),
    ]
    otherwise = (
        f"Expected {expected:.4f}, got {came:.4f}. Here the nuclear rank is {nuclear:.4f} and the "
        f"stable rank {stable:.4f}."
    )
    expect(came, expected, mistakes, otherwise)


def e2(answer: Callable) -> None:
    """G's singular vectors, the given singular values, and the norm of U Vᵀ."""
    for m, n in ((5, 3), (3, 4), (4, 4)):
        G = _matrix(m, n, 3)
        s = torch.linspace(0.2, 1.7, min(m, n), dtype=torch.float64)
        _one_spectrum(call(answer, G, s, shape=(m, n)).double(), G, s)


def _one_spectrum(came: Tensor, G: Tensor, s: Tensor) -> None:
    U, S, Vh = torch.linalg.svd(G, full_matrices=False)
    X, size = U * s @ Vh, math.sqrt(len(s))
    expected = X * size / X.norm()
    mistakes = [
        (X, "The spectrum is right, the norm is not: give it the Frobenius norm of U Vᵀ."),
        (X / X.norm(), "That has norm 1. U Vᵀ has the norm √(how many singular values there are)."),
        (X * G.norm() / X.norm(), "That has the norm of G. Muon's update has the norm of U Vᵀ, whatever G was."),
        (U @ Vh, "That is U Vᵀ itself: s is not in it."),
        (G * size / G.norm(), "That is G, at another norm. Replace its singular values."),
        (_rows(U, s, Vh), "You multiplied the rows of U. Singular value i belongs to column i of U."),
        (X * len(s) / X.norm(), "You scaled by the number of singular values. The norm of U Vᵀ is its root."),
        (X / s.max(), "You set the largest singular value to 1. The Frobenius norm shall be that of U Vᵀ."),
        ((U * (S * s) @ Vh) * size / (S * s).norm(), "You multiplied G's singular values by s. Put s in their place."),
        ((U * s**2 @ Vh) * size / (s**2).norm(), "You squared s. Take it as it is."),
    ]
    otherwise = (
        f"Expected singular values {rounded(torch.linalg.svdvals(expected))}, got "
        f"{rounded(torch.linalg.svdvals(came))}; the vectors must be G's, in G's order."
    )
    expect(came, expected, mistakes, otherwise)


def _rows(U: Tensor, s: Tensor, Vh: Tensor) -> Tensor:
    """Returns what s[:, None] * U gives, where the shapes allow it: else what no answer is."""
    if len(U) != len(s):
        return torch.full((len(U), Vh.size(1)), math.inf, dtype=U.dtype)
    X = (s[:, None] * U) @ Vh
    return X * math.sqrt(len(s)) / X.norm()


def _matrix(m: int, n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(m, n, generator=generator, dtype=torch.float64)
