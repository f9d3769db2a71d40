"""Orthogonalize matrices: the exact polar factor, and Newton-Schulz, which needs only products.

An m×n matrix G = U diag(σ) Vᵀ has the polar factor U Vᵀ: the same directions, every singular
value 1. An odd polynomial p applied to G acts on the singular values and on nothing else,
p(G) = U diag(p(σ)) Vᵀ, so a polynomial that pulls [0, 1] towards 1 orthogonalizes without an SVD.
"""

from typing import Literal

import torch
from torch import Tensor

from muonlab.optim.coefficients import Schedule, Triple, schedule

Norm = Literal["frobenius", "schatten4"]
NORMS: tuple[Norm, ...] = ("frobenius", "schatten4")
BF16_UNITS = ("amx_bf16", "avx512_bf16")  # Intel since 2020, AMD since Zen 4
BF16_FROM = 2**16  # entries in a stack; see `work_dtype`


def newton_schulz(
    G: Tensor,
    steps: int = 5,
    coefficients: str | Triple | Schedule = "jordan",
    *,
    norm: Norm = "frobenius",
    eps: float = 1e-7,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Returns G with its singular values driven towards 1: X ← aX + (bA + cA²)X, A = XXᵀ.

    It is not exactly U Vᵀ: five Jordan steps leave the singular values in about [0.68, 1.20].
    `muonlab.optim.fast` holds the same function in the order that a processor likes.

    Args:
        G: (..., m, n), one matrix or a stack; never changed.
        steps: how many polynomial steps.
        coefficients: a name in COEFFICIENTS, one triple (a, b, c), or a triple a step.
        norm: what divides G so that no singular value exceeds 1: its Frobenius norm (Σσ²)^½, or its
            Schatten-4 norm (Σσ⁴)^¼, which is closer to the largest σ.
        eps: floor of that norm *after* the largest entry of G is 1. It guards the zero matrix,
            which stays zero, and damps nothing: G and 1e-30 G give the same result.
        dtype: precision of the products; None picks `work_dtype(G)`.

    Returns:
        (..., m, n) in G's dtype.

    Raises:
        ValueError: G is not a real floating-point matrix, or holds NaN or Inf; an unknown schedule
            or norm; eps outside (0, 1].

    Source: Jordan 2024; Björck and Bowie 1971; arXiv 2506.10935, section 3.4, for Schatten-4.

    >>> G = torch.diag(torch.tensor([3.0, 0.3]))
    >>> newton_schulz(G, steps=9, coefficients="quintic", dtype=torch.float32).round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_matrix(G)
    X = unit_norm(G, norm, eps).to(dtype or work_dtype(G))
    tall = X.size(-2) > X.size(-1)
    if tall:  # the Gram matrix of the short side costs less
        X = X.mT
    for a, b, c in schedule(coefficients, steps):
        A = X @ X.mT  # (..., k, k) with k = min(m, n)
        X = a * X + (b * A + c * A @ A) @ X
    return (X.mT if tall else X).to(G.dtype)


def polar(G: Tensor) -> Tensor:
    """Returns the polar factor U Vᵀ of G (..., m, n), from an SVD in float64.

    Singular values below σ_max · max(m, n) · ε count as zero, and zeros stay zero: their
    directions are not in G. ε is that of G's dtype, or of float32 for half precision.

    Raises:
        ValueError: G is not a real floating-point matrix, or holds NaN or Inf.

    >>> polar(torch.diag(torch.tensor([3.0, -0.3, 0.0]))).diagonal().tolist()
    [1.0, -1.0, 0.0]
    """
    check_matrix(G)
    if G.numel() == 0:
        return G.clone()
    U, S, Vh = torch.linalg.svd(unit_entries(G.double()), full_matrices=False)
    precision = torch.finfo(G.dtype if G.dtype == torch.float64 else torch.float32).eps
    known = S[..., :1] * max(G.shape[-2:]) * precision < S
    return ((U * known.unsqueeze(-2)) @ Vh).to(G.dtype)


def fast_bf16(device: torch.device | str = "cpu") -> bool:
    """Returns whether bf16 products are fast there: a CPU with BF16_UNITS, CUDA from 8.0 on.

    Other CPUs emulate bf16, 20 to 40 times slower than float32.
    """
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    has = torch.cpu.get_capabilities()
    return device.type == "cpu" and any(has.get(unit) for unit in BF16_UNITS)


def work_dtype(G: Tensor) -> torch.dtype:
    """Returns the dtype in which G (..., m, n) is orthogonalized: bf16 only where it is faster.

    float64 stays float64. On a CPU, small stacks stay in float32: measured with AMX, bf16 takes
    twice as long as float32 for one 128×128 matrix, and half as long for twelve of them.
    """
    return pick_dtype(G.dtype, G.device, G.numel())


def pick_dtype(dtype: torch.dtype, device: torch.device, entries: int) -> torch.dtype:
    """Returns `work_dtype` of a stack that is not there yet: its dtype, device and size."""
    if dtype == torch.float64:
        return dtype
    large = device.type != "cpu" or entries >= BF16_FROM
    return torch.bfloat16 if large and fast_bf16(device) else torch.float32


def unit_norm(G: Tensor, norm: Norm = "frobenius", eps: float = 1e-7) -> Tensor:
    """Returns G / ‖G‖ in at least float32: no singular value exceeds 1, and zero stays zero."""
    if norm not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}; got {norm!r}")
    if not 0 < eps <= 1:  # the norm is at least 1 there, so eps meets the zero matrix only
        raise ValueError(f"eps must be in (0, 1], got {eps}")
    G = unit_entries(G if G.dtype == torch.float64 else G.float())
    size = G.norm(dim=(-2, -1), keepdim=True)
    if norm == "schatten4":  # ‖G Gᵀ‖_F² = Σσ⁴
        gram = G.mT @ G if G.size(-2) > G.size(-1) else G @ G.mT
        size = gram.norm(dim=(-2, -1), keepdim=True).sqrt()
    return G / size.clamp(min=eps)


def unit_entries(G: Tensor) -> Tensor:
    """Returns each matrix of G divided by its largest entry: squares of 1e30 do not fit in float32.

    A zero matrix stays zero.
    """
    if G.numel() == 0:
        return G
    return G / largest_entry(G)


def largest_entry(G: Tensor) -> Tensor:
    """Returns the size of the largest entry of each matrix (..., 1, 1); above 0 even for zeros."""
    high, low = G.amax(dim=(-2, -1), keepdim=True), G.amin(dim=(-2, -1), keepdim=True)
    largest = torch.maximum(high, -low)  # three times as fast as G.abs().amax()
    return largest.clamp_(min=torch.finfo(G.dtype).tiny)


def check_matrix(G: Tensor) -> None:
    """Raises ValueError unless G is a finite real floating-point tensor (..., m, n)."""
    if G.ndim < 2:
        raise ValueError(
            f"expected a matrix (..., m, n), got shape {tuple(G.shape)}; a vector has no singular "
            "spectrum to flatten: normalize it, or give it to AdamW"
        )
    if not G.is_floating_point():
        raise ValueError(f"expected real floating-point entries, got {G.dtype}")
    if not is_finite(G):
        raise ValueError("expected finite numbers, got NaN or Inf in the matrix to orthogonalize")


def is_finite(G: Tensor) -> bool:
    """Returns whether G holds neither NaN nor Inf.

    Both survive a sum, which takes a tenth of the time of looking at each entry.
    """
    return bool(G.sum().isfinite() or G.isfinite().all())  # finite entries may overflow the sum
