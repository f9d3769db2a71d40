"""Sharded parameters: rows go from all processes to each matrix's owner, and back.

FSDP2 makes DTensors, of which each of P processes keeps ⌈m/P⌉ rows, as long as there are any. Rows
of a matrix, orthogonalized by themselves, are not rows of the orthogonalized matrix. So once a step

    some rows of all momenta → whole momenta at their owners → orthogonalized → the same rows again

with one all-to-all message there and one back. `optim.muon` says of which, and what is done.

Source: Li et al., arXiv 2510.05491, Algorithm 2.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

T = TypeVar("T")
Rows = dict[Tensor, Tensor]  # of each parameter, what this process keeps, (1, m or fewer, n)
Shapes = Sequence[Sequence[Sequence[int]]]  # of what comes from each process


def is_sharded(p: Tensor) -> bool:
    """Returns whether p is a DTensor of which this process keeps a part."""
    return not all(placement.is_replicate() for placement in getattr(p, "placements", ()))


def own(p: Any) -> Tensor:
    """Returns the part of p that this process keeps, in the same memory, with its gradient."""
    if not hasattr(p, "to_local"):
        return p
    rows = p.detach().to_local()
    if p.grad is not None:
        rows.grad = p.grad.to_local()
    return rows


def mesh_of(p: Any) -> DeviceMesh:
    """Returns the processes that share a sharded parameter."""
    return p.device_mesh


def check_rows(name: str, p: Any) -> None:
    """Raises ValueError if p is sharded in another way than by rows among all processes."""
    if is_sharded(p) and (len(p.placements) > 1 or not p.placements[0].is_shard(0)):
        raise ValueError(
            f"expected parameters that are sharded by rows among all processes, as "
            f"fully_shard(model) does; {name!r} has placements {p.placements}"
        )


def add_up(sums: Tensor, p: Tensor) -> Tensor:
    """Returns the sums over all processes that keep rows of p's matrices."""
    if not is_sharded(p):
        return sums
    sums = sums.clone()
    dist.all_reduce(sums, group=mesh_of(p).get_group())
    return sums


def divide(costs: dict[T, int], processes: int) -> dict[T, int]:
    """Returns the process that works on each parameter: the dearest first, to the least busy.

    It follows from the costs, which all processes know, so they agree.

    >>> divide({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3}, 2)
    {'b': 0, 'e': 1, 'a': 0, 'c': 1, 'd': 0}
    """
    load, owner_of = [0] * processes, {}
    for p in sorted(costs, key=costs.__getitem__, reverse=True):
        owner_of[p] = load.index(min(load))
        load[owner_of[p]] += costs[p]
    return owner_of


def at_owners(
    stacks: list[list[Tensor]], averages: list[Tensor], function: Callable[[Tensor], Tensor]
) -> list[Tensor]:
    """Returns, for each stack, this process's rows of what `function` makes of whole matrices.

    Args:
        stacks: parameters that are sharded alike, those of a stack of one shape.
        averages: for each stack, the rows that this process keeps, (b, 1, m or fewer, n).
        function: of (b, 1, m, n), to the same shape.
    """
    mesh = mesh_of(stacks[0][0])
    rows = dict(zip(chain(*stacks), chain(*averages), strict=True))
    costs = {p: p.numel() * min(len(p), x.size(-1)) for p, x in rows.items()}  # of XXᵀ
    owner_of = divide(costs, mesh.size())
    complete = _gather(rows, owner_of, mesh)
    for stack in stacks:
        if mine := [p for p in stack if p in complete]:
            results = function(torch.stack([complete[p] for p in mine]))
            complete |= zip(mine, results.clone(), strict=True)  # `function` may use them again
    rows = _scatter(complete, rows, owner_of, mesh)
    return [torch.stack([rows[p] for p in stack]) for stack in stacks]


def _gather(rows: Rows, owner_of: dict[Tensor, int], mesh: DeviceMesh) -> Rows:
    """Returns the matrices that this process owns, whole, and sends the others its rows."""
    everybody, mine = range(mesh.size()), _owned(mesh.get_local_rank(), owner_of)
    sent = [[rows[p] for p in _owned(r, owner_of)] for r in everybody]
    shapes = [[(1, _height(p, r, mesh), rows[p].size(-1)) for p in mine] for r in everybody]
    found = _exchange(sent, shapes, mesh, like=next(iter(rows.values())))
    return {p: torch.cat(parts, dim=1) for p, *parts in zip(mine, *found, strict=True)}


def _scatter(complete: Rows, rows: Rows, owner_of: dict[Tensor, int], mesh: DeviceMesh) -> Rows:
    """Returns this process's rows of all matrices, and sends the others theirs of its own."""
    everybody, mine = range(mesh.size()), _owned(mesh.get_local_rank(), owner_of)
    cut = [complete[p].split([_height(p, r, mesh) for r in everybody], dim=1) for p in mine]
    theirs = [_owned(r, owner_of) for r in everybody]
    shapes = [[rows[p].shape for p in some] for some in theirs]
    sent = [[parts[r] for parts in cut] for r in everybody]
    found = _exchange(sent, shapes, mesh, like=next(iter(rows.values())))
    return dict(zip(chain(*theirs), chain(*found), strict=True))


def _exchange(
    sent: list[list[Tensor]], shapes: Shapes, mesh: DeviceMesh, like: Tensor
) -> list[list[Tensor]]:
    """Returns what each process r has for this one, of shapes[r], and gives it sent[r]."""
    message = torch.cat([like.new_empty(0), *(t.flatten() for t in chain(*sent))])
    outgoing = [sum(t.numel() for t in some) for some in sent]
    sizes = [math.prod(shape) for some in shapes for shape in some]
    incoming = [sum(map(math.prod, some)) for some in shapes]
    found = message.new_empty(sum(sizes))
    dist.all_to_all_single(found, message, incoming, outgoing, group=mesh.get_group())
    parts = iter(found.split(sizes))
    return [[next(parts).view(shape) for shape in some] for some in shapes]


def _owned(number: int, owner_of: dict[Tensor, int]) -> list[Tensor]:
    return [p for p in owner_of if owner_of[p] == number]


def _height(p: Tensor, number: int, mesh: DeviceMesh) -> int:
    """Returns how many rows of p a process keeps: as `torch.chunk` divides them."""
    most = math.ceil(len(p) / mesh.size())
    return min(max(len(p) - number * most, 0), most)
