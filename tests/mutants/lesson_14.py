"""Typical answers to the exercises of lesson 14: wrong ones to reject, right ones to accept."""

import heapq
import math
from fractions import Fraction

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


def sums(owners, what, gpus):
    return [sum(w for w, o in zip(what, owners, strict=True) if o == g) for g in range(gpus)]


def operations(shapes, short=min, steps=5, product=4, cube=2):
    return [steps * (product * short(s) ** 2 * m * n / short(s) + cube * short(s) ** 3)
            for s in shapes for m, n in [s]]  # fmt: skip


def least(order, costs, gpus):
    loads, found = [(0, g) for g in range(gpus)], [0] * len(costs)
    for i in order:
        load, found[i] = heapq.heappop(loads)
        heapq.heappush(loads, (load + costs[i], found[i]))
    return found


def dearest(costs):
    return sorted(range(len(costs)), key=costs.__getitem__, reverse=True)


def parts(shapes, gpus, owners=None, costs=None, most=max, size=2, share=None):
    costs = costs or operations(shapes)
    owners = owners or least(dearest(costs), costs, gpus)
    share = (gpus - 1) / gpus if share is None else share
    sent = 1000 * size * share * most(sums(owners, [m * n for m, n in shapes], gpus)) / 5e10
    return [sent, 1000 * most(sums(owners, costs, gpus)) / 4e14, sent]


def in_turn(shapes, gpus):
    order = dearest(operations(shapes))
    return parts(shapes, gpus, [order.index(i) % gpus for i in range(len(shapes))])


def by_numbers(shapes, gpus):
    numbers = [m * n for m, n in shapes]
    return parts(shapes, gpus, least(dearest(numbers), numbers, gpus))


def of_the_busiest(shapes, gpus):
    costs = operations(shapes)
    owners = least(dearest(costs), costs, gpus)
    loads = sums(owners, costs, gpus)
    place = loads.index(max(loads))
    sent = 2e3 * sums(owners, [m * n for m, n in shapes], gpus)[place] * (gpus - 1) / gpus / 5e10
    return [sent, 1000 * max(loads) / 4e14, sent]


def with_arrays(shapes, gpus):
    """Loads as an array, and argmin, whose first minimum is the first GPU."""
    work, held = numpy.zeros(gpus), numpy.zeros(gpus)
    for m, n in sorted(shapes, key=lambda s: -(4 * min(s) * s[0] * s[1] + 2 * min(s) ** 3)):
        k, M = min(m, n), max(m, n)
        free = work.argmin()
        work[free] += 5 * (4 * k**2 * M + 2 * k**3)
        held[free] += 2 * m * n
    sent = 1e3 * held.max() * (1 - 1 / gpus) / 5e10
    return numpy.array([sent, 1e3 * work.max() / 4e14, sent])


def with_dictionaries(shapes, gpus):
    load, sent = dict.fromkeys(range(gpus), 0), dict.fromkeys(range(gpus), 0)
    for _, i in sorted((-cost, i) for i, cost in enumerate(operations(shapes))):
        free = min(load, key=load.get)
        load[free] += operations(shapes)[i]
        sent[free] += 2 * math.prod(shapes[i]) * (gpus - 1) / gpus
    there = max(sent.values()) / 5e10 * 1000
    return torch.tensor([there, max(load.values()) / 4e14 * 1000, there], dtype=torch.float64)


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
    "14-e4": {
        "wrong": {
            "in turn": in_turn,
            "in turn, unsorted": lambda s, P: parts(s, P, [i % P for i in range(len(s))]),
            "unsorted": lambda s, P: parts(s, P, least(range(len(s)), operations(s), P)),
            "by numbers": by_numbers,
            "largest first": lambda s, P: parts(
                s, P, least(dearest([m * n for m, n in s]), operations(s), P)
            ),
            "neighbours": lambda s, P: parts(s, P, [i // -(-len(s) // P) for i in range(len(s))]),
            "mean": lambda s, P: parts(s, P, most=lambda v: sum(v) / P),
            "sum": lambda s, P: parts(s, P, most=sum),
            "least": lambda s, P: parts(s, P, most=min),
            "the busiest": of_the_busiest,
            "whole": lambda s, P: parts(s, P, share=1),
            "own": lambda s, P: parts(s, P, share=1 / P),
            "float32": lambda s, P: parts(s, P, size=4),
            "a byte": lambda s, P: parts(s, P, size=1),
            "one way": lambda s, P: [*parts(s, P)[:2], 0],
            "seconds": lambda s, P: [v / 1000 for v in parts(s, P)],
            "one step": lambda s, P: parts(s, P, costs=operations(s, steps=1)),
            "rows": lambda s, P: parts(s, P, costs=operations(s, short=lambda s: s[0])),
            "no cube": lambda s, P: parts(s, P, costs=operations(s, cube=0)),
            "cube alone": lambda s, P: parts(s, P, costs=operations(s, product=0)),
            "work twice": lambda s, P: [parts(s, P)[i] for i in (0, 1, 1)],
            "order": lambda s, P: [parts(s, P)[i] for i in (1, 0, 1)],
            "ends": lambda s, P: [*numpy.cumsum(parts(s, P))],
            "total": lambda s, P: sum(parts(s, P)),
            "two": lambda s, P: parts(s, P)[:2],
            "a dictionary": lambda s, P: dict(zip("abc", parts(s, P), strict=True)),
            "in place": lambda s, P: parts(s, P)[: len(s.sort() or s)][:3],
        },
        "generic": {
            "half": lambda s, P: [v / 2 for v in parts(s, P)],
            "ten steps": lambda s, P: parts(s, P, costs=operations(s, steps=10)),
        },
        "right": {
            "heap": parts,
            "arrays": with_arrays,
            "dictionaries": with_dictionaries,
            "tuple": lambda s, P: tuple(parts(s, P)),
            "tensors": lambda s, P: [torch.tensor(v, dtype=torch.float64) for v in parts(s, P)],
            "rounded": lambda s, P: [round(v, 5) for v in parts(s, P)],
        },
    },
}
