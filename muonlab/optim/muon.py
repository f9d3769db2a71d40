"""Muon: momentum, orthogonalized, as one torch optimizer that can also step its AdamW groups.

One step for a matrix W with gradient G (Keller Jordan 2024; torch.optim.Muon):

    M ← μ M + (1 − μ) G             momentum, an average of gradients
    D = μ M + (1 − μ) G             Nesterov's look ahead (D = M without it)
    O = newton_schulz(D)            the same directions, all singular values near 1
    W ← (1 − lr λ) W − lr s O       s from `lr_scale`, by the shape of W
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from muonlab.optim.coefficients import JORDAN, Schedule, Triple
from muonlab.optim.fast import Scratch
from muonlab.optim.groups import (
    check_gradients,
    check_options,
    check_whole,
    in_stacks,
    named,
    with_gradient,
)
from muonlab.optim.orthogonalize import Norm
from muonlab.optim.update import LRScale, muon_update


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with torch.optim.Muon's arguments and defaults, and AdamW for the rest.

    A parameter (m, n) is a matrix, (e, m, n) a stack of e matrices, each orthogonalized alone, and
    (out, in, h, w) the kernel of a convolution, taken as the matrix (out, in·h·w). In a stack, a
    matrix whose gradient is all zeros waits with its momentum: an expert that saw no token.

    Args:
        params: parameters, or groups; `muonlab.route(model).groups()` makes them. A group with
            `rule="adamw"` is stepped by AdamW with its own lr, weight_decay, betas (0.9, 0.95) and
            eps (1e-8).
        lr: learning rate, before `adjust_lr_fn` scales it by the shape (see `lr_scale`).
        weight_decay: λ, decoupled: W shrinks by the factor 1 − lr λ.
        momentum: μ in [0, 1).
        nesterov: look one step ahead.
        ns_coefficients: a triple, a triple a step, or a name in `orthogonalize.COEFFICIENTS`;
            "exact" takes the polar factor from an SVD instead, as an oracle: slow.
        eps: of AdamW groups. Under Muon it is accepted for torch's sake and has no effect: a zero
            matrix is guarded anyway, and a gradient of any scale gives the same update.
        ns_steps: Newton-Schulz steps.
        adjust_lr_fn: None or "original", "match_rms_adamw", "spectral", "update_rms".
        ns_norm: the norm that Newton-Schulz divides by, "frobenius" or "schatten4". The second,
            with ns_coefficients="polar_express", comes closest to the polar factor.
        ns_dtype: precision of the products, None for the fastest safe one here; torch.optim.Muon
            always takes bf16.

    `torch.compile(optimizer.step, fullgraph=True)` takes the whole step, which pays on a GPU; with
    lr=torch.tensor(…) a schedule does not compile it again. A compiled step checks no gradients.

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
    ) -> None:
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
            "ns_norm": ns_norm,
            "ns_dtype": ns_dtype,
            "rule": "muon",
        }
        super().__init__(params, defaults)
        self.scratch = Scratch()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy or an unpickled optimizer whole: scratch memory is not worth copying."""
        super().__setstate__(state)
        self.scratch = Scratch()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters, checked."""
        if param_group.get("rule") == "adamw":
            # `fused` also tells torch's load_state_dict to keep the step counter on the device
            param_group = {"eps": 1e-8, "betas": (0.9, 0.95), "fused": True, **param_group}
        super().add_param_group(param_group)
        try:
            self._check_group(len(self.param_groups) - 1)
        except ValueError:
            self.param_groups.pop()
            raise

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state saved by this class, or by torch.optim.Muon for the same parameters.

        Raises:
            ValueError: its groups follow another rule, or name other parameters.
        """
        groups = []
        for number, (mine, saved) in enumerate(
            zip(self.param_groups, state_dict["param_groups"], strict=False)
        ):
            for key in ("rule", "param_names"):
                if key in saved and saved[key] != mine.get(key):
                    raise ValueError(
                        f"expected {key}={mine.get(key)!r} in group {number} of the saved state, "
                        f"got {saved[key]!r}: build the optimizer as it was when it was saved"
                    )
            groups.append({key: value for key, value in mine.items() if key != "params"} | saved)
        groups += state_dict["param_groups"][len(groups) :]  # torch names a wrong number of groups
        super().load_state_dict({**state_dict, "param_groups": groups})

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Updates every parameter that has a gradient, and returns closure's loss, if any."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if not torch.compiler.is_compiling():  # a compiled step cannot stop half-way
            for number in range(len(self.param_groups)):
                self._check_group(number)
            check_whole(self.param_groups)
            check_gradients(self.param_groups)
        for group in self.param_groups:
            if group["rule"] == "adamw":
                self.adamw_step(group)
            else:
                self._muon_step(group)
        return loss

    def state_of(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Returns what is kept about p, of that group; before the first step it is zeros."""
        state = self.state[p]
        if not state and group["rule"] == "adamw":
            state["step"] = torch.zeros((), dtype=torch.float32, device=p.device)
            state |= {name: torch.zeros_like(p) for name in ("exp_avg", "exp_avg_sq")}
        elif not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        return state

    def _muon_step(self, group: dict[str, Any]) -> None:
        for stack, dtype in in_stacks(group):
            momenta = [self.state_of(p, group)["momentum_buffer"] for p in stack]
            muon_update(stack, momenta, group, dtype, self.scratch)

    def _check_group(self, number: int) -> None:
        group = self.param_groups[number]
        check_options(group)
        for name, p in named(group, number):
            if p.is_complex():
                raise ValueError(f"expected real parameters; {name!r} is {p.dtype}")
            if group["rule"] == "muon" and p.ndim < 2:
                raise ValueError(
                    f"Muon takes matrices; parameter {name!r} has shape {tuple(p.shape)}: "
                    "give it to AdamW, or use muonlab.route(model)"
                )

    def adamw_step(self, group: dict[str, Any]) -> None:
        """Steps the parameters of a group by AdamW, entry by entry."""
        params = with_gradient(group)
        states = [self.state_of(p, group) for p in params]
        beta1, beta2 = group["betas"]
        adamw(
            params,
            [p.grad for p in params],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            # one pass over memory, 3 times as fast as the loop on a CPU; torch.compile fuses itself
            fused=group["fused"] and not torch.compiler.is_compiling(),
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )
