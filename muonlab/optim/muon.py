"""Muon: momentum, orthogonalized, as one torch optimizer that can also step its AdamW groups.

One step for a matrix W with gradient G (Keller Jordan 2024; torch.optim.Muon):

    M ← μ M + (1 − μ) G             momentum, an average of gradients
    D = μ M + (1 − μ) G             Nesterov's look ahead (D = M without it)
    O = newton_schulz(D)            the same directions, all singular values near 1
    W ← (1 − lr λ) W − lr s O       s from `lr_scale`, by the shape of W

`muon_step.muon_step` says so in code. Here it is done to many matrices by few calls.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from muonlab.machine import in_float64
from muonlab.optim import fused, refusals, sharding
from muonlab.optim.coefficients import JORDAN, Schedule, Triple, schedule
from muonlab.optim.dtensors import check_rows, is_sharded, own
from muonlab.optim.fast import Scratch, orthogonalized
from muonlab.optim.lr_scale import LRScale, lr_scale
from muonlab.optim.orthogonalize import Norm, polar
from muonlab.optim.stacks import Group, Stacks, as_stacks, by_rows, gradient, views

ADAMW_STATE = ("exp_avg", "exp_avg_sq", "step")


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with torch.optim.Muon's arguments and defaults, and AdamW for the rest.

    A parameter (m, n) is a matrix, (e, m, n) a stack of e matrices, each orthogonalized alone, and
    (out, in, h, w) the kernel of a convolution, taken as the matrix (out, in·h·w). In a stack, a
    matrix whose gradient is all zeros waits with its momentum: an expert that saw no token.
    Parameters that FSDP2 has sharded are stepped as whole ones are: each matrix is orthogonalized
    by one process. All processes must call `step`, with the same gradients present.

    Args:
        params: parameters, or groups; `muonlab.route(model).groups()` makes them. A group with
            `rule="adamw"` is stepped by AdamW with its own lr, weight_decay, betas (0.9, 0.95) and
            eps (1e-8). In one with `kernels=True` a parameter (out, in, k) is no stack but the
            kernel of a `Conv1d`, taken as the matrix (out, in·k). In one with `split=(rows, …)`
            each matrix is taken apart into parts of so many rows, as a fused one into queries, keys
            and values; with `heads=n` into n equal parts. Each part is orthogonalized alone, and
            `adjust_lr_fn` goes by its shape. Stacks and sharded parameters are not split. Where
            other libraries say `use_muon=False` or `algorithm="adamw"`, that is the group's rule.
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
        capturable: reads nothing back from the device, so that a CUDA graph can take the step. Then
            nothing is checked, as in a compiled step; "exact" is not for it.
        own: for a subclass: further options of a group, with their defaults.

    `torch.compile(optimizer.step, fullgraph=True)` takes the whole step, which pays on a GPU; with
    lr=torch.tensor(…) a schedule does not compile it again. Compile before a scheduler is built: it
    wraps `step`. A compiled step checks nothing.

    Raises:
        ValueError: a value out of range, a vector under Muon, a gradient that is not finite: the
            message names the parameter. Nothing has changed then.

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
        capturable: bool = False,
        own: dict[str, Any] | None = None,
    ) -> None:
        defaults: Group = {"rule": "muon", "kernels": False, "split": None, "heads": None, "lr": lr}
        defaults |= {"weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov}
        defaults |= {"ns_coefficients": ns_coefficients, "ns_norm": ns_norm, "ns_dtype": ns_dtype}
        defaults |= {"adjust_lr_fn": adjust_lr_fn, "ns_steps": ns_steps, "eps": eps}
        super().__init__(params, defaults | {"capturable": capturable} | (own or {}))
        self.scratch = Scratch()
        self.parts: dict[Tensor, dict[str, Tensor]] = {}  # what parts of matrices have in a step

    whole_only = False  # a subclass may be unable to step sharded parameters, parts, stacks

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy whole: scratch memory is not worth copying."""
        super().__setstate__(state)
        self.scratch, self.parts = Scratch(), {}

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, checked."""
        if (param_group := refusals.with_rule(param_group)).get("rule") == "adamw":
            # `fused` also tells torch's load_state_dict to keep the step counter on the device
            param_group = {"eps": 1e-8, "betas": (0.9, 0.95), "fused": True, **param_group}
        refusals.check_keys(param_group, self.defaults)
        # bare: torch's decorator of it imports the compiler, which takes a second
        torch.optim.Optimizer.add_param_group.__wrapped__(self, param_group)  # type: ignore[attr-defined]
        try:
            self._check_group(len(self.param_groups) - 1)
        except ValueError:
            self.param_groups.pop()
            raise

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state saved by this class, or by torch.optim.Muon, for the same parameters.

        Options become those saved, but for `split` and `heads`: matrices stay as they are split.
        """
        groups = list(state_dict["param_groups"])
        for number, (group, saved) in enumerate(zip(self.param_groups, groups, strict=False)):
            for key in ("rule", "param_names"):
                if key in saved and key in group and saved[key] != group[key]:
                    expected = f"{key}={group[key]!r} in group {number} of the saved state"
                    raise ValueError(f"expected {expected}, got {saved[key]!r}")
            # torch counts both, and says where they differ
            named = zip(saved["params"], refusals.named(group, number), strict=False)
            for place, (name, p) in named:
                saved_state = state_dict["state"].get(place, {})
                refusals.check_state(saved_state, self.averages(group["rule"]), name, p)
            groups[number] = {**group, **saved, "split": group["split"], "heads": group["heads"]}
        super().load_state_dict({**state_dict, "param_groups": groups})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient, and returns closure's loss, if any."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        # these cannot stop half-way
        if not (torch.compiler.is_compiling() or any(g["capturable"] for g in self.param_groups)):
            for number in range(len(self.param_groups)):
                self._check_group(number)
            refusals.check_numbers(self.param_groups, first=not any(self.state.values()))
        for group in fused.at_once(self):
            step = self._adamw_step if group["rule"] == "adamw" else self._muon_step
            step(group)
        self.parts = {}  # or they would keep the gradients
        return loss

    def averages(self, rule: str) -> tuple[str, ...]:
        """Returns the names of what is kept about a parameter of that rule, in its own shape."""
        return ADAMW_STATE[:2] if rule == "adamw" else ("momentum_buffer",)

    def state_of(self, p: Tensor, group: Group) -> dict[str, Any]:
        """Returns what is kept about p, of that group; before the first step it is zeros."""
        state = self.parts.get(p) or self.state[p]
        if not state and group["rule"] == "adamw":
            state["step"] = torch.zeros((), dtype=torch.float32, device=p.device)
            state |= {name: torch.zeros_like(p) for name in ADAMW_STATE[:2]}
        elif not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        return state

    def _muon_step(self, group: Group) -> None:
        """Steps the matrices of a group: average, orthogonalize, rescale, add."""
        params = group["params"]
        for stacks in as_stacks([p for p in params if not by_rows(p, group)], group):
            Ds = self._average(stacks, group)
            self._add(self._orthogonalize(Ds, stacks.dtype, group), stacks, group)
        sharding.step(self, [p for p in params if by_rows(p, group)], group)

    def _average(self, stacks: Stacks, group: Group) -> list[Tensor]:
        """Moves the momenta M on by the gradients G; returns the directions D (b, e, m, n).

        They lie in the scratch. What is done entry by entry is done to all by one call, which a GPU
        takes as one launch.
        """
        mu, moving = group["momentum"], stacks.moving
        results = self.scratch.cut("D", stacks.shapes, like=stacks.kept[0])
        Ds, parts = views(results, stacks.kept), self.parts
        Gs = [parts[p]["gradient"] if p in parts else gradient(p) for p in stacks.kept]
        # they may be kept in half precision
        Gs = [G.to(p.dtype) for G, p in zip(Gs, stacks.kept, strict=True)]
        Ms = [own(self.state_of(p, group)["momentum_buffer"]) for p in stacks.params]
        torch._foreach_lerp_(Ms, Gs, [(1 - mu) * share for share in moving] or 1 - mu)
        torch._foreach_copy_(Ds, Gs if group["nesterov"] else Ms)
        if group["nesterov"]:
            torch._foreach_lerp_(Ds, Ms, mu)
        if moving:
            torch._foreach_mul_(Ds, moving)
        return results

    def _orthogonalize(self, Ds: list[Tensor], dtype: torch.dtype, group: Group) -> list[Tensor]:
        """Returns D (b, e, m, n), each matrix orthogonalized; D may be overwritten."""
        if group["ns_coefficients"] == "exact":
            return [polar(in_float64(D)) for D in Ds]
        triples = schedule(group["ns_coefficients"], group["ns_steps"])
        matrices = [D.flatten(0, 1) for D in Ds]
        results = orthogonalized(matrices, dtype, triples, group["ns_norm"], self.scratch)
        return [X.view(D.shape) for X, D in zip(results, Ds, strict=True)]

    def _add(self, Os: list[Tensor], stacks: Stacks, group: Group) -> None:
        """Adds orthogonalized directions O (b, e, m, n), rescaled, to the parameters of stacks.

        These shrink by their weight decay, and the rescaled updates hold −lr already.
        """
        params, moving, updates = stacks.kept, stacks.moving, Os
        if Os[0].dtype != params[0].dtype:
            updates = self.scratch.cut("D", stacks.shapes, like=params[0])
            torch._foreach_copy_(updates, Os)
        self.rescale(updates, stacks, group)
        updates, decay = views(updates, params), group["lr"] * group["weight_decay"]
        if moving or isinstance(decay, Tensor):
            shrink = [1 - decay * share for share in moving] or 1 - decay.squeeze()
            torch._foreach_mul_(params, shrink)
            torch._foreach_add_(params, updates)
        else:  # W ← shrink · W + update, rounded once
            torch._foreach_add_(updates, params, alpha=1 - decay)
            torch._foreach_copy_(params, updates)

    def rescale(self, Os: list[Tensor], stacks: Stacks, group: Group) -> None:
        """Makes updates of stacks O (b, e, m or fewer, n) in place: −lr s O, or −lr s O / ‖O‖."""
        lr, name = group["lr"], group["adjust_lr_fn"]
        if name == "update_rms":
            precise = torch.promote_types(Os[0].dtype, torch.float32)
            norms = [torch.linalg.vector_norm(X, 2, (-2, -1), True, dtype=precise) for X in Os]
            norms = stacks.over_rows(norms)
            torch._foreach_clamp_min_(norms, torch.finfo(precise).tiny)  # O may be zero
            torch._foreach_div_(Os, norms)
        torch._foreach_mul_(Os, [-lr * lr_scale(name, *shape) for shape in stacks.matrices])

    def _check_group(self, number: int) -> None:
        group = self.param_groups[number]
        refusals.check_options(group)
        for name, p in refusals.named(group, number):
            if not p.is_floating_point():
                raise ValueError(f"expected real floating-point; {name!r} is {p.dtype}")
            if group["rule"] == "muon" and p.ndim < 2:
                vector = f"parameter {name!r} has shape {tuple(p.shape)}"
                raise ValueError(f"Muon takes matrices; {vector}: muonlab.route gives it to AdamW")
            stack = group["rule"] == "muon" and p.ndim > 2
            if self.whole_only and (is_sharded(p) or fused.is_split(group) or stack):
                got = f"no parts: {name!r} {(*p.shape,)}"
                raise ValueError(f"{type(self).__name__} steps whole matrices, {got}")
            check_rows(name, p)
            fused.check_parts(name, p, group)

    def _adamw_step(self, group: Group) -> None:
        """Steps the parameters of a group by AdamW, entry by entry."""
        params = group["params"]
        states = [self.state_of(p, group) for p in params]
        means, squares, steps = ([s[name] for s in states] for name in ADAMW_STATE)
        rates = {name: group[name] for name in ("lr", "weight_decay", "eps")}
        settings: Group = {n: v if isinstance(v, Tensor) else float(v) for n, v in rates.items()}
        settings |= zip(("beta1", "beta2"), group["betas"], strict=True)
        if "max_momentum" in group:  # a cyclic schedule of torch turns this in place of beta1
            settings["beta1"] = group["momentum"]
        # one pass over memory, 3 times as fast as the loop on a CPU; torch.compile fuses itself
        settings["fused"] = group["fused"] and not torch.compiler.is_compiling()
        settings |= {"amsgrad": False, "maximize": False}
        gradients = [gradient(p).to(p.dtype) for p in params]  # as in `_average`
        adamw(params, gradients, means, squares, [], steps, **settings)
