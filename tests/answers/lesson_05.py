"""Answers to the exercises of lesson 05, as students write them: right ones and wrong ones."""

import torch

from muonlab.theory import recall, store


def loop(keys, values, weights):
    W = torch.zeros(values.shape[1], keys.shape[1])
    for k, v, w in zip(keys, values, weights, strict=True):
        W += w * torch.outer(v, k)
    return W


def overwrites(keys, values, weights):
    for k, v, w in zip(keys, values, weights, strict=True):
        W = w * torch.outer(v, k)
    return W


def one_too_few(keys, values, weights):
    return loop(keys[:-1], values[:-1], weights[:-1])


def columns_for_rows(keys, values, weights):
    return sum(weights[i] * torch.outer(values[:, i], keys[:, i]) for i in range(keys.shape[1]))


def lists(keys, values, weights):
    W = [[0.0] * keys.shape[1] for _ in range(values.shape[1])]
    for o in range(values.shape[1]):
        for s in range(keys.shape[1]):
            for i in range(len(keys)):
                W[o][s] += (weights[i] * values[i, o] * keys[i, s]).item()
    return W


def asked_one_by_one(W, keys, values):
    answers = []
    for key in keys:
        scores = [(value @ W @ key).item() for value in values]
        answers.append(scores.index(max(scores)))
    return answers


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


ANSWERS = {
    "05-e5": {
        "right": {
            "loop": loop,
            "lists": lists,
            "matmul": lambda keys, values, weights: (weights * values.T) @ keys,
            "diagonal": lambda keys, values, weights: values.T @ torch.diag(weights) @ keys,
            "numpy": lambda keys, values, weights: (values.T * weights).numpy() @ keys.numpy(),
            "einsum": lambda keys, values, weights: torch.einsum(
                "k,ko,ks->os", weights, values, keys
            ),
            "float64": lambda keys, values, weights: (weights * values.T).double() @ keys.double(),
            "on the keys": lambda keys, values, weights: values.T @ (weights[:, None] * keys),
        },
        "wrong": {
            "package": lambda keys, values, weights: store(keys.T, weights * values.T),
            "overwrites": overwrites,
            "one too few": one_too_few,
            "columns": columns_for_rows,
            "no weights": lambda keys, values, weights: values.T @ keys,
            "turned": lambda keys, values, weights: keys.T @ (weights[:, None] * values),
            "compares": lambda keys, values, weights: keys @ values.T,
            "entries": lambda keys, values, weights: values * keys,
            "mean": lambda keys, values, weights: loop(keys, values, weights) / len(keys),
            "weighted mean": lambda keys, values, weights: (
                loop(keys, values, weights) / weights.sum()
            ),
            "first": lambda keys, values, weights: weights[0] * torch.outer(values[0], keys[0]),
            "not summed": lambda keys, values, weights: torch.einsum(
                "k,ko,ks->kos", weights, values, keys
            ),
            "number": lambda keys, values, weights: loop(keys, values, weights).sum(),
            "weights twice": lambda keys, values, weights: loop(
                weights[:, None] * keys, values, weights
            ),
            "sum first": lambda keys, values, weights: torch.outer(
                (weights @ values), (weights @ keys)
            ),
            "keys twice": lambda keys, values, weights: keys.T @ keys,
        },
    },
    "05-e6": {
        "right": {
            "one by one": asked_one_by_one,
            "rows": lambda W, keys, values: (keys @ W.T @ values.T).argmax(1),
            "columns": lambda W, keys, values: (values @ W @ keys.T).argmax(0),
            "sorted": lambda W, keys, values: (values @ W @ keys.T).sort(dim=0).indices[-1],
            "max": lambda W, keys, values: torch.max(values @ W @ keys.T, dim=0).indices,
            "numpy": lambda W, keys, values: (values @ W @ keys.T).numpy().argmax(0),
            "softmax": lambda W, keys, values: (values @ W @ keys.T).softmax(0).argmax(0),
        },
        "wrong": {
            "package": lambda W, keys, values: recall(W, keys.T, values.T),
            "scores": lambda W, keys, values: values @ W @ keys.T,
            "rows of keys": lambda W, keys, values: (values @ W @ keys.T).argmax(1),
            "lowest": lambda W, keys, values: (values @ W @ keys.T).argmin(0),
            "largest score": lambda W, keys, values: (values @ W @ keys.T).amax(0),
            "size": lambda W, keys, values: (values @ W @ keys.T).abs().argmax(0),
            "nearest": lambda W, keys, values: torch.cdist(keys @ W.T, values).argmin(1),
            "cosine": lambda W, keys, values: (
                (values / values.norm(dim=1, keepdim=True)) @ W @ keys.T
            ).argmax(0),
            "one number": lambda W, keys, values: (values @ W @ keys.T).argmax(),
            "from 1": lambda W, keys, values: (values @ W @ keys.T).argmax(0) + 1,
            "in order": lambda W, keys, values: torch.arange(len(keys)),
            "entry": lambda W, keys, values: (keys @ W.T).argmax(1),
            "vector": lambda W, keys, values: keys @ W.T,
            "transposed": lambda W, keys, values: (values @ W.T @ keys.T).argmax(0),
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
