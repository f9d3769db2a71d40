"""Orthogonalize matrices: the exact polar factor, and Newton-Schulz, which needs only products.

An m×n matrix G = U diag(σ) Vᵀ has the polar factor U Vᵀ: the same directions, every singular
value 1. An odd polynomial p applied to G acts on the singular values and on nothing else,
p(G) = U diag(p(σ)) Vᵀ, so a polynomial that pulls [0, 1] towards 1 orthogonalizes without an SVD.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Triple = tuple[float, float, float]  # (a, b, c) of p(x) = a x + b x³ + c x⁵
Schedule = tuple[Triple, ...]  # one triple a step; the last one repeats

CUBIC: Schedule = ((1.5, -0.5, 0.0),)
"""The lowest degree with p(1) = 1 and p'(1) = 0 (Newton's method for the polar factor)."""

QUINTIC: Schedule = ((15 / 8, -10 / 8, 3 / 8),)
"""The lowest degree with p(1) = 1, p'(1) = 0 and p''(1) = 0 (Higham 2008, section 8.3)."""

JORDAN: Schedule = ((3.4445, -4.7750, 2.0315),)
"""Steep at 0, never settles at 1 (Keller Jordan, "Muon", 2024; torch.optim.Muon's default)."""

SAFETY = 1.01
"""Every Polar Express triple but the last allows values this much too large: bf16 rounds up."""

POLAR_EXPRESS: Schedule = (
    *(
        (a / SAFETY, b / SAFETY**3, c / SAFETY**5)
        for a, b, c in (
            (8.28721201814563, -23.595886519098837, 17.300387312530933),
            (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
            (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
            (3.3184196573706015, -2.488488024314874, 0.51004894012372),
            (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
            (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
            (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
        )
    ),
    (15 / 8, -10 / 8, 3 / 8),
)
"""The best triple for each step when every σ ≥ 0.001 (Amsel et al., arXiv 2505.16932, Algorithm 1);
`derive_schedule(1e-3, 7, safety=1)` makes the numbers above."""

COEFFICIENTS: dict[str, Schedule] = {
    "cubic": CUBIC,
    "quintic": QUINTIC,
    "jordan": JORDAN,
    "polar_express": POLAR_EXPRESS,
}


def newton_schulz(
    G: Tensor,
    steps: int = 5,
    coefficients: str | Triple | Schedule = "jordan",
    *,
    eps: float = 1e-7,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Returns G with its singular values driven towards 1: X ← aX + (bA + cA²)X, A = XXᵀ.

    It is not exactly U Vᵀ: five Jordan steps leave the singular values in about [0.68, 1.20].

    Args:
        G: (..., m, n), one matrix or a stack; never changed.
        steps: how many polynomial steps.
        coefficients: a name in COEFFICIENTS, one triple (a, b, c), or a triple a step.
        eps: floor of the norm that divides G *after* its largest entry is 1. It guards the zero
            matrix, which stays zero, and damps nothing: G and 1e-30 G give the same result.
        dtype: precision of the products; None picks `work_dtype(G)`.

    Returns:
        (..., m, n) in G's dtype.

    Raises:
        ValueError: G is not a real floating-point matrix, or holds NaN or Inf; an unknown schedule;
            eps outside (0, 1].

    Source: Jordan 2024; Björck and Bowie 1971.

    >>> G = torch.diag(torch.tensor([3.0, 0.3]))
    >>> newton_schulz(G, steps=9, coefficients="quintic", dtype=torch.float32).round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_matrix(G)
    X = unit_frobenius(G, eps).to(dtype or work_dtype(G))
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


def schedule(coefficients: str | Triple | Schedule, steps: int) -> Schedule:
    """Returns `steps` triples; the last known triple repeats.

    Raises:
        ValueError: an unknown name, a triple that is not three numbers, negative steps.

    >>> schedule("cubic", 2)
    ((1.5, -0.5, 0.0), (1.5, -0.5, 0.0))
    """
    if steps != int(steps) or steps < 0:
        raise ValueError(f"steps must be a whole number >= 0, got {steps}")
    if isinstance(coefficients, str):
        if coefficients not in COEFFICIENTS:
            names = ", ".join(COEFFICIENTS)
            raise ValueError(
                f"coefficients must be one of {names}, or triples; got {coefficients!r}"
            )
        known = COEFFICIENTS[coefficients]
    else:
        known = tuple(coefficients)
        if known and not isinstance(known[0], (tuple, list)):
            known = (known,)
    if not known or any(len(t) != 3 or not all(map(math.isfinite, t)) for t in known):
        raise ValueError(
            f"coefficients must be triples (a, b, c) of finite numbers, got {coefficients!r}"
        )
    return tuple(tuple(known[min(i, len(known) - 1)]) for i in range(int(steps)))


def scalar_map(coefficients: str | Triple | Schedule, steps: int = 5) -> Callable[[Tensor], Tensor]:
    """Returns the function σ → p(p(…p(σ))) that `steps` steps apply to each singular value.

    >>> scalar_map("cubic", steps=1)(torch.tensor(0.5)).item()
    0.6875
    """
    triples = schedule(coefficients, steps)

    def composed(sigma: Tensor) -> Tensor:
        for a, b, c in triples:
            sigma = sigma * (a + sigma**2 * (b + c * sigma**2))
        return sigma

    return composed


def minimax_quintic(lower: float, upper: float) -> tuple[Triple, float]:
    """Returns the odd quintic closest to 1 on [lower, upper], and its largest error there.

    The best one errs by the same ±E at four points (Chebyshev). Remez' exchange finds them:
    fit through the four points, move the inner two to the extrema of the fit, repeat.

    Raises:
        ValueError: unless 0 < lower < upper.

    Source: Amsel et al., arXiv 2505.16932, section 3.
    """
    if not 0 < lower < upper < math.inf:
        raise ValueError(f"expected 0 < lower < upper, got lower={lower}, upper={upper}")
    if 1 - lower / upper < 1e-4:  # the four points meet: the classical quintic is the limit
        a, b, c = QUINTIC[0]
        middle = (lower + upper) / 2
        return (a / middle, b / middle**3, c / middle**5), (1 - lower / middle) ** 3
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    inner = (lower + (upper - lower) / 4, lower + 3 * (upper - lower) / 4)
    error = previous = math.inf
    for _ in range(100):
        x = torch.tensor([lower, *inner, upper], dtype=torch.float64)
        system = torch.stack([x, x**3, x**5, signs], dim=1)
        a, b, c, error = torch.linalg.solve(system, torch.ones_like(x)).tolist()
        if abs(error - previous) <= 1e-14:
            return (a, b, c), error
        previous = error
        root = math.sqrt(9 * b * b - 20 * a * c)  # p'(x) = a + 3b x² + 5c x⁴ = 0
        inner = tuple(math.sqrt((-3 * b + s * root) / (10 * c)) for s in (-1, 1))
    raise ArithmeticError(f"Remez' exchange did not settle on [{lower}, {upper}]")


def derive_schedule(
    lower: float = 1e-3,
    steps: int = 6,
    *,
    cushion: float = 0.02407327424182761,
    safety: float = SAFETY,
) -> Schedule:
    """Returns the greedy best triples for singular values in [lower, 1] (Polar Express).

    Each step is the minimax quintic of the interval that the step before left. Greedy is optimal
    for the whole composition (Amsel et al., Theorem 4.1).

    Args:
        lower: the smallest singular value that counts, relative to the largest.
        steps: how many triples.
        cushion: an interval with lower/upper under this is treated as this wide only: the very
            best polynomial for it would push some large values close to 0.
        safety: every triple but the last expects values up to `safety` times too large, which
            rounding can make; 1 asks for none.

    Raises:
        ValueError: lower outside (0, 1), cushion outside [0, 1) or safety under 1.

    Source: Amsel et al., arXiv 2505.16932, Algorithm 1 and section 3.4.
    """
    if not (0 < lower < 1 and 0 <= cushion < 1 and safety >= 1):
        raise ValueError(
            "expected 0 < lower < 1, 0 <= cushion < 1 and safety >= 1, "
            f"got lower={lower}, cushion={cushion}, safety={safety}"
        )
    low, high, triples = lower, 1.0, []
    for step in range(steps):
        if high - low < 1e-12:  # everything has arrived at 1: only rounding is left
            triples.append(QUINTIC[0])
            continue
        (a, b, c), _ = minimax_quintic(max(low, cushion * high), high)
        image = [x * (a + x * x * (b + c * x * x)) for x in (low, high)]
        centre = 2 / sum(image)  # the cushion left [p(low), p(high)] off centre around 1
        a, b, c = a * centre, b * centre, c * centre
        margin = safety if step < steps - 1 else 1.0
        triples.append((a / margin, b / margin**3, c / margin**5))
        low = centre * image[0]
        high = 2 - low
    return tuple(triples)


def fast_bf16(device: torch.device | str = "cpu") -> bool:
    """Returns whether bf16 products are fast on the device: AMX on a CPU, compute 8.0 on CUDA.

    Other CPUs emulate bf16, 20 to 40 times slower than float32.
    """
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and bool(torch.cpu.get_capabilities().get("amx_bf16"))


def work_dtype(G: Tensor) -> torch.dtype:
    """Returns the dtype in which G (..., m, n) is orthogonalized: bf16 only where it is faster.

    float64 stays float64. On a CPU, small matrices stay in float32: measured with AMX, bf16 takes
    twice as long at 128×128 and half as long at 128×512.
    """
    if G.dtype == torch.float64:
        return G.dtype
    large = G.device.type != "cpu" or G.size(-2) * G.size(-1) >= 2**16
    return torch.bfloat16 if large and fast_bf16(G.device) else torch.float32


def unit_frobenius(G: Tensor, eps: float) -> Tensor:
    """Returns G / ‖G‖_F in at least float32: no singular value exceeds 1, and zero stays zero."""
    if not 0 < eps <= 1:  # the norm is at least 1 there, so eps meets the zero matrix only
        raise ValueError(f"eps must be in (0, 1], got {eps}")
    G = unit_entries(G if G.dtype == torch.float64 else G.float())
    return G / G.norm(dim=(-2, -1), keepdim=True).clamp(min=eps)


def unit_entries(G: Tensor) -> Tensor:
    """Returns each matrix of G divided by its largest entry: squares of 1e30 do not fit in float32.

    A zero matrix stays zero.
    """
    if G.numel() == 0:
        return G
    largest = G.abs().amax(dim=(-2, -1), keepdim=True)
    return G / torch.where(largest > 0, largest, 1.0)


def check_matrix(G: Tensor) -> None:
    """Raises ValueError unless G is a finite real floating-point tensor (..., m, n)."""
    if G.ndim < 2:
        raise ValueError(
            f"expected a matrix (..., m, n), got shape {tuple(G.shape)}; a vector has no singular "
            "spectrum to flatten: normalize it, or give it to AdamW"
        )
    if not G.is_floating_point():
        raise ValueError(f"expected real floating-point entries, got {G.dtype}")
    if not G.isfinite().all():
        raise ValueError("expected finite numbers, got NaN or Inf in the matrix to orthogonalize")
