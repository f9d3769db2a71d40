"""Typical answers to the exercises of lesson 14: wrong ones to reject, right ones to accept."""

import heapq
import math
from fractions import Fraction
from itertools import pairwise

import numpy
import torch


def formula(width, tokens, steps):
    return 5 * steps * width / (6 * tokens)


def counted(width, tokens, steps):
    shapes = [(width, width)] * 4 + [(4 * width, width)] * 2
    muon = sum(steps * (4 * min(s) ** 2 * max(s) + 2 * min(s) ** 3) for s in shapes)
    return muon / (6 * tokens * sum(m * n for m, n in shapes))


def rows_as_short_side(width, tokens, steps):
    muon = sum(
        steps * (4 * m**2 * n + 2 * m**3)
        for m, n in [(width, width)] * 4 + [(4 * width, width)] * 2
    )
    muon_short = 4 * 6 * width**3 * steps + 2 * steps * (4 * 16 + 2 * 64) * width**3
    assert muon == muon_short
    return muon / (72 * width**2 * tokens)


def in_whole_numbers(width, tokens, steps):
    return Fraction(5 * steps * width, 6 * tokens)


def interpolated(curve, loss):
    tokens, losses = zip(*curve, strict=True)
    return float(numpy.interp(-loss, [-v for v in losses], tokens))


def first_below(curve, loss):
    return next(t for t, value in curve if value <= loss)


def by_hand(adamw, muon, loss):
    found = []
    for curve in (adamw, muon):
        for (t, high), (later, low) in pairwise(curve):
            if low <= loss:
                found.append(later - (later - t) * (loss - low) / (high - low))
                break
    return found[0] / found[1]


def by_masks(adamw, muon, loss):
    found = []
    for curve in (adamw, muon):
        tokens, losses = torch.tensor(curve, dtype=torch.float64).T
        i = int((losses <= loss).nonzero()[0].clamp(min=1))
        way = (losses[i - 1] - loss) / (losses[i - 1] - losses[i])
        found.append(torch.lerp(tokens[i - 1], tokens[i], way))
    return found[0] / found[1]


def with_pieces(rule):
    def ratio(adamw, muon, loss):
        found = []
        for curve in (adamw, muon):
            for (t, high), (later, low) in pairwise(curve):
                if low <= loss <= high:
                    found.append(rule(t, high, later, low, loss))
                    break
        return found[0] / found[1]

    return ratio


def deal(order, processes):
    found = [0] * len(order)
    for turn, i in enumerate(order):
        found[i] = turn % processes
    return found


def largest_first(sizes):
    return sorted(range(len(sizes)), key=lambda i: -sizes[i])


def turns(sizes):
    return [largest_first(sizes).index(i) for i in range(len(sizes))]


def first_of_equals(sizes, processes):
    found = [0] * len(sizes)
    for turn, size in enumerate(sorted(sizes, reverse=True)):
        found[sizes.index(size)] = turn % processes
    return found


def by_reversed_sort(sizes, processes):
    # reverse=True keeps equal entries in their order
    return deal(sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True), processes)


def least_busy(sizes, processes):
    loads, found = [(0, r) for r in range(processes)], [0] * len(sizes)
    for i in largest_first(sizes):
        load, found[i] = heapq.heappop(loads)
        heapq.heappush(loads, (load + sizes[i], found[i]))
    return found


ANSWERS = {
    "14-e1": {
        "wrong": {
            "of the whole": lambda C, B, s: formula(C, B, s) / (1 + formula(C, B, s)),
            "upside down": lambda C, B, s: 1 / formula(C, B, s),
            "forward only": lambda C, B, s: 3 * formula(C, B, s),
            "one token": lambda C, B, s: 5 * s * C / 6,
            "one step": lambda C, B, s: formula(C, B, 1),
            "no feed-forward": lambda C, B, s: 24 * s * C / (72 * B),
            "no attention": lambda C, B, s: 36 * s * C / (72 * B),
            "rows": rows_as_short_side,
            "products": lambda C, B, s: formula(C, B, s) / 2,
            "five steps": lambda C, B, s: formula(C, B, 5),
            "whole step": lambda C, B, s: 1 + formula(C, B, s),
            "whole division": lambda C, B, s: 5 * s * C // (6 * B),
            "per cent": lambda C, B, s: 100 * formula(C, B, s),
            "backward only": lambda C, B, s: 1.5 * formula(C, B, s),
            "no 6": lambda C, B, s: 6 * formula(C, B, s),
            "Muon alone": lambda C, B, s: 60 * s * C**3,
            "no cube": lambda C, B, s: (16 + 32) * s * C / (72 * B),
            "cube alone": lambda C, B, s: (8 + 4) * s * C / (72 * B),
            "one tall": lambda C, B, s: (24 + 18) * s * C / (72 * B),
            "twice": lambda C, B, s: formula(C, B, s) * 2,
            "one of each": lambda C, B, s: (6 + 18) * s * C / (6 * 5 * B),
            "a word": lambda C, B, s: f"{formula(C, B, s):.0%}",
        },
        "generic": {
            "three layers": lambda C, B, s: 3 * formula(C, B, s) / 7,
            "no batch": lambda C, B, s: formula(C, 1, s) / C,
        },
        "right": {
            "formula": formula,
            "counted": counted,
            "fraction": in_whole_numbers,
            "0-d tensor": lambda C, B, s: torch.tensor(formula(C, B, s), dtype=torch.float64),
            "NumPy": lambda C, B, s: numpy.float64(5 * s) * C / 6 / B,
        },
    },
    "14-e2": {
        "wrong": {
            "upside down": lambda a, m, v: interpolated(m, v) / interpolated(a, v),
            "first below": lambda a, m, v: first_below(a, v) / first_below(m, v),
            "difference": lambda a, m, v: interpolated(a, v) - interpolated(m, v),
            "of losses": lambda a, m, v: a[-1][1] / m[-1][1],
            "adamw": lambda a, m, v: interpolated(a, v),
            "muon": lambda a, m, v: interpolated(m, v),
            "saved": lambda a, m, v: 1 - interpolated(m, v) / interpolated(a, v),
            "needs more": lambda a, m, v: interpolated(a, v) / interpolated(m, v) - 1,
            "last above": lambda a, m, v: (
                max([t for t, y in a if y > v] or [a[0][0]])
                / max([t for t, y in m if y > v] or [m[0][0]])
            ),
            "nearest": lambda a, m, v: (
                min(a, key=lambda p: abs(p[1] - v))[0] / min(m, key=lambda p: abs(p[1] - v))[0]
            ),
            "middle": with_pieces(lambda t, high, later, low, v: (t + later) / 2),
            "turned": with_pieces(
                lambda t, high, later, low, v: t + (later - t) * (v - low) / (high - low)
            ),
            "logarithms": with_pieces(
                lambda t, high, later, low, v: t * (later / t) ** ((high - v) / (high - low))
            ),
            "ends only": lambda a, m, v: (
                interpolated([a[0], a[-1]], v) / interpolated([m[0], m[-1]], v)
            ),
            "falling x": lambda a, m, v: (
                numpy.interp(v, [y for _, y in a], [t for t, _ in a])
                / numpy.interp(v, [y for _, y in m], [t for t, _ in m])
            ),
            "one of them": lambda a, m, v: interpolated(a, v) / first_below(m, v),
            "whole division": lambda a, m, v: interpolated(a, v) // interpolated(m, v),
            "all the tokens": lambda a, m, v: a[-1][0] / m[-1][0],
            "both": lambda a, m, v: (interpolated(a, v), interpolated(m, v)),
            "in place": lambda a, m, v: interpolated(a, v) / interpolated(m, v) + 0 * a.pop()[0],
        },
        "generic": {
            "rounded": lambda a, m, v: round(interpolated(a, v) / interpolated(m, v), 1),
            "same index": lambda a, m, v: (
                interpolated(a, v) / m[[t for t, y in a if y > v].__len__() - 1][0]
            ),
        },
        "right": {
            "numpy": lambda a, m, v: interpolated(a, v) / interpolated(m, v),
            "by hand": by_hand,
            "masks": by_masks,
            "lerp": with_pieces(
                lambda t, high, later, low, v: (t * (v - low) + later * (high - v)) / (high - low)
            ),
            "0-d array": lambda a, m, v: numpy.asarray(interpolated(a, v) / interpolated(m, v)),
        },
    },
    "14-e3": {
        "wrong": {
            "unsorted": lambda sizes, n: [i % n for i in range(len(sizes))],
            "smallest first": lambda sizes, n: deal(
                sorted(range(len(sizes)), key=lambda i: sizes[i]), n
            ),
            "blocks": lambda sizes, n: [i // -(-len(sizes) // n) for i in range(len(sizes))],
            "least busy": least_busy,
            "from 1": lambda sizes, n: [r + 1 for r in deal(largest_first(sizes), n)],
            "the order": lambda sizes, n: largest_first(sizes),
            "ties": lambda sizes, n: deal(
                sorted(range(len(sizes)), key=lambda i: (-sizes[i], -i)), n
            ),
            "one does all": lambda sizes, n: [0] * len(sizes),
            "forth and back": lambda sizes, n: [
                min(t % (2 * n), 2 * n - 1 - t % (2 * n)) for t in turns(sizes)
            ],
            "first of equals": first_of_equals,
            "together": lambda sizes, n: [
                sorted(sizes, reverse=True).index(size) % n for size in sizes
            ],
            "sorted in runs": lambda sizes, n: [t // -(-len(sizes) // n) for t in turns(sizes)],
            "ranks": lambda sizes, n: turns(sizes),
            "rounds": lambda sizes, n: [t // n for t in turns(sizes)],
            "places": lambda sizes, n: [i % n for i in largest_first(sizes)],
            "sizes": lambda sizes, n: [size % n for size in sizes],
            "from the end": lambda sizes, n: deal([*range(len(sizes))][::-1], n),
            "to the last": lambda sizes, n: [n - 1 - r for r in deal(largest_first(sizes), n)],
            "lists": lambda sizes, n: [largest_first(sizes)[r::n] for r in range(n)],
            "a dictionary": lambda sizes, n: dict(enumerate(deal(largest_first(sizes), n))),
            "in place": lambda sizes, n: deal(largest_first(sizes), n)[
                : len(sizes.sort() or sizes)
            ],
        },
        "generic": {
            "from 2": lambda sizes, n: [r + 2 for r in deal(largest_first(sizes), n)],
        },
        "right": {
            "key": lambda sizes, n: deal(largest_first(sizes), n),
            "reverse": by_reversed_sort,
            "tuple": lambda sizes, n: tuple(deal(largest_first(sizes), n)),
            "argsort": lambda sizes, n: (
                torch.tensor(sizes).argsort(descending=True, stable=True).argsort() % n
            ),
            "NumPy": lambda sizes, n: (
                numpy.argsort(numpy.argsort(-numpy.array(sizes), kind="stable")) % n
            ),
            "floats": lambda sizes, n: [math.fmod(t, n) for t in turns(sizes)],
        },
    },
}
