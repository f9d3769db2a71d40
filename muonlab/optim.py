"""Muon: momentum, orthogonalized, as one torch optimizer that can also step its AdamW groups.

One step for a matrix W with gradient G (Keller Jordan 2024; torch.optim.Muon):

    M ← μ M + (1 − μ) G             momentum, an average of gradients
    D = μ M + (1 − μ) G             Nesterov's look ahead (D = M without it)
    O = newton_schulz(D)            the same directions, all singular values near 1
    W ← (1 − lr λ) W − lr s O       s from `lr_scale`, by the shape of W
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from muonlab.coefficients import JORDAN, Schedule, Triple, schedule
from muonlab.fast import Scratch, iterate
from muonlab.orthogonalize import NORMS, Norm, largest_entry, pick_dtype, polar

LRScale = Literal["original", "match_rms_adamw", "spectral", "update_rms"]
RULES = ("muon", "adamw")
WORK_DTYPES = (torch.bfloat16, torch.float32, torch.float64)
STACK = 2**23  # entries in one stack in bf16: enough for all cores, and it stays in the cache
STACK_ELSE = 2**21  # in float32, whose products are slower, less is enough


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


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with torch.optim.Muon's arguments and defaults, and AdamW for the rest.

    A parameter (m, n) is a matrix, (e, m, n) a stack of e matrices, each orthogonalized alone, and
    (out, in, h, w) the kernel of a convolution, taken as the matrix (out, in·h·w).

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
        eps: guards the division for a zero matrix. Unlike torch.optim.Muon's it damps nothing: a
            gradient of any scale gives the same update.
        ns_steps: Newton-Schulz steps.
        adjust_lr_fn: None or "original", "match_rms_adamw", "spectral", "update_rms".
        ns_norm: the norm that Newton-Schulz divides by, "frobenius" or "schatten4". The second,
            with ns_coefficients="polar_express", comes closest to the polar factor.
        ns_dtype: precision of the products, None for the fastest safe one here; torch.optim.Muon
            always takes bf16.

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
        self._scratch = Scratch()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy or an unpickled optimizer whole: scratch memory is not worth copying."""
        super().__setstate__(state)
        self._scratch = Scratch()

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
            _check_gradients(self.param_groups)
        for group in self.param_groups:
            if group["rule"] == "adamw":
                self._adamw_step(group)
            else:
                self._muon_step(group)
        return loss

    def _muon_step(self, group: dict[str, Any]) -> None:
        for p in (params := _with_gradient(group)):
            if not self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        for stack, dtype in as_stacks(params, group["ns_dtype"]):
            momenta = [self.state[p]["momentum_buffer"] for p in stack]
            muon_update(stack, momenta, group, dtype, self._scratch)

    def _check_group(self, number: int) -> None:
        group = self.param_groups[number]
        _check_options(group)
        for name, p in _named(group, number):
            if p.is_complex():
                raise ValueError(f"expected real parameters; {name!r} is {p.dtype}")
            if group["rule"] == "muon" and p.ndim < 2:
                raise ValueError(
                    f"Muon takes matrices; parameter {name!r} has shape {tuple(p.shape)}: "
                    "give it to AdamW, or use muonlab.route(model)"
                )

    def _adamw_step(self, group: dict[str, Any]) -> None:
        params = _with_gradient(group)
        for p in params:
            if not self.state[p]:
                self.state[p] = {
                    "step": torch.zeros((), dtype=torch.float32, device=p.device),
                    "exp_avg": torch.zeros_like(p),
                    "exp_avg_sq": torch.zeros_like(p),
                }
        states = [self.state[p] for p in params]
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


def muon_update(
    params: list[Tensor],
    momenta: list[Tensor],
    group: dict[str, Any],
    dtype: torch.dtype,
    scratch: Scratch,
) -> None:
    """Steps parameters of one shape, and their momenta, in place.

    `group` holds Muon's options; dtype is the precision of the products.
    """
    p, mu, lr = params[0], group["momentum"], group["lr"]
    rows, columns = matrix_shape(p)
    stack = scratch.empty("X", (len(params), *p.shape), like=p.new_empty(0, dtype=dtype))
    D = scratch.empty("D", p.shape, like=p)  # one for all matrices: it stays in the cache
    for p, M, X in zip(params, momenta, stack, strict=True):
        G = p.grad.to(p.dtype)  # a gradient may be kept in half precision
        M.lerp_(G, 1 - mu)
        torch.add(G, M, alpha=mu / (1 - mu), out=D) if group["nesterov"] else D.copy_(M)
        matrices = D.view(-1, rows, columns)
        matrices.div_(largest_entry(matrices))  # a common factor has no effect on the result
        X.copy_(D)
    size = -lr * lr_scale(group["adjust_lr_fn"], rows, columns)
    updates = orthogonalize(stack.view(-1, rows, columns), group, size, scratch)
    for p, update in zip(params, updates.view(stack.shape), strict=True):
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        p.add_(D.copy_(update))


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
        norm = torch.linalg.vector_norm(O, dim=(-2, -1), keepdim=True, dtype=torch.float32)
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

    The precision is ns_dtype, or else `work_dtype` of all those that agree.
    """
    alike = defaultdict(list)
    for p in params:
        alike[p.shape, p.dtype, p.device].append(p)
    threads = _threads()
    for same in alike.values():
        size = same[0].numel()
        dtype = ns_dtype or pick_dtype(same[0].dtype, same[0].device, len(same) * size)
        count = max(1, (STACK if dtype == torch.bfloat16 else STACK_ELSE) // size)
        if count > threads:  # one matrix too many would keep one core busy and the others idle
            count -= count % threads
        for first in range(0, len(same), count):
            yield same[first : first + count], dtype


@torch.compiler.assume_constant_result
def _threads() -> int:
    return torch.get_num_threads()


def _with_gradient(group: dict[str, Any]) -> list[Tensor]:
    return [p for p in group["params"] if p.grad is not None and p.numel()]


def _named(group: dict[str, Any], number: int) -> list[tuple[str, Tensor]]:
    unnamed = [f"group {number}, number {i}" for i in range(len(group["params"]))]
    return list(zip(group.get("param_names") or unnamed, group["params"], strict=True))


def _check_options(group: dict[str, Any]) -> None:
    if group["rule"] not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {group['rule']!r}")
    for key in ("lr", "weight_decay", "eps"):
        _check_number(key, group[key], math.inf)
    _check_number("momentum", group["momentum"], 1)
    if group["rule"] == "adamw":
        if len(group["betas"]) != 2:
            raise ValueError(f"betas must be two numbers, got {group['betas']}")
        for beta in group["betas"]:
            _check_number("betas", beta, 1)
        return
    if group["ns_coefficients"] != "exact":
        schedule(group["ns_coefficients"], group["ns_steps"])
    lr_scale(group["adjust_lr_fn"], 1, 1)
    if group["ns_norm"] not in NORMS:
        raise ValueError(f"ns_norm must be one of {NORMS}, got {group['ns_norm']!r}")
    if not 0 < group["eps"] <= 1:
        raise ValueError(f"eps must be in (0, 1] under Muon, got {group['eps']}")
    if not (group["ns_dtype"] is None or group["ns_dtype"] in WORK_DTYPES):
        raise ValueError(f"ns_dtype must be None or one of {WORK_DTYPES}, got {group['ns_dtype']}")


def _check_number(key: str, value: Any, end: float) -> None:
    if not isinstance(value, int | float | Tensor) or not 0 <= value < end:
        raise ValueError(f"{key} must be a number in [0, {end}), got {value!r}")


def _check_gradients(groups: list[dict[str, Any]]) -> None:
    """Raises ValueError, with the parameter's name, unless all gradients are dense and finite."""
    named = [pair for number, group in enumerate(groups) for pair in _named(group, number)]
    sums = {}
    for name, p in named:
        if p.grad is None:
            continue
        if p.grad.is_sparse:
            raise ValueError(
                f"expected a dense gradient; that of parameter {name!r} is sparse: "
                "build its embedding with sparse=False"
            )
        sums[name] = p.grad.sum()  # NaN and Inf survive; ten times as fast as isfinite().all()
    for name, p in named:
        if name in sums and not (sums[name].isfinite() or p.grad.isfinite().all()):
            raise ValueError(
                f"the gradient of parameter {name!r} holds NaN or Inf: nothing was updated; "
                "skip this batch, or lower the learning rate if the loss has diverged"
            )
