"""Shapes: how parameters are taken as matrices, and which are stepped at once.

Equal shapes are stacked, because a processor multiplies several matrices in less time each than
one (see `fast`).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from muonlab.machine import work_dtype
from muonlab.optim.dtensors import add_up, is_sharded, own

STACK = 2**23  # entries in one stack in bf16: enough for all cores, and it stays in the cache
STACK_ELSE = 2**21  # in float32, whose products are slower, less is enough
GPU_BYTES = 2**30  # of scratch memory for a stack on a GPU, which takes one of each shape at once

Group = dict[str, Any]  # the options of `Muon`, and its parameters


class Stacks:
    """Parameters that are stepped at once, and what a step reads of them.

    Attributes:
        params: those of all stacks, in order; `kept` is what this process keeps of each.
        dtype: that of their products.
        sizes: how many parameters are in each stack.
        matrices: of each stack, the rows and columns of a whole matrix.
        shapes: of each stack, (b, e, m, n) of what is kept.
        moving: how much of its step each parameter takes (see `shares`).
    """

    def __init__(self, stacks: list[list[Tensor]], dtype: torch.dtype, group: Group) -> None:
        kernels = group["kernels"]
        self.params, self.dtype = [*chain(*stacks)], dtype
        self.kept = [own(p) for p in self.params]
        self.sizes = [len(stack) for stack in stacks]
        self.firsts = [stack[0] for stack in stacks]
        self.matrices = [matrix_shape(p, kernels) for p in self.firsts]
        kept = [stack_shape(own(p), kernels) for p in self.firsts]
        self.shapes = [(size, *shape) for size, shape in zip(self.sizes, kept, strict=True)]
        self.by_rows = by_rows(self.firsts[0], group)
        self.moving = shares(self.kept, group)

    def by_stack(self, of_each: list[Tensor]) -> list[list[Tensor]]:
        """Returns of each stack what is given of each parameter."""
        rest = iter(of_each)
        return [[next(rest) for _ in range(size)] for size in self.sizes]

    def over_rows(self, norms: list[Tensor]) -> list[Tensor]:
        """Returns of each stack norms over whole matrices, from those over the rows kept here."""
        if not self.by_rows:
            return norms
        pairs = zip(norms, self.firsts, strict=True)
        return [add_up(norm.square(), p).sqrt() for norm, p in pairs]


def as_stacks(params: list[Tensor], group: Group) -> Iterator[Stacks]:
    """Yields what is to be stepped at once.

    In a stack are parameters alike in shape, dtype and device. A CPU takes one at once, which
    stays in its cache; a GPU one of each shape with the same short side, the widest last.
    """
    alike, together = defaultdict(list), defaultdict(list)
    for p in params:
        alike[p.shape, p.dtype, p.device, getattr(p, "device_mesh", None)].append(p)
    asked_dtype = torch.float64 if group["ns_coefficients"] == "exact" else group["ns_dtype"]
    kernels = group["kernels"]
    for (_, stored, device, mesh), same in alike.items():
        p, shape = same[0], matrix_shape(same[0], kernels)
        dtype = asked_dtype or work_dtype(stored, device, len(same) * p.numel())
        count = matrices_at_once(p.numel(), dtype, device)
        for first in range(0, len(same), count):
            key = min(shape) if launches_cost(device) else p.shape, first // count
            stack = max(shape), same[first : first + count]
            together[dtype, stored, device, mesh, is_stack(p, kernels), key].append(stack)
    for (dtype, *_), stacks in together.items():
        yield Stacks([s for _, s in sorted(stacks, key=lambda pair: pair[0])], dtype, group)


def launches_cost(device: torch.device) -> bool:
    """Returns whether a launch there costs more than a pass over memory."""
    return device.type == "cuda"


def entries_at_once(dtype: torch.dtype, device: torch.device) -> int:
    """Returns how many entries make a good stack of matrices."""
    if launches_cost(device):  # for each, D in float32, and X, Y and at most A, P, Z in dtype
        return GPU_BYTES // (4 + 5 * dtype.itemsize)
    return STACK if dtype == torch.bfloat16 else STACK_ELSE


def matrices_at_once(entries: int, dtype: torch.dtype, device: torch.device) -> int:
    """Returns how many matrices of so many entries make a good stack."""
    count = max(1, entries_at_once(dtype, device) // entries)
    if launches_cost(device) or torch.compiler.is_compiling():
        return count
    threads = torch.get_num_threads()  # one matrix too many would keep one busy, the others idle
    return count if count < threads else count - count % threads


def shares(params: list[Tensor], group: Group) -> list[Tensor]:
    """Returns how much of its step each stack (e, m, n) takes, 1s and 0s (e, 1, 1); [] of matrices.

    An expert that saw no token has a gradient of zeros, and Muon's update does not fade with the
    momentum: it would repeat the last direction at full size. So it gets a 0 and waits, as a
    parameter without gradient does. (A single matrix moves on, as in torch.)
    """
    if not is_stack(params[0], group["kernels"]):
        return []
    return [gradient(p).ne(0).flatten(1).any(1).to(p.dtype)[:, None, None] for p in params]


def gradient(p: Tensor) -> Tensor:
    """Returns the gradient of a parameter that is to be stepped."""
    assert p.grad is not None
    return p.grad


def is_stack(p: Tensor, kernels: bool = False) -> bool:
    """Returns whether p (e, m, n) is a stack of matrices, and not the kernel of a convolution."""
    return p.ndim == 3 and not kernels


def by_rows(p: Tensor, group: Group) -> bool:
    """Returns whether others keep rows of p's matrix; a sharded stack is cut between matrices."""
    return is_sharded(p) and not is_stack(p, group["kernels"])


def matrix_shape(p: Tensor, kernels: bool = False) -> tuple[int, int]:
    """Returns the rows and columns of the matrices in p: of a kernel (out, in, …), out and in·…."""
    if is_stack(p, kernels):
        return p.size(1), p.size(2)
    return len(p), math.prod(p.shape[1:])


def stack_shape(p: Tensor, kernels: bool = False) -> tuple[int, int, int]:
    """Returns how many matrices are in p, and their `matrix_shape`."""
    return (len(p) if is_stack(p, kernels) else 1, *matrix_shape(p, kernels))


def views(stacks: Sequence[Tensor], like: list[Tensor]) -> list[Tensor]:
    """Returns what stacks (b, …) hold of each of all their parameters, in the shapes of `like`."""
    parts = chain(*(stack.unbind() for stack in stacks))
    return [part.view(p.shape) for part, p in zip(parts, like, strict=True)]
