"""Polynomials on singular values: what a schedule does to them, and how good ones are derived.

Each step of Newton-Schulz applies an odd quintic p(x) = a x + b x³ + c x⁵ to them. Polar Express
takes the one closest to 1 on the interval where they lie, which a fit by Remez' exchange finds.

Source: Amsel et al., arXiv 2505.16932.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import checks
from muonlab.optim.coefficients import QUINTIC, SAFETY, Schedule, Triple, checked_schedule

CUSHION = 0.02407327424182761
"""Singular values under this share of the largest count as this large when a step is derived; the
very best polynomial for a wider interval would push some large values close to 0."""


def scalar_map(coefficients: str | Triple | Schedule, steps: int = 5) -> Callable[[Tensor], Tensor]:
    """Returns the function σ → p(p(…p(σ))) that `steps` steps apply to each singular value.

    >>> scalar_map("cubic", steps=1)(torch.tensor(0.5)).item()
    0.6875
    """
    triples = checked_schedule(coefficients, steps)

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
    if not 0 < lower < upper:
        raise ValueError(f"expected 0 < lower < upper, got lower={lower}, upper={upper}")
    if 1 - lower / upper < 1e-4:  # the four points meet: the classical quintic is the limit
        a, b, c = QUINTIC[0]
        middle = (lower + upper) / 2
        return (a / middle, b / middle**3, c / middle**5), 2.5 * (1 - lower / middle) ** 3
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
        near, far = (math.sqrt((-3 * b + s * root) / (10 * c)) for s in (-1, 1))
        inner = (near, far)
    raise ArithmeticError(f"Remez' exchange did not settle on [{lower}, {upper}]")


def derive_schedule(lower: float = 1e-3, steps: int = 6) -> Schedule:
    """Returns the greedy best triples for singular values in [lower, 1] (Polar Express).

    Each step is the minimax quintic of the interval that the step before left. Greedy is optimal
    for the whole composition (Amsel et al., Theorem 4.1). Two safeguards are added: an interval
    wider than CUSHION is taken as that wide only, and every triple but the last expects values up
    to SAFETY times too large, which rounding can make.

    Raises:
        ValueError: `lower`, the smallest singular value that counts, outside (0, 1).

    Source: Amsel et al., arXiv 2505.16932, Algorithm 1 and section 3.4.
    """
    checks.number("lower", lower, 0, 1, above=True)
    low, high = lower, 1.0
    triples: list[Triple] = []
    for step in range(steps):
        if high - low < 1e-12:  # everything has arrived at 1: only rounding is left
            triples.append(QUINTIC[0])
            continue
        (a, b, c), _ = minimax_quintic(max(low, CUSHION * high), high)
        image = [x * (a + x * x * (b + c * x * x)) for x in (low, high)]
        centre = 2 / sum(image)  # the cushion left [p(low), p(high)] off centre around 1
        margin = SAFETY if step < steps - 1 else 1.0
        a, b, c = (factor * centre for factor in (a, b, c))
        triples.append((a / margin, b / margin**3, c / margin**5))
        low = centre * image[0]
        high = 2 - low
    return tuple(triples)
