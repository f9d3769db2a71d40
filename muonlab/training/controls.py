"""Rules beside Muon for the same matrices: what the experiments compare with, or control for."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from muonlab.optim.fast import fast_newton_schulz
from muonlab.optim.muon import Muon
from muonlab.optim.update import lr_scale, matrix_shape
from muonlab.training import rows

State = dict[str, Any]


class Controlled(Muon):
    """Muon's groups and options, but its matrices follow another of `CONTROLS`.

    What makes a control informative is that all else stays: the groups of AdamW, the schedule, the
    batches. The matrices are taken one at a time, so its speed says nothing.
    """

    whole_only = True

    def __init__(self, params: Any, control: str) -> None:
        super().__init__(params)
        self.direction = CONTROLS[control]

    def _muon_step(self, group: dict[str, Any]) -> None:
        for number, p in enumerate(group["params"]):
            if p.grad is None:
                continue
            state = self.state[p]
            state["number"] = number
            direction = self.direction(p, state, group)
            p.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"])


def sgd(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns the sum of all gradients so far, each weighing `momentum` times the next."""
    M = state.setdefault("momentum_buffer", torch.zeros_like(p))
    return M.mul_(group["momentum"]).add_(p.grad)


def adam(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns Adam's direction: the mean gradient over the root of the mean square.

    Source: Kingma & Ba, arXiv 1412.6980, Algorithm 1.
    """
    beta1, beta2 = group["betas"]
    mean = state.setdefault("exp_avg", torch.zeros_like(p)).lerp_(p.grad, 1 - beta1)
    square = state.setdefault("exp_avg_sq", torch.zeros_like(p)).lerp_(p.grad**2, 1 - beta2)
    state["step"] = state.get("step", 0) + 1
    mean = mean / (1 - beta1 ** state["step"])
    square = square / (1 - beta2 ** state["step"])
    return mean / (square.sqrt() + 1e-8)


def flat_adam(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns Adam's direction with a flat spectrum: orthogonalized and scaled as Muon's is."""
    return _flat(adam(p, state, group), group)


def noisy_adam(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns Adam's direction plus a random orthogonal matrix of the same norm.

    The sum is isotropic, and the part that makes it so knows nothing of the task. The noise
    follows from the numbers of the matrix and of the step, so that a resumed run repeats it.
    """
    D = adam(p, state, group)
    noise = _flat(torch.randn(p.shape, generator=_generator(state)).to(p), group)
    return D + noise * (D.norm() / noise.norm())


def sign(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns the signs of Muon's momentum, 0.2 each: all entries equal, not all directions.

    The RMS is that of Muon's update with `update_rms`, so one rate is one size of step for both.
    """
    return 0.2 * rows.momentum(p, state, group).sign()


def random_spectrum(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns Muon's singular vectors with singular values drawn from (0, 1], at RMS 0.2.

    Each is drawn anew at each step, whatever the momentum's own is; the numbers of matrix and step
    decide, as in `noisy_adam`. Source: the claim of arXiv 2605.11181 that random spectra do as well
    as Muon's; the way they are drawn is ours.
    """
    U, _, Vh = torch.linalg.svd(rows.momentum(p, state, group), full_matrices=False)
    state["step"] = state.get("step", 0) + 1
    values = 1 - torch.rand(len(Vh), generator=_generator(state))  # rand gives 0, never 1
    return rows.rms(U * values.to(U) @ Vh)


def _generator(state: State) -> torch.Generator:
    return torch.Generator().manual_seed(1_000_003 * state["number"] + state["step"])


def _flat(D: Tensor, group: dict[str, Any]) -> Tensor:
    scale = lr_scale(group["adjust_lr_fn"], *matrix_shape(D))
    return scale * fast_newton_schulz(D, group["ns_steps"], group["ns_coefficients"])


CONTROLS: dict[str, Callable[[Tensor, State, dict[str, Any]], Tensor]] = {
    "sgd": sgd,
    "flat_adam": flat_adam,
    "noisy_adam": noisy_adam,
    "sign": sign,
    "random_spectrum": random_spectrum,
    "coordinates": rows.coordinates,
    "rows_first": rows.rows_first,
    "tall_only": rows.tall_only,
}
