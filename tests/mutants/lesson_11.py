"""Typical answers to the exercises of lesson 11: wrong ones to reject, right ones to accept."""

import math

import torch


def kind(name):
    return name.split(".")[-2]


def count_in_a_loop(shapes, kinds):
    total = 0
    for name, (rows, columns) in shapes.items():
        if kind(name) in kinds:
            total += rows * columns
    return total


def gain(base, row):
    return base - row


ANSWERS = {
    "11-e1": {
        "wrong": {
            "matrices": lambda shapes, kinds: sum(kind(name) in kinds for name in shapes),
            "rows plus columns": lambda shapes, kinds: sum(
                m + n for name, (m, n) in shapes.items() if kind(name) in kinds
            ),
            "one layer": lambda shapes, kinds: sum(
                m * n for name, (m, n) in shapes.items() if kind(name) in kinds and ".0." in name
            ),
            "letters inside": lambda shapes, kinds: sum(
                m * n for name, (m, n) in shapes.items() if any(k in name for k in kinds)
            ),
            "everything": lambda shapes, kinds: sum(m * n for m, n in shapes.values()),
            "rows": lambda shapes, kinds: sum(
                m for name, (m, n) in shapes.items() if kind(name) in kinds
            ),
        },
        "right": {
            "loop": count_in_a_loop,
            "prod": lambda shapes, kinds: sum(
                math.prod(s) for name, s in shapes.items() if kind(name) in kinds
            ),
            "ends with": lambda shapes, kinds: sum(
                m * n
                for name, (m, n) in shapes.items()
                if any(name.endswith(f".{k}.weight") for k in kinds)
            ),
        },
    },
    "11-e2": {
        "wrong": {
            "still missing": lambda row, adamw, muon: (row - muon) / (adamw - muon),
            "sign": lambda row, adamw, muon: (row - adamw) / (adamw - muon),
            "in nats": lambda row, adamw, muon: adamw - row,
            "of the loss": lambda row, adamw, muon: (adamw - row) / adamw,
            "mean gap": lambda row, adamw, muon: (adamw - row) / (adamw - muon).mean(),
            "upside down": lambda row, adamw, muon: (adamw - muon) / (adamw - row),
            "mean over seeds": lambda row, adamw, muon: (
                ((adamw - row) / (adamw - muon)).mean().expand(3)
            ),
            "one number": lambda row, adamw, muon: ((adamw - row) / (adamw - muon)).mean(),
        },
        "right": {
            "direct": lambda row, adamw, muon: (adamw - row) / (adamw - muon),
            "one minus": lambda row, adamw, muon: 1 - (row - muon) / (adamw - muon),
            "loop": lambda row, adamw, muon: torch.tensor(
                [(a - r) / (a - m) for r, a, m in zip(row, adamw, muon, strict=True)]
            ),
        },
    },
    "11-e3": {
        "wrong": {
            "sign": lambda base, a, b, both: gain(base, a) + gain(base, b) - gain(base, both),
            "losses": lambda base, a, b, both: both - a - b,
            "gain of both": lambda base, a, b, both: base - both,
            "one group": lambda base, a, b, both: a - both,
            "the other group": lambda base, a, b, both: b - both,
            "better of the two": lambda base, a, b, both: torch.minimum(a, b) - both,
            "mean of the two": lambda base, a, b, both: (a + b) / 2 - both,
        },
        "right": {
            "gains": lambda base, a, b, both: gain(base, both) - gain(base, a) - gain(base, b),
            "losses": lambda base, a, b, both: a + b - base - both,
        },
    },
}
