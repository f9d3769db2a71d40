"""Typical answers to the exercises of lesson 16: wrong ones to reject, right ones to accept."""

import math
from enum import StrEnum
from fractions import Fraction
from itertools import count

import numpy
import torch
from scipy import stats


def least(half, t, effect):
    return next(n for n in t if half(n) <= effect)


def loop(effect, spread, t):
    n = 2
    while t[n] * spread / math.sqrt(n) > effect:
        n += 1
    return n


def from_the_formula(effect, spread, t):
    return next(n for n in sorted(t) if n >= (t[n] * spread / effect) ** 2)


def in_halves(effect, spread, t):
    low, high = 2, max(t)
    while low < high:
        middle = (low + high) // 2
        if t[middle] * spread <= effect * middle**0.5:
            high = middle
        else:
            low = middle + 1
    return high


def without_the_table(effect, spread, t):
    return next(n for n in count(2) if stats.t.ppf(0.975, n - 1) * spread / n**0.5 <= effect)


def arrays(effect, spread, t):
    n = numpy.array(sorted(t))
    fits = numpy.array([t[i] for i in n]) * spread / numpy.sqrt(n) <= effect
    return n[fits.argmax()]


def hours(rows, seeds, trials, weights, tokens, speed):
    return rows * (seeds + trials) * 6 * weights * tokens / speed / 3600


def by_parts(rows, seeds, trials, weights, tokens, speed):
    run = (2 + 4) * weights * tokens
    return (rows * seeds * run + rows * trials * run) / (3600 * speed)


def verdict(low, high, by):
    if low >= by:
        return "supported"
    return "refuted" if high < by else "cannot tell"


def only_one_way(low, high, by):
    if low >= by:
        return "supported"


class Found(StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    CANNOT_TELL = "cannot tell"


def by_exclusion(low, high, by):
    if low < by <= high:
        return "cannot tell"
    return ["refuted", "supported"][low >= by]


ANSWERS = {
    "16-e1": {
        "wrong": {
            "no t": lambda d, s, t: least(lambda n: s / n**0.5, t, d),
            "n": lambda d, s, t: least(lambda n: t[n] * s / n, t, d),
            "whole width": lambda d, s, t: least(lambda n: 2 * t[n] * s / n**0.5, t, d),
            "1.96": lambda d, s, t: max(2, math.ceil((1.959964 * s / d) ** 2)),
            "one t": lambda d, s, t: least(lambda n: t[2] * s / n**0.5, count(2), d),
            "no root": lambda d, s, t: least(lambda n: t[n] * s, t, d),
            "one too few": lambda d, s, t: loop(d, s, t) - 1,
            "strict": lambda d, s, t: next(n for n in t if t[n] * s / n**0.5 < d),
            "fraction": lambda d, s, t: (t[loop(d, s, t)] * s / d) ** 2,
            "n - 1": lambda d, s, t: least(lambda n: t[n] * s / (n - 1) ** 0.5, t, d),
            "half again": lambda d, s, t: least(lambda n: t[n] * s / n**0.5 / 2, t, d),
            "t before": lambda d, s, t: least(lambda n: t.get(n - 1, t[2]) * s / n**0.5, t, d),
            "one too many": lambda d, s, t: loop(d, s, t) + 1,
            "from 3": lambda d, s, t: max(3, loop(d, s, t)),
            "first that is too few": lambda d, s, t: next(n for n in t if t[n] * s / n**0.5 > d),
            "largest": lambda d, s, t: max(n for n in t if t[n] * s / n**0.5 <= d),
            "the width": lambda d, s, t: t[loop(d, s, t)] * s / loop(d, s, t) ** 0.5,
            "squared spread": lambda d, s, t: least(lambda n: t[n] * s * s / n**0.5, t, d),
            "from 1": lambda d, s, t: next(n for n in count(1) if t[n] * s / n**0.5 <= d),
            "a word": lambda d, s, t: f"{loop(d, s, t)} seeds",
            "in place": lambda d, s, t: next(n for n in [*t] if t.pop(n) * s / n**0.5 <= d),
        },
        "generic": {
            "rounded half": lambda d, s, t: loop(d, s, t) + 0.4,
        },
        "right": {
            "loop": loop,
            "formula": from_the_formula,
            "in halves": in_halves,
            "SciPy": without_the_table,
            "NumPy": arrays,
            "float": lambda d, s, t: float(loop(d, s, t)),
            "0-d tensor": lambda d, s, t: torch.tensor(loop(d, s, t)),
        },
    },
    "16-e2": {
        "wrong": {
            "no tuning": lambda r, s, k, *run: hours(r, s, 0, *run),
            "trials once": lambda r, s, k, *run: hours(1, r * s, k, *run),
            "seeds × trials": lambda r, s, k, *run: hours(r, s * k, 0, *run),
            "seconds": lambda *a: 3600 * hours(*a),
            "minutes": lambda *a: 60 * hours(*a),
            "forward": lambda *a: hours(*a) / 3,
            "backward": lambda *a: hours(*a) * 4 / 6,
            "weights × tokens": lambda *a: hours(*a) / 6,
            "one run": lambda r, s, k, *run: hours(1, 1, 0, *run),
            "operations": lambda *a: hours(*a) * 3600 * a[-1],
            "trials alone": lambda r, s, k, *run: hours(r, 0, k, *run),
            "rows added": lambda r, s, k, *run: hours(1, r + s, k, *run),
            "trials for each seed": lambda r, s, k, *run: hours(r, s, s * k, *run),
            "one seed": lambda r, s, k, *run: hours(r, 1, k, *run),
            "days": lambda *a: hours(*a) / 24,
            "no rows": lambda r, *rest: hours(1, *rest),
            "a run a row": lambda r, s, k, *run: hours(r, 1, 0, *run),
            "no tokens": lambda *a: hours(*a) / a[4],
            "no weights": lambda *a: hours(*a) / a[3],
            "runs": lambda r, s, k, *run: r * (s + k),
            "runs below": lambda r, s, k, *run: hours(1, 1, 0, *run) / (r * (s + k)),
            "times speed": lambda *a: hours(*a) * a[-1] ** 2,
            "no speed": lambda *a: hours(*a) * a[-1],
            "times 3600": lambda *a: hours(*a) * 3600**2,
            "whole hours": lambda *a: hours(*a) // 1,
            "rounded": lambda *a: round(hours(*a), 1),
            "rounded up": lambda *a: math.ceil(hours(*a)),
            "a word": lambda *a: f"{hours(*a):.1f} h",
        },
        "generic": {
            "seven operations": lambda *a: hours(*a) * 7 / 6,
            "squared": lambda *a: hours(*a) ** 2,
        },
        "right": {
            "direct": hours,
            "parts": by_parts,
            "fraction": lambda r, s, k, n, d, v: (
                Fraction(r * (s + k) * 6) * int(n) * int(d) / 3600 / int(v)
            ),
            "0-d tensor": lambda *a: torch.tensor(hours(*a), dtype=torch.float64),
            "NumPy": lambda *a: numpy.float64(hours(*a)),
            "run by run": lambda r, s, k, *run: math.fsum(
                hours(1, 1, 0, *run) for _ in range(r * (s + k))
            ),
        },
    },
    "16-e3": {
        "wrong": {
            "zero": lambda low, high, by: verdict(low, high, 0),
            "the mean": lambda low, high, by: "supported" if (low + high) / 2 >= by else "refuted",
            "not supported is refuted": lambda low, high, by: (
                "supported" if low >= by else "refuted"
            ),
            "strict": lambda low, high, by: (
                "supported" if low > by else "refuted" if high < by else "cannot tell"
            ),
            "other strict": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high <= by else "cannot tell"
            ),
            "other words": lambda low, high, by: "open",
            "zero inside": lambda low, high, by: (
                "cannot tell" if low < 0 < high else verdict(low, high, by)
            ),
            "refuted below zero": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high < 0 else "cannot tell"
            ),
            "supported above zero": lambda low, high, by: (
                "supported" if low > 0 else "refuted" if high < by else "cannot tell"
            ),
            "below minus the size": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high < -by else "cannot tell"
            ),
            "no sign": lambda low, high, by: verdict(low, high, abs(by)),
            "the high end": lambda low, high, by: "supported" if high >= by else "refuted",
            "both strict": lambda low, high, by: (
                "supported" if low > by else "refuted" if high <= by else "cannot tell"
            ),
            "turned": lambda low, high, by: {"supported": "refuted", "refuted": "supported"}.get(
                verdict(low, high, by), "cannot tell"
            ),
            "the width": lambda low, high, by: "supported" if high - low >= by else "cannot tell",
            "always": lambda low, high, by: "cannot tell",
            "only one way": only_one_way,
            "a yes": lambda low, high, by: low >= by,
        },
        "generic": {
            "a little room": lambda low, high, by: verdict(low + 0.005, high, by),
        },
        "right": {
            "direct": verdict,
            "exclusion": by_exclusion,
            "signs": lambda low, high, by: ("refuted", "cannot tell", "supported")[
                1 - (high < by) + (low >= by)
            ],
            "a string of NumPy": lambda low, high, by: numpy.str_(verdict(low, high, by)),
            "a member": lambda low, high, by: Found(verdict(low, high, by)),
        },
    },
}
