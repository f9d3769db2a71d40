"""Rows of matrices go from all processes to each matrix's owner, and back: two messages a step.

A matrix is divided as FSDP2 divides it: ⌈m/P⌉ rows to each of the P processes, as long as there are
any. `owner_of` says which process has which matrix whole; it must be the same in all.
"""

import math
from collections.abc import Sequence
from itertools import chain

import torch
import torch.distributed as dist
from torch import Tensor

from muonlab.distributed.parallel import rank, size

Rows = dict[Tensor, Tensor]  # of each parameter, the rows that this process keeps


def gather_rows(rows: Rows, owner_of: dict[Tensor, int]) -> Rows:
    """Returns the matrices that this process owns, whole, and sends the others its rows."""
    mine = _owned(rank(), owner_of)
    sent = [[rows[p] for p in _owned(r, owner_of)] for r in range(size())]
    found = _exchange(sent, [[_shape(p, r) for p in mine] for r in range(size())], rows)
    return {p: torch.cat(parts) for p, *parts in zip(mine, *found, strict=True)}


def scatter_rows(complete: Rows, owner_of: dict[Tensor, int], rows: Rows) -> Rows:
    """Returns this process's rows of all matrices, and sends the others theirs of its own."""
    everybody = range(size())
    cut = [
        complete[p].split([_shape(p, r)[0] for r in everybody]) for p in _owned(rank(), owner_of)
    ]
    sent = [[parts[r] for parts in cut] for r in everybody]
    theirs = [_owned(r, owner_of) for r in everybody]
    found = _exchange(sent, [[rows[p].shape for p in some] for some in theirs], rows)
    return dict(zip(chain(*theirs), chain(*found), strict=True))


def _exchange(
    sent: list[list[Tensor]], shapes: list[list[Sequence[int]]], rows: Rows
) -> list[list[Tensor]]:
    """Returns what each process r has for this one, of shapes[r], and gives it sent[r]."""
    like = next(iter(rows.values()))  # for a process that has nothing to send
    outgoing = [sum(t.numel() for t in some) for some in sent]
    sizes = [math.prod(shape) for some in shapes for shape in some]
    incoming = [sum(map(math.prod, some)) for some in shapes]
    found = like.new_empty(sum(sizes))
    message = torch.cat([like.new_empty(0), *(t.flatten() for t in chain(*sent))])
    dist.all_to_all_single(found, message, incoming, outgoing)
    parts = iter(found.split(sizes))
    return [[next(parts).view(shape) for shape in some] for some in shapes]


def _owned(number: int, owner_of: dict[Tensor, int]) -> list[Tensor]:
    return [p for p in owner_of if owner_of[p] == number]


def _shape(p: Tensor, number: int) -> tuple[int, ...]:
    """Returns the shape of the rows of p that a process keeps: as `torch.chunk` divides them."""
    most = math.ceil(len(p) / size())
    return (min(max(len(p) - number * most, 0), most), *p.shape[1:])
