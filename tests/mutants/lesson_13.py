"""Typical answers to the exercises of lesson 13: wrong ones to reject, right ones to accept."""

import math

import numpy
import torch


def gain(loss):
    return loss[:, 0] - loss[:, 1]


def in_nested_loops(loss):
    multi_head, latent = loss.tolist()
    return [(a - m) - (x - y) for a, m, x, y in zip(*latent, *multi_head, strict=True)]


def seen(L):
    return torch.ones(L.shape[-2:]).tril().bool()


def masked(L):
    return L.masked_fill(~seen(L), -math.inf)


def largest(L):
    return masked(L).amax((0, 2, 3))


def gamma(S, tau):
    return torch.where(tau < S, tau / S, 1.0)


def four(S, g):
    return torch.stack([S, g.sqrt(), g.sqrt(), g])


def rows(S, tau):
    return four(S, gamma(S, tau))


def shared(L, tau):
    g = gamma(largest(L).max(), tau).expand(L.size(1))
    return g.sqrt(), g.sqrt(), g


def parts(L, tau, *powers):
    S = largest(L)
    return torch.stack([S, *(gamma(S, tau) ** power for power in powers)])


def head_by_head(L, tau):
    B, H, T, _ = L.shape
    found = torch.ones(4, H)
    for h in range(H):
        S = max(L[b, h, t, u].item() for b in range(B) for t in range(T) for u in range(t + 1))
        found[0, h] = S
        if tau < S:
            found[1:, h] = torch.tensor([(tau / S) ** 0.5, (tau / S) ** 0.5, tau / S])
    return found


def in_numpy(L, tau):
    T = L.shape[-1]
    visible = numpy.tril(numpy.ones((T, T), dtype=bool))
    S = numpy.where(visible, L.numpy(), -numpy.inf).max(axis=(0, 2, 3))
    g = numpy.minimum(1, tau / numpy.maximum(S, tau))
    return numpy.stack([S, numpy.sqrt(g), numpy.sqrt(g), g])


ANSWERS = {
    "13-e3": {
        "wrong": {
            "sign": lambda L: gain(L)[0] - gain(L)[1],
            "mean gain": lambda L: gain(L).mean(0),
            "sum": lambda L: gain(L).sum(0),
            "latent alone": lambda L: gain(L)[1],
            "multi-head alone": lambda L: gain(L)[0],
            "attention": lambda L: (L[1] - L[0]).mean(0),
            "half": lambda L: (gain(L)[1] - gain(L)[0]) / 2,
            "ratio": lambda L: gain(L)[1] / gain(L)[0],
            "mean over seeds": lambda L: (gain(L)[1] - gain(L)[0]).mean().expand(L.shape[2]),
            "one mean": lambda L: (gain(L)[1] - gain(L)[0]).mean(),
            "both gains": gain,
            "both changed": lambda L: L[0, 0] - L[1, 1],
            "cost under AdamW": lambda L: (L[1] - L[0])[0],
            "cost under Muon": lambda L: (L[1] - L[0])[1],
            "relative": lambda L: (gain(L)[1] - gain(L)[0]) / gain(L)[0],
            "size": lambda L: (gain(L)[1] - gain(L)[0]).abs(),
            "sizes of gains": lambda L: gain(L)[1].abs() - gain(L)[0].abs(),
            "last axis": lambda L: (L[..., 0] - L[..., 1])[1] - (L[..., 0] - L[..., 1])[0],
            "plus": lambda L: L[1].sum(0) - L[0].sum(0),
            "a row": lambda L: (gain(L)[1] - gain(L)[0])[None],
            "in place": lambda L: L[1].sub_(L[0])[0] - L[1, 1],
        },
        "generic": {
            "median": lambda L: (gain(L)[1] - gain(L)[0]).median().expand(L.shape[2]),
            "exponentials": lambda L: gain(L.exp())[1] - gain(L.exp())[0],
        },
        "right": {
            "gains": lambda L: gain(L)[1] - gain(L)[0],
            "four terms": lambda L: L[1, 0] - L[1, 1] - L[0, 0] + L[0, 1],
            "costs": lambda L: (L[1] - L[0])[0] - (L[1] - L[0])[1],
            "diff": lambda L: -L.diff(dim=0).diff(dim=1).squeeze(0, 1),
            "nested lists": in_nested_loops,
            "einsum": lambda L: torch.einsum(
                "aos,a,o->s", L, torch.tensor([-1.0, 1.0]), torch.tensor([1.0, -1.0])
            ),
            "NumPy": lambda L: numpy.subtract(*gain(L).numpy()[::-1]),
        },
    },
    "13-e4": {
        "wrong": {
            "no mask": lambda L, tau: rows(L.amax((0, 2, 3)), tau),
            "upper": lambda L, tau: rows(
                L.mT.masked_fill(~seen(L), -math.inf).amax((0, 2, 3)), tau
            ),
            "zeros": lambda L, tau: rows((L * seen(L)).amax((0, 2, 3)), tau),
            "not itself": lambda L, tau: rows(
                L.masked_fill(~seen(L).tril(-1), -math.inf).amax((0, 2, 3)), tau
            ),
            "sizes": lambda L, tau: rows((L * seen(L)).abs().amax((0, 2, 3)), tau),
            "mean of texts": lambda L, tau: rows(masked(L).amax((2, 3)).mean(0), tau),
            "one for all": lambda L, tau: rows(largest(L).max().expand(L.size(1)), tau),
            "one gamma": lambda L, tau: torch.stack([largest(L), *shared(L, tau)]),
            "no minimum": lambda L, tau: four(largest(L), (tau / largest(L)).abs()),
            "far below": lambda L, tau: four(largest(L), (tau / largest(L).abs()).clamp(max=1)),
            "upside down": lambda L, tau: four(largest(L), 1 / gamma(largest(L), tau)),
            "difference": lambda L, tau: four(
                largest(L), torch.where(largest(L) > tau, largest(L) - tau, 1.0)
            ),
            "gamma everywhere": lambda L, tau: torch.stack(
                [largest(L), *[gamma(largest(L), tau)] * 3]
            ),
            "roots everywhere": lambda L, tau: torch.stack(
                [largest(L), *[gamma(largest(L), tau).sqrt()] * 3]
            ),
            "rotary left out": lambda L, tau: parts(L, tau, 0.5, 0.5, 0),
            "rotary squared": lambda L, tau: parts(L, tau, 0.5, 0.5, 2),
            "exchanged": lambda L, tau: parts(L, tau, 1, 1, 0.5),
            "queries alone": lambda L, tau: parts(L, tau, 1, 0, 1),
            "keys alone": lambda L, tau: parts(L, tau, 0, 1, 1),
            "factors alone": lambda L, tau: rows(largest(L), tau)[1:],
            "turned": lambda L, tau: rows(largest(L), tau).T,
            "S alone": lambda L, tau: largest(L),
            "gamma alone": lambda L, tau: gamma(largest(L), tau),
            "negative": lambda L, tau: four(largest(L), (tau / largest(L)).clamp(max=1)),
        },
        "generic": {
            "smallest": lambda L, tau: rows(
                L.masked_fill(~seen(L), math.inf).amin((0, 2, 3)).abs(), tau
            ),
            "third roots": lambda L, tau: parts(L, tau, 1 / 3, 2 / 3, 1),
        },
        "right": {
            "where": lambda L, tau: rows(largest(L), tau),
            "loop": head_by_head,
            "clamped S": lambda L, tau: four(largest(L), tau / largest(L).clamp(min=tau)),
            "triu": lambda L, tau: rows(
                (L + torch.full_like(L, -math.inf).triu(1)).amax((0, 2, 3)), tau
            ),
            "NumPy": in_numpy,
            "list": lambda L, tau: rows(largest(L), tau).tolist(),
            "transposed heads": lambda L, tau: rows(
                masked(L).transpose(0, 1).flatten(1).max(1).values, tau
            ),
        },
    },
}
