"""The pieces of one Muon step, as functions that keep no state.

Equal shapes are stacked, because a processor multiplies several matrices in less time each than
one (see `fast`). Every pass over memory here is one that Muon needs.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from muonlab import checks
from muonlab.machine import work_dtype
from muonlab.optim.coefficients import schedule
from muonlab.optim.fast import Scratch, iterate, matrices_at_once
from muonlab.optim.orthogonalize import largest_entry, polar

Group = dict[str, Any]  # the options of `Muon`, and its parameters
LRScale = Literal["original", "match_rms_adamw", "spectral", "update_rms"]


def lr_scale(name: LRScale | None, rows: int, columns: int) -> float:
    """Returns the factor by which Muon's learning rate is multiplied for a rows×columns matrix.

    =============== ============================ ================================== ==========
    name            factor                       the update then has                source
    =============== ============================ ================================== ==========
    original, None  √max(1, rows/columns)        spectral norm 1, more if tall      Jordan 2024
    match_rms_adamw 0.2 √max(rows, columns)      entries of RMS 0.2, like AdamW's   2502.16982
    spectral        √(rows/columns)              outputs of RMS 1 for inputs of 1   2310.17813
    update_rms      0.2 √(rows·columns) / ‖O‖_F  entries of RMS 0.2 exactly         2510.05491
    =============== ============================ ================================== ==========

    The last divides by the norm of the update O itself; `lr_scale` then gives the numerator.
    To keep the same step under another name, multiply lr by old factor / new factor.

    >>> lr_scale("match_rms_adamw", 256, 1024)
    6.4
    """
    checks.number("rows", rows, 1, whole=True)
    checks.number("columns", columns, 1, whole=True)
    factors = {
        "original": math.sqrt(max(1.0, rows / columns)),
        "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
        "spectral": math.sqrt(rows / columns),
        "update_rms": 0.2 * math.sqrt(rows * columns),
    }
    if name is not None:
        checks.choice("adjust_lr_fn", name, factors)
    return factors[name or "original"]


def average(p: Tensor, M: Tensor, group: Group, out: Tensor) -> Tensor:
    """Moves the momentum M of p on; returns, in `out`, the direction to be orthogonalized."""
    mu, moving = group["momentum"], share(p, group)  # 1; or 0 for experts that wait
    G = gradient(p).to(p.dtype)  # it may be kept in half precision
    M.lerp_(G, (1 - mu) * moving)
    if group["nesterov"]:
        torch.lerp(G, M, mu, out=out)
    else:
        out.copy_(M)
    return out.mul_(moving) if isinstance(moving, Tensor) else out


def orthogonalize(D: Tensor, dtype: torch.dtype, group: Group, scratch: Scratch) -> Tensor:
    """Returns D (b, e, m, n), each matrix orthogonalized in that dtype; D is overwritten."""
    D.div_(largest_entry(D))  # a common factor has no effect on the result
    X = scratch.empty("X", D.shape, like=D.new_empty(0, dtype=dtype)).copy_(D)
    if group["ns_coefficients"] == "exact":
        return polar(X)
    triples = schedule(group["ns_coefficients"], group["ns_steps"])
    return iterate(X.flatten(0, 1), triples, group["ns_norm"], scratch).view(D.shape)


def add(p: Tensor, update: Tensor, group: Group) -> None:
    """Shrinks p by its weight decay and adds the update, which holds −lr already."""
    update = update.view(p.shape)
    shrink = 1 - group["lr"] * group["weight_decay"] * share(p, group)
    if isinstance(shrink, Tensor):
        p.mul_(shrink).add_(update)
    else:  # the same, W ← shrink · W + update, in one pass over memory
        torch.add(update, p, alpha=shrink, out=p)


def share(p: Tensor, group: Group) -> float | Tensor:
    """Returns how much of its step p takes: 1, or for a stack (e, m, n) 1s and 0s, (e, 1, 1).

    An expert that saw no token has a gradient of zeros, and Muon's update does not fade with the
    momentum: it would repeat the last direction at full size. So it gets a 0 and waits, as a
    parameter without gradient does. (A single matrix moves on, as in torch.)
    """
    if not is_stack(p, group["kernels"]):
        return 1.0
    return gradient(p).ne(0).flatten(1).any(1).to(p.dtype)[:, None, None]


def gradient(p: Tensor) -> Tensor:
    """Returns the gradient of a parameter that is to be stepped."""
    if p.grad is None:
        raise ValueError("expected a parameter with a gradient; call backward() before step()")
    return p.grad


def is_stack(p: Tensor, kernels: bool = False) -> bool:
    """Returns whether p (e, m, n) is a stack of matrices, and not the kernel of a convolution."""
    return p.ndim == 3 and not kernels


def matrix_shape(p: Tensor, kernels: bool = False) -> tuple[int, int]:
    """Returns the rows and columns of the matrices in p: of a kernel (out, in, …), out and in·…."""
    if is_stack(p, kernels):
        return p.size(1), p.size(2)
    return len(p), math.prod(p.shape[1:])


def as_stacks(
    params: list[Tensor], ns_dtype: torch.dtype | None = None
) -> Iterator[tuple[list[Tensor], torch.dtype]]:
    """Yields parameters alike in shape, dtype and device, and ns_dtype or their `work_dtype`."""
    alike = defaultdict(list)
    for p in params:
        alike[p.shape, p.dtype, p.device, getattr(p, "device_mesh", None)].append(p)
    for same in alike.values():
        size = same[0].numel()
        dtype = ns_dtype or work_dtype(same[0].dtype, same[0].device, len(same) * size)
        count = matrices_at_once(size, dtype)
        for first in range(0, len(same), count):
            yield same[first : first + count], dtype
