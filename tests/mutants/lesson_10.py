"""Typical answers to the exercises of lesson 10: wrong ones to reject, right ones to accept."""

import numpy as np
import torch


def people(g):
    return 2 ** (g - 1) if g else 1


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


def law(m):
    return [6 * people(g) * 2 ** (m - g) for g in range(m + 1)]


def counted(m):
    text = {g: 0 for g in range(m + 1)}
    for person in range(2**m):
        g = person.bit_length()
        for _ in range(2 ** (m - g)):
            text[g] += 6
    return list(text.values())


def seed_by_seed(a, x, m):
    kept = lead = 0
    for adamw, mixture, muon in zip(a, x, m, strict=True):
        kept, lead = kept + mixture - adamw, lead + muon - adamw
    return kept / lead


def share(a, x, m):
    return (x - a).mean(0) / (m - a).mean(0)


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
    "10-e2": {
        "right": {
            "direct": law,
            "closed form": lambda m: [6 * 2**m] + [6 * 2 ** (m - 1)] * m,
            "tensor": lambda m: torch.tensor([6 * 2**m] + [6 * 2 ** (m - 1)] * m),
            "one by one": counted,
            "numpy": lambda m: 6 * 2 ** (m - np.maximum(np.sign(np.arange(m + 1)), 0)),
            "tuple of floats": lambda m: tuple(
                6 * people(g) * 2.0 ** (m - g) for g in range(m + 1)
            ),
            "shifts": lambda m: [(6 * people(g)) << (m - g) for g in range(m + 1)],
        },
        "wrong": {
            "group 0 alone": lambda m: 6 * 2**m,
            "power reversed": lambda m: [6 * people(g) / 2 ** (m - g) for g in range(m + 1)],
            "squared": lambda m: [6 * people(g) * (m - g) ** 2 for g in range(m + 1)],
            "first only": lambda m: [6 * 2**m],
            "both too large": lambda m: [6 * 2**g * 2 ** (m - g + 1) for g in range(m + 1)],
            "one question": lambda m: [people(g) * 2 ** (m - g) for g in range(m + 1)],
            "one person": lambda m: [6 * 2 ** (m - g) for g in range(m + 1)],
            "selections": lambda m: [2 ** (m - g) for g in range(m + 1)],
            "people": lambda m: [people(g) for g in range(m + 1)],
            "everyone once": lambda m: [6 * people(g) for g in range(m + 1)],
            "half a person": lambda m: [6 * 2.0 ** (g - 1) * 2 ** (m - g) for g in range(m + 1)],
            "nobody": lambda m: [6 * int(2 ** (g - 1)) * 2 ** (m - g) for g in range(m + 1)],
            "twice as many": lambda m: [6 * 2**g * 2 ** (m - g) for g in range(m + 1)],
            "reversed": lambda m: [6 * people(g) * 2**g for g in range(m + 1)],
            "linear": lambda m: [6 * people(g) * (m - g) for g in range(m + 1)],
            "times 2": lambda m: [6 * people(g) * 2 * (m - g) for g in range(m + 1)],
            "power too small": lambda m: [
                6 * people(g) * int(max(2 ** (m - g - 1), 1)) for g in range(m + 1)
            ],
            "power too large": lambda m: [6 * people(g) * 2 ** (m - g + 1) for g in range(m + 1)],
            "sum": lambda m: [6 * (people(g) + 2 ** (m - g)) for g in range(m + 1)],
            "six more": lambda m: [6 + people(g) * 2 ** (m - g) for g in range(m + 1)],
            "sums so far": lambda m: [6 * 2 ** (m - 1) * (g + 2) for g in range(m + 1)],
            "list reversed": lambda m: law(m)[::-1],
            "no last group": lambda m: [6 * people(g) * 2 ** (m - g) for g in range(m)],
            "no group 0": lambda m: [6 * people(g) * 2 ** (m - g) for g in range(1, m + 1)],
            "one group more": lambda m: (
                [6 * people(g) * 2 ** max(m - g, -1) for g in range(m + 1)] + [6 * 2 ** (m - 1)]
            ),
            "total": lambda m: sum(6 * people(g) * 2 ** (m - g) for g in range(m + 1)),
            "shares": lambda m: [n / sum(law(m)) for n in law(m)],
            "16 bits": lambda m: np.array(law(m)).astype(np.int16),
            "a dict": lambda m: dict(enumerate(law(m))),
        },
        "generic": {
            "a list for 2": lambda m: [24, 12, 12],
            "strange": lambda m: [6 * (g + 1) ** 2 for g in range(m + 1)],
        },
    },
    "10-e3": {
        "right": {
            "means of differences": share,
            "differences of means": lambda a, x, m: (
                (x.mean(0) - a.mean(0)) / (m.mean(0) - a.mean(0))
            ),
            "sums": lambda a, x, m: (x.sum(0) - a.sum(0)) / (m.sum(0) - a.sum(0)),
            "seed by seed": seed_by_seed,
            "numpy": lambda a, x, m: (
                np.mean(x.numpy() - a.numpy(), axis=0) / np.mean(m.numpy() - a.numpy(), axis=0)
            ),
            "list": lambda a, x, m: [
                ((x[:, g] - a[:, g]).mean() / (m[:, g] - a[:, g]).mean()).item()
                for g in range(a.shape[1])
            ],
            "turned twice": lambda a, x, m: (a - x).mean(dim=-2) / (a - m).mean(dim=-2),
            "1 minus what is lost": lambda a, x, m: 1 - (m - x).mean(0) / (m - a).mean(0),
        },
        "wrong": {
            "absolute lead": lambda a, x, m: (x - a).mean(0) / (m - a).mean(0).abs(),
            "lower medians": lambda a, x, m: (x - a).median(0)[0] / (m - a).median(0)[0],
            "growth": lambda a, x, m: (x / a).mean(0) / (m / a).mean(0),
            "no brackets": lambda a, x, m: x.mean(0) - a.mean(0) / m.mean(0) - a.mean(0),
            "mean of ratios": lambda a, x, m: ((x - a) / (m - a)).mean(0),
            "median of ratios": lambda a, x, m: np.median((x - a) / (m - a), axis=0),
            "medians": lambda a, x, m: np.median(x - a, axis=0) / np.median(m - a, axis=0),
            "seeds apart": lambda a, x, m: (x - a) / (m - a),
            "over groups": lambda a, x, m: (x - a).mean(1) / (m - a).mean(1),
            "all groups": lambda a, x, m: (x - a).sum() / (m - a).sum(),
            "mean of groups": lambda a, x, m: share(a, x, m).mean(),
            "keepdim": lambda a, x, m: (
                (x - a).mean(0, keepdim=True) / (m - a).mean(0, keepdim=True)
            ),
            "lost": lambda a, x, m: ((m - x).mean(0)) / (m - a).mean(0),
            "of the accuracy": lambda a, x, m: (x - a).mean(0) / m.mean(0),
            "of AdamW's accuracy": lambda a, x, m: x.mean(0) / a.mean(0) - 1,
            "of its accuracy": lambda a, x, m: 1 - a.mean(0) / x.mean(0),
            "not from AdamW": lambda a, x, m: x.mean(0) / (m - a).mean(0),
            "accuracies": lambda a, x, m: x.mean(0) / m.mean(0),
            "not divided": lambda a, x, m: (x - a).mean(0),
            "Muon's lead": lambda a, x, m: m.mean(0) - a.mean(0),
            "difference": lambda a, x, m: x.mean(0) - m.mean(0),
            "upside down": lambda a, x, m: (m - a).mean(0) / (x - a).mean(0),
            "sign": lambda a, x, m: (a - x).mean(0) / (m - a).mean(0),
            "absolute": lambda a, x, m: share(a, x, m).abs(),
            "cut": lambda a, x, m: share(a, x, m).clip(0, 1),
            "cut below": lambda a, x, m: share(a, x, m).relu(),
            "cut above": lambda a, x, m: share(a, x, m).clip(max=1.0),
            "a sum above": lambda a, x, m: (x - a).sum(0) / (m - a).mean(0),
            "a sum below": lambda a, x, m: (x - a).mean(0) / (m - a).sum(0),
            "of what it lacks": lambda a, x, m: (x - a).mean(0) / (m - x).mean(0),
            "normalized": lambda a, x, m: share(a, x, m) / share(a, x, m).sum(),
            "lead of all": lambda a, x, m: (x - a).mean(0) / (m - a).mean(0).sum(),
            "first seed": lambda a, x, m: (x[0] - a[0]) / (m[0] - a[0]),
            "last seed": lambda a, x, m: (x[-1] - a[-1]) / (m[-1] - a[-1]),
            "best seeds": lambda a, x, m: (
                (x.max(0).values - a.max(0).values) / (m.max(0).values - a.max(0).values)
            ),
            "percent": lambda a, x, m: 100 * share(a, x, m),
            "in place": lambda a, x, m: x.sub_(a).mean(0) / (m - a).mean(0),
        },
        "generic": {
            "worst seeds": lambda a, x, m: (x.amin(0) - a.amin(0)) / (m.amin(0) - a.amin(0)),
            "spreads": lambda a, x, m: (x - a).std(0) / (m - a).std(0),
        },
    },
}
