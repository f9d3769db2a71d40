"""Train with sharded weights: each process keeps some rows of every matrix, and no more.

PyTorch's own engine, FSDP2 (`fully_shard`), gathers the weights of a block before the block
computes, frees them afterwards, and leaves each process the mean gradient of its rows. `Muon.step`
knows such parameters: `muonlab.exchange` says how; `orthogonalize_apart` shows the mistake.

    torchrun --nproc-per-node=2 --no-python muonlab train --shard …
"""

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from muonlab.distributed.parallel import size
from muonlab.optim.orthogonalize import polar


def shard(model: nn.Module) -> nn.Module:
    """Returns the model, whose parameters are DTensors now: each process keeps some of the rows.

    The optimizer must be built afterwards. The model is on its device; each of `model.blocks`, if
    it has some, is gathered by itself. The rows need not be a multiple of the number of processes:
    the last ones keep fewer, or none. In one process the model stays as it is.
    """
    if size() == 1:
        return model
    mesh = init_device_mesh(next(model.parameters()).device.type, (size(),))
    for part in (*getattr(model, "blocks", ()), model):
        # freed after the forward pass, the outermost part too: no copy of weights outlives a step
        fully_shard(part, mesh=mesh, reshard_after_forward=True)
    return model


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
