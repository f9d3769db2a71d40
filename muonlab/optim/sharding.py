"""Sharded parameters: rows go from all processes to each matrix's owner, and back.

FSDP2 makes DTensors, of which each of P processes keeps ⌈m/P⌉ rows, as long as there are any. Rows
of a matrix, orthogonalized by themselves, are not rows of the orthogonalized matrix. So once a step

    some rows of all momenta → whole momenta at their owners → orthogonalized → the same rows again

with an all-to-all message there and one back. They go in pieces, in each of which an owner has a
few matrices, so that no process needs memory for more. To send a piece while another is
orthogonalized gained nothing in two processes on a CPU (0 % in the median), and would gain 0.4 % of
a step of 160M on eight GPUs (`cost.timeline`): it is not done. The processes of each
copy of the weights, if there are several, do so among themselves.

Source: Li et al., arXiv 2510.05491, Algorithm 2.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup

from muonlab.optim.dtensors import group_of
from muonlab.optim.stacks import Group, as_stacks, entries_at_once, matrix_shape

T = TypeVar("T")
Owned = list[list[Tensor]]  # by each process: what it works on
Kept = dict[Tensor, Tensor]  # of each parameter, what this process keeps, (1, m or fewer, n)
Shapes = Sequence[Sequence[Sequence[int]]]  # of what comes from each process


def step(optimizer: Any, params: list[Tensor], group: Group) -> None:
    """Steps, for a `Muon`, matrices of which each process keeps rows."""
    sharded: dict[Any, list[Tensor]] = defaultdict(list)
    for stacks in as_stacks(params, group):
        sharded[stacks.dtype, group_of(stacks.params[0]), stacks.kept[0].device] += stacks.params
    for (dtype, processes, device), same in sharded.items():

        def orthogonalize(D: Tensor, dtype: Any = dtype) -> Tensor:
            return optimizer._orthogonalize([D], dtype, group)[0]

        # of XXᵀ, up to a factor
        costs = {p: p.numel() * min(matrix_shape(p, group["kernels"])) for p in same}
        entries, most = {p: p.numel() for p in same}, entries_at_once(dtype, device)
        by_owner, pieces = plan(costs, entries, processes.size(), most)
        for piece in pieces:
            parts = [*as_stacks(piece, group)]
            # copied, as the next average takes the same scratch
            averages = [D.to(dtype, copy=True) for s in parts for D in optimizer._average(s, group)]
            matrices = [stack for s in parts for stack in s.by_stack(s.params)]
            results = iter(at_owners(matrices, averages, by_owner, orthogonalize))
            for s in parts:
                optimizer._add([next(results) for _ in s.sizes], s, group)


def divide(costs: dict[T, int], processes: int) -> list[list[T]]:
    """Returns what each process owns, to work on: the dearest first, to the least busy.

    It follows from the costs, which all processes know, so they agree.

    >>> divide({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3}, 2)
    [['b', 'a', 'd'], ['e', 'c']]
    """
    load: list[int] = [0] * processes
    by_owner: list[list[T]] = [[] for _ in load]
    for p in sorted(costs, key=costs.__getitem__, reverse=True):
        owner = load.index(min(load))
        by_owner[owner].append(p)
        load[owner] += costs[p]
    return by_owner


def plan(
    costs: dict[T, int], entries: dict[T, int], processes: int, most: int
) -> tuple[list[list[T]], list[list[T]]]:
    """Returns what each process owns (see `divide`), and the pieces in which all of it travels.

    In a piece, an owner has parameters with at most so many entries together, or a single one.

    >>> plan({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3}, dict.fromkeys("abcde", 9), 2, most=18)[1]
    [['b', 'a', 'e', 'c'], ['d']]
    """
    by_owner = divide(costs, processes)
    pieces: dict[int, list[T]] = defaultdict(list)
    for owned in by_owner:
        number = entries_held = 0
        for p in owned:
            if entries_held and entries_held + entries[p] > most:
                number, entries_held = number + 1, 0
            entries_held += entries[p]
            pieces[number].append(p)
    return by_owner, [*pieces.values()]


def at_owners(
    stacks: list[list[Tensor]],
    averages: list[Tensor],
    by_owner: Owned,
    function: Callable[[Tensor], Tensor],
) -> list[Tensor]:
    """Returns, for each stack, this process's rows of what `function` makes of whole matrices.

    Args:
        stacks: parameters that are sharded alike, those of a stack of one shape.
        averages: for each stack, the rows that this process keeps, (b, 1, m or fewer, n).
        by_owner: whose the parameters are, as from `divide`, and perhaps others.
        function: of (b, 1, m, n), to the same shape.
    """
    group = group_of(stacks[0][0])
    rows = dict(zip(chain(*stacks), chain(*averages), strict=True))
    by_owner = [[p for p in owned if p in rows] for owned in by_owner]
    complete = _gather(rows, by_owner, group)
    for stack in stacks:
        if owned := [p for p in stack if p in complete]:
            results = function(torch.stack([complete[p] for p in owned]))
            complete |= zip(owned, results.clone(), strict=True)  # `function` may use them again
    rows = _scatter(complete, rows, by_owner, group)
    return [torch.stack([rows[p] for p in stack]) for stack in stacks]


def _gather(rows: Kept, by_owner: Owned, group: ProcessGroup) -> Kept:
    """Returns the matrices that this process owns, whole, and sends the others its rows."""
    everybody, owned = range(group.size()), by_owner[group.rank()]
    sent = [[rows[p] for p in theirs] for theirs in by_owner]
    shapes = [[(1, _height(p, r, group), rows[p].size(-1)) for p in owned] for r in everybody]
    received = _exchange(sent, shapes, group, like=next(iter(rows.values())))
    return {p: torch.cat(parts, dim=1) for p, *parts in zip(owned, *received, strict=True)}


def _scatter(complete: Kept, rows: Kept, by_owner: Owned, group: ProcessGroup) -> Kept:
    """Returns this process's rows of all matrices, and sends the others theirs of its own."""
    everybody, owned = range(group.size()), by_owner[group.rank()]
    cut = [complete[p].split([_height(p, r, group) for r in everybody], dim=1) for p in owned]
    shapes = [[rows[p].shape for p in theirs] for theirs in by_owner]
    sent = [[parts[r] for parts in cut] for r in everybody]
    received = _exchange(sent, shapes, group, like=next(iter(rows.values())))
    return dict(zip(chain(*by_owner), chain(*received), strict=True))


def _exchange(
    sent: list[list[Tensor]], shapes: Shapes, group: ProcessGroup, like: Tensor
) -> list[list[Tensor]]:
    """Returns what each process r has for this one, of shapes[r], and gives it sent[r]."""
    message = torch.cat([like.new_empty(0), *(t.flatten() for t in chain(*sent))])
    outgoing = [sum(t.numel() for t in part) for part in sent]
    sizes = [math.prod(shape) for part in shapes for shape in part]
    incoming = [sum(map(math.prod, part)) for part in shapes]
    received = message.new_empty(sum(sizes))
    dist.all_to_all_single(received, message, incoming, outgoing, group=group)
    parts = iter(received.split(sizes))
    return [[next(parts).view(shape) for shape in part] for part in shapes]


def _height(p: Tensor, number: int, group: ProcessGroup) -> int:
    """Returns how many rows of p a process keeps: as `torch.chunk` divides them."""
    most = math.ceil(len(p) / group.size())
    return min(max(len(p) - number * most, 0), most)
