"""Shapes: how parameters are taken as matrices, and which are stepped at once.

Equal shapes are stacked, because a processor multiplies several matrices in less time each than
one (see `fast`).
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from muonlab.machine import work_dtype
from muonlab.optim.fast import launches_cost, matrices_at_once

Stacks = list[list[Tensor]]
Group = dict[str, Any]  # the options of `Muon`, and its parameters


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


def matrix_shape(p: Tensor, kernels: bool = False) -> tuple[int, int]:
    """Returns the rows and columns of the matrices in p: of a kernel (out, in, …), out and in·…."""
    if is_stack(p, kernels):
        return p.size(1), p.size(2)
    return len(p), math.prod(p.shape[1:])


def stack_shape(p: Tensor, kernels: bool = False) -> tuple[int, int, int]:
    """Returns how many matrices are in p, and their `matrix_shape`."""
    return (len(p) if is_stack(p, kernels) else 1, *matrix_shape(p, kernels))


def as_stacks(params: list[Tensor], group: Group) -> Iterator[tuple[Stacks, torch.dtype]]:
    """Yields stacks to be stepped at once, and a dtype for their products.

    In a stack are parameters alike in shape, dtype and device. A CPU takes one at once, which
    stays in its cache; a GPU one of each shape with the same short side, the widest last.
    """
    alike, together = defaultdict(list), defaultdict(list)
    for p in params:
        alike[p.shape, p.dtype, p.device, getattr(p, "device_mesh", None)].append(p)
    asked_dtype = torch.float64 if group["ns_coefficients"] == "exact" else group["ns_dtype"]
    kernels = group["kernels"]
    for same in alike.values():
        p, device, shape = same[0], same[0].device, matrix_shape(same[0], kernels)
        dtype = asked_dtype or work_dtype(p.dtype, device, len(same) * p.numel())
        count = matrices_at_once(p.numel(), dtype, device)
        for first in range(0, len(same), count):
            key = min(shape) if launches_cost(device) else p.shape, first // count
            stack = max(shape), same[first : first + count]
            together[dtype, p.dtype, device, is_stack(p, kernels), key].append(stack)
    for (dtype, *_), stacks in together.items():
        yield [stack for _, stack in sorted(stacks, key=lambda pair: pair[0])], dtype


def cut(params: list[Tensor], like: list[Tensor]) -> Stacks:
    """Returns the parameters of each of several stacks (b, …), of all of them in order."""
    rest = iter(params)
    return [[next(rest) for _ in range(len(stack))] for stack in like]
