"""Train with sharded weights: each process keeps some rows of every matrix, and no more.

PyTorch's own engine, FSDP2 (`fully_shard`), gathers the weights of a block before the block
computes, frees them afterwards, and leaves each process the mean gradient of its rows. AdamW can
step these as they are. Muon cannot: rows of a matrix, orthogonalized by themselves, are not rows of
the orthogonalized matrix (`orthogonalize_apart` shows it). So once a step

    some rows of all momenta → whole momenta at their owners → orthogonalized → the same rows again

with one all-to-all message there and one back. The rest is local: momentum, weights, the row means
of NorMuon. A stack of experts is cut between experts, and needs no message.

    torchrun --nproc-per-node=2 --no-python muonlab train --shard …

Source: Li et al., arXiv 2510.05491, Algorithm 2.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from muonlab.distributed.exchange import Rows, gather_rows, scatter_rows
from muonlab.distributed.parallel import divide, size
from muonlab.optim.groups import check_gradients, in_stacks, named
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import ROWS, NorMuon, even_rows
from muonlab.optim.orthogonalize import largest_entry, polar
from muonlab.optim.update import (
    add_update,
    average_gradients,
    matrix_shape,
    orthogonalize,
    share,
    size_of,
)


def shard(model: nn.Module) -> nn.Module:
    """Returns the model, whose parameters are DTensors now: each process keeps some of the rows.

    The optimizer must be built afterwards, and stepped by `step_sharded`. The rows need not be a
    multiple of the number of processes: the last ones keep fewer, or none.

    Args:
        model: on its device; each of `model.blocks`, if it has some, is gathered by itself. In one
            process it stays as it is.
    """
    if size() == 1:
        return model
    from torch.distributed.device_mesh import init_device_mesh  # these take a second to import
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(next(model.parameters()).device.type, (size(),))
    for part in (*getattr(model, "blocks", ()), model):
        # freed after the forward pass, the outermost part too: no copy of weights outlives a step
        fully_shard(part, mesh=mesh, reshard_after_forward=True)
    return model


@torch.no_grad()
def step_sharded(optimizer: Muon) -> None:
    """Steps parameters that `shard` has divided; the result is that of `optimizer.step()` on one.

    All processes must call it with the same gradients present. In one process alone it is
    `optimizer.step()`.

    Raises:
        ValueError: another rule than Muon and NorMuon, a parameter that is not sharded by rows, or
            what `Muon.step` raises; in all processes, before anything has changed.
    """
    if size() == 1:
        optimizer.step()
        return
    _check(optimizer)
    optimizer._opt_called = True  # as torch's step does: schedulers warn without it
    for group in optimizer.param_groups:
        if group["rule"] == "adamw":
            optimizer.adamw_step(group)
        else:
            _muon_step(optimizer, group)


def whole(p: Tensor) -> Tensor:
    """Returns p, gathered from all processes if it is sharded; then all must call it."""
    return p.full_tensor() if hasattr(p, "full_tensor") else p


def orthogonalize_apart(G: Tensor, parts: int) -> Tensor:
    """Returns the mistake: G (m, n) cut into parts of equally many rows, each orthogonalized alone.

    `polar(G)` has only singular values 1. Here rows are orthogonal within a part, and nothing keeps
    parts from pointing the same way: singular values go up to √parts.

    >>> G = torch.tensor([[3.0, 1.0], [1.0, 3.0]])
    >>> [round(value, 2) for value in torch.linalg.svdvals(orthogonalize_apart(G, 2)).tolist()]
    [1.26, 0.63]
    """
    return torch.cat([polar(rows) for rows in G.chunk(parts)])


def _muon_step(optimizer: Muon, group: dict[str, Any]) -> None:
    stacks = list(in_stacks(group))
    own = {p: _own_rows(p) for stack, _ in stacks for p in stack}
    moving = {p: share(rows) for p, rows in own.items()}
    updates = {p: torch.empty_like(rows) for p, rows in own.items()}
    for p, rows in own.items():
        momentum = optimizer.state_of(p, group)["momentum_buffer"].to_local()
        average_gradients(rows, momentum, moving[p], group, out=updates[p])
    for dtype in dict.fromkeys(dtype for _, dtype in stacks):  # most often one
        alike = [stack for stack, of_dtype in stacks if of_dtype == dtype]
        # they travel in the precision of the products: 4 bytes an entry each way, or 2
        rows = {p: updates[p].to(dtype) for stack in alike for p in stack}
        updates |= _orthogonalized(rows, alike, group, optimizer)
    for stack, _ in stacks:
        block = torch.stack([updates[p].to(p.dtype) for p in stack])
        if isinstance(optimizer, NorMuon):
            squares = [optimizer.state_of(p, group)[ROWS].to_local() for p in stack]
            even_rows(block, squares, group, (len(stack[0]), _sum) if _is_cut(stack[0]) else None)
        for p, update in zip(stack, block, strict=True):
            add_update(own[p], update, moving[p], group)


def _orthogonalized(
    rows: Rows, stacks: list[list[Tensor]], group: dict[str, Any], optimizer: Muon
) -> Rows:
    """Returns this process's rows of what the matrices are once orthogonalized, each by one."""
    owner_of = divide(p for p in rows if _is_cut(p))
    complete = {p: experts for p, experts in rows.items() if not _is_cut(p) and len(experts)}
    complete |= gather_rows(rows, owner_of)
    for stack in stacks:
        if some := [p for p in stack if p in complete]:
            X = torch.stack([complete[p] for p in some])
            rescaled = isinstance(optimizer, NorMuon)
            matrices = X.view(-1, *matrix_shape(some[0]))
            O = orthogonalize(  # noqa: E741  the paper's letter
                _scaled(matrices), *size_of(some[0], group, rescaled), optimizer.scratch
            )
            complete |= zip(some, O.clone().view(X.shape), strict=True)  # it lies in the scratch
    return rows | complete | scatter_rows(complete, owner_of, rows)


def _scaled(matrices: Tensor) -> Tensor:
    """Returns each matrix divided by its largest entry, in the same precision."""
    precise = matrices.to(torch.promote_types(matrices.dtype, torch.float32))
    return (precise / largest_entry(precise)).to(matrices.dtype)


def _is_cut(p: Tensor) -> bool:
    """Returns whether p's matrices are cut: of a stack (e, m, n), each process has whole ones."""
    return p.ndim != 3


def _own_rows(p: Tensor) -> Tensor:
    """Returns the rows of p that this process keeps, in the same memory, with their gradient."""
    rows = p.detach().to_local()
    if p.grad is not None:
        rows.grad = p.grad.to_local()
    return rows


def _sum(numbers: Tensor) -> Tensor:
    numbers = numbers.clone()
    dist.all_reduce(numbers)
    return numbers


def check_rule(optimizer: Muon) -> None:
    """Raises ValueError unless `step_sharded` knows the rule of the optimizer."""
    if type(optimizer) not in (Muon, NorMuon):
        raise ValueError(
            f"{type(optimizer).__name__} steps whole matrices; of sharded ones Muon and NorMuon "
            "alone step rows: train this rule without --shard"
        )


def _check(optimizer: Muon) -> None:
    check_rule(optimizer)
    groups = []
    for number, group in enumerate(optimizer.param_groups):
        for name, p in named(group, number):
            placements = getattr(p, "placements", ())
            if len(placements) != 1 or not placements[0].is_shard(0):
                raise ValueError(
                    f"expected parameters that are sharded by rows; {name!r} has placements "
                    f"{placements or 'none'}: call shard(model) before the optimizer is built"
                )
        groups.append(group | {"params": [_own_rows(p) for p in group["params"]]})
    check_gradients(groups, _sum)
