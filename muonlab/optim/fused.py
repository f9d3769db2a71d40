"""Fused matrices, as that of queries, keys and values: parts of their rows, stepped as matrices.

A part lies in the memory of its parameter, as its gradient and momentum do in those of the whole.
So nothing is copied, and a state does not know how the matrix was split.
"""

from typing import Any

from torch import Tensor

from muonlab import checks
from muonlab.optim.dtensors import is_sharded, own
from muonlab.optim.stacks import Group, gradient, is_stack


def is_split(group: Group) -> bool:
    """Returns whether a group takes its matrices apart."""
    return bool(group["split"] or group["heads"])


def part_rows(p: Tensor, group: Group) -> list[int]:
    """Returns the rows of each part of a matrix p in a group."""
    heads = int(group["heads"] or 1)
    return [int(rows) for rows in group["split"] or [len(p) // heads] * heads]


def check_parts(name: str, p: Tensor, group: Group) -> None:
    """Raises ValueError unless the parts into which a group splits p make up its rows."""
    split, heads = group["split"], group["heads"]
    if split is heads is None:
        return
    if heads is not None:
        checks.number("heads", heads, 1, whole=True)
    whole, rows = not (is_sharded(p) or is_stack(p, group["kernels"])), part_rows(p, group)
    if not whole or None not in (split, heads) or sum(rows) != len(p) or min(rows) < 1:
        expected = f"heads that divide a whole matrix of {len(p)} rows, or a split of this sum"
        raise ValueError(f"expected {expected}; got {split=}, {heads=} for {name!r} {(*p.shape,)}")


def at_once(optimizer: Any) -> list[Group]:
    """Returns the groups of a `Muon` with what a step changes; parts join others alike.

    Those are whole matrices with equal options, so that parts cost no launches of their own.
    """
    groups: list[Group] = []
    options = optimizer.defaults.keys() - {"split", "heads"}
    optimizer.parts = {}
    for group in sorted(optimizer.param_groups, key=is_split):
        params = [p for p in group["params"] if p.grad is not None and p.numel()]
        alike = [g for g in groups if all(_same(g.get(key), group.get(key)) for key in options)]
        if is_split(group):
            params = [part for p in params for part in _parts(optimizer, p, group)]
        if is_split(group) and alike:
            alike[0]["params"] += params
        else:
            groups.append(group | {"params": params})
    return groups


def _parts(optimizer: Any, p: Tensor, group: Group) -> tuple[Tensor, ...]:
    """Returns the parts of p; the optimizer keeps what belongs to them as long as a step lasts."""
    rows, parts = part_rows(p, group), own(p).split(part_rows(p, group))
    state = {"gradient": gradient(own(p)), **optimizer.state_of(p, group)}
    columns = {key: own(t).split(rows) for key, t in state.items() if t.shape[:1] == p.shape[:1]}
    for i, part in enumerate(parts):
        optimizer.parts[part] = {key: column[i] for key, column in columns.items()}
    return parts


def _same(a: Any, b: Any) -> bool:
    """Returns whether two options are equal; tensors must be the same one, as none is read."""
    return a is b or (type(a) is type(b) and not isinstance(a, Tensor) and a == b)
