"""Checks of lesson 03: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from muonlab import newton_schulz, polar
from muonlab.classroom.exercise import Answer, Look, Wrong, call, compare, rough
from muonlab.classroom.guarded import as_call
from muonlab.classroom.kinds import float_array, one_of, yes

TURN = torch.tensor([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
SIGNS = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
SMALL = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
BUGS = ("never orthogonalizes", "scale from one axis", "momentum overwritten", "head under Muon")
NAMES = "W", "gradient", "M", "lr", "momentum", "weight_decay"
STILL = (
    "Neither W nor M changed. Change them in place, by `M.lerp_(…)` and `W.sub_(…)`: `W = W - …` makes another matrix."
)


def e1(answer: Answer) -> None:
    """One step of Muon: W and M are what muonlab.Muon and torch.optim.Muon make of them."""
    steps = [
        (rough(seed, *size), rough(seed + 20, *size), rough(seed + 40, *size), lr, mu, 0.0)
        for seed, size, lr, mu in ((0, (2, 4), 0.1, 0.9), (1, (5, 2), 0.2, 0.8), (2, (3, 3), 0.1, 0.95))
    ]
    with_decay = [(*case[:-1], decay) for case, decay in zip(steps, (0.5, 1.0, 2.0), strict=True)]
    if call(_in_place(answer, None), *steps[0], none=True) is None:
        raise Wrong(STILL)
    _piece(1, answer, "M", steps, _average)
    _piece(
        2,
        answer,
        "W",
        steps,
        _moved,
        "M is right. The update of W is not: average, Nesterov, Newton-Schulz, scale, minus.",
    )
    _piece(
        3,
        answer,
        "W",
        with_decay,
        _shrunk,
        "All is right but the weight decay: W shrinks by the factor 1 - lr · weight_decay.",
    )


def _in_place(answer: Answer, which: str | None) -> Answer:
    """The learner's function as one that returns W or M after the step, or None when both stay."""

    @wraps(answer)
    def run(W: Tensor, gradient: Tensor, M: Tensor, *rates: float) -> Tensor | None:
        after = {"W": W.clone(), "M": M.clone()}
        answer(after["W"], gradient, after["M"], *rates)
        moved = not (torch.equal(after["W"], W) and torch.equal(after["M"], M))
        return after[which or "W"] if moved else None

    return run


def _piece(
    number: int, answer: Answer, which: str, cases: list[Any], look: Callable[..., Look], otherwise: str = ""
) -> None:
    """Checks one piece of the step; says which, and how to try it."""
    try:
        otherwise = otherwise or "M ← μ M + (1 - μ) gradient: an average, in place."
        compare(_in_place(answer, which), cases, look, returns=float_array, within=1e-3, otherwise=otherwise)
    except Wrong as wrong:
        value = wrong.example.partition("expected ")[2]
        case = next((c for c in cases if as_call(answer, c) in wrong.example), cases[0])
        values = [v.tolist() if isinstance(v, Tensor) else v for v in case]
        rounded = [[[round(x, 1) for x in row] for row in v] if isinstance(v, list) else v for v in values]
        given = ", ".join(
            f"{n}={f'torch.tensor({v})' if isinstance(v, list) else v}" for n, v in zip(NAMES, rounded, strict=True)
        )
        example = f"With `{given}`: expected {which} to become {value}" if value else wrong.example
        raise Wrong(f"Piece {number} of 3: {wrong}", example) from wrong


def _average(W: Tensor, gradient: Tensor, M: Tensor, lr: float, mu: float, decay: float) -> Look:
    G, right = gradient, mu * M + (1 - mu) * gradient
    return right, [
        (M, "M stays as it was. Change it in place: `M.lerp_(…)`; `M = …` makes another matrix."),
        (mu * M + G, "This is a sum, μ M + G. Muon here takes an average: the gradient counts 1 - μ."),
        ((1 - mu) * M + mu * G, "The weights have changed places: M counts μ, the gradient 1 - μ."),
        (
            mu * right + (1 - mu) * G,
            "M was averaged twice. Nesterov's D is another matrix: `M.lerp` without `_` makes one.",
        ),
        (newton_schulz(right), "M was orthogonalized. Only D is; M stays a plain average."),
        (right / right.norm(), "M was divided by its norm. Newton-Schulz must work on a copy."),
        (M + (1 - mu) * G, "M itself must shrink by μ: M ← μ M + (1 - μ) G."),
        (G, "M is the gradient alone. The average keeps μ of what it was."),
    ]


def _moved(W: Tensor, gradient: Tensor, M: Tensor, lr: float, mu: float, decay: float) -> Look:
    G, M = gradient, mu * M + (1 - mu) * gradient
    D, (m, n) = mu * M + (1 - mu) * G, W.shape
    root = 0.2 * max(m, n) ** 0.5
    ortho = newton_schulz(D)
    return W - lr * root * ortho, [
        (W, "M is right, and W stays as it was. Change it in place: `W.sub_(…)` or `W -= …`."),
        (W - lr * root * D, "M is right. D was not orthogonalized: newton_schulz(D)."),
        (
            W - lr * root * D / D.norm(),
            "M is right. D was only divided by its norm; Newton-Schulz sets every singular value near 1.",
        ),
        (W - lr * root * polar(D), "M is right. This is the exact polar factor; Muon takes newton_schulz(D)."),
        (W - lr * root * newton_schulz(M), "M is right. Nesterov is missing: D mixes the gradient into M once more."),
        (W - lr * root * newton_schulz(G), "M is right, but the step comes from the gradient alone."),
        (
            W - lr * root * newton_schulz(G + mu * M),
            "M is right. In D the gradient counts 1 - μ, for M is an average: D = μ M + (1 - μ) gradient.",
        ),
        (
            W - lr * root * newton_schulz((1 - mu) * M + mu * G),
            "M is right. In D the weights have changed places: M counts μ.",
        ),
        (W + lr * root * ortho, "M is right. The sign is not: the step goes against D."),
        (W - lr * ortho, "M and O are right. The scale 0.2 · sqrt(max(m, n)) is missing."),
        (
            W - lr * max(1, m / n) ** 0.5 * ortho,
            "M and O are right. This is the scale of `original`; take 0.2 · sqrt(max(m, n)).",
        ),
        (
            W - lr * 0.2 * min(m, n) ** 0.5 * ortho,
            "M and O are right. The scale takes the larger side, not the smaller one.",
        ),
        (W - lr * 0.2 * m**0.5 * ortho, "M and O are right. The scale takes the larger side, not always the rows."),
        (W - lr * 0.2 * n**0.5 * ortho, "M and O are right. The scale takes the larger side, not always the columns."),
        (W - lr * 0.2 * max(m, n) * ortho, "M and O are right. The root is missing: 0.2 · sqrt(max(m, n))."),
        (W - lr * max(m, n) ** 0.5 * ortho, "M and O are right. The 0.2 is missing: 0.2 · sqrt(max(m, n))."),
        (W - lr * 0.2 * (m * n) ** 0.5 * ortho, "M and O are right. Under the root stands max(m, n), not m · n."),
        (W - root * ortho, "M and O are right. The learning rate is missing."),
        (-lr * root * ortho, "This is the update alone. Subtract it from W."),
    ]


def _shrunk(W: Tensor, gradient: Tensor, M: Tensor, lr: float, mu: float, decay: float) -> Look:
    step = W - _moved(W, gradient, M, lr, mu, 0.0)[0]
    coupled = _moved(W, gradient + decay * W, M, lr, mu, 0.0)[0]
    return (1 - lr * decay) * W - step, [
        (W - step, "All is right without weight decay; with it, W does not shrink."),
        ((1 - decay) * W - step, "W shrinks by the factor 1 - lr · weight_decay: the learning rate is missing."),
        ((1 - lr * decay) * (W - step), "The update shrinks too. Shrink W before the update is subtracted."),
        ((1 + lr * decay) * W - step, "W grows. It shrinks by the factor 1 - lr · weight_decay."),
        (lr * decay * W - step, "W is multiplied by lr · weight_decay. The factor is 1 - lr · weight_decay."),
        (coupled, "The decay went into the gradient. Decoupled decay shrinks W itself."),
    ]


def e2(answer: Answer) -> None:
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
    twice = torch.tensor([[60.0, 0.0, 0.0], [0.0, 30.0, 0.0]])  # the bound itself
    cases.append((twice, torch.zeros(2, 3)))
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
        (0 < top < 2 * low * (1 - 1e-6), "Exactly twice the smallest is allowed, too: at most twice."),
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


def e3(answer: Answer) -> None:
    """Each of four bugs is found, and none in a right Muon."""
    kinds = [*("none", *BUGS) * 2, *BUGS[:2]]
    cases = [(_first_step(bug, seed),) for seed in (1, 2) for bug in ("none", *BUGS)]
    # a gradient of another size, and a scale that is wrong in the wide matrix
    cases += [(_first_step(BUGS[0], 3, size=10.0),), (_first_step(BUGS[1], 3, axis=0),)]
    truth = {id(seen): bug for (seen,), bug in zip(cases, kinds, strict=True)}

    def look(seen: dict[str, Any]) -> Look:
        right = truth[id(seen)]
        return right, [(_with(right, **change), message) for change, message in BLIND]

    compare(answer, cases, look, returns=one_of("none", *BUGS), otherwise=_missed)


def _with(right: str, **instead: str) -> str:
    return instead.get(right.split()[0], right)


BLIND: list[tuple[dict[str, str], str]] = [
    ({bug.split()[0]: "none" for bug in BUGS}, "Your tests find no bug at all."),
    (
        {"head": "none"},
        "The head is not looked at. Its update must not be orthogonal: that is AdamW's work.",
    ),
    (
        {"scale": "none"},
        "The wrong scale is not found. It shows in the tall matrix w_in: look at each matrix.",
    ),
    (
        {"momentum": "none"},
        "The overwritten momentum is not found. After the first step M must be 0.05 times the gradient.",
    ),
    (
        {"never": "none"},
        "The missing orthogonalization is not found. Compare the largest singular value with the smallest.",
    ),
    (
        {bug.split()[0]: "head under Muon" for bug in ("none", *BUGS)},
        "Every one is called a head under Muon. The head's update is orthogonal only if Muon made it.",
    ),
    (
        {"none": "scale from one axis", "momentum": "scale from one axis", "head": "scale from one axis"},
        "A right size is called wrong. Newton-Schulz leaves RMS between 0.13 and 0.25, not 0.2 exactly.",
    ),
    (
        {
            "none": "never orthogonalizes",
            "scale": "never orthogonalizes",
            "momentum": "never orthogonalizes",
            "head": "never orthogonalizes",
        },
        "Muon's own updates are called not orthogonal. Up to a quotient of 2 is allowed; the size must cancel.",
    ),
    (
        {
            "none": "momentum overwritten",
            "scale": "momentum overwritten",
            "head": "momentum overwritten",
            "never": "momentum overwritten",
        },
        "A right momentum is called overwritten. Compare M with 0.05 times the gradient, to rounding.",
    ),
]


def _missed(came: str, seen: dict[str, Any]) -> str:
    return f"Here your tests say {came!r}. Print what each of them measures, matrix by matrix."


def _first_step(bug: str, seed: int, size: float = 1.0, axis: int = 1) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    """Gradient, update and average of a tall, a wide and a head's matrix after a first step."""
    generator, made = torch.Generator().manual_seed(seed), {}
    for name, (m, n) in {"w_in": (64, 16), "w_out": (16, 64), "head": (48, 16)}.items():
        G = size * torch.randn(m, n, generator=generator)
        twice = bug == "momentum overwritten" and name != "head"
        M = (1 - 0.95**2 if twice else 0.05) * G
        ortho = newton_schulz(G) if bug != "never orthogonalizes" else M * 1.95
        update = 0.2 * ((m, n)[axis] if bug == "scale from one axis" else max(m, n)) ** 0.5 * ortho
        if name == "head" and bug != "head under Muon":  # as long as Muon's, so its size says nothing
            update = 0.18 * G.sign() * torch.rand(m, n, generator=generator).add(0.5)
        made[name] = G, update, M
    return made
