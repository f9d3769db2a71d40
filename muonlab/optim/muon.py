"""Muon: momentum, orthogonalized, as one torch optimizer that can also step its AdamW groups.

One step for a matrix W with gradient G (Keller Jordan 2024; torch.optim.Muon):

    M ← μ M + (1 − μ) G             momentum, an average of gradients
    D = μ M + (1 − μ) G             Nesterov's look ahead (D = M without it)
    O = newton_schulz(D)            the same directions, all singular values near 1
    W ← (1 − lr λ) W − lr s O       s from `lr_scale`, by the shape of W
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from muonlab import checks
from muonlab.exchange import add_up, at_owners, check_rows, group_of, is_sharded, own, plan
from muonlab.optim import update
from muonlab.optim.coefficients import JORDAN, Schedule, Triple
from muonlab.optim.fast import Scratch, entries_at_once
from muonlab.optim.options import (
    check_keys,
    check_numbers,
    check_once,
    check_options,
    named,
    parameters,
)
from muonlab.optim.orthogonalize import Norm, is_finite
from muonlab.optim.update import Group, LRScale, gradient, is_stack, lr_scale, matrix_shape

ADAMW_STATE = ("exp_avg", "exp_avg_sq", "step")


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with torch.optim.Muon's arguments and defaults, and AdamW for the rest.

    A parameter (m, n) is a matrix, (e, m, n) a stack of e matrices, each orthogonalized alone, and
    (out, in, h, w) the kernel of a convolution, taken as the matrix (out, in·h·w). In a stack, a
    matrix whose gradient is all zeros waits with its momentum: an expert that saw no token.
    Parameters that FSDP2 has sharded are stepped as whole ones are: each matrix is orthogonalized
    by one process. All processes must call `step` with the same gradients present.

    Args:
        params: parameters, or groups; `muonlab.route(model).groups()` makes them. A group with
            `rule="adamw"` is stepped by AdamW with its own lr, weight_decay, betas (0.9, 0.95) and
            eps (1e-8). In one with `kernels=True` a parameter (out, in, k) is no stack but the
            kernel of a `Conv1d`, taken as the matrix (out, in·k).
        lr: learning rate, before `adjust_lr_fn` scales it by the shape (see `lr_scale`).
        weight_decay: λ, decoupled: W shrinks by the factor 1 − lr λ.
        momentum: μ in [0, 1).
        nesterov: look one step ahead.
        ns_coefficients: a triple, a triple a step, or a name in `coefficients.COEFFICIENTS`;
            "exact" takes the polar factor from an SVD in float64, as an oracle: slow, and of a
            gradient of low rank in float32 its rounding counts as direction, too.
        eps: taken for torch's sake, without effect; an AdamW group has an eps of its own.
        ns_steps: Newton-Schulz steps.
        adjust_lr_fn: None or "original", "match_rms_adamw", "spectral", "update_rms".
        ns_norm: the norm that Newton-Schulz divides by, "frobenius" or "schatten4". The second,
            with ns_coefficients="polar_express", comes closest to the polar factor.
        ns_dtype: precision of the products, None for the fastest safe one here (torch: bf16).
        own: for a subclass: further options of a group, with their defaults.

    `torch.compile(optimizer.step, fullgraph=True)` takes the whole step, which pays on a GPU; with
    lr=torch.tensor(…) a schedule does not compile it again. A compiled step checks nothing.

    Raises:
        ValueError: a value out of range, a vector under Muon, a gradient that is not finite,
            not dense or not real: the message names the parameter. Nothing has changed then.

    Source: Jordan 2024; arXiv 2502.16982 for match_rms_adamw.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: str | Triple | Schedule = JORDAN[0],
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: LRScale | None = None,
        *,
        ns_norm: Norm = "frobenius",
        ns_dtype: torch.dtype | None = None,
        own: dict[str, Any] | None = None,
    ) -> None:
        defaults: Group = {"rule": "muon", "kernels": False, "lr": lr, "weight_decay": weight_decay}
        defaults |= {"momentum": momentum, "nesterov": nesterov, "eps": eps, "ns_steps": ns_steps}
        defaults |= {"ns_coefficients": ns_coefficients, "ns_norm": ns_norm, "ns_dtype": ns_dtype}
        defaults |= {"adjust_lr_fn": adjust_lr_fn, **(own or {})}
        super().__init__(parameters(params), defaults)
        if not any(p.requires_grad for group in self.param_groups for p in group["params"]):
            raise ValueError("expected parameters, of which a gradient is asked; none asks for one")
        self.scratch = Scratch()

    whole_only = False  # a subclass may be unable to step sharded parameters
    kept: tuple[str, ...] = ("momentum_buffer",)  # about a matrix; a subclass may keep others

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy whole: scratch memory is not worth copying."""
        super().__setstate__(state)
        self.scratch = Scratch()

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, checked."""
        checks.kind("a group, a dict with params", param_group, dict)
        if "params" not in param_group:
            raise ValueError(f"expected a group with params, got {', '.join(param_group)} alone")
        if param_group.get("rule") == "adamw":
            # `fused` also tells torch's load_state_dict to keep the step counter on the device
            param_group = {"eps": 1e-8, "betas": (0.9, 0.95), "fused": True, **param_group}
        check_keys(param_group, {*self.defaults, "params", "betas", "fused"})
        super().add_param_group(param_group)
        try:
            self._check_group(len(self.param_groups) - 1)
            check_once(self.param_groups[-1])
        except ValueError:
            self.param_groups.pop()
            raise

    def state_dict(self) -> dict[str, Any]:
        """Returns options and states; {} for a parameter that had no gradient yet."""
        found = super().state_dict()
        numbers = [number for group in found["param_groups"] for number in group["params"]]
        return {**found, "state": {n: {} for n in numbers} | found["state"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state saved by this class, or by torch.optim.Muon, for the same parameters."""
        wanted = "a state_dict with param_groups and state"
        checks.kind(wanted, state_dict, dict)
        if not {"param_groups", "state"} <= state_dict.keys():
            raise ValueError(f"expected {wanted}, got {', '.join(state_dict) or 'an empty one'}")
        groups = list(state_dict["param_groups"])
        for number, (mine, saved) in enumerate(zip(self.param_groups, groups, strict=False)):
            known = "betas" if mine["rule"] == "adamw" else "ns_steps"
            if known not in saved:
                raise ValueError(
                    f"group {number} of the saved state is of another optimizer: it "
                    f"holds no {known}, but {', '.join(saved)}"
                )
            for key in ("rule", "param_names"):
                if key in saved and saved[key] != mine.get(key):
                    raise ValueError(
                        f"expected {key}={mine.get(key)!r} in group {number} of the saved state, "
                        f"got {saved[key]!r}: build the optimizer as it was when it was saved"
                    )
            groups[number] = {**mine, **saved}
        self._check_state(state_dict)
        super().load_state_dict({**state_dict, "param_groups": groups})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient, and returns closure's loss, if any."""
        loss = None
        if closure is not None:
            checks.kind("a closure, a function that gives the loss", closure, Callable)
            with torch.enable_grad():
                loss = closure()
        if not torch.compiler.is_compiling():  # a compiled step cannot stop half-way
            for number in range(len(self.param_groups)):
                self._check_group(number)
            check_numbers(self.param_groups, first=not any(self.state.values()))
        for group in self.param_groups:
            step = self._adamw_step if group["rule"] == "adamw" else self._muon_step
            step(group)
        return loss

    def _check_state(self, state_dict: dict[str, Any]) -> None:
        """Raises ValueError unless a saved state fits these parameters; nothing is loaded yet."""
        numbers = [number for group in state_dict["param_groups"] for number in group["params"]]
        places = [(g, *pair) for n, g in enumerate(self.param_groups) for pair in named(g, n)]
        for number, (group, name, p) in zip(numbers, places, strict=False):  # torch counts them
            if state_dict["state"] and p.requires_grad and number not in state_dict["state"]:
                told = "had it no gradient yet, give it {} there"
                raise ValueError(f"the saved state lacks {name!r}: take a whole one; {told}")
            found = state_dict["state"].get(number, {})
            kept = ADAMW_STATE if group["rule"] == "adamw" else self.kept
            if found and not all(isinstance(found.get(key), Tensor) for key in kept):
                told = f"the saved state of {name!r} must hold tensors {', '.join(kept)}"
                raise ValueError(f"{told}, got {', '.join(found)}: is it of another optimizer?")
            for key, value in found.items():
                if not isinstance(value, Tensor) or not value.ndim:
                    continue
                what = f"the saved {key} of {name!r}"
                self._check_shape(what, key, value, p)
                if not is_sharded(value) and not is_finite(value):
                    raise ValueError(f"{what} must be finite, got NaN or Inf: take an older one")
                if "square" in key and bool((value < 0).any()):
                    raise ValueError(f"{what} must be 0 or more, got a negative number")

    def _check_shape(self, what: str, key: str, value: Tensor, p: Tensor) -> None:
        if value.shape != (wanted := self._shape_of(key, value, p)):
            found = tuple(value.shape)
            raise ValueError(f"{what} must have the shape {tuple(wanted)}, got {found}")

    def _shape_of(self, key: str, value: Tensor, p: Tensor) -> torch.Size:
        """Returns what shape a state must have; a subclass may keep others."""
        return p.shape if key in ("momentum_buffer", *ADAMW_STATE) else value.shape

    def state_of(self, p: Tensor, group: Group) -> dict[str, Any]:
        """Returns what is kept about p, of that group; before the first step it is zeros."""
        state = self.state[p]
        if not state and group["rule"] == "adamw":
            state["step"] = torch.zeros((), dtype=torch.float32, device=p.device)
            state |= {name: torch.zeros_like(p) for name in ADAMW_STATE[:2]}
        elif not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        return state

    def _muon_step(self, group: Group) -> None:
        """Steps the matrices of a group: average, orthogonalize, rescale, add."""
        orthogonalized = partial(update.orthogonalize, group=group, scratch=self.scratch)  # D → O
        wanted = torch.float64 if group["ns_coefficients"] == "exact" else group["ns_dtype"]
        sharded: dict[Any, list[Tensor]] = defaultdict(list)
        for stack, dtype in update.as_stacks(with_gradient(group), wanted):
            if by_rows(stack[0], group):
                sharded[dtype, group_of(stack[0])] += stack
            else:
                self._add(orthogonalized(self._average(stack, group), dtype), stack, group)
        for (dtype, processes), params in sharded.items():
            # of XXᵀ, up to a factor
            costs = {p: p.numel() * min(matrix_shape(p, group["kernels"])) for p in params}
            entries, most = {p: p.numel() for p in params}, entries_at_once(dtype)
            owner_of, pieces = plan(costs, entries, processes.size(), most)
            for piece in pieces:
                alike: dict[Any, list[Tensor]] = defaultdict(list)
                for p in piece:
                    alike[p.shape, p.dtype].append(p)
                stacks = list(alike.values())
                # copied, as the next average takes the same scratch
                averages = [self._average(stack, group).to(dtype, copy=True) for stack in stacks]
                orthogonal = partial(orthogonalized, dtype=dtype)
                results = at_owners(stacks, averages, owner_of, orthogonal)
                for stack, result in zip(stacks, results, strict=True):
                    self._add(result, stack, group)

    def _average(self, stack: list[Tensor], group: Group) -> Tensor:
        """Moves the momenta on; returns what to orthogonalize, (b, e, m, n), in the scratch."""
        parts, kernels = [own(p) for p in stack], group["kernels"]
        e = len(parts[0]) if is_stack(parts[0], kernels) else 1
        shape = (len(stack), e, *matrix_shape(parts[0], kernels))
        D = self.scratch.empty("D", shape, like=parts[0])
        for p, part, direction in zip(stack, parts, D, strict=True):
            M = own(self.state_of(p, group)["momentum_buffer"])
            update.average(part, M, group, out=direction.view(part.shape))
        return D

    def _add(self, result: Tensor, stack: list[Tensor], group: Group) -> None:
        """Adds orthogonalized averages (b, e, m, n), rescaled, to the parameters of a stack."""
        parts = [own(p) for p in stack]
        updates = self.scratch.empty("D", result.shape, like=parts[0]).copy_(result)
        self.rescale(updates, stack, group)
        for part, change in zip(parts, updates, strict=True):
            update.add(part, change, group)

    def rescale(self, O: Tensor, stack: list[Tensor], group: Group) -> None:  # noqa: E741
        """Makes updates of O (b, e, m or fewer, n) in place: −lr s O, or −lr s O / ‖O‖."""
        shape = matrix_shape(stack[0], group["kernels"])
        size = -group["lr"] * lr_scale(group["adjust_lr_fn"], *shape)
        if group["adjust_lr_fn"] == "update_rms":
            precise = torch.promote_types(O.dtype, torch.float32)
            norm = torch.linalg.vector_norm(O, dim=(-2, -1), keepdim=True, dtype=precise)
            norm = over_rows(norm.square(), stack[0], group).sqrt()
            size = size / torch.where(norm > 0, norm, 1.0)
        O.mul_(size)

    def _check_group(self, number: int) -> None:
        group = self.param_groups[number]
        check_options(group)
        for name, p in named(group, number):
            if not p.is_floating_point() or p.dtype.itemsize == 1:
                raise ValueError(f"expected real floating-point, 16+ bits; {name!r} is {p.dtype}")
            if group["rule"] == "muon" and p.ndim < 2:
                raise ValueError(
                    f"Muon takes matrices; parameter {name!r} has shape {tuple(p.shape)}: "
                    "give it to AdamW, or use muonlab.route(model)"
                )
            if self.whole_only and is_sharded(p):
                mine = f"{type(self).__name__} steps whole matrices"
                raise ValueError(f"{mine}, and {name!r} is sharded: train it on whole weights")
            check_rows(name, p)
            for key, value in self.state.get(p, {}).items():
                if isinstance(value, Tensor) and value.ndim:
                    self._check_shape(f"the {key} of {name!r}", key, value, p)
                    if key == "momentum_buffer" and value.dtype != p.dtype:
                        told = f"{key} of {name!r} is {value.dtype}, the parameter {p.dtype}"
                        raise ValueError(f"{told}: build the optimizer after model.to(dtype)")

    def _adamw_step(self, group: Group) -> None:
        """Steps the parameters of a group by AdamW, entry by entry."""
        params = with_gradient(group)
        states = [self.state_of(p, group) for p in params]
        means, squares, steps = ([s[name] for s in states] for name in ADAMW_STATE)
        options = {name: group[name] for name in ("lr", "weight_decay", "eps")}
        options |= zip(("beta1", "beta2"), group["betas"], strict=True)
        # one pass over memory, 3 times as fast as the loop on a CPU; torch.compile fuses itself
        options["fused"] = group["fused"] and not torch.compiler.is_compiling()
        options |= {"amsgrad": False, "maximize": False}
        gradients = [gradient(p).to(p.dtype) for p in params]  # as in `update.average`
        adamw(params, gradients, means, squares, [], steps, **options)


def by_rows(p: Tensor, group: Group) -> bool:
    """Returns whether others keep rows of p's matrix; a sharded stack is cut between matrices."""
    return is_sharded(p) and not is_stack(p, group["kernels"])


def over_rows(sums: Tensor, p: Tensor, group: Group) -> Tensor:
    """Returns the sums over all rows of p's matrices, wherever they are kept."""
    return add_up(sums, p) if by_rows(p, group) else sums


def with_gradient(group: Group) -> list[Tensor]:
    """Returns the parameters of a group that a step changes."""
    return [p for p in group["params"] if p.grad is not None and p.numel()]
