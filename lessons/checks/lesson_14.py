"""Checks of lesson 14: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import Wrong, float_array, real_number


def e1(answer: Callable) -> None:
    """5sC / 6B: it grows with the width and falls with the batch; layers cancel."""
    cases = [(8, 10, 3), (512, 4096, 5), (768, 65_536, 2), (64, 1000, 1)]
    otherwise = "Add up 4k²M + 2k³ over six matrices, times `steps`; divide by 6 · 12C² · tokens."
    compare(answer, cases, _overheads, returns=real_number, within=1e-6, otherwise=otherwise)


def _overheads(C: int, B: int, steps: int) -> tuple[float, Mistakes]:
    square, tall = 6 * steps * C**3, 18 * steps * C**3  # of one matrix (C, C), of one (4C, C)
    muon, model = 4 * square + 2 * tall, 6 * 12 * C**2 * B
    x = muon / model
    six = "The model takes 6 operations, 2 forward and 4 backward, for each of 12C² weights and each token."
    matrices = "A layer has four matrices (C, C) and two (4C, C)."
    return x, [
        (1 / x, "That is the model's over Muon's: upside down."),
        (x / (1 + x), "That is Muon's part of the whole step. Divide by the model's operations alone."),
        (1 + x, "That is the whole step over the model's. Divide Muon's operations alone."),
        (100 * x, "That is in per cent. Return the quotient."),
        (float(muon // model), "// drops the fraction. Divide with /."),
        (float(round(x)), "You rounded to a whole number. Return the quotient."),
        (3 * x, f"{six} You counted the forward pass alone."),
        (1.5 * x, f"{six} You counted the backward pass alone."),
        (6 * x, f"{six} You left the 6 out."),
        (x * B, "That is for one token. A step has as many as `tokens`."),
        (x / steps, "That is one Newton-Schulz step. Multiply by `steps`."),
        (5 * x / steps, "You took five Newton-Schulz steps whatever `steps` says."),
        (muon, "That is Muon's operations. Divide by the model's."),
        (4 * square / model, f"{matrices} You left out the two, or took one of each shape."),
        (2 * tall / model, f"You left out the four attention matrices, or took six square ones. {matrices}"),
        ((4 * square + tall) / model, f"You took one of the two tall matrices in Muon. {matrices}"),
        (
            (square + tall) / (6 * 5 * C**2 * B),
            f"You took one matrix of each shape. {matrices}",
        ),
        (
            steps * (4 * 6 * C**3 + 2 * (4 * 16 * C**3 + 2 * 64 * C**3)) / model,
            "k is the short side: C for both shapes.",
        ),
        (steps * (4 * 4 + 2 * 16) * C**3 / model, "You left 2k³ out: a step takes 4k²M + 2k³."),
        (steps * 12 * C**3 / model, "You left 4k²M out: a step takes 4k²M + 2k³."),
        (steps * (4 * 6 + 2 * (16 + 2 * 64)) * C**3 / model, "k is the short side: C for both shapes, in 2k³ too."),
        (x / 2, "That is half as much. A multiplication and an addition count as two, here as in the model."),
        (
            2 * x,
            "That is twice as much. The model's six matrices hold 12C² weights, and 4k²M + 2k³ counts both "
            "multiplications and additions.",
        ),
    ]


SPEED, CARD = 4e14, 5e10  # operations a second of a GPU, bytes a second of its network card


def e4(answer: Callable) -> None:
    """The timeline's rule: the most expensive matrix first, each to the least busy; all wait for the slowest GPU."""
    layer = [(2048, 2048)] * 4 + [(8192, 2048), (2048, 8192)]
    cases = [
        (layer, 4),
        (
            [
                *[(2048, 2048), (3072, 4096), (2048, 1024), (512, 2048)],
                *[(512, 1024), (3072, 2048), (2048, 8192), (3072, 4096)],
            ],
            4,
        ),
        ([(1024, 8192), (3072, 2048), (2048, 2048), (2048, 512), (4096, 4096), (4096, 1024), (3072, 4096)], 3),
        ([(512, 2048), (4096, 1024), (2048, 2048), (1024, 8192), (4096, 4096)], 3),
        ([(2048, 2048), (512, 16384), (1024, 1024)], 2),
        ([(4096, 4096), (4096, 16384)], 16),
        ([(2048, 2048), (16384, 512), (16384, 512)], 2),
        (layer, 1),
    ]
    otherwise = (
        "The most expensive matrix goes first, each to the GPU with the fewest operations so far. All wait "
        "for the slowest GPU."
    )
    compare(answer, cases, _parts, returns=_three, within=1e-6, otherwise=otherwise)


def _three(value: Any) -> Any:
    listed = "Return a list of three: momenta in, Newton-Schulz, updates back."
    if isinstance(value, Mapping):
        raise Wrong(f"A dictionary came. {listed}")
    try:
        three = float_array(value)
    except Wrong as reason:
        raise Wrong(f"{reason} {listed}") from reason
    if three.shape != (3,):
        raise Wrong(f"The shape {tuple(three.shape)} came. {listed}")
    return three


def _parts(shapes: list[tuple[int, int]], gpus: int) -> tuple[list[float], Mistakes]:
    sides = [sorted(shape) for shape in shapes]
    costs = [5 * (4 * k * k * M + 2 * k**3) for k, M in sides]
    numbers = [m * n for m, n in shapes]
    order = sorted(range(len(shapes)), key=lambda i: -costs[i])
    owners = _least(order, costs, gpus)

    def sums(owners: list[int], what: list[float]) -> list[float]:
        return [sum(w for w, o in zip(what, owners, strict=True) if o == gpu) for gpu in range(gpus)]

    def told(owners: list[int], costs: list[float] = costs, most: Callable = max) -> list[float]:
        sent = 1000 * 2 * most(sums(owners, numbers)) * (gpus - 1) / gpus / CARD
        return [sent, 1000 * most(sums(owners, costs)) / SPEED, sent]

    right = told(owners)
    sent, work, _ = right
    busiest = sums(owners, costs).index(max(sums(owners, costs)))
    busy = 1000 * 2 * sums(owners, numbers)[busiest] * (gpus - 1) / gpus / CARD
    whole = 1000 * 2 * max(sums(owners, numbers)) / CARD
    rule = "The most expensive matrix goes first, each to the GPU with the fewest operations so far."
    wait = "All wait for the slowest GPU"
    by_rows = [5 * (4 * m * m * n + 2 * m**3) for m, n in shapes]
    no_cube = [5 * 4 * k * k * M for k, M in sides]
    no_product = [5 * 2 * k**3 for k, M in sides]
    count = range(len(shapes))
    per = math.ceil(len(shapes) / gpus)
    return right, [
        (
            told([turn % gpus for turn in _ranks(order)]),
            f"You dealt the matrices in turn, or gave the cheapest away first. {rule}",
        ),
        (told([i % gpus for i in count]), f"You dealt the matrices in turn, in the order of the list. {rule}"),
        (told(_least([*count], costs, gpus)), f"You took the matrices in the order of the list. {rule}"),
        (
            told(_least(sorted(count, key=lambda i: -numbers[i]), numbers, gpus)),
            "You balanced the numbers of the matrices. Balance their operations.",
        ),
        (
            told(_least(sorted(count, key=lambda i: -numbers[i]), costs, gpus)),
            "You gave the largest away first. The most expensive goes first.",
        ),
        (told([i // per for i in count]), f"You gave each GPU a run of neighbours. {rule}"),
        (told(owners, most=lambda v: sum(v) / gpus), f"You took the mean over the GPUs. {wait}: take the largest."),
        (
            told(owners, most=sum),
            f"That is the work of all GPUs, as if one did it. They work at the same time. {wait}: take the largest.",
        ),
        (told(owners, most=min), f"You took the least busy GPU. {wait}: take the largest."),
        (
            [busy, work, busy],
            "You took the bytes of the GPU with most operations. Another one may have to get more bytes.",
        ),
        (
            [whole, work, whole],
            "You sent whole matrices. An owner holds the share 1 / gpus of each already.",
        ),
        (
            [whole / gpus, work, whole / gpus],
            "You sent the share that the owner holds. It gets all the others: (gpus − 1) / gpus.",
        ),
        ([2 * sent, work, 2 * sent], "Momenta travel in bf16: two bytes a number, not four."),
        ([sent / 2, work, sent / 2], "You counted one byte a number. Momenta travel in bf16: two."),
        ([sent, work, 0.0], "You left out the way back: it takes as long as the way in."),
        ([v / 1000 for v in right], "That is in seconds. Return milliseconds."),
        ([sent, work / 5, sent], "That is one Newton-Schulz step. There are five."),
        (
            told(_least(sorted(count, key=lambda i: -by_rows[i]), by_rows, gpus), by_rows),
            "k is the shorter side, whether it counts rows or columns.",
        ),
        (
            told(_least(sorted(count, key=lambda i: -no_cube[i]), no_cube, gpus), no_cube),
            "You left 2k³ out: a step takes 4k²M + 2k³.",
        ),
        (
            told(_least(sorted(count, key=lambda i: -no_product[i]), no_product, gpus), no_product),
            "You left 4k²M out: a step takes 4k²M + 2k³.",
        ),
        ([sent, work, work], "The third part is the way back: as many bytes as on the way in."),
        ([work, sent, work], "The parts are in another order: momenta in, Newton-Schulz, updates back."),
        (
            [sent, sent + work, 2 * sent + work],
            "Those are the times at which the parts end. Return how long each takes.",
        ),
    ]


def _ranks(order: list[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _least(order: list[int], costs: list[float], gpus: int) -> list[int]:
    load, owners = [0.0] * gpus, [0] * len(costs)
    for i in order:
        owners[i] = load.index(min(load))
        load[owners[i]] += costs[i]
    return owners
