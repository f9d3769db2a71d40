"""Answers to the exercises of lesson 03, as students write them: right ones and wrong ones."""

import numpy as np
import torch
from torch.linalg import svdvals

from muonlab import newton_schulz, polar


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


def gentle(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.mul_(momentum).add_(gradient, alpha=1 - momentum)
    W *= 1 - lr * weight_decay
    W -= lr * 0.2 * max(W.shape) ** 0.5 * newton_schulz(momentum * M + (1 - momentum) * gradient)


def by_data(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.copy_(momentum * M + (1 - momentum) * gradient)
    D = momentum * M + (1 - momentum) * gradient
    ortho = newton_schulz(D, steps=5)
    W.copy_(W - lr * weight_decay * W - lr * 0.2 * np.sqrt(max(W.shape)) * ortho)
    return W, M


def step(
    *,
    average=lambda M, G, mu: mu * M + (1 - mu) * G,
    direction=lambda M, G, mu: mu * M + (1 - mu) * G,
    ortho=newton_schulz,
    scale=lambda m, n: 0.2 * max(m, n) ** 0.5,
    rate=lambda lr: lr,
    decay=lambda W, U, lr, wd: W * (1 - lr * wd) - U,
    into=lambda G, W, wd: G,
    writes=("W", "M"),
):
    """A step of Muon with one piece exchanged."""

    def muon_step(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
        gradient = into(gradient, W, weight_decay)
        after = average(M, gradient, momentum)
        D = direction(after, gradient, momentum)
        U = rate(lr) * scale(*W.shape) * ortho(D)
        new = decay(W, U, lr, weight_decay)
        if "W" in writes:
            W.copy_(new)
        if "M" in writes:
            M.copy_(after)

    return muon_step


def in_float64(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.lerp_(gradient, 1 - momentum)
    D = gradient.double().lerp(M.double(), momentum)
    W.mul_(1 - lr * weight_decay).sub_(lr * 0.2 * max(W.shape) ** 0.5 * newton_schulz(D).float())


def transposes(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.lerp_(gradient, 1 - momentum)
    D = gradient.lerp(M, momentum)
    ortho = newton_schulz(D.T).T if W.shape[0] > W.shape[1] else newton_schulz(D)
    W.mul_(1 - lr * weight_decay)
    W.add_(ortho, alpha=-lr * 0.2 * max(W.shape) ** 0.5)


def nothing(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M = M.lerp(gradient, 1 - momentum)
    W = W - lr * newton_schulz(M)


def spoils_the_gradient(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.lerp_(gradient, 1 - momentum)
    W.mul_(1 - lr * weight_decay)
    W.sub_(lr * 0.2 * max(W.shape) ** 0.5 * newton_schulz(gradient.lerp_(M, momentum)))


def overwrites(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    M.lerp_(gradient, 1 - momentum)
    M.lerp_(gradient, 1 - momentum)
    W.sub_(lr * newton_schulz(M))


def ratio(A):
    values = svdvals(A)
    return (values[0] / values[-1]).item()


def rms(A):
    return A.square().mean().sqrt().item()


def diagnose(step, hidden=("w_in", "w_out"), tests="sma", head=True, low=0.13, high=0.25, most=2.0):
    """The tests in the order of `tests`: singular values, average, size; then the head."""
    for test in tests:
        for name in hidden:
            G, update, M = step[name]
            if test == "s" and ratio(update) > most:
                return "never orthogonalizes"
            if test == "m" and not torch.allclose(M, 0.05 * G, atol=1e-6):
                return "momentum overwritten"
            if test == "a" and not low < rms(update) < high:
                return "scale from one axis"
    return "head under Muon" if head and ratio(step["head"][1]) <= 2 else "none"


def with_(**options):
    return lambda step: diagnose(step, **options)


def by_sums(step):
    def same(A, B):
        return (A - B).abs().max() < 1e-5

    hidden = [step["w_in"], step["w_out"]]
    if not all(ratio(U) <= 2 for _, U, _ in hidden):
        return "never orthogonalizes"
    if not all(same(M, G / 20) for G, _, M in hidden):
        return "momentum overwritten"
    if min(rms(U) for _, U, _ in hidden) < 0.13:
        return "scale from one axis"
    return "none" if ratio(step["head"][1]) > 2 else "head under Muon"


def head_first(step):
    if ratio(step["head"][1]) <= 2:
        return "head under Muon"
    return diagnose(step, head=False)


ANSWERS = {
    "03-e1": {
        "right": {
            "gentle": gentle,
            "by data": by_data,
            "no grad": torch.no_grad()(gentle),
            "as pieces": step(),
            "float64 inside": in_float64,
            "transposes": transposes,
        },
        "wrong": {
            "nothing in place": nothing,
            "gradient changed": spoils_the_gradient,
            "M stays": step(writes=("W",)),
            "sum": step(average=lambda M, G, mu: mu * M + G),
            "M exchanged": step(average=lambda M, G, mu: (1 - mu) * M + mu * G),
            "overwrites": overwrites,
            "M orthogonalized": step(average=lambda M, G, mu: newton_schulz(mu * M + (1 - mu) * G)),
            "M divided": step(
                average=lambda M, G, mu: (mu * M + (1 - mu) * G) / (mu * M + (1 - mu) * G).norm()
            ),
            "M does not shrink": step(average=lambda M, G, mu: M + (1 - mu) * G),
            "M is the gradient": step(average=lambda M, G, mu: G),
            "M half and half": step(average=lambda M, G, mu: 0.5 * M + 0.5 * G),
            "W stays": step(writes=("M",)),
            "SGD": step(ortho=lambda D: D),
            "normalized": step(ortho=lambda D: D / D.norm()),
            "exact": step(ortho=polar),
            "no Nesterov": step(direction=lambda M, G, mu: M),
            "gradient alone": step(direction=lambda M, G, mu: G),
            "Nesterov of a sum": step(direction=lambda M, G, mu: G + mu * M),
            "D exchanged": step(direction=lambda M, G, mu: (1 - mu) * M + mu * G),
            "plus": step(rate=lambda lr: -lr),
            "no scale": step(scale=lambda m, n: 1.0),
            "original": step(scale=lambda m, n: max(1, m / n) ** 0.5),
            "smaller side": step(scale=lambda m, n: 0.2 * min(m, n) ** 0.5),
            "rows": step(scale=lambda m, n: 0.2 * m**0.5),
            "columns": step(scale=lambda m, n: 0.2 * n**0.5),
            "no root": step(scale=lambda m, n: 0.2 * max(m, n)),
            "no 0.2": step(scale=lambda m, n: max(m, n) ** 0.5),
            "product": step(scale=lambda m, n: 0.2 * (m * n) ** 0.5),
            "no lr": step(rate=lambda lr: 1.0),
            "update alone": step(decay=lambda W, U, lr, wd: -U),
            "another scale": step(scale=lambda m, n: 0.3),
            "no decay": step(decay=lambda W, U, lr, wd: W - U),
            "decay without lr": step(decay=lambda W, U, lr, wd: W * (1 - wd) - U),
            "decay after": step(decay=lambda W, U, lr, wd: (W - U) * (1 - lr * wd)),
            "grows": step(decay=lambda W, U, lr, wd: W * (1 + lr * wd) - U),
            "coupled": step(into=lambda G, W, wd: G + wd * W, decay=lambda W, U, lr, wd: W - U),
        },
    },
    "03-e2": {
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
            "as 1 or 0": lambda b, a: int(0 < svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1]),
            "divided by a learning rate": lambda b, a: bool(
                0 < svdvals((b - a) / 0.02)[0] <= 2 * svdvals((b - a) / 0.02)[-1]
            ),
        },
        "wrong": {
            "no zero": lambda b, a: bool(svdvals(b - a)[0] <= 2 * svdvals(b - a)[-1]),
            "less than twice": lambda b, a: bool(svdvals(b - a)[0] < 2 * svdvals(b - a)[-1]),
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
    "03-e3": {
        "right": {
            "three tests": diagnose,
            "average first": with_(tests="msa"),
            "by sums": by_sums,
            "one side of the size": with_(high=9.0),
            "head first": head_first,
            "wider": with_(low=0.125, high=0.3),
        },
        "wrong": {
            "no bug": lambda step: "none",
            "size first": with_(tests="ams"),
            "no head": with_(head=False),
            "no size": with_(tests="sm"),
            "no average": with_(tests="sa"),
            "always overwritten": lambda step: "momentum overwritten",
            "no singular values": with_(tests="ma", low=0.1),
            "size of 0.2": with_(low=0.199, high=0.201),
            "equal values": with_(most=1.1),
            "always the head": lambda step: "head under Muon",
            "the wide matrix alone": with_(hidden=("w_out",)),
            "a word of its own": lambda step: "bug",
            "a list": lambda step: ["none"],
        },
    },
}
