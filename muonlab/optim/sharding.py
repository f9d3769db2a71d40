"""Matrices of which each process keeps rows: whole at their owners as long as a step needs them.

The messages, and why each matrix is orthogonalized by one process, are in `sharded_rows`.
"""

from collections import defaultdict
from itertools import chain
from typing import Any

from torch import Tensor

from muonlab.optim.fast import entries_at_once
from muonlab.optim.stacks import Group, as_stacks, is_stack, matrix_shape
from muonlab.sharded_rows import add_up, at_owners, group_of, is_sharded, plan


def by_rows(p: Tensor, group: Group) -> bool:
    """Returns whether others keep rows of p's matrix; a sharded stack is cut between matrices."""
    return is_sharded(p) and not is_stack(p, group["kernels"])


def over_rows(norms: Tensor, p: Tensor, group: Group) -> Tensor:
    """Returns norms, taken over the rows kept here, over all rows of p's matrices."""
    return add_up(norms.square(), p).sqrt() if by_rows(p, group) else norms


def step(optimizer: Any, params: list[Tensor], group: Group) -> None:
    """Steps, for a `Muon`, matrices of which each process keeps rows."""
    sharded: dict[Any, list[Tensor]] = defaultdict(list)
    for stacks, dtype in as_stacks(params, group):
        for stack in stacks:
            sharded[dtype, group_of(stack[0]), stack[0].device] += stack
    for (dtype, processes, device), same in sharded.items():

        def orthogonalize(D: Tensor, dtype: Any = dtype) -> Tensor:
            return optimizer._orthogonalize([D], dtype, group)[0]

        # of XXᵀ, up to a factor
        costs = {p: p.numel() * min(matrix_shape(p, group["kernels"])) for p in same}
        entries, most = {p: p.numel() for p in same}, entries_at_once(dtype, device)
        owner_of, pieces = plan(costs, entries, processes.size(), most)
        for piece in pieces:
            stacks = [*chain(*(stacks for stacks, _ in as_stacks(piece, group)))]
            # copied, as the next average takes the same scratch
            averages = [optimizer._average([s], group)[0].to(dtype, copy=True) for s in stacks]
            results = at_owners(stacks, averages, owner_of, orthogonalize)
            for stack, result in zip(stacks, results, strict=True):
                optimizer._add([result], [stack], group)
