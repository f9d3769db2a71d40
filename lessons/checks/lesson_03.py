"""Checks of lesson 03: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab import GPT, GPTConfig, newton_schulz
from muonlab.classroom.exercise import Wrong, call
from muonlab.optim.routing import Routing
from muonlab.optim.update import lr_scale


def e1(answer: Callable) -> None:
    """An update of Muon's has nearly equal singular values; one of SGD's has not."""
    generator = torch.Generator().manual_seed(0)
    before = torch.randn(24, 48, generator=generator)
    G = torch.randn(24, 48, generator=generator)
    muon = newton_schulz(G, dtype=torch.float32)
    steps = (0.02 * muon, 3.0 * muon, 0.02 * G / G.norm(), 0.02 * G.sign(), 0.02 * _spoiled(muon))
    came = tuple(bool(call(answer, before, before - step)) for step in steps)
    if came == (True, True, False, False, False):
        _ends_of_the_rule(answer, before, muon)
        return
    if all(came):
        raise Wrong("Your test says yes to everything, also to a sign step and to normalized SGD.")
    if not any(came):
        raise Wrong(
            "Muon steps with lr 0.02 and 3 fail. Their singular values are not near 1: the learning rate must cancel."
        )
    if came == (False, False, True, True, True):
        raise Wrong("The comparison is upside down: Muon steps fail and all others pass.")
    if came[0] != came[1]:
        raise Wrong("Two Muon steps that differ only in the learning rate get different answers. It must cancel.")
    if came == (True, True, False, False, True):
        raise Wrong(
            "A step whose smallest singular value is a tenth of the others passed. Look at the smallest, not at the middle."
        )
    names = (
        "Muon, lr 0.02",
        "Muon, lr 3",
        "normalized SGD",
        "a sign step",
        "a step with one small value",
    )
    passed = ", ".join(name for name, ok in zip(names, came, strict=True) if ok)
    raise Wrong(f"Only the two Muon steps should pass. These did: {passed}.")


def _ends_of_the_rule(answer: Callable, before: torch.Tensor, muon: torch.Tensor) -> None:
    for smallest, expected in ((0.53, True), (0.47, False)):
        if bool(call(answer, before, before - _spoiled(muon, smallest))) != expected:
            raise Wrong(f"With values 1 and {smallest} the answer is {expected}: at most twice the smallest.")
    if call(answer, before, before.clone()):
        raise Wrong("No step at all passed: the largest singular value must not be 0.")


def _spoiled(step: torch.Tensor, smallest: float = 0.1) -> torch.Tensor:
    U, S, Vt = torch.linalg.svd(step, full_matrices=False)
    S = torch.ones_like(S)
    S[-1] = smallest
    return U @ torch.diag(S) @ Vt


def e2(answer: Callable) -> None:
    """lr · factor stays the same."""
    for rows, columns in ((1024, 256), (256, 1024)):
        for old, new in (("original", "match_rms_adamw"), ("match_rms_adamw", "spectral")):
            came = float(call(answer, 0.02, old, new, rows, columns))
            f_old, f_new = lr_scale(old, rows, columns), lr_scale(new, rows, columns)
            _one_conversion(came, f_old, f_new, f"lr 0.02, {old} to {new}, {rows} × {columns}")


def _one_conversion(came: float, old: float, new: float, case: str) -> None:
    expected = 0.02 * old / new
    if math.isclose(came, expected, rel_tol=1e-6):
        return
    if math.isclose(came, 0.02 * new / old, rel_tol=1e-6):
        raise Wrong("The quotient is upside down: lr · old factor = new lr · new factor.")
    if math.isclose(came, 0.02 * old * new, rel_tol=1e-6):
        raise Wrong("You multiplied by both factors. The old one multiplies, the new one divides.")
    if math.isclose(came, 0.02 * old, rel_tol=1e-6):
        raise Wrong("You used the old factor only. The new convention applies its own factor too: divide by it.")
    if math.isclose(came, 0.02 / new, rel_tol=1e-6):
        raise Wrong("You used the new factor only. Under the old convention the step was lr times the old factor.")
    raise Wrong(f"{case}: expected {expected:.4g}, you returned {came:.4g}.")


def e3(answer: Callable) -> None:
    """Muon on v, o and the feed-forward matrices, and on nothing else."""
    shape = {"vocab_size": 16, "layers": 2, "width": 8, "heads": 2, "context": 8}
    for gated in (False, True):
        _one_routing(answer, GPT(GPTConfig(**shape, gated=gated)))


def _one_routing(answer: Callable, model: GPT) -> None:
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
        raise Wrong("The values and outputs are missing: add the group VO.")
    expected = {n for n, _ in model.named_parameters() if n.split(".")[-2] in {"v", "o", "w_in", "w_out", "w_gate"}}
    if muon != expected:
        raise Wrong(f"Some layers are missing, for example {sorted(expected ^ muon)[0]}.")
