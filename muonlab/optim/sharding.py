"""Matrices of which each process keeps rows: whole at their owners as long as a step needs them.

The messages, and why each matrix is orthogonalized by one process, are in `sharded_rows`.
"""

from collections import defaultdict
from typing import Any

from torch import Tensor

from muonlab.optim.stacks import Group, as_stacks, entries_at_once, matrix_shape
from muonlab.sharded_rows import at_owners, group_of, plan


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
