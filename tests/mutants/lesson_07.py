"""Typical answers to the exercises of lesson 07: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch

from muonlab import polar
from muonlab.theory import descent


def softmax_of_logits(K, r, epsilon):
    best = math.log((K - 1) * (1 - epsilon) / epsilon)  # the logit when all others are 0
    logits = torch.zeros(K, dtype=torch.float64)
    logits[0] = r * best
    return logits.softmax(0)[0]


def grown(K, r, epsilon, odds=None):
    return ((K - 1) * ((1 - epsilon) / epsilon if odds is None else odds)) ** r


def as_probability(odds):
    return 1 / (1 + 1 / odds)


def surprise(W, E, values, dim=0):
    return torch.eye(E.size(1)) - (values.T @ W @ E).softmax(dim)


def by_autograd(W, E, values, p):
    W = W.clone().requires_grad_()
    logs = torch.log_softmax(values.T @ W @ E, dim=0)
    (p * logs.diagonal()).sum().backward()
    return W.grad


def fact_by_fact(W, E, values, p):
    total = torch.zeros_like(W)
    for k in range(len(p)):
        q = torch.softmax(values.T @ W @ E[:, k], dim=0)
        q[k] -= 1
        total -= p[k] * torch.outer(values @ q, E[:, k])
    return total


def pair_by_pair(W, E, values, p):
    """Proposition F.1, written out."""
    total = torch.zeros_like(W)
    for k in range(len(p)):
        s = torch.softmax(values.T @ W @ E[:, k], dim=0)
        total += p[k] * (1 - s[k]) * torch.outer(values[:, k], E[:, k])
        for j in range(len(p)):
            if j != k:
                total -= p[k] * s[j] * torch.outer(values[:, j], E[:, k])
    return total


def in_numpy(W, E, values, p):
    g = values.numpy().T @ W.numpy() @ E.numpy()
    q = np.exp(g) / np.exp(g).sum(0)
    return values.numpy() @ ((np.eye(len(p)) - q) * p.numpy()) @ E.numpy().T


def einsum(W, E, values, p):
    q = torch.einsum("oj,os,sk->jk", values, W, E).softmax(0)
    kept = torch.einsum("ok,sk,k->os", values, E, p)
    return kept - torch.einsum("oj,jk,sk,k->os", values, q, E, p)


def wrong_gradient(change):
    def answer(W, E, values, p):
        return values @ change(surprise(W, E, values), p) @ E.T

    return answer


def ones(K, L, length=True):
    U = torch.zeros(K, 2)
    U[:L, 0] = L**-0.5 if length else 1
    U[L:, 1] = (K - L) ** -0.5 if length else 1
    return U


def built(divide, flat=None, block=None):
    def answer(M, L):
        M, U = M.float(), ones(len(M), L) if block is None else block(len(M), L)
        core = U.T @ M @ U
        rest = torch.eye(len(M)) - U @ U.T if flat is None else flat(M, U)
        return rest + U @ divide(core) @ U.T

    return answer


def unit(core):
    return core / core.norm()


def by_svd(M, L):
    U, S, Vh = torch.linalg.svd(M.double())
    known = S > 1e-6
    return U[:, known] @ Vh[known]


def projections(M, L):
    K = len(M)
    result = torch.zeros(K, K)
    result[:L, :L] = torch.eye(L) - 1 / L
    result[L:, L:] = torch.eye(K - L) - 1 / (K - L)
    u, v = ones(K, L).T
    a, b = M[0, 0] * K / (K - 1), M[-1, -1] * K / (K - 1)
    left = ((K - L) ** 0.5 * u - L**0.5 * v) / K**0.5
    right = a * (K - L) ** 0.5 * u - b * L**0.5 * v
    return result + torch.outer(left, right / right.norm())


def six_numbers(M, L):
    K, rest = len(M), len(M) - L
    a, b = M[0, 0].item() * K / (K - 1), M[-1, -1].item() * K / (K - 1)
    root = math.sqrt(K * (a * a * rest + b * b * L))
    c11, c22 = (a * rest / root - 1) / L, (b * L / root - 1) / rest
    blocks = [[c11] * L + [-b / root] * rest] * L + [[-a / root] * L + [c22] * rest] * rest
    return torch.eye(K) + torch.tensor(blocks)


def minus_the_rest(M, L):
    U = ones(len(M), L)
    core = U @ U.T @ M @ U @ U.T
    return torch.eye(len(M)) - U @ U.T + core / core.norm()


def whole_svd(M, L):
    U, _, Vh = torch.linalg.svd(M)
    return U @ Vh


ANSWERS = {
    "07-e2": {
        "right": {
            "one fraction": lambda K, r, e: 1 / (1 + (K - 1) * ((K - 1) * (1 / e - 1)) ** -r),
            "as in the paper": lambda K, r, e: (
                1 - e / (e + (1 - e) ** r * e ** (1 - r) * (K - 1) ** (r - 1))
            ),
            "softmax": softmax_of_logits,
            "sigmoid": lambda K, r, e: torch.sigmoid(
                torch.tensor(r * math.log((K - 1) * (1 - e) / e) - math.log(K - 1))
            ),
            "over all": lambda K, r, e: grown(K, r, e) / (grown(K, r, e) + K - 1),
            "numpy": lambda K, r, e: np.float32(as_probability(grown(K, r, e) / (K - 1))),
        },
        "wrong": {
            "no brackets": lambda K, r, e: grown(K, r, e) / (K - 1) / 1 + grown(K, r, e) / (K - 1),
            "K without brackets": lambda K, r, e: as_probability(grown(K, r, e) / K - 1),
            "power r - 1": lambda K, r, e: as_probability(grown(K, r - 1, e)),
            "exponent divided": lambda K, r, e: as_probability(grown(K, r / (K - 1), e)),
            "epsilon": lambda K, r, e: e,
            "spread": lambda K, r, e: (1 - e) / (K - 1),
            "odds": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / (K - 1),
            "log odds": lambda K, r, e: r * math.log((K - 1) * (1 - e) / e) - math.log(K - 1),
            "not divided": lambda K, r, e: 1 / (1 + ((K - 1) * (1 - e) / e) ** -r),
            "not divided either": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r,
            "over K": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / K,
            "no power": lambda K, r, e: 1 - e,
            "inverse power": lambda K, r, e: (
                1 / (1 + (K - 1) * ((K - 1) * (1 - e) / e) ** (-1 / r))
            ),
            "power of the odds": lambda K, r, e: 1 / (1 + (K - 1) * ((1 - e) / e) ** -r),
            "odds to the power": lambda K, r, e: as_probability(((1 - e) / e) ** r),
            "odds times r": lambda K, r, e: as_probability(r * (1 - e) / e),
            "probability times r": lambda K, r, e: r * (1 - e),
            "probability to the power": lambda K, r, e: (1 - e) ** r,
            "order of magnitude": lambda K, r, e: e**-r * K ** (r - 1),
            "K wrong answers": lambda K, r, e: as_probability((K * (1 - e) / e) ** r / K),
            "K below": lambda K, r, e: grown(K, r, e) / (grown(K, r, e) + K),
            "K above": lambda K, r, e: as_probability((K * (1 - e) / e) ** r / (K - 1)),
            "upside down": lambda K, r, e: as_probability(grown(K, r, e, e / (1 - e)) / (K - 1)),
            "no odds": lambda K, r, e: as_probability(grown(K, r, e, 1 - e) / (K - 1)),
            "one over epsilon": lambda K, r, e: as_probability(grown(K, r, e, 1 / e) / (K - 1)),
            "the others": lambda K, r, e: 1 / (1 + grown(K, r, e) / (K - 1)),
            "minus": lambda K, r, e: 1 / ((K - 1) / grown(K, r, e) - 1),
            "percent": lambda K, r, e: 100 / (1 + (K - 1) / grown(K, r, e)),
        },
        "generic": {
            "r of all": lambda K, r, e: r / K,
            "squared": lambda K, r, e: as_probability(grown(K, 2 * r, e)),
        },
    },
    "07-e4": {
        "right": {
            "fact by fact": fact_by_fact,
            "pair by pair": pair_by_pair,
            "numpy": in_numpy,
            "einsum": einsum,
            "one product": wrong_gradient(lambda S, p: S * p),
            "diagonal": wrong_gradient(lambda S, p: S @ p.diag()),
        },
        "wrong": {
            "package": lambda W, E, values, p: descent(W, E, values, p),
            "autograd": by_autograd,
            "sign": lambda W, E, values, p: -by_autograd(W, E, values, p),
            "no weights": wrong_gradient(lambda S, p: S),
            "sign, no weights": wrong_gradient(lambda S, p: -S),
            "mean": wrong_gradient(lambda S, p: S / len(p)),
            "weights and mean": wrong_gradient(lambda S, p: S * p / len(p)),
            "rows": wrong_gradient(lambda S, p: p[:, None] * S),
            "softmax of rows": lambda W, E, values, p: (
                values @ (surprise(W, E, values, 1) * p) @ E.T
            ),
            "logits transposed": lambda W, E, values, p: (
                values @ ((torch.eye(len(p)) - (E.T @ W.T @ values).softmax(0)) * p) @ E.T
            ),
            "no right answer": wrong_gradient(lambda S, p: (S - torch.eye(len(p))) * p),
            "no right answer, sign": wrong_gradient(lambda S, p: (torch.eye(len(p)) - S) * p),
            "only the right answer": wrong_gradient(lambda S, p: p.diag()),
            "stored": wrong_gradient(lambda S, p: torch.eye(len(p))),
            "at zero": wrong_gradient(lambda S, p: (torch.eye(len(p)) - 1 / len(p)) * p),
            "logits": lambda W, E, values, p: (
                values @ ((torch.eye(len(p)) - values.T @ W @ E) * p) @ E.T
            ),
            "logs": lambda W, E, values, p: (
                values @ ((torch.eye(len(p)) - (values.T @ W @ E).log_softmax(0)) * p) @ E.T
            ),
            "transposed": lambda W, E, values, p: by_autograd(W, E, values, p).T,
            "in the logits": lambda W, E, values, p: surprise(W, E, values) * p,
            "no keys": lambda W, E, values, p: values @ (surprise(W, E, values) * p),
            "middle turned": wrong_gradient(lambda S, p: (S * p).T),
            "of the probability": wrong_gradient(lambda S, p: S * p * (1 - S.diagonal())),
            "squared": wrong_gradient(lambda S, p: S * p * p),
            "keys not turned": lambda W, E, values, p: (
                values @ (surprise(W, E, values) * p) @ (E if E.shape == values.shape else E.T[:0])
            ),
            "loss": lambda W, E, values, p: (
                -(p * (values.T @ W @ E).log_softmax(0).diagonal()).sum()
            ),
        },
        "generic": {
            "roots": wrong_gradient(lambda S, p: S * p.sqrt()),
            "zeros": wrong_gradient(lambda S, p: 0 * S),
        },
    },
    "07-e5": {
        "right": {
            "projections": projections,
            "six numbers": six_numbers,
            "built": built(unit),
            "large": minus_the_rest,
            "numpy": lambda M, L: built(unit)(M, L).numpy(),
        },
        "wrong": {
            "package": lambda M, L: polar(M),
            "svd": by_svd,
            "identity": lambda M, L: torch.eye(len(M)),
            "no core": built(torch.zeros_like),
            "core alone": built(unit, lambda M, U: 0 * M),
            "long core": built(lambda core: core),
            "whole identity": built(unit, lambda M, U: torch.eye(len(M))),
            "a and b": built(unit, lambda M, U: M - U @ U.T @ M @ U @ U.T),
            "minus": built(lambda core: -unit(core)),
            "turned": built(lambda core: unit(core).T),
            "trace": built(lambda core: core / core.trace()),
            "largest entry": built(lambda core: core / core.abs().max()),
            "sum": built(lambda core: core / core.abs().sum()),
            "square": built(lambda core: core / core.square().sum()),
            "norm of M": lambda M, L: built(lambda core: core / M.norm())(M, L),
            "signs of the core": built(torch.sign),
            "columns": built(lambda core: core / core.norm(dim=0)),
            "times": built(lambda core: core * core.norm()),
            "raw ones": built(unit, block=lambda K, L: ones(K, L, False)),
            "spread with ones": lambda M, L: (
                torch.eye(len(M))
                - ones(len(M), L) @ ones(len(M), L).T
                + ones(len(M), L, False)
                @ unit(ones(len(M), L).T @ M @ ones(len(M), L))
                @ ones(len(M), L, False).T
            ),
            "swapped": built(unit, block=lambda K, L: ones(K, K - L)),
            "one block": lambda M, L: torch.eye(len(M)) - 1 / len(M),
            "M by its norm": lambda M, L: M / M.norm(),
            "M by its largest": lambda M, L: M / torch.linalg.matrix_norm(M, 2),
            "signs": lambda M, L: M.sign(),
            "M": lambda M, L: M,
            "core": lambda M, L: unit(ones(len(M), L).T @ M @ ones(len(M), L)),
            "whole svd": whole_svd,
            "core is wrong": built(lambda core: torch.eye(2)[[1, 0]]),
        },
        "generic": {
            "zeros": lambda M, L: 0 * M,
            "transposed M": lambda M, L: M.T,
            "flat is wrong": built(unit, lambda M, U: 2 * (torch.eye(len(M)) - U @ U.T)),
        },
    },
}
