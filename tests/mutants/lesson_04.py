"""Typical answers to the exercises of lesson 04: wrong ones to reject, right ones to accept."""

import torch


def with_half_width(half):
    def interval(a, b):
        mean = (a - b).mean()
        return mean - half(a, b), mean + half(a, b)

    return interval


def loop_means(losses, tokens, classes):
    sums, counts = [0.0] * 3, [0] * 3
    for loss, token in zip(losses.tolist(), tokens.tolist(), strict=True):
        sums[classes[token]] += loss
        counts[classes[token]] += 1
    return [s / n for s, n in zip(sums, counts, strict=True)]


def class_means(losses, tokens, classes):
    return [losses[classes[tokens] == c].mean().item() for c in range(3)]


def first_by_loop(steps, losses, goal):
    for step, loss in zip(steps, losses, strict=True):
        if loss <= goal:
            return step
    return None


ANSWERS = {
    "04-e3": {
        "wrong": {
            "sums": lambda losses, t, c: [losses[c[t] == k].sum() for k in range(3)],
            "over all": lambda losses, t, c: [losses[c[t] == k].sum() / len(t) for k in range(3)],
            "reversed": lambda losses, t, c: class_means(losses, t, c)[::-1],
            "medians": lambda losses, t, c: [losses[c[t] == k].median() for k in range(3)],
            "overall": lambda losses, t, c: [losses.mean()] * 3,
        },
        "right": {
            "loop": loop_means,
            "bincount": lambda losses, t, c: (
                torch.bincount(c[t].long(), losses, 3) / torch.bincount(c[t].long(), minlength=3)
            ),
        },
    },
    "04-e1": {
        "wrong": {
            "nearest": lambda s, v, goal: min(zip(s, v, strict=True), key=lambda p: abs(p[1] - 6))[
                0
            ],
            "last": lambda s, v, goal: max(
                [a for a, b in zip(s, v, strict=True) if b <= goal], default=None
            ),
            "index": lambda s, v, goal: next((i for i, b in enumerate(v) if b <= goal), None),
            "strict": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b < goal), None
            ),
            "no default": lambda s, v, goal: next(
                a for a, b in zip(s, v, strict=True) if b <= goal
            ),
        },
        "right": {
            "loop": first_by_loop,
            "min": lambda s, v, goal: min(
                [a for a, b in zip(s, v, strict=True) if b <= goal], default=None
            ),
        },
    },
    "04-e2": {
        "wrong": {
            "no root": with_half_width(lambda a, b: 2.776 * (a - b).std()),
            "normal": with_half_width(lambda a, b: 1.96 * (a - b).std() / 5**0.5),
            "unpaired": with_half_width(lambda a, b: 2.776 * ((a.var() + b.var()) / 5).sqrt()),
            "population": with_half_width(lambda a, b: 2.776 * (a - b).std(correction=0) / 5**0.5),
            "reversed": lambda a, b: with_half_width(lambda x, y: 2.776 * (x - y).std() / 5**0.5)(
                b, a
            ),
        },
        "right": {
            "formula": with_half_width(lambda a, b: 2.776 * (a - b).std() / len(a) ** 0.5),
            "by hand": with_half_width(
                lambda a, b: 2.776 * (((a - b) - (a - b).mean()).square().sum() / 4 / 5).sqrt()
            ),
        },
    },
}
