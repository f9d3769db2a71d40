"""Checks of lesson 03: what is wrong with an answer, said so that it can be mended."""

import torch
from torch import Tensor

from muonlab import GPT, GPTConfig
from muonlab.classroom.exercise import Answer, Look, Wrong, call, compare, rough
from muonlab.classroom.kinds import number, yes
from muonlab.optim.routing import Routing
from muonlab.optim.update import lr_scale

TURN = torch.tensor([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
SIGNS = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
SMALL = torch.tensor([[0.6, -0.8], [0.8, 0.6]])


def e1(answer: Answer) -> None:
    """An update of Muon's has nearly equal singular values; one of SGD's has not."""
    wide, tall, square = rough(0, 2, 3), rough(1, 3, 2), rough(2, 3, 3)
    pairs = [3.0, 2.2], [3.0, 0.9], [1.0, 0.69], [0.02, 0.015], [0.02, 0.006], [1.0, 0.53], [1.0, 0.47]
    threes = [0.5, 0.5, 0.05], [0.5, 0.05, 0.05], [0.5, 0.4, 0.3], [0.9, 0.6, 0.4], [0.9, 0.3, 0.2]
    steps = [(wide, _step(SMALL, values, TURN)) for values in pairs]
    steps += [(tall, _step(TURN, values, SMALL)) for values in ([0.2, 0.15], [0.2, 0.06])]
    steps += [(square, _step(TURN, values, TURN.T)) for values in threes]
    steps += [(square, 0.5 * SIGNS), (square, torch.zeros(3, 3)), (square, square - TURN), (square, TURN)]
    cases = [(before, before - step) for before, step in steps]
    cases.append((2 * TURN + square / 10, square / 10))
    compare(answer, cases, _even, returns=yes, otherwise=_judged)


def _step(left: Tensor, values: list[float], right: Tensor) -> Tensor:
    """A step with these singular values, to three decimals, so that a message shows it in full."""
    k = len(values)
    return (left[:, :k] * torch.tensor(values) @ right[:k]).mul(1000).round().div(1000)


def _values(step: Tensor) -> Tensor:
    return torch.linalg.svdvals(step.double())


def _even(before: Tensor, after: Tensor) -> Look:
    s = _values(before - after)
    top, low = s[0].item(), s[-1].item()
    a, b = _values(after), _values(before)
    gram = (before - after).double() @ (before - after).double().T
    right = 0 < top <= 2 * low * (1 + 1e-6)
    return right, [
        (True, "Your test says yes to everything, also to a sign step and to normalized SGD."),
        (False, "Your test says no to everything, also to Muon's own steps. The learning rate must cancel."),
        (top > 2 * low, "The comparison is upside down: Muon's steps fail and all others pass."),
        (top <= 2 * low * (1 + 1e-6), "No step at all passed: the largest singular value must not be 0."),
        (
            bool(((s - 1).abs() <= 0.5).all()),
            "You compared with 1. The learning rate scales all values: take a quotient.",
        ),
        (
            0 < top <= 2 * s[1].item(),
            "You compared with the second or the middle value. The smallest one counts: the last.",
        ),
        (0 < top <= 2 * s.mean().item(), "You compared with the mean. The smallest one counts."),
        (0 < top**2 <= 2 * low**2, "You compared squares, the eigenvalues of D Dᵀ. Take singular values."),
        (
            0 < top - low <= 2,
            "You compared the difference with 2. Take the quotient, so that the learning rate cancels.",
        ),
        (
            0 < low <= 2 * top,
            "Your test says yes to every step that is not 0. Compare the largest value with twice the smallest.",
        ),
        (0 < top <= 1.8 * low, "Up to twice the smallest is allowed; your bound is lower."),
        (0 < top <= 1.5 * low, "Up to twice the smallest is allowed; your bound is lower."),
        (0 < top <= 1.1 * low, "Up to twice the smallest is allowed; yours is that they are equal."),
        (0 < top <= 2.2 * low, "At most twice the smallest is allowed; your bound is higher."),
        (0 < top <= 3 * low, "At most twice the smallest is allowed; your bound is higher."),
        (bool(0 < a[0] <= 2 * a[-1]), "You looked at `after` alone. The update is before - after."),
        (bool(0 < b[0] <= 2 * b[-1]), "You looked at `before` alone. The update is before - after."),
        (
            bool(0 < b[0] / a[0] <= 2),
            "You compared the matrix before with the matrix after. The update is their difference.",
        ),
        (
            torch.allclose(gram, torch.eye(len(gram), dtype=gram.dtype), atol=1e-2),
            "You asked whether the values are near 1, or D Dᵀ near the identity. The learning rate scales them: take a quotient.",
        ),
    ]


def _judged(came: bool, before: Tensor, after: Tensor) -> str:
    values = ", ".join(f"{v:.3g}" for v in _values(before - after))
    return f"The update has the singular values {values}: the largest may be at most twice the smallest, and not 0."


def e2(answer: Answer) -> None:
    """lr · factor stays the same."""
    cases = [
        (0.02, "original", "match_rms_adamw", 1024, 256),
        (0.003, "match_rms_adamw", "spectral", 256, 1024),
        (0.05, "spectral", "original", 300, 500),
        (0.01, "spectral", "spectral", 100, 400),
        (0.01, "original", "spectral", 64, 640),
        (0.004, "match_rms_adamw", "spectral", 512, 128),
    ]
    otherwise = "The step is lr times the factor, and must stay the same: lr · old factor = new lr · new factor."
    compare(answer, cases, _converted, returns=number, within=1e-6, otherwise=otherwise)


def _converted(lr: float, old: str, new: str, rows: int, columns: int) -> Look:
    f, g = lr_scale(old, rows, columns), lr_scale(new, rows, columns)
    turned = lr_scale(old, columns, rows) / lr_scale(new, columns, rows)
    return lr * f / g, [
        (lr * g / f, "The quotient is upside down: lr · old factor = new lr · new factor."),
        (lr * f * g, "You multiplied by both factors. The old one multiplies, the new one divides."),
        (lr / f / g, "You divided by both factors. The old one multiplies, the new one divides."),
        (lr * f, "You used the old factor only. The new convention applies its own factor too: divide by it."),
        (lr / g, "You used the new factor only. Under the old convention the step was lr times the old factor."),
        (lr * g, "You multiplied by the new factor. It is applied anyway: divide by it, and keep the old one."),
        (lr / f, "You divided by the old factor. The step was lr times the old factor: multiply."),
        (f / g, "You left lr out: this is the quotient of the factors alone."),
        (lr, "You returned lr unchanged. The factors of the two conventions differ."),
        (lr * turned, "Rows and columns have changed places: lr_scale(name, rows, columns)."),
        (
            lr * lr_scale(old, rows, rows) / lr_scale(new, rows, rows),
            "You gave the rows twice: lr_scale(name, rows, columns).",
        ),
        (lr * (f / g) ** 0.5, "You took the root of the quotient. The factors have their roots already."),
        (lr * (f / g) ** 2, "You squared the quotient. The step is lr times one factor."),
        (lr + f - g, "You added and subtracted factors. They multiply lr."),
        (lr * (f - g), "You subtracted the factors. The new one divides."),
    ]


def e3(answer: Answer) -> None:
    """Muon on v, o and the feed-forward matrices, and on nothing else."""
    shape = {"vocab_size": 16, "layers": 2, "width": 8, "heads": 2, "context": 8}
    for gated in (False, True):
        try:
            _one_routing(answer, GPT(GPTConfig(**shape, gated=gated)))
        except Wrong as wrong:
            options = ", ".join(f"{name}={value}" for name, value in (shape | {"gated": gated}).items())
            wrong.example = f"Try it with `GPT(GPTConfig({options}))`."
            raise


def _one_routing(answer: Answer, model: GPT) -> None:
    routing = call(answer, model)
    if not isinstance(routing, Routing):
        raise Wrong(f"Return what route(model, ...) returns; {type(routing).__name__} came.")
    muon = {r.name for r in routing.routes if r.rule == "muon"}
    parts = {name.split(".")[-2] for name in muon}
    if parts & {"embedding", "head"}:
        raise Wrong("The embedding or the head goes to Muon. Their rows belong to single tokens: leave them to AdamW.")
    if parts == {"q", "k"}:
        raise Wrong("Only q and k go to Muon. It is the other way round: they stay with AdamW.")
    if parts & {"q", "k"}:
        raise Wrong("q and k go to Muon. The question leaves the group QK to AdamW.")
    if not parts & {"w_in", "w_out"}:
        raise Wrong("The feed-forward matrices are missing: add the group FFN.")
    if not {"v", "o"} <= parts:
        raise Wrong("Values or outputs are missing: add the group VO.")
    expected = {n for n, _ in model.named_parameters() if n.split(".")[-2] in {"v", "o", "w_in", "w_out", "w_gate"}}
    if muon != expected:
        raise Wrong(f"Some layers are missing, for example {sorted(expected ^ muon)[0]}.")
