"""A step of one's own as a rule: what a learner wrote runs beside Muon, and records name it."""

import inspect
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from muonlab import checks
from muonlab.optim.muon import Muon
from muonlab.optim.rules import OWN_READS, RULES, Rule
from muonlab.optim.stacks import Group


class Own(Muon):
    """Muon's groups, but each of its matrices is stepped by a function of the caller's."""

    whole_only = True

    def __init__(self, own_step: Callable[..., None], params: Any) -> None:
        super().__init__(params)
        self.own_step = own_step

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"own_step": self.own_step}  # or a copy could not step

    def _muon_step(self, group: Group) -> None:
        options = group["lr"], group["momentum"], group["weight_decay"]
        for p in group["params"]:
            self.own_step(p, p.grad, self.state_of(p, group)["momentum_buffer"], *options)


def own_rule(step: Callable[..., None]) -> str:
    """Returns the name under which a step of your own is a rule here, as "own-my_muon_step-1a2b".

    Its four digits follow from its text, so that runs of another text are other runs. Only this
    process knows the step; whoever reads its runs needs the name alone.

    Args:
        step: called with W, gradient, M (m, n), lr, momentum, weight_decay; it changes W and M in
            place, M is zeros at first, and no gradient is taken of it.
    """
    shown = f"{step_name(step)}-{sha256(text_of(step).encode()).hexdigest()[:4]}"
    RULES[f"own-{shown}"] = Rule(shown, OWN_READS, own=partial(Own, step))
    return f"own-{shown}"


def own_step(rule: str) -> Callable[..., None]:
    """Returns the step that `own_rule` has named so; ValueError in a process that never did."""
    own = RULES[rule].own if rule in RULES else None
    if not isinstance(own, partial):
        raise ValueError(f"rule={rule!r} is not known here: call own_rule with its step first")
    return own.args[0]


def step_name(function: Callable[..., Any]) -> str:
    """Returns the name that a function was defined with; TypeError for others, as a lambda."""
    name = getattr(function, "__name__", "")
    if not callable(function) or not name.isidentifier():
        raise TypeError(f"expected a function with a name, by def; got {checks.short(function)}")
    return name


def text_of(function: Callable[..., Any]) -> str:
    """Returns the text of a function; ValueError where none is kept, as of a built-in one."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError) as error:
        message = f"the text of {step_name(function)} is not known"
        raise ValueError(f"{message}: define it in a cell or a file") from error
