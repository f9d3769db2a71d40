"""Checks of lesson 14: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from muonlab.classroom.exercise import call, expect

Curve = list[tuple[int, float]]  # (tokens, loss), the loss falls


def e1(answer: Callable) -> None:
    """5sC / 6B: it grows with the width and falls with the batch; layers cancel."""
    for width, tokens, steps in ((512, 4096, 5), (768, 65_536, 3), (64, 1024, 1)):
        _one_overhead(float(call(answer, width, tokens, steps)), width, tokens, steps)


def _one_overhead(came: float, C: int, B: int, steps: int) -> None:
    square, tall = 6 * steps * C**3, 18 * steps * C**3  # of one matrix (C, C), of one (4C, C)
    model = 6 * 12 * C**2 * B
    x = (4 * square + 2 * tall) / model
    mistakes = [
        (1 / x, "That is the model's over Muon's: upside down."),
        (x / (1 + x), "That is Muon's part of the whole step. Divide by the model's operations alone."),
        (
            3 * x,
            "The model takes 6 operations, 2 forward and 4 backward, for each of 12C² weights and each "
            "token. You counted a third of that.",
        ),
        (x * B, "That is for one token. A step has as many as `tokens`."),
        (x / steps, "That is one Newton-Schulz step. Multiply by `steps`."),
        (
            4 * square / model,
            "A layer has four matrices (C, C) and two (4C, C). You left out the two, or took one of each shape.",
        ),
        (2 * tall / model, "You left out the four attention matrices."),
        (
            steps * (4 * 6 * C**3 + 2 * (4 * 16 * C**3 + 2 * 64 * C**3)) / model,
            "k is the short side: C for both shapes.",
        ),
        (x / 2, "A multiplication and an addition count as two, here as in the model."),
    ]
    otherwise = (
        f"For width {C}, {B:,} tokens and steps = {steps} expected {x:.6g}, got {came:.6g}. "
        "Add up 4k²M + 2k³ over six matrices, then divide by 6 · 12C² · tokens."
    )
    expect(came, x, mistakes, otherwise, within=1e-6)


ADAMW: Curve = [(1000, 7.0), (2000, 6.0), (3000, 5.5), (4000, 5.25)]
MUON: Curve = [(1000, 6.5), (2000, 5.5), (3000, 5.0), (4000, 4.5)]


def e2(answer: Callable) -> None:
    """Both curves cut at one loss, with a straight line between two measurements."""
    for loss in (5.375, 6.0, 5.25, 6.25):
        _one_ratio(float(call(answer, list(ADAMW), list(MUON), loss)), loss)


def _one_ratio(came: float, loss: float) -> None:
    tokens = _reached(ADAMW, loss), _reached(MUON, loss)
    ratio = tokens[0] / tokens[1]
    coarse = _first(ADAMW, loss) / _first(MUON, loss)
    before = _before(ADAMW, loss) / _before(MUON, loss)
    mistakes = [
        (1 / ratio, "That is Muon's tokens over AdamW's: upside down."),
        (
            coarse,
            "You took the first measurement at or below the loss. Between two measurements, draw a straight line.",
        ),
        (before, "You took the last measurement above the loss. Draw a straight line to the next one."),
        (tokens[0] - tokens[1], "That is the difference of the tokens, not their ratio."),
        (tokens[0], "That is AdamW's tokens alone."),
        (tokens[1], "That is Muon's tokens alone."),
        (ADAMW[-1][1] / MUON[-1][1], "That is a ratio of losses at the end. The question is about tokens at one loss."),
        (1 - 1 / ratio, "That is what Muon saves, as a share. The ratio is AdamW's tokens over Muon's."),
    ]
    otherwise = (
        f"At loss {loss} AdamW has read {tokens[0]:g} tokens and Muon {tokens[1]:g}: expected "
        f"{ratio:.4f}, got {came:.4f}."
    )
    expect(came, ratio, mistakes, otherwise, within=1e-6)


def _reached(curve: Curve, loss: float) -> float:
    for (t, high), (later, low) in pairwise(curve):
        if low <= loss <= high:
            return t + (later - t) * (high - loss) / (high - low)
    raise ValueError(f"the curve does not pass {loss}")


def _first(curve: Curve, loss: float) -> int:
    return next(t for t, value in curve if value <= loss)


def _before(curve: Curve, loss: float) -> int:
    return max((t for t, value in curve if value > loss), default=curve[0][0])


def e3(answer: Callable) -> None:
    """Sorted by size, dealt like cards; the owners are listed in the order of the matrices."""
    for sizes, processes in (([16, 9, 4, 16, 4, 4], 2), ([1, 5, 9, 5, 2, 7, 3], 3), ([3, 8], 4)):
        _one_deal(call(answer, list(sizes), processes), sizes, processes)


def _one_deal(came: Any, sizes: list[int], processes: int) -> None:
    found = [int(v) for v in came]
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    expected = _dealt(order, processes)
    per = math.ceil(len(sizes) / processes)
    later_first = sorted(range(len(sizes)), key=lambda i: (-sizes[i], -i))
    mistakes = [
        (
            [i % processes for i in range(len(sizes))],
            "Your owners alternate along the list, whatever the sizes. Deal the largest matrix first, "
            "and list the owners in the order of `sizes`.",
        ),
        (_dealt(sorted(range(len(sizes)), key=lambda i: sizes[i]), processes), "You dealt the smallest matrix first."),
        (_dealt(later_first, processes), "Of two equal sizes the one that comes first in the list is dealt first."),
        ([i // per for i in range(len(sizes))], "You gave each process a run of neighbours. Deal one to each in turn."),
        (
            _least(order, sizes, processes),
            "You gave each to the process with least to do. That is a good rule, and "
            "`parallel.owners` has it; here each process takes its turn, whatever it holds.",
        ),
        ([owner + 1 for owner in expected], "Numbers of processes start at 0."),
        (order, "That is the order in which the matrices are dealt, not who gets them."),
    ]
    otherwise = (
        f"For sizes {sizes} and {processes} processes expected {expected}, got {found}: entry i "
        "is the owner of matrix i."
    )
    expect(found, expected, mistakes, otherwise)


def _dealt(order: list[int], processes: int) -> list[int]:
    found = [0] * len(order)
    for turn, i in enumerate(order):
        found[i] = turn % processes
    return found


def _least(order: list[int], sizes: list[int], processes: int) -> list[int]:
    load, found = [0] * processes, [0] * len(sizes)
    for i in order:
        found[i] = load.index(min(load))
        load[found[i]] += sizes[i]
    return found
