"""Typical answers to the exercises of lesson 03: wrong ones to reject, right ones to accept."""

import torch

from muonlab import route
from muonlab.optim.update import lr_scale


def values(before, after):
    return torch.linalg.svdvals(before - after)


ANSWERS = {
    "03-e1": {
        "wrong": {
            "compares with 1": lambda b, a: bool(((values(b, a) - 1).abs() < 0.5).all()),
            "too strict": lambda b, a: bool(0 < values(b, a)[0] <= 1.8 * values(b, a)[-1]),
            "a zero step": lambda b, a: bool(values(b, a)[0] <= 2 * values(b, a)[-1]),
            "always true": lambda b, a: True,
            "upside down": lambda b, a: bool(values(b, a)[0] > 2 * values(b, a)[-1]),
        },
        "generic": {
            "largest and median": lambda b, a: bool(values(b, a)[0] < 1.6 * values(b, a).median()),
        },
        "right": {
            "cond": lambda b, a: bool(not torch.equal(a, b) and torch.linalg.cond(b - a) <= 2),
            "half": lambda b, a: bool(values(b, a)[-1] / values(b, a)[0] >= 0.5),
        },
    },
    "03-e2": {
        "wrong": {
            "upside down": lambda lr, old, new, r, c: (
                lr * lr_scale(new, r, c) / lr_scale(old, r, c)
            ),
            "product": lambda lr, old, new, r, c: lr * lr_scale(new, r, c) * lr_scale(old, r, c),
            "old only": lambda lr, old, new, r, c: lr * lr_scale(old, r, c),
            "unchanged": lambda lr, old, new, r, c: lr,
        },
        "right": {
            "in two steps": lambda lr, old, new, r, c: (
                (lr * lr_scale(old, r, c)) / lr_scale(new, r, c)
            ),
            "ratio first": lambda lr, old, new, r, c: (
                (lr_scale(old, r, c) / lr_scale(new, r, c)) * lr
            ),
        },
    },
    "03-e3": {
        "wrong": {
            "everything": lambda model: route(model),
            "no gate": lambda model: route(model, muon=("VO", "*.w_in.weight", "*.w_out.weight")),
            "q and k only": lambda model: route(model, muon=("QK",)),
            "feed-forward only": lambda model: route(model, muon=("FFN",)),
            "values only": lambda model: route(model, muon=("VO",)),
            "head too": lambda model: route(model, muon=("VO", "FFN", "head.weight")),
            "groups instead of routing": lambda model: route(model, muon=("VO", "FFN")).groups(),
        },
        "right": {
            "other order": lambda model: route(model, muon=["FFN", "VO"]),
            "patterns": lambda model: route(
                model, muon=("*.v.weight", "*.o.weight", "*.w_*.weight")
            ),
        },
    },
}
