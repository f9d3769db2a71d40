"""Typical answers to the exercises of lesson 03: wrong ones to reject, right ones to accept."""

import torch

from muonlab import newton_schulz


def values(before, after):
    return torch.linalg.svdvals(before - after)


def muon(mix="lerp", ortho=newton_schulz, side=max, nesterov=True, heavy=False, decays=True):
    """A step of Muon, with mistakes to choose from."""

    def muon_step(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
        M.mul_(momentum).add_(gradient, alpha=1.0 if heavy else 1 - momentum)
        D = getattr(M, mix)(gradient, 1 - momentum) if nesterov else M
        W.mul_(1 - lr * weight_decay * decays)
        W.sub_(lr * 0.2 * side(W.shape) ** 0.5 * ortho(D))

    return muon_step


def found_by(step, names=("w_in", "w_out"), size=True, average=True, head=True, first=False):
    for name in names:
        gradient, update, M = step[name]
        if first and not 0.13 < update.square().mean().sqrt() < 0.25:
            return "scale from one axis"
        if torch.linalg.cond(update) > 2:
            return "never orthogonalizes"
        if average and not torch.allclose(20 * M, gradient, atol=1e-4):
            return "momentum overwritten"
        if size and not 0.13 < update.square().mean().sqrt() < 0.25:
            return "scale from one axis"
    return "head under Muon" if head and torch.linalg.cond(step["head"][1]) <= 2 else "none"


ANSWERS = {
    "03-e1": {
        "wrong": {
            "one underscore": muon(mix="lerp_"),
            "SGD": muon(ortho=lambda D: D),
            "smaller side": muon(side=min),
            "no Nesterov": muon(nesterov=False),
            "sum": muon(heavy=True),
            "no decay": muon(decays=False),
        },
        "generic": {"sign": muon(ortho=torch.sign)},
        "right": {
            "muon": muon(),
            "no grad": torch.no_grad()(muon()),
        },
    },
    "03-e2": {
        "wrong": {
            "compares with 1": lambda b, a: bool(((values(b, a) - 1).abs() < 0.5).all()),
            "too strict": lambda b, a: bool(0 < values(b, a)[0] <= 1.8 * values(b, a)[-1]),
            "below twice": lambda b, a: bool(0 < values(b, a)[0] < 2 * values(b, a)[-1]),
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
    "03-e3": {
        "wrong": {
            "no size": lambda step: found_by(step, size=False),
            "no average": lambda step: found_by(step, average=False),
            "size first": lambda step: found_by(step, first=True),
            "tall alone": lambda step: found_by(step, names=("w_in",)),
            "no head": lambda step: found_by(step, head=False),
            "nothing": lambda step: "none",
        },
        "generic": {"guess": lambda step: "momentum overwritten"},
        "right": {
            "three tests": found_by,
            "other order": lambda step: found_by(step, names=("w_out", "w_in")),
        },
    },
}
