"""Typical answers to the exercises of lesson 14: wrong ones to reject, right ones to accept."""

import heapq
import math

import numpy
import torch


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
    "14-e4": {
        "wrong": {
            "in turn": in_turn,
            "in turn, unsorted": lambda s, P: parts(s, P, [i % P for i in range(len(s))]),
            "unsorted": lambda s, P: parts(s, P, least(range(len(s)), operations(s), P)),
            "by numbers": by_numbers,
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
