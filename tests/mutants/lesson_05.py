"""Typical answers to the exercises of lesson 05: wrong ones to reject, right ones to accept."""

import torch


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
    "05-e5": {
        "wrong": {
            "turned round": lambda keys, values, weights: keys.T @ values,
            "first fact": lambda keys, values, weights: torch.outer(values[0], keys[0]),
            "mean": lambda keys, values, weights: values.T @ keys / len(keys),
            "no weights": lambda keys, values, weights: values.T @ keys,
            "weights twice": lambda keys, values, weights: (weights**2 * values.T) @ keys,
        },
        "right": {
            "sum of outers": lambda keys, values, weights: sum(
                w * torch.outer(v, k) for k, v, w in zip(keys, values, weights, strict=True)
            ),
            "einsum": lambda keys, values, weights: torch.einsum(
                "k,ko,ks->os", weights, values, keys
            ),
        },
    },
    "05-e6": {
        "wrong": {
            "scores": lambda W, keys, values: values @ W @ keys.T,
            "rows of keys": lambda W, keys, values: (values @ W @ keys.T).argmax(1),
            "largest entry": lambda W, keys, values: (keys @ W.T).argmax(1),
            "nearest": lambda W, keys, values: torch.cdist(keys @ W.T, values).argmin(1),
            "one number": lambda W, keys, values: (values @ W @ keys.T).argmax(),
        },
        "right": {
            "columns": lambda W, keys, values: (values @ W @ keys.T).argmax(0),
            "rows": lambda W, keys, values: (keys @ W.T @ values.T).argmax(1),
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
