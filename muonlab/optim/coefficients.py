"""The numbers of Newton-Schulz: published schedules of polynomials.

A step is an odd polynomial p(x) = a x + b x³ + c x⁵ on the singular values. A schedule is a
triple (a, b, c) for each step.
"""

import math
from typing import Any

from muonlab import checks

Triple = tuple[float, float, float]  # (a, b, c) of p(x) = a x + b x³ + c x⁵
Schedule = tuple[Triple, ...]  # one triple a step; the last one repeats
MOST_STEPS = 1_000  # more are a mistake, and would seem to have no end

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
"""Each Polar Express triple but the last allows values this much too large, as bf16 rounds up."""


def _safe(safety: float) -> Schedule:
    return tuple((a / safety, b / safety**3, c / safety**5) for a, b, c in _BEST) + QUINTIC


POLAR_EXPRESS: Schedule = _safe(SAFETY)
"""The best triple for each step when every σ ≥ 0.001 (Amsel et al., arXiv 2505.16932, Algorithm 1);
lesson 02 derives the numbers."""

POLAR_EXPRESS_SAFE: Schedule = _safe(1.05)
"""The same with more safety, which the fast path needs to take wide matrices at full speed in bf16
(see `tolerates`); its polar factor is as close to two digits."""

FOUR_STEPS: Schedule = (
    (7.575, -20.649, 14.1212),
    (3.7154, -2.7092, 0.5228),
    (3.2051, -2.5165, 0.5371),
    (2.7393, -2.3276, 0.6577),
    *QUINTIC,  # after the four; the last of them again would amplify what rounding does
)
"""Four steps that come nearer to the polar factor than Jordan's five, after a Schatten-4 norm;
`fit_schedule` in tests/fitting.py found them. With more steps than four, in float32, a matrix of
low rank gets values of up to 0.2 in directions that it does not have."""

COEFFICIENTS: dict[str, Schedule] = {
    "cubic": CUBIC,
    "quintic": QUINTIC,
    "jordan": JORDAN,
    "polar_express": POLAR_EXPRESS,
    "polar_express_safe": POLAR_EXPRESS_SAFE,
    "four": FOUR_STEPS,
}


def schedule(coefficients: str | Triple | Schedule, steps: int) -> Schedule:
    """Returns `steps` triples; the last known triple repeats. Nothing is checked.

    >>> schedule("cubic", 2)
    ((1.5, -0.5, 0.0), (1.5, -0.5, 0.0))
    """
    known: Any = COEFFICIENTS[coefficients] if isinstance(coefficients, str) else coefficients
    if isinstance(known[0], int | float):
        known = (known,)
    return tuple(tuple(known[min(i, len(known) - 1)]) for i in range(steps))


def checked_schedule(coefficients: str | Triple | Schedule, steps: int) -> Schedule:
    """Returns the same.

    Raises:
        ValueError: an unknown name, a triple that is not three numbers, steps that are not 0 to
            MOST_STEPS.
    """
    checks.number("steps", steps, 0, MOST_STEPS + 1, whole=True)
    if isinstance(coefficients, str):
        checks.choice("coefficients", coefficients, COEFFICIENTS)
    triples: Any = schedule(coefficients, steps) if coefficients else ((),)
    if not all(len(t) == 3 and all(map(math.isfinite, t)) for t in triples):
        raise ValueError(f"expected triples (a, b, c) of finite numbers, got {coefficients!r}")
    return triples


def settling(coefficients: str | Triple | Schedule, steps: int) -> Schedule:
    """Returns the same, and raises ValueError where Newton-Schulz would blow up, or vanish."""
    triples = checked_schedule(coefficients, steps)
    if not (all(map(any, triples)) and tolerates(triples, 0)):
        raise ValueError(f"coefficients must neither blow up nor vanish, got {coefficients!r}")
    return triples


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
        # where p'(x) = a + 3b x² + 5c x⁴ = 0; if it never is, another point does no harm
        root = math.sqrt(max(9 * b * b - 20 * a * c, 0))
        squares = [-a / (3 * b)] if b else []
        if c:
            squares = [(-3 * b + sign * root) / (10 * c) for sign in (-1, 1)]
        points = [top, *(math.sqrt(square) for square in squares if 0 < square < top * top)]
        top = max(abs(x * (a + b * x**2 + c * x**4)) for x in points)
        if top > 100:  # the next powers may not fit in a float
            return False
    return top < 2
