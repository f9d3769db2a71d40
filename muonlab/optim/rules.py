"""The rules that step hidden matrices: Muon, and what the experiments compare it with.

NorMuon is an optimizer of its own. The rules here look ahead as the config says (`nesterov`); those
that follow Muon or NorMuon give the update entries of RMS 0.2, as Algorithm 1 of NorMuon does
(arXiv 2510.05491), so that a larger step cannot pass for a better direction.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from muonlab.optim.fast import fast_newton_schulz
from muonlab.optim.lr_scale import lr_scale
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import SCALES, NorMuon
from muonlab.optim.stacks import Group, matrix_shape

BETA2, EPS = 0.95, 1e-8  # those of NorMuon
State = dict[str, Any]
Direction = Callable[[Tensor, State, Group], Tensor]


@dataclass(frozen=True)
class Rule:
    """A way to step hidden matrices; one entry of `RULES` makes a contestant of it.

    Its colour stands beside its shown name in drawing/optimizers.json.
    """

    shown: str  # its name in tables and figures
    reads: frozenset[str]  # those of `OPTIONS` that change its step
    direction: Direction | None = None  # None: `own` is an optimizer with a step of its own
    keeps: tuple[str, ...] = ()  # the names of what it keeps about each matrix, zeros at first
    own: Callable[[list[Group]], Muon] | None = None
    step_like: str = "Muon"  # or "AdamW": whose range of rates suits the length of its step
    stacks: bool = False  # whether it steps the stacks of matrices that experts make


class Controlled(Muon):
    """Muon's groups and options, but its matrices go in another rule's direction.

    Groups of AdamW, schedule and batches stay, so that only the rule makes the difference. The
    matrices are taken one at a time, so its speed says nothing.
    """

    whole_only = True

    def __init__(self, params: Any, rule: Rule) -> None:
        super().__init__(params, own={"betas": (0.9, 0.95)})  # its matrices may read them, too
        if rule.direction is None:
            raise ValueError(f"{rule.shown} is not known here: call own_rule with its step first")
        self.direction, self.kept = rule.direction, rule.keeps

    def __getstate__(self) -> State:
        own = {"direction": self.direction, "kept": self.kept}  # or a copy could not step
        return super().__getstate__() | own

    def averages(self, rule: str) -> tuple[str, ...]:
        of_matrix = (name for name in self.kept if name not in (*SIDES, "step"))
        return super().averages(rule) if rule == "adamw" else tuple(of_matrix)

    def state_of(self, p: Tensor, group: Group) -> State:
        if group["rule"] == "muon" and not self.state[p]:
            params = [q for other in self.param_groups for q in other["params"]]
            number = next(number for number, other in enumerate(params) if other is p)
            self.state[p] = {**zeros_for(p, self.kept), "number": torch.tensor(number)}
        return super().state_of(p, group)

    def _muon_step(self, group: Group) -> None:
        for p in group["params"]:
            direction = self.direction(p.grad, self.state_of(p, group), group)
            p.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"])


def zeros_for(p: Tensor, names: tuple[str, ...]) -> State:
    """Returns what a rule keeps about a matrix p (m, n) before the first step: zeros."""
    like = {"row_mean_square": p[:, :1], "column_mean_square": p[:1], "step": torch.tensor(0)}
    return {name: torch.zeros_like(like.get(name, p)) for name in names}


def sgd(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns the sum of all gradients so far, each weighing `momentum` times the next."""
    return state["momentum_buffer"].mul_(group["momentum"]).add_(G)


def adam(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns Adam's direction, mean over root mean square (arXiv 1412.6980, Algorithm 1)."""
    beta1, beta2 = group["betas"]
    step = _next_step(state)
    mean = state["exp_avg"].lerp_(G, 1 - beta1) / (1 - beta1**step)
    square = state["exp_avg_sq"].lerp_(G**2, 1 - beta2) / (1 - beta2**step)
    return mean / (square.sqrt() + 1e-8)


def flat_adam(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns Adam's direction with a flat spectrum: orthogonalized and scaled as Muon's is."""
    return _as_muon(adam(G, state, group), group)


def noisy_adam(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns Adam's direction plus a random orthogonal matrix, `noise` times as long.

    It knows nothing of the task. It follows from the numbers of the matrix and of the step, so that
    a resumed run repeats it.
    """
    return _with_noise(adam(G, state, group), _generator(state), group)


def fixed_noise(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns Adam's direction plus a random orthogonal matrix, the same at every step.

    Fresh noise grows in the weights like the root of the number of steps, since its steps have
    nothing in common; this one grows like the number itself, as a gradient's direction does.
    """
    seed = torch.Generator().manual_seed(int(state["number"]))
    return _with_noise(adam(G, state, group), seed, group)


def _with_noise(D: Tensor, drawn: torch.Generator, group: Group) -> Tensor:
    noise = _as_muon(torch.randn(D.shape, generator=drawn).to(D), group)
    return D + noise * (group.get("noise", 1.0) * D.norm() / noise.norm())


def sign(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns the signs of Muon's momentum, 0.2 each: all entries equal, not all directions."""
    return 0.2 * _momentum(G, state, group).sign()


def random_spectrum(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns Muon's singular vectors with singular values drawn from (0, 1], at RMS 0.2.

    They are drawn anew at each step, as noise is in `noisy_adam`. Source: the claim of arXiv
    2605.11181 that random spectra do as well as Muon's; the way they are drawn is ours.
    """
    U, _, Vh = torch.linalg.svd(_momentum(G, state, group), full_matrices=False)
    _next_step(state)
    values = 1 - torch.rand(len(Vh), generator=_generator(state))  # rand gives 0, never 1
    return _rms(U * values.to(U) @ Vh)


def neurons(G: Tensor, state: State, group: Group) -> Tensor:
    """Returns NorMuon's direction with the neurons' side evened out, rows or columns.

    A neuron of the feed-forward layer is a row of w_in and a column of w_out: of the longer side of
    a matrix. NorMuon evens the rows of either; a square matrix has them evened here, too.
    """
    O = _flat(_momentum(G, state, group), group)  # noqa: E741  the paper's letter
    side, dim = ("row", 1) if G.size(0) >= G.size(1) else ("column", 0)
    mean = state[f"{side}_mean_square"].lerp_(O.square().mean(dim, keepdim=True), 1 - BETA2)
    return _rms(O / (mean.sqrt() + EPS))


def _momentum(G: Tensor, state: State, group: Group) -> Tensor:
    mu = group["momentum"]
    M = state["momentum_buffer"].lerp_(G, 1 - mu)
    return torch.lerp(G, M, mu) if group["nesterov"] else M


def _next_step(state: State) -> int:
    state["step"] = state["step"] + 1
    return int(state["step"])


def _generator(state: State) -> torch.Generator:
    return torch.Generator().manual_seed(1_000_003 * int(state["number"]) + int(state["step"]))


def _flat(D: Tensor, group: Group) -> Tensor:
    steps, coefficients = group["ns_steps"], group["ns_coefficients"]
    return fast_newton_schulz(D, steps, coefficients, norm=group["ns_norm"])


def _as_muon(D: Tensor, group: Group) -> Tensor:
    O, name = _flat(D, group), group["adjust_lr_fn"]  # noqa: E741
    length = O.norm().clamp(min=torch.finfo(O.dtype).tiny) if name == "update_rms" else 1.0
    return O * (lr_scale(name, *matrix_shape(D)) / length)


def _rms(D: Tensor) -> Tensor:
    """Returns D scaled to entries of root mean square 0.2; zeros stay zeros."""
    return D * (0.2 * math.sqrt(D.numel()) / D.norm().clamp(min=torch.finfo(D.dtype).tiny))


NEWTON_SCHULZ = frozenset({"ns_coefficients", "ns_steps", "ns_norm"})
AVERAGE = frozenset({"momentum", "nesterov"})
AS_MUON = AVERAGE | NEWTON_SCHULZ
SCALED = AS_MUON | {"adjust_lr_fn"}
OPTIONS = SCALED | {"betas", "noise"}
NOISY = NEWTON_SCHULZ | {"betas", "noise"}
ADAM = ("exp_avg", "exp_avg_sq", "step")
MEAN = ("momentum_buffer",)
SIDES = ("row_mean_square", "column_mean_square")
PAPER, RELEASED = (partial(NorMuon, scale=scale) for scale in SCALES)
RULES = {
    "muon": Rule("Muon", SCALED, own=Muon, stacks=True),
    "normuon": Rule("NorMuon", AS_MUON, own=PAPER, stacks=True),
    "normuon_released": Rule("normuon_released", SCALED, own=RELEASED, stacks=True),
    "sgd": Rule("SGD with momentum", frozenset({"momentum"}), sgd, MEAN),
    "flat_adam": Rule("flat Adam", NEWTON_SCHULZ | {"adjust_lr_fn", "betas"}, flat_adam, ADAM),
    "noisy_adam": Rule("noisy Adam", NOISY, noisy_adam, ADAM, step_like="AdamW"),
    "fixed_noise": Rule("Adam with fixed noise", NOISY, fixed_noise, ADAM, step_like="AdamW"),
    "sign": Rule("sign", AVERAGE, sign, MEAN),
    "random_spectrum": Rule("random_spectrum", AVERAGE, random_spectrum, (*MEAN, "step")),
    "neurons": Rule("neurons", AS_MUON, neurons, (*MEAN, *SIDES)),
}
OWN = re.compile(r"own-(\w+-[0-9a-f]{4})")  # the rules that `own_rule` names
OWN_READS = frozenset({"momentum"})


def rule_of(name: str) -> Rule:
    """Returns a rule by its name; somebody's own, unknown in this process, has no step."""
    if name in RULES or not (own := OWN.fullmatch(name)):
        return RULES[name]
    return Rule(own[1], OWN_READS)
