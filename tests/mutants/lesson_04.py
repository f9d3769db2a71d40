"""Typical answers to the exercises of lesson 04: wrong ones to reject, right ones to accept."""

import torch


def with_half_width(half):
    def interval(a, b):
        mean = (a - b).mean()
        return mean - half(a, b), mean + half(a, b)

    return interval


def pairs(read, came, a, f, k):
    after = came[read == a]
    return (torch.bincount(after, minlength=len(f)) + k * f) / (len(after) + k)


def pairs_by_loop(read, came, a, f, k):
    found = k * f.clone()
    for i in range(len(read)):
        if read[i] == a:
            found[came[i]] += 1
    return found / found.sum()


ANSWERS = {
    "04-e1": {
        "wrong": {
            "turned": lambda r, c, a, f, k: pairs(c, r, a, f, k),
            "share": lambda r, c, a, f, k: f,
            "loss": lambda r, c, a, f, k: -pairs(r, c, a, f, k).log(),
            "not shared": lambda r, c, a, f, k: pairs(r, c, a, torch.ones_like(f), k),
            "no k": lambda r, c, a, f, k: pairs(r, c, a, f, 0),
        },
        "right": {"loop": pairs_by_loop, "plain": pairs},
    },
    "04-e2": {
        "wrong": {
            "no root": with_half_width(lambda a, b: 2.262 * (a - b).std()),
            "normal": with_half_width(lambda a, b: 1.96 * (a - b).std() / 10**0.5),
            "unpaired": with_half_width(lambda a, b: 2.262 * ((a.var() + b.var()) / 10).sqrt()),
            "population": with_half_width(lambda a, b: 2.262 * (a - b).std(correction=0) / 10**0.5),
            "reversed": lambda a, b: with_half_width(lambda x, y: 2.262 * (x - y).std() / 10**0.5)(
                b, a
            ),
        },
        "right": {
            "formula": with_half_width(lambda a, b: 2.262 * (a - b).std() / len(a) ** 0.5),
            "by hand": with_half_width(
                lambda a, b: 2.262 * (((a - b) - (a - b).mean()).square().sum() / 9 / 10).sqrt()
            ),
        },
    },
}
