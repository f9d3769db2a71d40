"""What this process keeps of a sharded parameter: FSDP2 makes DTensors, of which each has rows.

How rows of a matrix become whole matrices and rows again is in `sharding`.
"""

from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup


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


def group_of(p: Any) -> ProcessGroup:
    """Returns the processes that divide the rows of a sharded parameter."""
    return p.device_mesh.get_group(p.device_mesh.ndim - 1)


def check_rows(name: str, p: Any) -> None:
    """Raises ValueError if p is sharded in another way than by rows, in one copy or several."""
    if is_sharded(p):
        *copies, rows = p.placements
        if not (rows.is_shard(0) and all(copy.is_replicate() for copy in copies)):
            raise ValueError(f"expected rows of {name!r}, as by fully_shard; got {p.placements}")


def add_up(sums: Tensor, p: Tensor) -> Tensor:
    """Returns the sums over all processes that keep rows of p's matrices."""
    if not is_sharded(p):
        return sums
    sums = sums.clone()
    dist.all_reduce(sums, group=group_of(p))
    return sums
