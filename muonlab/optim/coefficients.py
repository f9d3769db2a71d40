"""The numbers of Newton-Schulz: published schedules, and how to derive the best one.

A step is an odd polynomial p(x) = a x + b x³ + c x⁵ on the singular values. A schedule is a
triple (a, b, c) for each step.
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

_BEST: Schedule = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
)

SAFETY = 1.01
"""Every Polar Express triple but the last allows values this much too large: bf16 rounds up."""


def _safe(triples: Schedule, safety: float) -> Schedule:
    return tuple((a / safety, b / safety**3, c / safety**5) for a, b, c in triples)


POLAR_EXPRESS: Schedule = (*_safe(_BEST, SAFETY), *QUINTIC)
"""The best triple for each step when every σ ≥ 0.001 (Amsel et al., arXiv 2505.16932, Algorithm 1);
`derive_schedule(1e-3, 7, safety=1)` makes the numbers above."""

POLAR_EXPRESS_SAFE: Schedule = (*_safe(_BEST, 1.05), *QUINTIC)
"""The same with more safety, which the fast path needs to take wide matrices at full speed in bf16
(see `tolerates`); its polar factor is as close to two digits."""

COEFFICIENTS: dict[str, Schedule] = {
    "cubic": CUBIC,
    "quintic": QUINTIC,
    "jordan": JORDAN,
    "polar_express": POLAR_EXPRESS,
    "polar_express_safe": POLAR_EXPRESS_SAFE,
}


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


def tolerates(triples: Schedule, error: float) -> bool:
    """Returns whether the steps end below 2 even if each begins with values too large by `error`.

    Outside the interval that a quintic was made for, it grows like x⁵. A schedule that uses its
    interval to the very end, such as Polar Express, turns an error of 2 % into divergence.

    >>> tolerates(JORDAN * 5, 0.04), tolerates(POLAR_EXPRESS, 0.04)
    (True, False)
    """
    top = 1.0
    for a, b, c in triples:
        top *= 1 + error
        points = [top]
        root = 9 * b * b - 20 * a * c  # p'(x) = a + 3b x² + 5c x⁴ = 0
        if c and root >= 0:
            squares = [(-3 * b + sign * math.sqrt(root)) / (10 * c) for sign in (-1, 1)]
            points += [math.sqrt(square) for square in squares if 0 < square < top * top]
        elif not c and b:
            points += [math.sqrt(-a / (3 * b))] if 0 < -a / (3 * b) < top * top else []
        top = max(abs(x * (a + b * x**2 + c * x**4)) for x in points)
        if top > 100:  # the next powers may not fit in a float
            return False
    return top < 2


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
