"""Train with sharded weights: each process keeps some rows of every matrix, and no more.

PyTorch's own engine, FSDP2 (`fully_shard`), gathers the weights of a block before the block
computes, frees them afterwards, and leaves each process the mean gradient of its rows. `Muon.step`
knows such parameters: `optim.sharding` says how; `orthogonalize_apart` shows the mistake.

    torchrun --nproc-per-node=2 --no-python muonlab train --shard …
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils._python_dispatch import TorchDispatchMode

from muonlab import checks
from muonlab.distributed.parallel import size
from muonlab.models.gpt import GPT
from muonlab.optim.orthogonalize import polar


def build_sharded(
    make: Callable[[], GPT],
    device: torch.device | str = "cpu",
    *,
    replicas: int = 1,
    bf16: bool = False,
) -> GPT:
    """Returns the model that `make` draws, whose parameters are DTensors, with the same weights.

    No process ever holds it whole: its parameters are made on the meta device, without memory; each
    draw fills one of them on the CPU, and the process keeps its rows. The last processes may keep
    fewer rows, or none. In one process the model is made whole. ValueError, before anything is
    drawn, if the rows and the largest parameter are more than the memory that is free.

    Args:
        make: draws each parameter from torch's default generator, seeded alike in all processes.
        replicas: copies of the weights. With R of them, P/R neighbours of P processes divide one,
            say those of a server, and only gradients go from copy to copy. ValueError if R does
            not divide P.
        bf16: gather weights in bf16, for products under autocast. The embedding is gathered as it
            is, since its gradient adds up all tokens that are one word.
    """
    # here, since it takes a second
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if size() % replicas:
        raise ValueError(f"{size()} processes cannot hold {replicas} equal copies of the weights")
    if size() == 1:
        return make().to(device)
    shape = (size(),) if replicas == 1 else (replicas, size() // replicas)
    with torch.device("meta"):  # before anything is drawn
        sizes = [p.nbytes for p in make().parameters()]
    checks.memory(sum(sizes) / shape[-1] + max(sizes), f"a process's 1/{shape[-1]} of this model")
    names = ("rows",) if replicas == 1 else ("copies", "rows")
    mesh = init_device_mesh(torch.device(device).type, shape, mesh_dim_names=names)
    with _Draw(mesh) as draw:
        handle = register_module_parameter_registration_hook(_on_meta)
        try:
            model = make()
        finally:
            handle.remove()
    rows = {name: draw.rows.pop(p) for name, p in model.named_parameters()}
    policy = plain = MixedPrecisionPolicy()
    if bf16:  # the stream between blocks and the sums of gradients stay float32, as under autocast
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
    for part in (*model.blocks, model.head, model.embedding, model):
        # freed after the forward pass: no copy of weights outlives a step
        own_policy = plain if part is model.embedding else policy
        fully_shard(part, mesh=mesh, reshard_after_forward=True, mp_policy=own_policy)
    weights = {name: _like(p, rows.pop(name).to(device)) for name, p in model.named_parameters()}
    model.load_state_dict(weights, strict=False, assign=True)  # buffers are there already
    return model.to(device)


def _like(p: Any, rows: Tensor) -> Tensor:
    """Returns these rows as a DTensor that is divided as p is."""
    from torch.distributed.tensor import DTensor

    place, shape = (p.device_mesh, p.placements), {"shape": p.shape, "stride": p.stride()}
    return DTensor.from_local(rows.to(p.dtype), *place, run_check=False, **shape)


class _Draw(TorchDispatchMode):
    """Fills parameters that are on the meta device, by chance, and keeps this process's rows."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.parts, self.number = mesh.size(mesh.ndim - 1), mesh.get_local_rank(mesh.ndim - 1)
        self.rows: dict[Tensor, Tensor] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        by_chance = torch.Tag.nondeterministic_seeded in func.tags
        if not (by_chance and isinstance(args[0], Tensor) and args[0].is_meta):
            return func(*args, **(kwargs or {}))
        whole = torch.empty(args[0].shape, dtype=args[0].dtype)
        func(whole, *args[1:], **(kwargs or {}))
        parts = dict(enumerate(whole.chunk(self.parts)))
        self.rows[args[0]] = parts.get(self.number, whole[:0]).clone()
        return args[0]


def _on_meta(module: nn.Module, name: str, p: nn.Parameter) -> Any:
    return nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad)


def fill(model: nn.Module, weights: dict[str, Any]) -> None:
    """Gives the model whole weights, or each process its rows of them."""
    from torch.distributed.checkpoint import state_dict as states

    options = states.StateDictOptions(full_state_dict=True)
    states.set_model_state_dict(model, weights, options=options)


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
