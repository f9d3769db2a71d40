"""Orthogonalize matrices: the exact polar factor, and Newton-Schulz, which needs only products.

An m×n matrix G = U diag(σ) Vᵀ has the polar factor U Vᵀ: the same directions, every singular
value 1. An odd polynomial p applied to G acts on the singular values and on nothing else,
p(G) = U diag(p(σ)) Vᵀ, so a polynomial that pulls [0, 1] towards 1 orthogonalizes without an SVD.
"""

from typing import Literal

import torch
from torch import Tensor

from muonlab import checks
from muonlab.machine import in_float64, work_dtype
from muonlab.optim.coefficients import Schedule, Triple, settling

Norm = Literal["frobenius", "schatten4"]
NORMS: tuple[Norm, ...] = ("frobenius", "schatten4")
DTYPES = (None, torch.bfloat16, torch.float32, torch.float64)  # of products; float16 overflows


def newton_schulz(
    G: Tensor,
    steps: int = 5,
    coefficients: str | Triple | Schedule = "jordan",
    *,
    norm: Norm = "frobenius",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Returns G with its singular values driven towards 1: X ← aX + (bA + cA²)X, A = XXᵀ.

    It is not exactly U Vᵀ: five Jordan steps leave singular values in about [0.68, 1.20], if they
    were at least 0.002 of the norm.
    `muonlab.optim.fast` holds the same function in the order that a processor likes.

    Args:
        G: (..., m, n), one matrix or a stack; never changed. The result has its dtype.
        steps: how many polynomial steps.
        coefficients: a name in COEFFICIENTS, one triple (a, b, c), or a triple a step.
        norm: what divides G so that no singular value exceeds 1: its Frobenius norm (Σσ²)^½, or its
            Schatten-4 norm (Σσ⁴)^¼, which is closer to the largest σ.
        dtype: precision of the products; None picks the fastest safe one (`machine.work_dtype`).

    The norm is taken after the largest entry is 1, so G and 1e-30 G give the same result, and a
    zero matrix stays zero.

    Raises:
        ValueError: see `check_matrix`; or an unknown norm, or a schedule that diverges.

    Source: Jordan 2024; Björck and Bowie 1971; arXiv 2506.10935, section 3.4, for Schatten-4.

    >>> G = torch.diag(torch.tensor([3.0, 0.3]))
    >>> newton_schulz(G, steps=9, coefficients="quintic", dtype=torch.float32).round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_matrix(G)
    checks.choice("dtype", dtype, DTYPES)
    X = unit_norm(G, norm).to(dtype or work_dtype(G.dtype, G.device, G.numel()))
    tall = X.size(-2) > X.size(-1)
    if tall:  # the Gram matrix of the short side costs less
        X = X.mT
    for a, b, c in settling(coefficients, steps):
        A = X @ X.mT  # (..., k, k) with k = min(m, n)
        X = a * X + (b * A + c * A @ A) @ X
    return (X.mT if tall else X).to(G.dtype)


def polar(G: Tensor) -> Tensor:
    """Returns the polar factor U Vᵀ of G (..., m, n), from an SVD in float64.

    Singular values below σ_max · max(m, n) · ε count as zero, and zeros stay zero: their
    directions are not in G. ε is that of G's dtype, or of float32 for half precision.

    Raises:
        ValueError: see `check_matrix`.

    >>> polar(torch.diag(torch.tensor([3.0, -0.3, 0.0]))).diagonal().tolist()
    [1.0, -1.0, 0.0]
    """
    check_matrix(G)
    if G.numel() == 0:
        return G.clone()
    D = in_float64(G)
    U, S, Vh = torch.linalg.svd(D / largest_entry(D), full_matrices=False)
    precision = torch.finfo(G.dtype if G.dtype == torch.float64 else torch.float32).eps
    known = S[..., :1] * max(G.shape[-2:]) * precision < S
    return ((U * known.unsqueeze(-2)) @ Vh).to(G)


def unit_norm(G: Tensor, norm: Norm = "frobenius") -> Tensor:
    """Returns G / ‖G‖ in at least float32: no singular value exceeds 1, and zero stays zero."""
    checks.choice("norm", norm, NORMS)
    if G.numel() == 0:
        return G.clone()
    G = G if G.dtype == torch.float64 else G.float()
    G = G / largest_entry(G)  # squares of 1e30 do not fit in float32
    size = G.norm(dim=(-2, -1), keepdim=True)
    if norm == "schatten4":  # ‖G Gᵀ‖_F² = Σσ⁴
        gram = G.mT @ G if G.size(-2) > G.size(-1) else G @ G.mT
        size = gram.norm(dim=(-2, -1), keepdim=True).sqrt()
    return G / size.clamp(min=0.5)  # it is at least 1, but for a zero matrix


def largest_entry(G: Tensor) -> Tensor:
    """Returns the size of the largest entry of each matrix (..., 1, 1); above 0 even for zeros."""
    high, low = G.amax(dim=(-2, -1), keepdim=True), G.amin(dim=(-2, -1), keepdim=True)
    largest = torch.maximum(high, -low)  # three times as fast as G.abs().amax()
    return largest.clamp_(min=torch.finfo(G.dtype).tiny)


def check_matrix(G: Tensor) -> None:
    """Raises ValueError unless G is a finite real floating-point tensor (..., m, n)."""
    if G.ndim < 2 or not G.is_floating_point():
        raise ValueError(f"expected a floating-point matrix, got {G.dtype} of {tuple(G.shape)}")
    if not is_finite(G):
        raise ValueError("expected finite numbers, got NaN or Inf in the matrix to orthogonalize")


def is_finite(G: Tensor) -> bool:
    """Returns whether G holds neither NaN nor Inf."""
    # both survive a sum, in a tenth of the time of isfinite(); but finite entries may overflow it
    return bool(G.sum().isfinite() or G.isfinite().all())
