"""Polynomials on singular values: what a schedule does to them, and how good ones are derived.

Each step of Newton-Schulz applies an odd quintic p(x) = a x + b x³ + c x⁵ to them. Polar Express
takes the one closest to 1 on the interval where they lie, which a fit by Remez' exchange finds.

Source: Amsel et al., arXiv 2505.16932.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from muonlab import checks
from muonlab.optim.coefficients import MOST, QUINTIC, SAFETY, Schedule, Triple, schedule

LONGEST = 10_000  # steps on a number, which cost less than those on a matrix

CUSHION = 0.02407327424182761
"""Singular values under this share of the largest count as this large when a step is derived; the
very best polynomial for a wider interval would push some large values close to 0."""


def scalar_map(coefficients: str | Triple | Schedule, steps: int = 5) -> Callable[[Tensor], Tensor]:
    """Returns the function σ → p(p(…p(σ))) that `steps` steps apply to each singular value.

    >>> scalar_map("cubic", steps=1)(torch.tensor(0.5)).item()
    0.6875
    """
    triples = schedule(coefficients, steps, LONGEST)

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
    checks.number("lower", lower)
    checks.number("upper", upper)
    if not 0 < lower < upper:
        raise ValueError(f"expected 0 < lower < upper, got lower={lower}, upper={upper}")
    if lower < max(1e-14 * upper, 1e-20) or upper > 1e20:  # a fit is lost in rounding
        limits = "lower >= 1e-14 · upper, and both from 1e-20 to 1e20"
        raise ValueError(f"expected {limits}; got lower={lower}, upper={upper}")
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
    checks.number("steps", steps, 0, MOST + 1, whole=True)
    checks.number("lower", lower)
    if not 0 < lower < 1:
        raise ValueError(f"expected 0 < lower < 1, got lower={lower}")
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


def cosine(sigma: Tensor) -> Tensor:
    """Returns the cosine between a matrix with these singular values (k,) and its polar factor.

    >>> round(cosine(torch.tensor([2.0, 2.0, 0.0])).item() ** 2, 4)
    0.6667
    """
    return sigma.sum() / (sigma.norm() * math.sqrt(len(sigma)))


def fit_schedule(
    start: Schedule, spectra: Sequence[Tensor], least: Sequence[float], rounds: int = 6000
) -> Schedule:
    """Returns a schedule that takes matrices with these singular values close to their factors.

    It begins with `start` and raises the smallest lead of the cosines over `least`, by Adam on all
    triples at once: Polar Express makes the largest error small wherever values may lie, this one
    the mean error where they do lie. Two conditions keep it fit for bf16: values up to 1
    end below 1.25, those from 0.02 on above 0.6, and where each step begins with values 4 % too
    large, from 0 to 1.5. At the end the last triple is scaled, to come nearest to 1 in mean square.

    Args:
        spectra: singular values (k,) of some matrices, each over its norm.
        least: the cosine that each should exceed.
    """
    triples = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([triples], lr=0.003)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    x = torch.cat([torch.logspace(-4, 0, 800), torch.linspace(0.3, 1, 300)]).double()
    best, fitted = math.inf, triples.detach()
    pairs = list(zip(spectra, least, strict=True))
    for _ in range(rounds):
        leads = [cosine(_through(s.double(), triples)) - c for s, c in pairs]
        badness = torch.logsumexp(-200 * torch.stack(leads), 0) / 200  # the worst, smoothed
        for grown, low, high in ((1.0, 0.6, 1.25), (1.04, 0.0, 1.5)):
            ends = _through(x, triples, grown)
            beyond = (ends - high).relu() + (low - ends).relu() * (x >= 0.02)
            badness = badness + 100 * beyond.square().mean()
        if badness.item() < best:
            best, fitted = badness.item(), triples.detach().clone()
        optimizer.zero_grad()
        badness.backward()
        torch.nn.utils.clip_grad_norm_([triples], 0.2)
        optimizer.step()
        falling.step()
    ends = torch.cat([_through(s.double(), fitted) for s in spectra])
    fitted[-1] *= ends.sum() / ends.square().sum()
    return tuple(map(tuple, fitted.tolist()))


def _through(sigma: Tensor, triples: Tensor, grown: float = 1.0) -> Tensor:
    for a, b, c in triples:
        sigma = sigma * grown
        sigma = sigma * (a + sigma**2 * (b + c * sigma**2))
    return sigma
