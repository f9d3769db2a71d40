"""Typical answers to the exercises of lesson 09: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch
from torch.distributions import Categorical

from muonlab.theory import isotropy


def shares_of(s):
    return s**2 / (s**2).sum()


def entropy(q):
    return -(q * q.log()).sum()


def rank_in_a_loop(s):
    total = sum(v * v for v in s.tolist())
    return math.exp(-sum(v * v / total * math.log(v * v / total) for v in s.tolist()))


def rank_in_numpy(s):
    q = np.square(s.numpy()) / np.square(s.numpy()).sum()
    return np.exp(-(q * np.log(q)).sum())


def mean_over(values, drawn):
    return values[drawn].mean(1)


def drawn_in_a_loop(adamw, control, muon, drawn):
    rows = [
        (adamw[i].mean() - control[i].mean()) / (adamw[i].mean() - muon[i].mean()) for i in drawn
    ]
    return torch.stack(rows)


def counted(adamw, control, muon, drawn):
    often = torch.nn.functional.one_hot(drawn, len(adamw)).sum(1).to(adamw)  # (B, n)
    return often @ (adamw - control) / (often @ (adamw - muon))


def each_once(adamw, control, muon, drawn):
    rows = [sorted(set(row)) for row in drawn.tolist()]
    return [((adamw - control)[row].mean() / (adamw - muon)[row].mean()).item() for row in rows]


def recovered(a, c, m, drawn):
    return mean_over(a - c, drawn) / mean_over(a - m, drawn)


ANSWERS = {
    "09-e1": {
        "right": {
            "direct": lambda s: entropy(shares_of(s)).exp(),
            "base 2": lambda s: 2 ** -(shares_of(s) * shares_of(s).log2()).sum(),
            "a number": lambda s: entropy(shares_of(s)).exp().item(),
            "log of the product": lambda s: (shares_of(s) ** -shares_of(s)).prod(),
            "loop": rank_in_a_loop,
            "numpy": rank_in_numpy,
            "a distribution": lambda s: Categorical(probs=s.square()).entropy().exp(),
            "guarded": lambda s: entropy(shares_of(s.double()) + 1e-12).exp(),
            "one entry": lambda s: torch.special.entr(shares_of(s)).sum(0, keepdim=True).exp(),
        },
        "wrong": {
            "bits": lambda s: Categorical(s**2).entropy() / math.log(2),
            "divided by the mean": lambda s: entropy(s**2 / (s**2).mean()).exp(),
            "softmax of the energy": lambda s: Categorical(logits=s**2).entropy().exp(),
            "minus 1": lambda s: entropy(shares_of(s)).expm1(),
            "entropy": lambda s: entropy(shares_of(s)),
            "normalized entropy": lambda s: entropy(shares_of(s)) / math.log(len(s)),
            "sign": lambda s: (-entropy(shares_of(s))).exp(),
            "negative entropy": lambda s: (shares_of(s) * shares_of(s).log()).sum(),
            "shares of sigma": lambda s: entropy(s / s.sum()).exp(),
            "entropy of sigma": lambda s: Categorical(probs=s).entropy(),
            "fourth powers": lambda s: entropy(shares_of(s**2)).exp(),
            "not shares": lambda s: entropy(s**2).exp(),
            "divided by the norm": lambda s: entropy(s / s.norm()).exp(),
            "divided by the sum": lambda s: entropy(s**2 / s.sum()).exp(),
            "squared later": lambda s: entropy((s / s.sum()) ** 2).exp(),
            "divided by the largest": lambda s: entropy((s / s.max()) ** 2).exp(),
            "logarithm of the energy": lambda s: (-(shares_of(s) * (s**2).log()).sum()).exp(),
            "logarithm of sigma": lambda s: (-(shares_of(s) * s.log()).sum()).exp(),
            "softmax": lambda s: entropy(s.softmax(0)).exp(),
            "logarithms alone": lambda s: 1 / shares_of(s).prod(),
            "mean": lambda s: (-(shares_of(s) * shares_of(s).log()).mean()).exp(),
            "two bases": lambda s: (-(shares_of(s) * shares_of(s).log2()).sum()).exp(),
            "base 10": lambda s: (-(shares_of(s) * shares_of(s).log10()).sum()).exp(),
            "2 to the power": lambda s: 2 ** entropy(shares_of(s)).item(),
            "participation ratio": lambda s: 1 / (shares_of(s) ** 2).sum(),
            "participation of sigma": lambda s: s.sum() ** 2 / (s**2).sum(),
            "stable rank": lambda s: (s.norm() / s.max()) ** 2,
            "nuclear norm": lambda s: s.sum() / s.max(),
            "plain rank": len,
            "divided by n": lambda s: entropy(shares_of(s)).exp() / len(s),
            "factors": lambda s: shares_of(s) ** -shares_of(s),
            "terms": lambda s: torch.special.entr(shares_of(s)),
            "sum of exponentials": lambda s: torch.special.entr(shares_of(s)).exp().sum(),
            "the library's": lambda s: isotropy(torch.diag(s)).effective_rank,
            "in place": lambda s: entropy(s.pow_(2) / s.sum()).exp(),
        },
        "generic": {
            "squared rank": lambda s: entropy(shares_of(s)).exp() ** 2,
            "counted above 0.1": lambda s: (s > 0.1).sum().item() + 0.5,
        },
    },
    "09-e2": {
        "right": {
            "topk": lambda s, k: (s.topk(k).values ** 2).sum() / (s**2).sum(),
            "sort": lambda s, k: (s.sort(descending=True).values[:k] ** 2).sum() / (s**2).sum(),
            "python": lambda s, k: (
                sum(sorted((v * v for v in s.tolist()), reverse=True)[:k])
                / sum(v * v for v in s.tolist())
            ),
            "running sum": lambda s, k: (
                (s**2).sort(descending=True)[0].cumsum(0)[k - 1] / s.norm() ** 2
            ),
            "numpy": lambda s, k: np.sort(s.numpy() ** 2)[-k:].sum() / (s.numpy() ** 2).sum(),
            "the rest": lambda s, k: 1 - (s.sort()[0][: len(s) - k] ** 2).sum() / s.dot(s),
        },
        "wrong": {
            "squared sum below": lambda s, k: (s.topk(k).values ** 2).sum() / s.sum() ** 2,
            "from the second": lambda s, k: shares_of(s).sort(descending=True)[0][1:k].sum(),
            "number k + 1": lambda s, k: shares_of(s).sort(descending=True)[0][k],
            "fourth powers": lambda s, k: shares_of(s**2).topk(k)[0].sum(),
            "the others": lambda s, k: 1 / shares_of(s).topk(k)[0].sum() - 1,
            "first k": lambda s, k: (s[:k] ** 2).sum() / (s**2).sum(),
            "last k": lambda s, k: (s[-k:] ** 2).sum() / (s**2).sum(),
            "smallest k": lambda s, k: (s.sort().values[:k] ** 2).sum() / (s**2).sum(),
            "shares of sigma": lambda s, k: s.topk(k).values.sum() / s.sum(),
            "first k of sigma": lambda s, k: s[:k].sum() / s.sum(),
            "energy": lambda s, k: (s.topk(k).values ** 2).sum(),
            "number k": lambda s, k: s.topk(k).values[-1] ** 2 / (s**2).sum(),
            "the largest": lambda s, k: (s.max() / s.norm()) ** 2,
            "the rest": lambda s, k: 1 - (s.topk(k).values ** 2).sum() / (s**2).sum(),
            "one too few": lambda s, k: (s.topk(k - 1).values ** 2).sum() / (s**2).sum(),
            "one too many": lambda s, k: (
                (s.sort(descending=True).values[: k + 1] ** 2).sum() / (s**2).sum()
            ),
            "sum of sigma below": lambda s, k: (s.topk(k).values ** 2).sum() / s.sum(),
            "sum of sigma above": lambda s, k: s.topk(k).values.sum() / (s**2).sum(),
            "squared sums": lambda s, k: (s.topk(k).values.sum() / s.sum()) ** 2,
            "squared sum above": lambda s, k: s.topk(k).values.sum() ** 2 / (s**2).sum(),
            "norms": lambda s, k: s.topk(k).values.norm() / s.norm(),
            "squared share": lambda s, k: (shares_of(s).topk(k).values.sum()) ** 2,
            "mean": lambda s, k: (s.topk(k).values ** 2).mean() / (s**2).sum(),
            "means": lambda s, k: (s.topk(k).values ** 2).mean() / (s**2).mean(),
            "of the others": lambda s, k: (
                shares_of(s).topk(k).values.sum() / (1 - shares_of(s).topk(k).values.sum())
                if k < len(s)
                else math.inf
            ),
            "percent": lambda s, k: 100 * shares_of(s).topk(k).values.sum(),
            "each": lambda s, k: shares_of(s).topk(k).values,
            "all k": lambda s, k: shares_of(s).sort(descending=True).values.cumsum(0),
            "softmax": lambda s, k: s.softmax(0).topk(k).values.sum(),
            "directions": lambda s, k: k / len(s),
            "the library's": lambda s, k: isotropy(torch.diag(s), top=k).top_energy,
        },
        "generic": {
            "every second": lambda s, k: (s[::2] ** 2).sum() / (s**2).sum(),
            "cubes": lambda s, k: (s.topk(k).values ** 3).sum() / (s**3).sum(),
        },
    },
    "09-e3": {
        "right": {
            "direct": recovered,
            "sums": lambda a, c, m, drawn: (a - c)[drawn].sum(1) / (a - m)[drawn].sum(1),
            "loop": drawn_in_a_loop,
            "counted": counted,
            "a list": lambda a, c, m, drawn: [
                ((a[i] - c[i]).sum() / (a[i] - m[i]).sum()).item() for i in drawn
            ],
            "numpy": lambda a, c, m, drawn: (
                (a - c).numpy()[drawn.numpy()].mean(1) / (a - m).numpy()[drawn.numpy()].mean(1)
            ),
            "gather": lambda a, c, m, drawn: (
                (a - c).expand(len(drawn), -1).gather(1, drawn).sum(-1)
                / (a - m).expand(len(drawn), -1).gather(1, drawn).sum(-1)
            ),
        },
        "wrong": {
            "absolute gap": lambda a, c, m, drawn: (
                mean_over(a - c, drawn) / mean_over(a - m, drawn).abs()
            ),
            "difference": lambda a, c, m, drawn: mean_over(m - c, drawn),
            "keepdim": lambda a, c, m, drawn: (
                (a - c)[drawn].mean(1, True) / (a - m)[drawn].mean(1, True)
            ),
            "lower medians": lambda a, c, m, drawn: (
                (a - c)[drawn].median(1)[0] / (a - m)[drawn].median(1)[0]
            ),
            "mean of ratios": lambda a, c, m, drawn: ((a - c) / (a - m))[drawn].mean(1),
            "median of ratios": lambda a, c, m, drawn: np.median(((a - c) / (a - m))[drawn], 1),
            "medians": lambda a, c, m, drawn: (
                np.median((a - c)[drawn], 1) / np.median((a - m)[drawn], axis=1)
            ),
            "gap not drawn": lambda a, c, m, drawn: mean_over(a - c, drawn) / (a - m).mean(),
            "gain not drawn": lambda a, c, m, drawn: (a - c).mean() / mean_over(a - m, drawn),
            "missing share": lambda a, c, m, drawn: (
                mean_over(c - m, drawn) / mean_over(a - m, drawn)
            ),
            "missing share, sign": lambda a, c, m, drawn: (
                mean_over(m - c, drawn) / mean_over(a - m, drawn)
            ),
            "turned round": lambda a, c, m, drawn: (
                mean_over(a - m, drawn) / mean_over(a - c, drawn)
            ),
            "sign": lambda a, c, m, drawn: mean_over(c - a, drawn) / mean_over(a - m, drawn),
            "absolute": lambda a, c, m, drawn: recovered(a, c, m, drawn).abs(),
            "cut": lambda a, c, m, drawn: recovered(a, c, m, drawn).clip(0, 1),
            "cut below": lambda a, c, m, drawn: recovered(a, c, m, drawn).relu(),
            "cut above": lambda a, c, m, drawn: recovered(a, c, m, drawn).clip(max=1),
            "nats": lambda a, c, m, drawn: mean_over(a - c, drawn),
            "gap in nats": lambda a, c, m, drawn: mean_over(a - m, drawn),
            "not drawn": lambda a, c, m, drawn: ((a - c).mean() / (a - m).mean()).expand(
                len(drawn)
            ),
            "one number": lambda a, c, m, drawn: (a.mean() - c.mean()) / (a.mean() - m.mean()),
            "all drawings": lambda a, c, m, drawn: (a - c)[drawn].sum() / (a - m)[drawn].sum(),
            "over the drawings": lambda a, c, m, drawn: (
                (a - c)[drawn].mean(0) / (a - m)[drawn].mean(0)
            ),
            "each seed": lambda a, c, m, drawn: (a - c) / (a - m),
            "each drawn seed": lambda a, c, m, drawn: ((a - c) / (a - m))[drawn],
            "mean of drawings": lambda a, c, m, drawn: recovered(a, c, m, drawn).mean(),
            "of AdamW's loss": lambda a, c, m, drawn: mean_over(a - c, drawn) / mean_over(a, drawn),
            "of Muon's loss": lambda a, c, m, drawn: mean_over(a - c, drawn) / mean_over(m, drawn),
            "of what is missing": lambda a, c, m, drawn: (
                mean_over(a - c, drawn) / mean_over(c - m, drawn)
            ),
            "the control's loss": lambda a, c, m, drawn: (
                mean_over(c, drawn) / mean_over(a - m, drawn)
            ),
            "losses": lambda a, c, m, drawn: mean_over(c, drawn) / mean_over(m, drawn),
            "a sum above": lambda a, c, m, drawn: (a - c)[drawn].sum(1) / mean_over(a - m, drawn),
            "a sum below": lambda a, c, m, drawn: mean_over(a - c, drawn) / (a - m)[drawn].sum(1),
            "each once": each_once,
            "percent": lambda a, c, m, drawn: recovered(a, c, m, drawn) * 100,
        },
        "generic": {
            "largest": lambda a, c, m, drawn: (a - c)[drawn].amax(1) / (a - m)[drawn].amax(1),
            "first column": lambda a, c, m, drawn: (a - c)[drawn[:, 0]] / (a - m)[drawn[:, 0]],
        },
    },
    "09-e4": {
        "right": {
            "direct": lambda W0, W, U, V: W0 + U @ (W - W0) @ V,
            "einsum": lambda W0, W, U, V: W0 + torch.einsum("ij,jk,kl->il", U, W - W0, V),
            "two terms": lambda W0, W, U, V: W0 + U @ W @ V - U @ W0 @ V,
            "numpy": lambda W0, W, U, V: W0.numpy() + U.numpy() @ (W - W0).numpy() @ V.numpy(),
            "a list": lambda W0, W, U, V: (W0 + U @ (W - W0) @ V).tolist(),
            "from the right": lambda W0, W, U, V: W0 + U @ ((W - W0) @ V),
        },
        "wrong": {
            "not turned": lambda W0, W, U, V: W,
            "change alone": lambda W0, W, U, V: U @ (W - W0) @ V,
            "all of W": lambda W0, W, U, V: U @ W @ V,
            "W added": lambda W0, W, U, V: W0 + U @ W @ V,
            "added to W": lambda W0, W, U, V: W + U @ (W - W0) @ V,
            "sign": lambda W0, W, U, V: W0 + U @ (W0 - W) @ V,
            "left": lambda W0, W, U, V: W0 + U @ (W - W0),
            "right side": lambda W0, W, U, V: W0 + (W - W0) @ V,
            "start turned": lambda W0, W, U, V: U @ W0 @ V + W - W0,
            "both transposed": lambda W0, W, U, V: W0 + U.T @ (W - W0) @ V.T,
            "V transposed": lambda W0, W, U, V: W0 + U @ (W - W0) @ V.T,
            "U transposed": lambda W0, W, U, V: W0 + U.T @ (W - W0) @ V,
        },
        "generic": {
            "twice": lambda W0, W, U, V: W0 + U @ U @ (W - W0) @ V,
            "half": lambda W0, W, U, V: W0 + U @ (W - W0) @ V / 2,
        },
    },
}
