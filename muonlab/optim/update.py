"""One Muon step of parameters that share a shape, as functions: no state, no checks.

Equal shapes are stacked, because a processor multiplies several matrices in less time each than
one (see `fast`). Every pass over memory here is one that Muon needs.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from muonlab.optim.coefficients import schedule
from muonlab.optim.fast import Scratch, iterate, matrices_at_once
from muonlab.optim.orthogonalize import largest_entry, pick_dtype, polar

BLOCK = 2**18  # entries that are prepared together: they stay in the cache of a core
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
    if name is None or name == "original":
        return math.sqrt(max(1.0, rows / columns))
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    if name == "spectral":
        return math.sqrt(rows / columns)
    if name == "update_rms":
        return 0.2 * math.sqrt(rows * columns)
    raise ValueError(
        "adjust_lr_fn must be None, 'original', 'match_rms_adamw', 'spectral' or 'update_rms', "
        f"got {name!r}"
    )


def muon_update(
    params: list[Tensor],
    momenta: list[Tensor],
    group: dict[str, Any],
    dtype: torch.dtype,
    scratch: Scratch,
    rescale: Callable[[Tensor, slice], None] | None = None,
) -> None:
    """Steps parameters of one shape, and their momenta, in place.

    `group` holds the options of `Muon`; dtype is the precision of the products. Without `rescale`
    the update is −lr·lr_scale times O. `rescale(O, part)` makes the update of O itself, in place;
    O belongs to the parameters params[part], stacked. Matrices of a stack that have no gradient
    stay as they are, their momenta too (see `share`).
    """
    p = params[0]
    rows, columns = matrix_shape(p)
    stack = scratch.empty("X", (len(params), *p.shape), like=p.new_empty(0, dtype=dtype))
    some = min(max(1, BLOCK // p.numel()), len(params))
    D = scratch.empty("D", (some, *p.shape), like=p)
    parts = [slice(first, first + some) for first in range(0, len(params), some)]
    shares = [share(p) for p in params]
    for part in parts:
        block = D[: len(params[part])]
        each = zip(params[part], momenta[part], shares[part], block, strict=True)
        for p, M, moving, direction in each:
            average_gradients(p, M, moving, group, out=direction)
        matrices = block.view(-1, rows, columns)
        matrices.div_(largest_entry(matrices))  # a common factor has no effect on the result
        stack[part].copy_(block)
    matrices = stack.view(-1, rows, columns)
    updates = orthogonalize(matrices, *size_of(p, group, rescale), scratch).view(stack.shape)
    for part in parts:
        block = D[: len(params[part])].copy_(updates[part])
        if rescale:
            rescale(block, part)
        for p, moving, update in zip(params[part], shares[part], block, strict=True):
            add_update(p, update, moving, group)


def average_gradients(
    p: Tensor, M: Tensor, moving: float | Tensor, group: dict[str, Any], out: Tensor
) -> None:
    """Moves the momentum M of p on, and writes into `out` what is to be orthogonalized."""
    mu, G = group["momentum"], p.grad.to(p.dtype)  # a gradient may be kept in half precision
    M.lerp_(G, (1 - mu) * moving)
    if group["nesterov"]:
        torch.lerp(G, M, mu, out=out)
    else:
        out.copy_(M)
    if p.ndim == 3:
        out.mul_(moving)


def add_update(p: Tensor, update: Tensor, moving: float | Tensor, group: dict[str, Any]) -> None:
    """Shrinks p by its weight decay and adds the update, which holds −lr already."""
    shrink = 1 - group["lr"] * group["weight_decay"] * moving
    if isinstance(shrink, Tensor):
        p.mul_(shrink).add_(update)
    else:  # the same in one pass
        torch.add(update, p, alpha=shrink, out=p)


def size_of(p: Tensor, group: dict[str, Any], rescaled: Any) -> tuple[dict[str, Any], Any]:
    """Returns the options and the factor with which `orthogonalize` makes updates for p.

    If they are `rescaled` afterwards, O itself is asked for.
    """
    if rescaled:
        return group | {"adjust_lr_fn": None}, 1.0
    return group, -group["lr"] * lr_scale(group["adjust_lr_fn"], *matrix_shape(p))


def share(p: Tensor) -> float | Tensor:
    """Returns how much of its step p takes: 1, or for a stack (e, m, n) 1s and 0s, (e, 1, 1).

    An expert that saw no token has a gradient of zeros, and Muon's update does not fade with the
    momentum: it would repeat the last direction at full size until the momentum underflows. So it
    gets a 0 and waits, as a parameter without gradient does. (A single matrix moves on, as in
    torch.)
    """
    if p.ndim != 3:
        return 1.0
    return (p.grad != 0).flatten(1).any(1).to(p.dtype)[:, None, None]


def orthogonalize(
    X: Tensor, group: dict[str, Any], size: float | Tensor, scratch: Scratch
) -> Tensor:
    """Returns `size` times X (b, m, n), orthogonalized as `group` says.

    The largest entry of each matrix is 1; X may be overwritten.
    """
    if group["ns_coefficients"] == "exact":
        O = size * polar(X)  # noqa: E741  the paper's letter
    else:
        triples = schedule(group["ns_coefficients"], group["ns_steps"])
        O = iterate(X, triples, group["ns_norm"], scratch, size)  # noqa: E741
    if group["adjust_lr_fn"] == "update_rms":
        precise = torch.promote_types(O.dtype, torch.float32)
        norm = torch.linalg.vector_norm(O, dim=(-2, -1), keepdim=True, dtype=precise)
        O = O * (abs(size) / torch.where(norm > 0, norm, 1.0))  # noqa: E741
    return O


def matrix_shape(p: Tensor) -> tuple[int, int]:
    """Returns the rows and columns of the matrices in p.

    The kernel of a convolution (out, in, h, w) is the matrix (out, in·h·w); of any other shape,
    the last two sizes count.
    """
    return (p.size(0), math.prod(p.shape[1:])) if p.ndim > 3 else tuple(p.shape[-2:])


def as_stacks(
    params: list[Tensor], ns_dtype: torch.dtype | None = None
) -> Iterator[tuple[list[Tensor], torch.dtype]]:
    """Yields parameters that agree in shape, dtype and device, and the precision for them.

    The precision is ns_dtype, or the `work_dtype` of all that agree.
    """
    alike = defaultdict(list)
    for p in params:
        alike[p.shape, p.dtype, p.device].append(p)
    for same in alike.values():
        size = same[0].numel()
        dtype = ns_dtype or pick_dtype(same[0].dtype, same[0].device, len(same) * size)
        count = matrices_at_once(size, dtype)
        for first in range(0, len(same), count):
            yield same[first : first + count], dtype
