"""Typical answers to the exercises of lesson 11: wrong ones to reject, right ones to accept."""

import numpy
import torch


def gain(base, row):
    return base - row


def ratio(row, adamw, muon):
    return (adamw - row) / (adamw - muon)


def as_floats(*losses):
    return [loss.tolist() for loss in losses]


def beyond_in_floats(*losses):
    return [(b - ab) - (b - x) - (b - y) for b, x, y, ab in zip(*as_floats(*losses), strict=True)]


ANSWERS = {
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
            "of means": lambda row, adamw, muon: (adamw - row).mean() / (adamw - muon).mean(),
            "mean AdamW": lambda row, adamw, muon: (adamw.mean() - row) / (adamw - muon).mean(),
            "the gap": lambda row, adamw, muon: adamw - muon,
            "a cost": lambda row, adamw, muon: row - adamw,
            "of Muon's loss": lambda row, adamw, muon: (adamw - row) / muon,
            "the rest": lambda row, adamw, muon: (adamw - row) / (row - muon),
            "clamped": lambda *losses: ratio(*losses).clamp(0, 1),
            "not negative": lambda *losses: ratio(*losses).clamp(min=0),
            "at most 1": lambda *losses: ratio(*losses).clamp(max=1),
            "size": lambda *losses: ratio(*losses).abs(),
            "size of the gap": lambda row, adamw, muon: (adamw - row) / (adamw - muon).abs(),
            "per cent": lambda *losses: 100 * ratio(*losses),
            "in place": lambda row, adamw, muon: adamw.sub_(row) / (adamw - muon),
        },
        "generic": {
            "rounded": lambda *losses: ratio(*losses).round(decimals=1),
            "column": lambda *losses: ratio(*losses)[:, None],
            "exponential": lambda row, adamw, muon: (
                (adamw.exp() - row.exp()) / (adamw.exp() - muon.exp())
            ),
        },
        "right": {
            "direct": lambda row, adamw, muon: (adamw - row) / (adamw - muon),
            "one minus": lambda row, adamw, muon: 1 - (row - muon) / (adamw - muon),
            "loop": lambda row, adamw, muon: torch.tensor(
                [(a - r) / (a - m) for r, a, m in zip(row, adamw, muon, strict=True)]
            ),
            "both signs": lambda row, adamw, muon: (row - adamw).div(muon - adamw),
            "list of floats": lambda *losses: [
                ratio(*v) for v in zip(*as_floats(*losses), strict=True)
            ],
            "tuple of 0-d tensors": lambda *losses: tuple(map(ratio, *losses)),
            "NumPy": lambda *losses: ratio(*(loss.double().numpy() for loss in losses)),
            "half-way to a parameter": lambda *losses: torch.nn.Parameter(ratio(*losses)),
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
            "worse of the two": lambda base, a, b, both: torch.maximum(a, b) - both,
            "cost of both": lambda base, a, b, both: both - base,
            "sum of both": lambda base, a, b, both: gain(base, a) + gain(base, b),
            "all added": lambda base, a, b, both: 3 * base - both - a - b,
            "a bracket": lambda base, a, b, both: base - both - (base - a) + (base - b),
            "losses subtracted": lambda base, a, b, both: base - both - a - b,
            "ratio": lambda base, a, b, both: gain(base, both) / (2 * base - a - b),
            "product": lambda base, a, b, both: gain(base, both) - gain(base, a) * gain(base, b),
            "size": lambda base, a, b, both: (a + b - base - both).abs(),
            "only gains": lambda base, a, b, both: (
                gain(base, both).relu() - gain(base, a).relu() - gain(base, b).relu()
            ),
            "not negative": lambda base, a, b, both: (a + b - base - both).relu(),
            "mean over seeds": lambda base, a, b, both: (a + b - base - both).mean(),
            "mean for each seed": lambda base, a, b, both: (
                (a + b - base - both) * 0 + (a + b - base - both).mean()
            ),
        },
        "generic": {
            "base once more": lambda base, a, b, both: a + b - both,
            "median": lambda base, a, b, both: (a + b - base - both).median(),
        },
        "right": {
            "gains": lambda base, a, b, both: gain(base, both) - gain(base, a) - gain(base, b),
            "losses": lambda base, a, b, both: a + b - base - both,
            "list": beyond_in_floats,
            "array": lambda *losses: numpy.asarray(beyond_in_floats(*losses), dtype=numpy.float32),
            "stacked": lambda *losses: torch.stack(losses).T @ torch.tensor([-1.0, 1, 1, -1]),
        },
    },
}
