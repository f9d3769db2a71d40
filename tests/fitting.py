"""How the schedule `FOUR_STEPS` was found: triples fitted to spectra as they occur."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from muonlab.optim.coefficients import Schedule


def cosine(sigma: Tensor) -> Tensor:
    """Returns the cosine between a matrix with these singular values (k,) and its polar factor."""
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
