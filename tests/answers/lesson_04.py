"""Answers to the exercises of lesson 04, as students write them: right ones and wrong ones."""

import math
import statistics
from collections import Counter

import numpy as np
import scipy
import torch

from muonlab.experiments import paired_interval


def loop(read, came, a, f, k):
    counts = [0] * len(f)
    for x, y in zip(read.tolist(), came.tolist(), strict=True):
        if x == a:
            counts[y] += 1
    return [(n + k * share.item()) / (sum(counts) + k) for n, share in zip(counts, f, strict=True)]


def with_counter(read, came, a, f, k):
    after = Counter(y for x, y in zip(read.tolist(), came.tolist(), strict=True) if x == a)
    return torch.tensor([(after[b] + k * f[b]) / (after.total() + k) for b in range(len(f))])


def keys(read, came, a, f, k):
    V = len(f)
    table = torch.bincount(read * V + came, minlength=V * V).view(V, V)
    return (table[a] + k * f) / (table[a].sum() + k)


def by_read(read, came, a, f, k):
    pairs = torch.bincount(came[read == a], minlength=len(f))
    return (pairs + k * f) / ((read == a).sum() + k)


def one_hot(read, came, a, f, k):
    rows = torch.nn.functional.one_hot(came, len(f))[read == a]
    return (rows.sum(0) + k * f) / (len(rows) + k)


def numpy_pairs(read, came, a, f, k):
    pairs = np.bincount(came.numpy()[read.numpy() == a], minlength=len(f))
    return (pairs + k * f.numpy()) / (pairs.sum() + k)


def mixed(read, came, a, f, k):
    """The same, as a mixture of two shares."""
    after = came[read == a]
    weight = len(after) / (len(after) + k)
    own = torch.bincount(after, minlength=len(f)) / max(1, len(after))
    return weight * own + (1 - weight) * f


def in_place(read, came, a, f, k):
    f *= k
    f += torch.bincount(came[read == a], minlength=len(f))
    return f / f.sum()


def without_minlength(read, came, a, f, k):
    pairs = torch.bincount(came[read == a])
    return (pairs + k * f) / (pairs.sum() + k)


def mixed_by_k(read, came, a, f, k):
    after = came[read == a]
    own = torch.bincount(after, minlength=len(f)) / max(1, len(after))
    return (own + k * f) / (1 + k)


def pairs_but(change):
    """`change` takes the counts n, n_a, f, k, and all tokens read and came."""

    def answer(read, came, a, f, k):
        after = came[read == a]
        n = torch.bincount(after, minlength=len(f)).float()
        return change(n, len(after), f, k, read, came)

    return answer


def both(half):
    return lambda a, b: ((a - b).mean() - half(a - b), (a - b).mean() + half(a - b))


def with_statistics(a, b):
    d = [x - y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    half = 2.262 * statistics.stdev(d) / math.sqrt(len(d))
    return statistics.mean(d) - half, statistics.mean(d) + half


def with_population(a, b):
    d = [x - y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    half = 2.262 * statistics.pstdev(d) / math.sqrt(len(d))
    return statistics.mean(d) - half, statistics.mean(d) + half


def with_scipy(a, b):
    d = (a - b).numpy()
    return scipy.stats.t.interval(0.95, 9, loc=d.mean(), scale=scipy.stats.sem(d))


def scipy_of_the_test(a, b):
    found = scipy.stats.ttest_rel(a.numpy(), b.numpy()).confidence_interval()
    return [found.low, found.high]


def scipy_unpaired(a, b):
    found = scipy.stats.ttest_ind(a.numpy(), b.numpy()).confidence_interval()
    return found.low, found.high


ANSWERS = {
    "04-e1": {
        "right": {
            "loop": loop,
            "counter": with_counter,
            "keys": keys,
            "by read": by_read,
            "one-hot": one_hot,
            "numpy": numpy_pairs,
            "mixture": mixed,
            "normalized": pairs_but(lambda n, m, f, k, r, c: (n + k * f) / (n + k * f).sum()),
        },
        "wrong": {
            "in place": in_place,
            "no minlength": without_minlength,
            "shares mixed": mixed_by_k,
            "turned": lambda read, came, a, f, k: loop(came, read, a, f, k),
            "no k": pairs_but(lambda n, m, f, k, r, c: n / max(1, m)),
            "k above": pairs_but(lambda n, m, f, k, r, c: (n + k * f) / max(1, m)),
            "k below": pairs_but(lambda n, m, f, k, r, c: n / (m + k)),
            "counts": pairs_but(lambda n, m, f, k, r, c: n + k * f),
            "bare counts": pairs_but(lambda n, m, f, k, r, c: n),
            "of all": pairs_but(lambda n, m, f, k, r, c: (n + k * f) / (len(r) + k)),
            "k each": pairs_but(lambda n, m, f, k, r, c: (n + k) / (m + k * len(f))),
            "k each, once below": pairs_but(lambda n, m, f, k, r, c: (n + k) / (m + k)),
            "add one": pairs_but(lambda n, m, f, k, r, c: (n + 1) / (m + len(f))),
            "f once": pairs_but(lambda n, m, f, k, r, c: (n + f) / (m + 1)),
            "shares": pairs_but(lambda n, m, f, k, r, c: f),
            "loss": pairs_but(lambda n, m, f, k, r, c: -((n + k * f) / (m + k)).log()),
            "by b": pairs_but(
                lambda n, m, f, k, r, c: (n + k * f) / (torch.bincount(c, minlength=len(f)) + k)
            ),
            "one number": pairs_but(lambda n, m, f, k, r, c: ((n + k * f) / (m + k)).max()),
            "text": pairs_but(lambda n, m, f, k, r, c: "p(b | a)"),
        },
    },
    "04-e2": {
        "right": {
            "plain": both(lambda d: 2.262 * d.std() / 10**0.5),
            "statistics": with_statistics,
            "scipy": with_scipy,
            "test": scipy_of_the_test,
            "numpy": both(lambda d: 2.262 * np.std(d.numpy(), ddof=1) / np.sqrt(10)),
            "var": both(lambda d: 2.262 * (d.var() / 10).sqrt()),
            "tensor": lambda a, b: (
                (a - b).mean() + torch.tensor([-1, 1]) * 2.262 * (a - b).std() / 10**0.5
            ),
        },
        "wrong": {
            "population": with_population,
            "unpaired": scipy_unpaired,
            "package": lambda a, b: paired_interval(a.tolist(), b.tolist())[1:],
            "package whole": lambda a, b: paired_interval(a.tolist(), b.tolist()),
            "normal": both(lambda d: 1.96 * d.std() / 10**0.5),
            "2": both(lambda d: 2 * d.std() / 10**0.5),
            "no t": both(lambda d: d.std() / 10**0.5),
            "no root": both(lambda d: 2.262 * d.std() / 10),
            "no n": both(lambda d: 2.262 * d.std()),
            "root of 9": both(lambda d: 2.262 * d.std() / 9**0.5),
            "root of 20": both(lambda d: 2.262 * d.std() / 20**0.5),
            "var": both(lambda d: 2.262 * d.var() / 10**0.5),
            "std of two": lambda a, b: (
                (a - b).mean() - 2.262 * (a.std() + b.std()) / 10**0.5,
                (a - b).mean() + 2.262 * (a.std() + b.std()) / 10**0.5,
            ),
            "turned": lambda a, b: both(lambda d: 2.262 * d.std() / 10**0.5)(b, a),
            "high, low": lambda a, b: both(lambda d: -2.262 * d.std() / 10**0.5)(a, b),
            "half": lambda a, b: ((a - b).mean(), 2.262 * (a - b).std() / 10**0.5),
            "mean": lambda a, b: (a - b).mean(),
            "sum": lambda a, b: (
                (a - b).sum() - 2.262 * (a - b).std() / 10**0.5,
                (a - b).sum() + 2.262 * (a - b).std() / 10**0.5,
            ),
            "sizes": lambda a, b: both(lambda d: 2.262 * d.std() / 10**0.5)(
                (a - b).abs(), torch.zeros(10)
            ),
            "range": lambda a, b: ((a - b).min(), (a - b).max()),
            "percentiles": lambda a, b: (a - b).quantile(torch.tensor([0.025, 0.975])),
            "t for five": both(lambda d: 2.776 * d.std() / 10**0.5),
        },
    },
}
