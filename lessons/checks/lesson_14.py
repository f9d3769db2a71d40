"""Checks of lesson 14: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import Wrong, array, number

Curve = list[tuple[int, float]]  # (tokens, loss), the loss falls


def e1(answer: Callable) -> None:
    """5sC / 6B: it grows with the width and falls with the batch; layers cancel."""
    cases = [(8, 10, 3), (512, 4096, 5), (768, 65_536, 2), (64, 1000, 1)]
    otherwise = "Add up 4k²M + 2k³ over six matrices, times `steps`; divide by 6 · 12C² · tokens."
    compare(answer, cases, _overheads, returns=number, within=1e-6, otherwise=otherwise)


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


ADAMW: Curve = [(1000, 7.0), (2000, 6.0), (3000, 5.5), (5000, 5.25)]
MUON: Curve = [(500, 6.5), (2000, 5.5), (4000, 5.0)]


def e2(answer: Callable) -> None:
    """Both curves cut at one loss, with a straight line between two measurements."""
    cases = [(ADAMW, MUON, loss) for loss in (5.3, 5.75, 6.0, 5.25, 6.5)]
    cases.append((MUON, ADAMW, 6.2))  # one that needs fewer
    otherwise = (
        "In each curve find the two neighbours between which the loss is passed; the tokens lie between theirs "
        "as the loss lies between theirs."
    )
    compare(answer, cases, _ratios, returns=number, within=1e-6, otherwise=otherwise)


def _ratios(adamw: Curve, muon: Curve, loss: float) -> tuple[float, Mistakes]:
    def over(tokens: Callable[[Curve, float], float]) -> float:
        return tokens(adamw, loss) / tokens(muon, loss)

    a, m = _reached(adamw, loss), _reached(muon, loss)
    line = "Between two measurements, draw a straight line."
    both = "Do the same for both curves: between two measurements of either, draw a straight line."
    return a / m, [
        (m / a, "That is Muon's tokens over AdamW's: upside down."),
        (over(_first), f"You took the first measurement at or below the loss. {line}"),
        (over(_before), f"You took the last measurement above the loss. {line}"),
        (over(_nearest), f"You took the measurement nearest to the loss. {line}"),
        (over(_middle), f"You took the middle of two measurements. {line}"),
        (over(_turned), "The share of the way is turned round: it is (before − loss) / (before − after)."),
        (over(_without_start), "You forgot the tokens at which the piece begins: add them."),
        (over(_in_logs), "You drew the line through the logarithms of the tokens. Take the tokens."),
        (over(_whole_line), "You drew one line from the first to the last measurement. Draw one between neighbours."),
        (over(_unsorted), "numpy.interp needs rising x values, and losses fall: turn both lists round."),
        (_reached(adamw, loss) / _first(muon, loss), both),
        (_first(adamw, loss) / _reached(muon, loss), both),
        (a - m, "That is the difference of the tokens, not their ratio."),
        (a, "That is AdamW's tokens alone."),
        (m, "That is Muon's tokens alone."),
        (adamw[-1][1] / muon[-1][1], "That is a ratio of losses at the end. The question is about tokens at one loss."),
        (adamw[-1][0] / muon[-1][0], "That is a ratio of all the tokens. The question is about those at one loss."),
        (1 - m / a, "That is what Muon saves, as a share. The ratio is AdamW's tokens over Muon's."),
        (a / m - 1, "That is what AdamW needs more, as a share. The ratio is AdamW's tokens over Muon's."),
        (100 * a / m, "That is in per cent. Return the ratio."),
        (float(a // m), "// drops the fraction. Divide with /."),
        (math.log(a / m), "That is the logarithm of the ratio."),
    ]


def _piece(curve: Curve, loss: float) -> tuple[int, float, int, float]:
    """Returns the two neighbours between which the loss is passed; ValueError without."""
    for (t, high), (later, low) in pairwise(curve):
        if low <= loss <= high:
            return t, high, later, low
    raise ValueError(f"the curve does not pass {loss}")


def _reached(curve: Curve, loss: float) -> float:
    t, high, later, low = _piece(curve, loss)
    return t + (later - t) * (high - loss) / (high - low)


def _turned(curve: Curve, loss: float) -> float:
    t, high, later, low = _piece(curve, loss)
    return t + (later - t) * (loss - low) / (high - low)


def _without_start(curve: Curve, loss: float) -> float:
    return _reached(curve, loss) - _piece(curve, loss)[0] or math.nan


def _in_logs(curve: Curve, loss: float) -> float:
    return math.exp(_reached([(math.log(t), value) for t, value in curve], loss))


def _whole_line(curve: Curve, loss: float) -> float:
    (t, high), (later, low) = curve[0], curve[-1]
    return t + (later - t) * (high - loss) / (high - low)


def _unsorted(curve: Curve, loss: float) -> float:
    tokens, losses = zip(*curve, strict=True)
    return float(numpy.interp(loss, losses, tokens))


def _middle(curve: Curve, loss: float) -> float:
    t, _, later, _ = _piece(curve, loss)
    return (t + later) / 2


def _nearest(curve: Curve, loss: float) -> float:
    return min(curve, key=lambda point: abs(point[1] - loss))[0]


def _first(curve: Curve, loss: float) -> float:
    return next(t for t, value in curve if value <= loss)


def _before(curve: Curve, loss: float) -> float:
    return max((t for t, value in curve if value > loss), default=curve[0][0])


def e3(answer: Callable) -> None:
    """Sorted by size, dealt like cards; the owners are listed in the order of the matrices."""
    cases = [
        ([3, 8, 5], 2),
        ([4, 9, 4, 9, 1], 2),
        ([16, 9, 4, 16, 4, 4], 3),
        ([1, 5, 9, 5, 2, 7, 3], 3),
        ([3, 8], 4),
        ([2, 7, 5], 1),
        ([*range(8, 0, -1), *range(20, 28)], 8),
    ]
    otherwise = (
        "Deal the largest matrix to process 0, the next to 1, and so on, round and round; entry i is the "
        "owner of matrix i."
    )
    compare(answer, cases, _owners, returns=_list_of_owners, within=1e-6, otherwise=otherwise)


def _list_of_owners(value: Any) -> Any:
    place = "Return one list: entry i is the number of the process that owns matrix i."
    if isinstance(value, Mapping):
        raise Wrong(f"A dictionary came. {place}")
    if isinstance(value, list) and any(isinstance(inner, list) for inner in value):
        raise Wrong(f"A list of lists came, as if each process had one. {place}")
    return array(value)


def _owners(sizes: list[int], processes: int) -> tuple[list[int], Mistakes]:
    count = range(len(sizes))
    order = sorted(count, key=lambda i: -sizes[i])
    right = _dealt(order, processes)
    per = math.ceil(len(sizes) / processes)
    dealt = "Deal one to each in turn, the largest first."
    ties = "Of two equal sizes the one that comes first in the list is dealt first."
    return right, [
        (
            [i % processes for i in count],
            "Your owners alternate along the list. Deal the largest matrix first, and put each owner at the "
            "place of its matrix in `sizes`.",
        ),
        (_dealt(sorted(count, key=lambda i: sizes[i]), processes), "You dealt the smallest matrix first."),
        (_dealt(sorted(count, key=lambda i: sizes[i])[::-1], processes), f"You turned the sorted list round. {ties}"),
        (_dealt([*count][::-1], processes), f"You dealt from the end of the list. {dealt}"),
        (
            _first_of_equals(sizes, processes),
            "`index` finds the first of equal sizes only. Sort the places, not the sizes.",
        ),
        (_by_value(sizes, processes), "A dictionary by size has one entry for equal sizes. Sort the places."),
        (_one_for_equals(sizes, processes), "Matrices of equal size are dealt one by one, not together."),
        ([i // per for i in count], f"You gave each process a run of neighbours. {dealt}"),
        (_dealt_in_runs(order, per), f"You sorted well, then gave each process a run of neighbours. {dealt}"),
        (_back_and_forth(order, processes), "You dealt forth and back. Begin each round at process 0."),
        (
            _least(order, sizes, processes),
            "You gave each to the process with least to do. That is a good rule, but here each process takes "
            "its turn, whatever it holds.",
        ),
        (
            _least([*count], sizes, processes),
            f"You gave each to the process with least to do, in the order of the list. {dealt}",
        ),
        ([owner + 1 for owner in right], "Numbers of processes start at 0."),
        ([(owner + 1) % processes for owner in right], "The largest matrix goes to process 0."),
        ([processes - 1 - owner for owner in right], "The largest matrix goes to process 0, not to the last."),
        (order, "That is the order in which the matrices are dealt, not who gets them."),
        (sorted(count, key=order.__getitem__), "That is the rank of each matrix by size. Take it modulo `processes`."),
        ([i % processes for i in order], "You took the place in the list modulo `processes`. Take the turn."),
        ([size % processes for size in sizes], "You took the sizes modulo `processes`. Take the turn."),
        (
            [turn // processes for turn in sorted(count, key=order.__getitem__)],
            "That is the round in which each is dealt. Take the turn modulo `processes`.",
        ),
        ([0] * len(sizes), "Every matrix has owner 0. Did the owners find their places in the list?"),
    ]


def _dealt(order: list[int], processes: int) -> list[int]:
    found = [0] * len(order)
    for turn, i in enumerate(order):
        found[i] = turn % processes
    return found


def _dealt_in_runs(order: list[int], per: int) -> list[int]:
    found = [0] * len(order)
    for turn, i in enumerate(order):
        found[i] = turn // per
    return found


def _back_and_forth(order: list[int], processes: int) -> list[int]:
    found = [0] * len(order)
    for turn, i in enumerate(order):
        place = turn % (2 * processes)
        found[i] = min(place, 2 * processes - 1 - place)
    return found


def _first_of_equals(sizes: list[int], processes: int) -> list[int]:
    found = [0] * len(sizes)
    for turn, size in enumerate(sorted(sizes, reverse=True)):
        found[sizes.index(size)] = turn % processes
    return found


def _by_value(sizes: list[int], processes: int) -> list[int]:
    turns = {size: turn % processes for turn, size in enumerate(sorted(sizes, reverse=True))}
    return [turns[size] for size in sizes]


def _one_for_equals(sizes: list[int], processes: int) -> list[int]:
    falling = sorted(sizes, reverse=True)
    return [falling.index(size) % processes for size in sizes]


def _least(order: list[int], sizes: list[int], processes: int) -> list[int]:
    load, found = [0] * processes, [0] * len(sizes)
    for i in order:
        found[i] = load.index(min(load))
        load[found[i]] += sizes[i]
    return found
