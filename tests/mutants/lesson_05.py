"""Typical answers to the exercises of lesson 05: wrong ones to reject, right ones to accept."""

import torch
from torch.special import ndtr


def halved(p, root=True, up=False):
    low, high = p[1:] ** 2, p[:-1] ** 2
    for _ in range(50):
        middle = (low + high) / 2
        below = (1 / (p**2 - middle[:, None])).sum(dim=1) < 0
        if up:
            below = ~below
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return ((low + high) / 2).sqrt() if root else (low + high) / 2


def one_by_one(p):
    found = []
    for k in range(len(p) - 1):
        low, high = p[k + 1].item(), p[k].item()
        for _ in range(60):
            s = (low + high) / 2
            if sum(1 / (q**2 - s**2) for q in p.tolist()) < 0:
                low = s
            else:
                high = s
        found.append(low)
    return found


ANSWERS = {
    "05-e1": {
        "wrong": {
            "turned round": lambda keys, values: keys @ values.T,
            "first fact": lambda keys, values: torch.outer(values[:, 0], keys[:, 0]),
            "mean": lambda keys, values: values @ keys.T / keys.size(1),
            "columns compared": lambda keys, values: values.T @ keys,
            "twice": lambda keys, values: 2 * values @ keys.T,
        },
        "right": {
            "sum of outers": lambda keys, values: sum(
                torch.outer(v, k) for k, v in zip(keys.T, values.T, strict=True)
            ),
            "einsum": lambda keys, values: torch.einsum("ok,sk->os", values, keys),
        },
    },
    "05-e3": {
        "wrong": {
            "no noise": lambda d, K, z: ndtr(torch.tensor(d / K**0.5)).item() ** (K - 1),
            "one rival": lambda d, K, z: ndtr(d / K**0.5 + z).mean().item(),
            "K rivals": lambda d, K, z: ndtr(d / K**0.5 + z).pow(K).mean().item(),
            "mean first": lambda d, K, z: ndtr(d / K**0.5 + z).mean().item() ** (K - 1),
            "signal 1": lambda d, K, z: ndtr(1 + z).pow(K - 1).mean().item(),
        },
        "right": {
            "power": lambda d, K, z: (ndtr(d / K**0.5 + z) ** (K - 1)).mean(),
            "logarithms": lambda d, K, z: torch.exp(
                (K - 1) * torch.special.log_ndtr(d / K**0.5 + z)
            ).mean(),
        },
    },
    "05-e4": {
        "wrong": {
            "squares": lambda p: halved(p, root=False),
            "the wrong half": lambda p: halved(p, up=True),
            "frequencies": lambda p: p[:-1],
            "middles": lambda p: (p[1:] + p[:-1]) / 2,
            "svd": lambda p: torch.linalg.svdvals(torch.diag(p) - p / len(p))[:-1],
            "with the 0": lambda p: torch.linalg.svdvals(torch.diag(p) - p / len(p)),
        },
        "right": {"all at once": halved, "one by one": one_by_one},
    },
}
