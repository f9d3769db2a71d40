"""Answers to the exercises of lesson 03, as students write them: right ones and wrong ones."""

import numpy as np
import torch
from torch.linalg import svdvals

from muonlab import Muon, lr_scale, route


def with_if(before, after):
    values = svdvals(after - before)
    if values[0] == 0:
        return False
    if values[0] > 2 * values[-1]:
        return False
    return True


def no_else(before, after):
    values = svdvals(before - after)
    if 0 < values[0] <= 2 * values[-1]:
        return True


def swallows_zero(before, after):
    values = svdvals(before - after).tolist()
    try:
        return values[0] / values[-1] <= 2
    except ZeroDivisionError:
        return False


def ratio_without_guard(before, after):
    values = svdvals(before - after).tolist()
    return values[0] / values[-1] <= 2


def all_pairs(before, after):
    s = svdvals(before - after)
    return bool(s.min() > 0) and all(x <= 2 * y for x in s for y in s)


def orthogonal(before, after):
    D = before - after
    return torch.allclose(D @ D.T, torch.eye(len(D)), atol=0.1)


def by_names(model):
    chosen = [f"*.{kind}.weight" for kind in ("v", "o", "w_*")]
    return route(model, muon=chosen)


def layer_by_layer(model):
    names = []
    for name, parameter in model.named_parameters():
        if any(f".{kind}." in name for kind in ("v", "o", "w_in", "w_out", "w_gate")):
            names.append(name)
    return route(model, muon=names)


def freezes(model):
    for name, weights in model.named_parameters():
        weights.requires_grad_(name.split(".")[-2] not in ("q", "k"))
    return route(model)


ANSWERS = {
    "03-e1": {
        "right": {
            "if": with_if,
            "swallows": swallows_zero,
            "pairs": all_pairs,
            "numpy": lambda b, a: (
                np.linalg.cond((b - a).double().numpy()) <= 2 + 1e-6 and (b != a).any()
            ),
            "tensor": lambda b, a: (
                (svdvals(b - a)[0] > 0) & (svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1])
            ),
            "ratio": lambda b, a: bool(svdvals(b - a)[-1] / svdvals(b - a)[0] >= 0.5),
            "less than twice": lambda b, a: bool(svdvals(b - a)[0] < 2 * svdvals(b - a)[-1]),
            "as 1 or 0": lambda b, a: int(0 < svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1]),
            "divided by a learning rate": lambda b, a: bool(
                0 < svdvals((b - a) / 0.02)[0] <= 2 * svdvals((b - a) / 0.02)[-1]
            ),
        },
        "wrong": {
            "no zero": lambda b, a: bool(svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1]),
            "no else": no_else,
            "no guard": ratio_without_guard,
            "orthogonal": orthogonal,
            "close to 1": lambda b, a: bool(
                (svdvals(b - a) > 0.7).all() and (svdvals(b - a) < 1.3).all()
            ),
            "always": lambda b, a: True,
            "never": lambda b, a: False,
            "after": lambda b, a: bool(0 < svdvals(a)[0] <= 2 * svdvals(a)[-1]),
            "before": lambda b, a: bool(0 < svdvals(b)[0] <= 2 * svdvals(b)[-1]),
            "squares": lambda b, a: bool(0 < svdvals(b - a)[0] ** 2 <= 2 * svdvals(b - a)[-1] ** 2),
            "second": lambda b, a: bool(0 < svdvals(b - a)[0] <= 2 * svdvals(b - a)[1]),
            "quotient as the answer": lambda b, a: svdvals(b - a)[0] / svdvals(b - a)[-1],
            "yes": lambda b, a: "yes" if 0 < svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1] else "no",
            "float": lambda b, a: float(0 < svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1]),
            "ratio of matrices": lambda b, a: bool(svdvals(b)[0] <= 2 * svdvals(a)[0]),
            "norms": lambda b, a: bool(0 < (b - a).norm() <= 2),
            "three times": lambda b, a: bool(0 < svdvals(b - a)[0] <= 3 * svdvals(b - a)[-1]),
            "learning rate": lambda b, a: bool(svdvals(b - a)[0] - svdvals(b - a)[-1] < 0.01),
            "upside down": lambda b, a: bool(svdvals(b - a)[-1] >= 2 * svdvals(b - a)[0]),
            "not equal": lambda b, a: not torch.equal(b, a),
        },
    },
    "03-e2": {
        "right": {
            "quotient": lambda lr, old, new, r, c: lr / lr_scale(new, r, c) * lr_scale(old, r, c),
            "tensor": lambda lr, old, new, r, c: torch.tensor(
                lr * lr_scale(old, r, c) / lr_scale(new, r, c), dtype=torch.float64
            ),
            "single tensor": lambda lr, old, new, r, c: torch.tensor(
                lr * lr_scale(old, r, c) / lr_scale(new, r, c)
            ),
            "numpy": lambda lr, old, new, r, c: (
                np.float64(lr) * lr_scale(old, r, c) / lr_scale(new, r, c)
            ),
            "keywords": lambda lr, old, new, r, c: (
                lr * lr_scale(old, rows=r, columns=c) / lr_scale(new, rows=r, columns=c)
            ),
            "ratio": lambda lr, old, new, r, c: lr * (lr_scale(old, r, c) / lr_scale(new, r, c)),
        },
        "wrong": {
            "turned": lambda lr, old, new, r, c: lr * lr_scale(new, r, c) / lr_scale(old, r, c),
            "swapped shape": lambda lr, old, new, r, c: (
                lr * lr_scale(old, c, r) / lr_scale(new, c, r)
            ),
            "product": lambda lr, old, new, r, c: lr * lr_scale(old, r, c) * lr_scale(new, r, c),
            "old": lambda lr, old, new, r, c: lr * lr_scale(old, r, c),
            "new": lambda lr, old, new, r, c: lr * lr_scale(new, r, c),
            "by new": lambda lr, old, new, r, c: lr / lr_scale(new, r, c),
            "same": lambda lr, old, new, r, c: lr,
            "factors": lambda lr, old, new, r, c: lr_scale(old, r, c) / lr_scale(new, r, c),
            "strings": lambda lr, old, new, r, c: lr * old / new,
            "no shape": lambda lr, old, new, r, c: lr * lr_scale(old) / lr_scale(new),
            "shape as a pair": lambda lr, old, new, r, c: (
                lr * lr_scale(old, (r, c)) / lr_scale(new, (r, c))
            ),
            "difference": lambda lr, old, new, r, c: lr + lr_scale(old, r, c) - lr_scale(new, r, c),
            "root": lambda lr, old, new, r, c: (
                lr * (lr_scale(old, r, c) / lr_scale(new, r, c)) ** 0.5
            ),
            "only match": lambda lr, old, new, r, c: lr / (0.2 * max(r, c) ** 0.5),
            "square": lambda lr, old, new, r, c: lr * (lr_scale(old, r, r) / lr_scale(new, r, r)),
            "pair": lambda lr, old, new, r, c: (lr * lr_scale(old, r, c), lr / lr_scale(new, r, c)),
        },
    },
    "03-e3": {
        "right": {
            "names": by_names,
            "layers": layer_by_layer,
            "tuple": lambda model: route(model, muon=("FFN", "VO")),
            "list": lambda model: route(model, muon=["VO", "FFN"]),
            "twice": lambda model: route(model, muon=("VO", "FFN", "VO")),
            "mixed": lambda model: route(model, muon=("VO", "*.w_*.weight")),
        },
        "wrong": {
            "all": lambda model: route(model),
            "freezes q and k": freezes,
            "all named": lambda model: route(model, muon=("QK", "VO", "FFN")),
            "FFN": lambda model: route(model, muon=("FFN",)),
            "VO": lambda model: route(model, muon=("VO",)),
            "QK": lambda model: route(model, muon=("QK",)),
            "QK and VO": lambda model: route(model, muon=("QK", "VO")),
            "no v": lambda model: route(model, muon=("*.o.weight", "FFN")),
            "no o": lambda model: route(model, muon=("*.v.weight", "FFN")),
            "no gate": lambda model: route(model, muon=("VO", "*.w_in.weight", "*.w_out.weight")),
            "no w_out": lambda model: route(model, muon=("VO", "*.w_in.weight", "*.w_gate.weight")),
            "head": lambda model: route(model, muon=("VO", "FFN", "head.weight")),
            "embedding": lambda model: route(model, muon=("VO", "FFN", "embedding.weight")),
            "first layer": lambda model: route(
                model, muon=("blocks.0.*.v.weight", "blocks.0.*.o.weight", "FFN")
            ),
            "Muon": lambda model: Muon(route(model, muon=("VO", "FFN")).groups(lr=0.1)),
            "words": lambda model: ("VO", "FFN"),
            "small letters": lambda model: route(model, muon=("vo", "ffn")),
            "one word": lambda model: route(model, muon="VO"),
            "nothing": lambda model: route(model, muon=()),
            "text": lambda model: str(route(model, muon=("VO", "FFN"))),
        },
    },
}
