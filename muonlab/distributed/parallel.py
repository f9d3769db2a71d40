"""Train on several processes: each takes a share of the rows and a share of Muon's matrices.

`torchrun --nproc-per-node=2 --no-python muonlab train …` starts them. Each holds the whole model.
PyTorch's own engine, DistributedDataParallel, averages the gradients by all-reduces while backward
computes. Then each matrix is orthogonalized by one process, its owner, which sends the new weights
to the others. AdamW's parameters are stepped by everybody: that costs less than to send them.
Without torchrun, nothing here touches torch.distributed. Where weights, gradients and momenta
together are too much for one device, `sharded` divides them.

Source: Jordan 2024, whose Muon also divides its matrices among processes.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from muonlab.models.feedforward import Experts
from muonlab.models.gpt import GPT
from muonlab.optim.muon import Muon
from muonlab.optim.orthogonalize import is_finite
from muonlab.optim.refusals import check_present, named
from muonlab.optim.sharding import divide
from muonlab.optim.stacks import matrix_shape


def size() -> int:
    """Returns how many processes torchrun has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def rank() -> int:
    """Returns the number of this process, from 0; 0 writes the files and shows the progress."""
    # one process is the first, whatever an old shell still says
    return int(os.environ["RANK"]) if size() > 1 else 0


@contextmanager
def world(device: torch.device | str = "cpu", timeout: float = 60) -> Iterator[None]:
    """Connects the processes, if they are not yet, as long as the `with` lasts; all below needs it.

    On a GPU, process i of a machine takes GPU i, and "cuda" means that one; "cuda:0", which all
    would share, is a ValueError.

    Args:
        timeout: seconds to wait for the others. A process that has died or stopped then is an
            error in each of the others: RuntimeError under gloo; NCCL may end them instead.
    """
    if size() == 1 or dist.is_initialized():
        yield
        return
    device = torch.device(device)
    cuda = device.type == "cuda"
    if device.type == "mps" or (cuda and device.index is not None):
        raise ValueError(f"{size()} processes cannot share device {device}: give 'cuda' or 'cpu'")
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(seconds=timeout))
    try:
        yield
    except RuntimeError as error:
        error.add_note(f"in process {rank()} of {size()}; has another one ended? See its output")
        raise
    finally:  # if this process fails, the closed connection tells the others
        dist.destroy_process_group()


def share(batch: Tensor, pieces: int = 1) -> Tensor:
    """Returns the rows (B / processes, …) of the batch (B, …) that this process takes.

    Shares, and their pieces, are equal, so that the mean over the batch is the mean of their means.
    If B is no multiple of the number of pieces of all processes, that is a ValueError.
    """
    if len(batch) % (size() * pieces):
        raise ValueError(f"{len(batch)} rows: no multiple of {size()} processes × {pieces} pieces")
    return batch.chunk(size())[rank()]


def replicate(model: GPT) -> nn.Module:
    """Returns what to call instead of the model: backward then leaves it the mean gradients.

    They are the means over all processes, the same bits in each. Every parameter must take part in
    the loss. In one process it is the model itself.
    """
    if size() == 1:
        return model
    # the buffers are equal already: `feedforward` counts the tokens of all processes
    replica = DistributedDataParallel(model, forward_sync_buffers=False)
    # The last to hold gloo's threads joins them: the reducer while they wait for Python's lock, and
    # for ever; this attribute, freed after it, without the lock. An error may keep both for long.
    vars(replica)["world"] = dist.group.WORLD
    return replica


@contextmanager
def piece(replica: nn.Module, last: bool) -> Iterator[None]:
    """Takes forward and backward of one piece of a batch; gradients add up, and travel at the last.

    Of sharded weights they travel with every piece, since only rows fit the memory; but from copy
    to copy at the last.
    """
    for part in replica.modules():
        if isinstance(part, Experts):
            part.waiting = not last
    if sets := getattr(replica, "set_requires_all_reduce", None):  # FSDP's, not imported: a second
        sets(last)
    if isinstance(replica, DistributedDataParallel) and not last:
        with replica.no_sync():
            yield
    else:
        yield


class Shared:
    """A model whose answers to a batch all processes work out together, each those of some rows.

    All must call it, with the same batch; each gets all answers. For measurements: no gradients.
    """

    def __init__(self, model: GPT, rows: int | None) -> None:
        """Takes at most so many rows in a process at once; None: all that fall to it."""
        self.model, self.rows, self.head = model, rows, model.head

    def __call__(self, *batch: Tensor, **options: Any) -> Tensor:
        count = len(batch[0])
        rows_each = math.ceil(count / size())
        # where they are no multiple, some rows are done twice: all must gather weights as often
        own_rows = torch.arange(rank() * rows_each, (rank() + 1) * rows_each).clamp_(max=count - 1)
        pieces = own_rows.split(self.rows or rows_each)
        parts = [self.model(*(t[rows] for t in batch), **options) for rows in pieces]
        answers = torch.cat(parts)
        if size() == 1:
            return answers
        all_answers = [torch.empty_like(answers) for _ in range(size())]
        dist.all_gather(all_answers, answers)
        return torch.cat(all_answers)[:count]


def mean(loss: Tensor) -> Tensor:
    """Returns the mean over all processes of a number, (), where it is: the host does not wait."""
    return sum_of_all(loss.detach()) / size()


def sum_of_all(t: Tensor) -> Tensor:
    """Returns the sum over all processes of a tensor that has this shape in each."""
    t = t.clone()
    if size() > 1:
        dist.all_reduce(t)
    return t


@torch.no_grad()
def step_shared(optimizer: Muon) -> None:
    """Steps the optimizer, each matrix by its owner alone; all get the same weights.

    The gradients must be equal in all, as after `replicate`; those of others' matrices are dropped.
    What `Muon.step` raises, it raises in all processes, before anything has changed.
    """
    if size() == 1:
        optimizer.step()
        return
    places = [pair for n, g in enumerate(optimizer.param_groups) for pair in named(g, n)]
    check_present(places, sum_of_all, size())
    by_owner = owners(optimizer)
    for p in chain(*by_owner[: rank()], *by_owner[rank() + 1 :]):
        # NaN stays in sight of all, so that all raise the same error and none waits for another
        if p.grad is not None and is_finite(p.grad):
            p.grad = None
    optimizer.step()
    for owner, theirs in enumerate(by_owner):
        if not theirs:  # more processes than matrices
            continue
        flat = torch.cat([p.flatten() for p in theirs])
        dist.broadcast(flat, src=owner)
        if owner != rank():
            for p, part in zip(theirs, flat.split([p.numel() for p in theirs]), strict=True):
                p.copy_(part.view_as(p))


def gather_state(optimizer: Muon) -> None:
    """Brings the owners' momenta to every process, so that each has the whole `state_dict`.

    All processes call it before one of them saves. Any number of processes can load the result.
    """
    if size() == 1:
        return
    by_owner = owners(optimizer)
    # as objects, since `optim.rules` keep more than momenta; from GPU to GPU by the CPU
    own_states = [_moved(optimizer.state.get(p, {}), "cpu") for p in by_owner[rank()]]
    for p, state in zip(chain(*by_owner), chain(*gather(own_states)), strict=True):
        if state:
            optimizer.state[p] = _moved(state, p.device)


def gather(value: Any) -> list[Any]:
    """Returns what each process has found, a small object that can be pickled."""
    if size() == 1:
        return [value]
    everything: list[Any] = [None] * size()
    dist.all_gather_object(everything, value)
    return everything


def owners(optimizer: Muon) -> list[list[Tensor]]:
    """Returns which of Muon's matrices each process steps: the dearest first, to the least busy.

    It follows from the shapes, so all processes agree. An owner's share of equal shapes is a stack.
    """
    groups = [group for group in optimizer.param_groups if group["rule"] == "muon"]
    shapes = {p: matrix_shape(p, group["kernels"]) for group in groups for p in group["params"]}
    # that of XXᵀ, up to a factor
    return divide({p: p.numel() * min(shape) for p, shape in shapes.items()}, size())


def _moved(state: dict[str, Any], device: torch.device | str) -> dict[str, Any]:
    return {k: v.to(device) if isinstance(v, Tensor) else v for k, v in state.items()}
