"""Typical answers to the exercises of lesson 10: wrong ones to reject, right ones to accept."""

from itertools import pairwise

import numpy as np
import torch


def hits(logits, at, answers):
    return (logits[torch.arange(len(at)), at].argmax(-1) == answers).double()


def by_group(values, groups):
    return torch.stack([values[groups == g].mean() for g in groups.unique()])


def sums(values, groups):
    return torch.stack([values[groups == g].sum() for g in groups.unique()])


def accuracy_in_a_loop(logits, last, answers, groups):
    right, count = [0] * (int(groups.max()) + 1), [0] * (int(groups.max()) + 1)
    for i in range(len(answers)):
        count[groups[i]] += 1
        right[groups[i]] += int(logits[i, last[i]].argmax() == answers[i])
    return torch.tensor([r / n for r, n in zip(right, count, strict=True)])


def accuracy_with_gather(logits, last, answers, groups):
    at = last[:, None, None].expand(-1, 1, logits.shape[-1])
    right = (logits.gather(1, at)[:, 0].argmax(-1) == answers).float()
    member = torch.nn.functional.one_hot(groups).float()  # (N, groups)
    return right @ member / member.sum(0)


def probability(logits, last, answers, groups):
    rows = torch.arange(len(last))
    return by_group(logits[rows, last].softmax(-1)[rows, answers], groups)


def accuracy_in_numpy(logits, last, answers, groups):
    z, at, right, g = (v.numpy() for v in (logits, last, answers, groups))
    hit = z[np.arange(len(at)), at].argmax(-1) == right
    return np.bincount(g, weights=hit) / np.bincount(g)


def accuracy_in_a_dict(logits, last, answers, groups):
    found = {}
    for z, at, answer, g in zip(logits, last, answers, groups, strict=True):
        found.setdefault(g.item(), []).append(bool(z[at].argmax() == answer))
    return [sum(found[g]) / len(found[g]) for g in sorted(found)]


def accuracy(logits, last, answers, groups):
    return by_group(hits(logits, last, answers), groups)


def moved(logits, last, answers, groups, by):
    rows, at = torch.arange(len(last)), last + by
    return by_group((logits[rows, at].argmax(-1) == answers).double(), groups)


def in_order_of_appearance(logits, last, answers, groups):
    found = {}
    for hit, g in zip(hits(logits, last, answers).tolist(), groups.tolist(), strict=True):
        found.setdefault(g, []).append(hit)
    return [sum(values) / len(values) for values in found.values()]


def place(z, last):
    return z[torch.arange(len(last)), last]


def half(seen, accuracy, by=torch.log2):
    places = by(seen)
    i = int((accuracy >= 0.5).sum()) - 1
    part = (accuracy[i] - 0.5) / (accuracy[i] - accuracy[i + 1])
    return places[i] + part * (places[i + 1] - places[i])


def turned(seen, accuracy):
    places, i = torch.log2(seen), int((accuracy >= 0.5).sum()) - 1
    part = (0.5 - accuracy[i + 1]) / (accuracy[i] - accuracy[i + 1])
    return places[i] + part * (places[i + 1] - places[i])


def exchange(seen, a, b):
    return 2 ** (half(seen, a) - half(seen, b))


def np_half(seen, accuracy):
    return np.interp(-0.5, -accuracy.numpy(), np.log2(seen.numpy()))


def exchange_by_search(seen, a, b):
    found = []
    for accuracy in (a, b):
        for (n, p), (m, q) in pairwise(zip(seen.tolist(), accuracy.tolist(), strict=True)):
            if p >= 0.5 > q:
                found.append(n * (m / n) ** ((p - 0.5) / (p - q)))
    return found[0] / found[1]


ANSWERS = {
    "10-e1": {
        "right": {
            "stacked": accuracy,
            "loop": accuracy_in_a_loop,
            "gather": accuracy_with_gather,
            "numpy": accuracy_in_numpy,
            "dict": accuracy_in_a_dict,
            "scatter": lambda z, last, a, g: torch.zeros(g.max() + 1).scatter_reduce(
                0, g, hits(z, last, a).float(), "mean", include_self=False
            ),
            "list of tensors": lambda z, last, a, g: list(accuracy(z, last, a, g)),
        },
        "wrong": {
            "not paired": lambda z, last, a, g: torch.stack(
                [(z[:, last].argmax(-1) == a).float()[g == k].mean() for k in g.unique()]
            ),
            "argmax of all": lambda z, last, a, g: by_group(
                (place(z, last).argmax() == a).double(), g
            ),
            "for each question": lambda z, last, a, g: torch.stack(
                [hits(z, last, a)[g == k].mean() for k in g]
            ),
            "consecutive": lambda z, last, a, g: torch.stack(
                [hits(z, last, a)[g == k].mean() for k in g.unique_consecutive()]
            ),
            "last column": lambda z, last, a, g: by_group(
                hits(z, torch.full_like(last, z.shape[1] - 1), a), g
            ),
            "first column": lambda z, last, a, g: by_group((z[:, 0].argmax(1) == a).float(), g),
            "too early": lambda z, last, a, g: by_group(hits(z, (last - 1).clamp(min=0), a), g),
            "too late": lambda z, last, a, g: by_group(
                hits(z, (last + 1).clamp(max=z.shape[1] - 1), a), g
            ),
            "beyond the end": lambda z, last, a, g: moved(z, last, a, g, 1),
            "mean logits": lambda z, last, a, g: by_group(
                (z.mean(dim=1).argmax(-1) == a).double(), g
            ),
            "anywhere": lambda z, last, a, g: by_group(
                (z.argmax(-1) == a[:, None]).any(1).double(), g
            ),
            "everywhere": lambda z, last, a, g: by_group(
                (z.argmax(2) == a.unsqueeze(1)).double().mean(1), g
            ),
            "least likely": lambda z, last, a, g: by_group(hits(-z, last, a), g),
            "two likeliest": lambda z, last, a, g: by_group(
                (place(z, last).topk(2).indices == a[:, None]).any(1).double(), g
            ),
            "probability": probability,
            "above one half": lambda z, last, a, g: by_group(
                (place(z, last).softmax(-1)[torch.arange(len(a)), a] > 0.5).double(), g
            ),
            "logit": lambda z, last, a, g: by_group(place(z, last)[torch.arange(len(a)), a], g),
            "confidence": lambda z, last, a, g: by_group(
                place(z, last).softmax(-1).max(-1).values, g
            ),
            "of all": lambda z, last, a, g: sums(hits(z, last, a), g) / len(a),
            "counts": lambda z, last, a, g: sums(hits(z, last, a), g),
            "of the right ones": lambda z, last, a, g: (
                sums(hits(z, last, a), g) / hits(z, last, a).sum()
            ),
            "one mean": lambda z, last, a, g: hits(z, last, a).mean().expand(g.max() + 1),
            "a number": lambda z, last, a, g: hits(z, last, a).mean(),
            "mean of groups": lambda z, last, a, g: accuracy(z, last, a, g).mean().item(),
            "each question": lambda z, last, a, g: hits(z, last, a),
            "errors": lambda z, last, a, g: by_group((hits(z, last, a) == 0).double(), g),
            "percent": lambda z, last, a, g: 100 * accuracy(z, last, a, g),
            "as they come": in_order_of_appearance,
            "reversed": lambda z, last, a, g: accuracy(z, last, a, g).flip(0),
            "no last group": lambda z, last, a, g: torch.stack(
                [hits(z, last, a)[g == k].mean() for k in range(g.max())]
            ),
            "no group 0": lambda z, last, a, g: [
                hits(z, last, a)[g == k].mean().item() for k in range(1, g.max() + 1)
            ],
        },
        "generic": {
            "wrong dimension": lambda z, last, a, g: by_group(
                (place(z, last).argmax(0)[a] == a).double(), g
            ),
            "always three": lambda z, last, a, g: torch.tensor([0.5, 0.5, 0.5]),
        },
    },
    "10-e4": {
        "right": {
            "a line": exchange,
            "searched": exchange_by_search,
            "numpy": lambda seen, a, b: 2.0 ** (np_half(seen, a) - np_half(seen, b)),
            "a ratio of counts": lambda seen, a, b: 2 ** half(seen, a) / 2 ** half(seen, b),
        },
        "wrong": {
            "upside down": lambda seen, a, b: 1 / exchange(seen, a, b),
            "doublings": lambda seen, a, b: half(seen, a) - half(seen, b),
            "e": lambda seen, a, b: torch.exp(half(seen, a) - half(seen, b)),
            "difference of counts": lambda seen, a, b: 2 ** half(seen, a) - 2 ** half(seen, b),
            "the other way": lambda seen, a, b: 2 ** (turned(seen, a) - turned(seen, b)),
            "line in the count": lambda seen, a, b: (
                half(seen, a, by=torch.clone) / half(seen, b, by=torch.clone)
            ),
            "group above": lambda seen, a, b: seen[a >= 0.5][-1] / seen[b >= 0.5][-1],
            "group below": lambda seen, a, b: seen[a < 0.5][0] / seen[b < 0.5][0],
            "a alone": lambda seen, a, b: 2 ** half(seen, a),
            "b alone": lambda seen, a, b: 2 ** half(seen, b),
            "logarithms": lambda seen, a, b: half(seen, a) / half(seen, b),
            "vertical": lambda seen, a, b: (b - a).mean(),
            "accuracies": lambda seen, a, b: b.sum() / a.sum(),
        },
        "generic": {
            "twice": lambda seen, a, b: 2.0,
            "at three quarters": lambda seen, a, b: exchange(seen, a - 0.25, b - 0.25),
        },
    },
}
