"""Typical answers to the exercises of lesson 10: wrong ones to reject, right ones to accept."""

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


ANSWERS = {
    "10-e1": {
        "wrong": {
            "last column": lambda z, last, a, g: by_group(
                hits(z, torch.full_like(last, z.shape[1] - 1), a), g
            ),
            "too early": lambda z, last, a, g: by_group(hits(z, (last - 1).clamp(min=0), a), g),
            "too late": lambda z, last, a, g: by_group(
                hits(z, (last + 1).clamp(max=z.shape[1] - 1), a), g
            ),
            "probability": probability,
            "of all": lambda z, last, a, g: sums(hits(z, last, a), g) / len(a),
            "counts": lambda z, last, a, g: sums(hits(z, last, a), g),
            "one mean": lambda z, last, a, g: hits(z, last, a).mean().expand(3),
            "a number": lambda z, last, a, g: hits(z, last, a).mean(),
        },
        "right": {
            "stacked": lambda z, last, a, g: by_group(hits(z, last, a), g),
            "loop": accuracy_in_a_loop,
            "gather": accuracy_with_gather,
        },
    },
    "10-e2": {
        "wrong": {
            "one question": lambda m: [people(g) * 2 ** (m - g) for g in range(m + 1)],
            "one person": lambda m: [6 * 2 ** (m - g) for g in range(m + 1)],
            "everyone once": lambda m: [6 * people(g) for g in range(m + 1)],
            "half a person": lambda m: [6 * 2.0 ** (g - 1) * 2 ** (m - g) for g in range(m + 1)],
            "reversed": lambda m: [6 * people(g) * 2**g for g in range(m + 1)],
            "no last group": lambda m: [6 * people(g) * 2 ** (m - g) for g in range(m)],
            "total": lambda m: sum(6 * people(g) * 2 ** (m - g) for g in range(m + 1)),
            "sums so far": lambda m: [6 * 2 ** (m - 1) * (g + 2) for g in range(m + 1)],
        },
        "right": {
            "direct": lambda m: [6 * people(g) * 2 ** (m - g) for g in range(m + 1)],
            "closed form": lambda m: [6 * 2**m] + [6 * 2 ** (m - 1)] * m,
            "tensor": lambda m: torch.tensor([6 * 2**m] + [6 * 2 ** (m - 1)] * m),
        },
    },
    "10-e3": {
        "wrong": {
            "mean of ratios": lambda a, x, m: ((x - a) / (m - a)).mean(0),
            "lost": lambda a, x, m: ((m - x).mean(0)) / (m - a).mean(0),
            "of the accuracy": lambda a, x, m: (x - a).mean(0) / m.mean(0),
            "not from AdamW": lambda a, x, m: x.mean(0) / (m - a).mean(0),
            "accuracies": lambda a, x, m: x.mean(0) / m.mean(0),
            "not divided": lambda a, x, m: (x - a).mean(0),
            "upside down": lambda a, x, m: (m - a).mean(0) / (x - a).mean(0),
            "seeds apart": lambda a, x, m: (x - a) / (m - a),
            "over groups": lambda a, x, m: (x - a).mean(1) / (m - a).mean(1),
        },
        "right": {
            "means of differences": lambda a, x, m: (x - a).mean(0) / (m - a).mean(0),
            "differences of means": lambda a, x, m: (
                (x.mean(0) - a.mean(0)) / (m.mean(0) - a.mean(0))
            ),
            "sums": lambda a, x, m: (x.sum(0) - a.sum(0)) / (m.sum(0) - a.sum(0)),
        },
    },
}
