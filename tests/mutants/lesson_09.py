"""Typical answers to the exercises of lesson 09: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch
from torch.distributions import Categorical

from muonlab.theory import isotropy


def shares_of(s):
    return s**2 / (s**2).sum()


def above_0(s):
    q = shares_of(s)
    return q[q > 0]


def entropy(q):
    return -(q * q.log()).sum()


def rank_in_a_loop(s):
    total, H = sum(v * v for v in s.tolist()), 0.0
    for v in s.tolist():
        if v:
            H -= v * v / total * math.log(v * v / total)
    return math.exp(H)


def rank_in_numpy(s):
    q = np.square(s.numpy()) / np.square(s.numpy()).sum()
    return np.exp(-(q * np.log(np.where(q > 0, q, 1))).sum())


ANSWERS = {
    "09-e1": {
        "right": {
            "direct": lambda s: entropy(above_0(s)).exp(),
            "base 2": lambda s: 2 ** -(above_0(s) * above_0(s).log2()).sum(),
            "a number": lambda s: entropy(above_0(s)).exp().item(),
            "log of the product": lambda s: (shares_of(s) ** -shares_of(s)).prod(),
            "loop": rank_in_a_loop,
            "numpy": rank_in_numpy,
            "a distribution": lambda s: Categorical(probs=s.square()).entropy().exp(),
            "guarded": lambda s: entropy(shares_of(s.double()) + 1e-12).exp(),
            "one entry": lambda s: torch.special.entr(shares_of(s)).sum(0, keepdim=True).exp(),
        },
        "wrong": {
            "zeros": lambda s: entropy(shares_of(s)).exp(),
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
