"""Typical answers to the exercises of lesson 08: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch

from muonlab import polar
from muonlab.theory import TwoBlock


def average(M, G, mu):
    return mu * M + (1 - mu) * G


def form(six, L, R, *, minus=1.0, divide=True, corners=True):
    """The polar factor in six numbers, with one thing wrong where it is asked for."""
    a, b, c11, c12, c21, c22 = six
    s = math.sqrt(L * R)
    extra = (a, b) if corners else (0 * a, 0 * b)
    core = torch.stack([extra[0] + L * c11, s * c12, s * c21, extra[1] + R * c22])
    q = polar(core.view(2, 2)).flatten()
    sizes = torch.tensor([L, s, s, R] if divide else [1.0] * 4).to(q)
    c = (q - minus * torch.tensor([1.0, 0.0, 0.0, 1.0]).to(q)) / sizes
    return torch.cat([torch.ones(2).to(q), c])


def step(W, M, update, lr):
    return torch.stack([W + lr * update, M])


def right(W, M, G, L, R, mu, lr):
    M = average(M, G, mu)
    return step(W, M, form(M, L, R), lr)


def with_two_block(W, M, G, L, R, mu, lr):
    W, M, G = (TwoBlock(L + R, L, *six.tolist()) for six in (W, M, G))
    M = M.add(M, mu - 1).add(G, 1 - mu)
    W = W.add(M.direction("muon"), lr)
    return [[x.a, x.b, x.c11, x.c12, x.c21, x.c22] for x in (W, M)]


def dense(W, M, G, L, R, mu, lr):
    M = average(M, G, mu)
    factor = polar(TwoBlock(L + R, L, *M.tolist()).dense())
    c = [factor[0, 1], factor[0, -1], factor[-1, 0], factor[-1, -2]]
    six = torch.stack([factor[0, 0] - c[0], factor[-1, -1] - c[3], *c])
    return W + lr * six, M


def by_svd(W, M, G, L, R, mu, lr):
    M = M + (1 - mu) * (G - M)
    s = (L * R) ** 0.5
    core = torch.tensor([[M[0] + L * M[2], s * M[3]], [s * M[4], M[1] + R * M[5]]])
    U, S, Vh = torch.linalg.svd(core.double())
    Q = U @ torch.diag((1e-9 * S[0] < S).double()) @ Vh
    c = [(Q[0, 0] - 1) / L, Q[0, 1] / s, Q[1, 0] / s, (Q[1, 1] - 1) / R]
    return torch.stack([W + lr * torch.tensor([1, 1, *c], dtype=torch.float64), M])


ANSWERS = {
    "08-e3": {
        "right": {
            "core": right,
            "six numbers of the library": with_two_block,
            "all entries": dense,
            "an SVD": by_svd,
            "a tuple": lambda *case: tuple(right(*case)),
            "numpy": lambda *case: right(*case).numpy(),
        },
        "wrong": {
            "no average": lambda W, M, G, L, R, mu, lr: step(W, G, form(G, L, R), lr),
            "old average": lambda W, M, G, L, R, mu, lr: step(W, M, form(M, L, R), lr),
            "a sum": lambda W, M, G, L, R, mu, lr: step(W, mu * M + G, form(mu * M + G, L, R), lr),
            "the gradient's factor": lambda W, M, G, L, R, mu, lr: step(
                W, average(M, G, mu), form(G, L, R), lr
            ),
            "shares exchanged": lambda W, M, G, L, R, mu, lr: right(W, M, G, L, R, 1 - mu, lr),
            "the average itself": lambda W, M, G, L, R, mu, lr: step(
                W, average(M, G, mu), average(M, G, mu), lr
            ),
            "1 not taken away": lambda W, M, G, L, R, mu, lr: step(
                W, average(M, G, mu), form(average(M, G, mu), L, R, minus=0), lr
            ),
            "not divided": lambda W, M, G, L, R, mu, lr: step(
                W, average(M, G, mu), form(average(M, G, mu), L, R, divide=False), lr
            ),
            "core of constants": lambda W, M, G, L, R, mu, lr: step(
                W, average(M, G, mu), form(average(M, G, mu), L, R, corners=False), lr
            ),
            "downhill twice": lambda W, M, G, L, R, mu, lr: right(W, M, G, L, R, mu, -lr),
            "no step size": lambda W, M, G, L, R, mu, lr: right(W, M, G, L, R, mu, 1.0),
            "exchanged": lambda *case: right(*case).flip(0),
            "W alone": lambda *case: right(*case)[0],
            "M alone": lambda *case: right(*case)[1],
            "the step": lambda W, M, G, L, R, mu, lr: right(0 * W, M, G, L, R, mu, lr),
            "L and R exchanged": lambda W, M, G, L, R, mu, lr: right(W, M, G, R, L, mu, lr),
            "nothing": lambda W, M, G, L, R, mu, lr: torch.stack([W, M]),
        },
    },
    "08-e5": {
        "right": {
            "sum": lambda p, draws: ((1 - p) ** draws).sum(),
            "a number": lambda p, draws: ((1 - p) ** draws).sum().item(),
            "logarithms": lambda p, draws: torch.exp(draws * torch.log1p(-p)).sum(),
            "a loop": lambda p, draws: sum((1 - x) ** draws for x in p.tolist()),
            "numpy": lambda p, draws: np.power(1 - p.numpy(), draws).sum(),
            "from the drawn": lambda p, draws: len(p) - (1 - (1 - p) ** draws).sum(),
        },
        "wrong": {
            "each fact": lambda p, draws: (1 - p) ** draws,
            "share": lambda p, draws: ((1 - p) ** draws).mean(),
            "weighted": lambda p, draws: (p * (1 - p) ** draws).sum(),
            "drawn": lambda p, draws: (1 - (1 - p) ** draws).sum(),
            "drawn, each": lambda p, draws: 1 - (1 - p) ** draws,
            "linear": lambda p, draws: (1 - draws * p).sum(),
            "linear, cut": lambda p, draws: (1 - draws * p).clamp(min=0).sum(),
            "not each time": lambda p, draws: (1 - p**draws).sum(),
            "each time": lambda p, draws: (p**draws).sum(),
            "times": lambda p, draws: (draws * (1 - p)).sum(),
            "one draw": lambda p, draws: (1 - p).sum(),
            "all": lambda p, draws: ((1 - p) ** draws).prod(),
            "rarest": lambda p, draws: ((1 - p) ** draws).max(),
            "exponential": lambda p, draws: torch.exp(-p * draws).sum(),
            "one too few": lambda p, draws: ((1 - p) ** (draws - 1)).sum(),
        },
    },
}
