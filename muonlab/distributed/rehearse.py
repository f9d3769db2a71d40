"""A run on several devices, rehearsed on this machine: does it give what one process gives?"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from muonlab.distributed import parallel
from muonlab.distributed.processes import together
from muonlab.distributed.sharded import build_sharded, whole
from muonlab.distributed.traffic import Traffic, replicated_bytes, sharded_bytes, wire_bytes
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import NorMuon
from muonlab.optim.routing import route

MUONS = {"muon": Muon, "normuon": NorMuon}
SMALL_GPT = GPTConfig(vocab_size=64, context=16, layers=2, width=32, heads=2)
IN_A_BATCH = 8  # sequences
STEPS = 5  # of a rehearsal


def rehearse(
    processes: int = 2, *, sharded: bool = True, dtype: torch.dtype = torch.float64
) -> dict[str, Any]:
    """Trains a small GPT in several processes, and in this one, and returns how they compare.

    Args:
        processes: 2, 4 or 8, which divide the batch.
        sharded: FSDP2; if not, whole weights everywhere and `step_shared`.
        dtype: of the weights. In float64, only the order of sums differs.

    The result holds::

        losses, losses_of_one  of each step
        difference             the largest between a weight there and here, after the last step
        bytes                  what a process sends in a step, the mean over them, by collective
        expected               the same by formula, for rows that are a multiple of the processes
        wire                   bytes that gloo has really written in a step; None beside Linux
        numbers, matrices      parameters of the model, and those of them that Muon sends

    For example, `rehearse(2)["difference"]` is below 1e-12. For scripts, see `together`.
    """
    several = together(processes, train_small, STEPS, sharded, "muon", dtype, SMALL_GPT)
    one, first = train_small(STEPS, False, "muon", dtype, SMALL_GPT), several[0]
    weights = zip(first["weights"], one["weights"], strict=True)
    sent = {name: sum(part["bytes"][name] for part in several) for name in first["bytes"]}
    matrices, others = map(route(GPT(SMALL_GPT)).count, ("muon", "adamw"))
    numbers = matrices + others
    expected = sharded_bytes if sharded else replicated_bytes
    return {
        "losses": first["losses"],
        "losses_of_one": one["losses"],
        "difference": max((W - V).abs().max().item() for W, V in weights),
        "bytes": {name: total / processes / STEPS for name, total in sent.items()},
        "expected": expected(numbers, matrices, processes, dtype.itemsize),
        "wire": first["wire"] and sum(part["wire"] for part in several) / processes / STEPS,
        "numbers": numbers,
        "matrices": matrices,
    }


def train_small(
    steps: int, sharded: bool, rule: str, dtype: torch.dtype, shape: GPTConfig
) -> dict[str, Any]:
    """Returns losses, bytes and final weights of a run that this process takes part in."""
    model, optimizer = start_alike(sharded, rule, dtype, shape)
    replica = model if sharded else parallel.replicate(model)
    before = wire_bytes()
    with Traffic() as traffic:
        losses = [train_step(replica, optimizer, batch(i, shape), sharded) for i in range(steps)]
    after = wire_bytes()
    wire = None if before is None or after is None else after - before
    weights = [whole(p.detach()) for p in model.parameters()]
    return {"losses": losses, "bytes": dict(traffic.bytes), "wire": wire, "weights": weights}


def start_alike(sharded: bool, rule: str, dtype: torch.dtype, shape: GPTConfig) -> tuple[GPT, Muon]:
    """Returns model and optimizer, the same in every process, or its share of them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build_sharded(lambda: GPT(shape).to(dtype)) if sharded else GPT(shape).to(dtype)
    return model, MUONS[rule](route(model).groups(0.01, 3e-3, adjust_lr_fn="match_rms_adamw"))


def train_step(
    replica: Callable[..., Tensor], optimizer: Muon, rows: tuple[Tensor, Tensor], sharded: bool
) -> float:
    """Returns the mean loss over all processes, after one update from their `rows` together.

    `replica` is the model, sharded, or what `parallel.replicate` made of it.
    """
    loss = replica(*map(parallel.share, rows))
    loss.backward()
    optimizer.step() if sharded else parallel.step_shared(optimizer)
    optimizer.zero_grad()
    return parallel.mean(loss).item()


def batch(number: int, shape: GPTConfig) -> tuple[Tensor, Tensor]:
    """Returns inputs and targets (B, T): ids that count up by 1, 2 or 3, so they can be learned."""
    generator = torch.Generator().manual_seed(number)
    first = torch.randint(shape.vocab_size, (IN_A_BATCH, 1), generator=generator)
    stride = torch.randint(1, 4, (IN_A_BATCH, 1), generator=generator)
    tokens = (first + stride * torch.arange(shape.context + 1)) % shape.vocab_size
    return tokens[:, :-1], tokens[:, 1:]
