"""Answers to the exercises of lesson 05, as students write them: right ones and wrong ones."""

import math

import numpy as np
import torch
from torch.special import ndtr

from muonlab.theory import store


def loop(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1]):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def overwrites(keys, values):
    for i in range(keys.shape[1]):
        W = torch.outer(values[:, i], keys[:, i])
    return W


def one_too_few(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1] - 1):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def rows_for_columns(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1]):
        W += torch.outer(values[i], keys[i])
    return W


def first_size(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[0]):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def four_loops(keys, values):
    W = [[0.0] * keys.shape[0] for _ in range(values.shape[0])]
    for o in range(values.shape[0]):
        for s in range(keys.shape[0]):
            for i in range(keys.shape[1]):
                W[o][s] += (values[o, i] * keys[s, i]).item()
    return W


def halve(p, below=lambda f: f < 0, start=lambda p: p**2, end=lambda s: s.sqrt(), halvings=60):
    low, high = start(p)[1:], start(p)[:-1]
    for _ in range(halvings):
        middle = (low + high) / 2
        up = below((1 / (start(p) - middle[:, None])).sum(1))
        low, high = torch.where(up, middle, low), torch.where(up, high, middle)
    return end((low + high) / 2)


def loop_halve(p):
    found = []
    for k in range(len(p) - 1):
        low, high = p[k + 1], p[k]
        while high - low > 1e-9:
            s = (low + high) / 2
            if (1 / (p**2 - s**2)).sum() < 0:
                low = s
            else:
                high = s
        found.append(s)
    return torch.stack(found)


def scan(p):
    roots = []
    for k in range(len(p) - 1):
        grid = torch.linspace(p[k + 1].item(), p[k].item(), 200_001, dtype=torch.float64)[1:-1]
        f = (1 / (p[:, None] ** 2 - grid**2)).sum(0)
        roots.append(grid[f.abs().argmin()])
    return torch.stack(roots)


def eigenvalues(p):
    N = torch.eye(len(p)).double() - 1 / len(p)
    return torch.linalg.eigvalsh(N @ torch.diag(p**2) @ N)


def drawn_share(d, K, z):
    scores = torch.randn(4000, K) * K**0.5 / d
    scores[:, 0] += 1
    return (scores.argmax(1) == 0).double().mean().item()


def eachwise(d, K, z):
    total = 0.0
    for noise in z:
        chance = 1.0
        for _ in range(K - 1):
            chance *= ndtr(d / K**0.5 + noise.double()).item()
        total += chance
    return total / len(z)


ANSWERS = {
    "05-e1": {
        "right": {
            "loop": loop,
            "lists": four_loops,
            "matmul": lambda keys, values: torch.matmul(values, keys.t()),
            "numpy": lambda keys, values: values.numpy() @ keys.numpy().T,
            "einsum": lambda keys, values: torch.einsum("ik,jk->ij", values, keys),
            "stack": lambda keys, values: (values[:, None, :] * keys[None, :, :]).sum(-1),
            "float64": lambda keys, values: values.double() @ keys.double().T,
            "transposed": lambda keys, values: (keys @ values.T).T,
            "bmm": lambda keys, values: torch.bmm(values.T[:, :, None], keys.T[:, None, :]).sum(0),
        },
        "wrong": {
            "package": store,
            "overwrites": overwrites,
            "one too few": one_too_few,
            "rows": rows_for_columns,
            "first size": first_size,
            "turned": lambda keys, values: keys @ values.T,
            "T first": lambda keys, values: values.T @ keys,
            "plain": lambda keys, values: values @ keys,
            "entries": lambda keys, values: values * keys,
            "mean": lambda keys, values: values @ keys.T / keys.shape[1],
            "first": lambda keys, values: torch.outer(values[:, 0], keys[:, 0]),
            "not summed": lambda keys, values: torch.einsum("ok,sk->kos", values, keys),
            "not summed, list": lambda keys, values: [
                torch.outer(v, k) for v, k in zip(values.T, keys.T, strict=True)
            ],
            "number": lambda keys, values: (values @ keys.T).sum(),
            "pseudoinverse": lambda keys, values: values @ torch.linalg.pinv(keys),
            "sum first": lambda keys, values: torch.outer(values.sum(1), keys.sum(1)),
            "unit keys": lambda keys, values: values @ (keys / keys.norm(dim=0)).T,
            "inner": lambda keys, values: torch.inner(keys, values),
            "keys twice": lambda keys, values: keys @ keys.T,
            "concatenated": lambda keys, values: torch.cat([values, keys]),
            "flat outer": lambda keys, values: torch.outer(values.flatten(), keys.flatten()),
        },
    },
    "05-e3": {
        "right": {
            "each": eachwise,
            "erf": lambda d, K, z: (
                (0.5 * (1 + torch.erf((d / K**0.5 + z) / 2**0.5))) ** (K - 1)
            ).mean(),
            "log": lambda d, K, z: (
                ((K - 1) * ndtr(d / math.sqrt(K) + z.double()).log()).exp().mean().item()
            ),
            "distribution": lambda d, K, z: (
                torch.distributions.Normal(0, 1).cdf(d / K**0.5 + z).pow(K - 1).mean()
            ),
            "noise first": lambda d, K, z: (
                ndtr((1 + z * K**0.5 / d) / (K**0.5 / d)).pow(K - 1).mean().item()
            ),
            "numpy": lambda d, K, z: np.mean(ndtr(d / K**0.5 + z).numpy() ** (K - 1)),
            "sum": lambda d, K, z: (ndtr(d / K**0.5 + z) ** (K - 1)).sum() / len(z),
        },
        "wrong": {
            "drawn": drawn_share,
            "no z": lambda d, K, z: ndtr(torch.tensor(d / K**0.5)).item() ** (K - 1),
            "no power": lambda d, K, z: ndtr(d / K**0.5 + z).mean().item(),
            "power K": lambda d, K, z: ndtr(d / K**0.5 + z).pow(K).mean().item(),
            "not averaged": lambda d, K, z: ndtr(d / K**0.5 + z).pow(K - 1),
            "mean first": lambda d, K, z: ndtr(d / K**0.5 + z).mean().item() ** (K - 1),
            "mean of z": lambda d, K, z: ndtr(d / K**0.5 + z.mean()).item() ** (K - 1),
            "minus": lambda d, K, z: ndtr(d / K**0.5 - z).pow(K - 1).mean().item(),
            "one": lambda d, K, z: ndtr(1 + z).pow(K - 1).mean().item(),
            "turned": lambda d, K, z: ndtr(K**0.5 / d + z).pow(K - 1).mean().item(),
            "no root": lambda d, K, z: ndtr(d / K + z).pow(K - 1).mean().item(),
            "two": lambda d, K, z: ndtr(d / (2 * K) ** 0.5 + z).pow(K - 1).mean().item(),
            "lost": lambda d, K, z: 1 - ndtr(d / K**0.5 + z).pow(K - 1).mean().item(),
            "times": lambda d, K, z: (ndtr(d / K**0.5 + z) * (K - 1)).mean().item(),
            "summed": lambda d, K, z: ndtr(d / K**0.5 + z).pow(K - 1).sum().item(),
            "density": lambda d, K, z: (-((d / K**0.5 + z) ** 2) / 2).exp().mean().item(),
        },
    },
    "05-e4": {
        "right": {
            "all at once": halve,
            "loop": loop_halve,
            "scan": scan,
            "list": lambda p: halve(p).tolist(),
            "numpy": lambda p: halve(p).numpy(),
            "float32": lambda p: halve(p).float(),
        },
        "wrong": {
            "frequencies": lambda p: p,
            "upper": lambda p: p[:-1],
            "lower": lambda p: p[1:],
            "middle": lambda p: (p[:-1] + p[1:]) / 2,
            "root mean square": lambda p: ((p[:-1] ** 2 + p[1:] ** 2) / 2).sqrt(),
            "geometric mean": lambda p: (p[:-1] * p[1:]).sqrt(),
            "squares": lambda p: halve(p, end=lambda s: s),
            "wrong sign": lambda p: halve(p, below=lambda f: f > 0),
            "wrong sign, squares": lambda p: halve(p, below=lambda f: f > 0, end=lambda s: s),
            "not squared": lambda p: halve(p, start=lambda p: p, end=lambda s: s),
            "one halving": lambda p: halve(p, halvings=1),
            "five halvings": lambda p: halve(p, halvings=5),
            "smallest first": lambda p: halve(p).flip(0),
            "svd": lambda p: torch.linalg.svdvals(torch.diag(p) - p / len(p))[:-1],
            "eigenvalues": lambda p: eigenvalues(p).flip(0)[:-1].sqrt(),
            "with the zero": lambda p: torch.linalg.svdvals(torch.diag(p) - p / len(p)),
            "diagonal": lambda p: (p * (1 - 1 / len(p)))[:-1],
            "number": lambda p: halve(p).sum(),
        },
    },
}
