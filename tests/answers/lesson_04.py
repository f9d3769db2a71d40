"""Answers to the exercises of lesson 04, as students write them: right ones and wrong ones."""

import math
import statistics

import numpy as np
import torch
from scipy import stats

from muonlab.experiments import paired_interval


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
    return stats.t.interval(0.95, 9, loc=d.mean(), scale=stats.sem(d))


def scipy_of_the_test(a, b):
    found = stats.ttest_rel(a.numpy(), b.numpy()).confidence_interval()
    return [found.low, found.high]


def scipy_unpaired(a, b):
    found = stats.ttest_ind(a.numpy(), b.numpy()).confidence_interval()
    return found.low, found.high


ANSWERS = {
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
