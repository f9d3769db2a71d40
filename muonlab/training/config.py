"""What can be chosen about a training run, and which choices make no sense."""

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import Any, get_args

from muonlab.models.gpt import ATTENTIONS, SIZES
from muonlab.optim.coefficients import COEFFICIENTS
from muonlab.optim.routing import GROUPS
from muonlab.optim.update import LRScale
from muonlab.training import schedule
from muonlab.training.rules import CONTROLS, NORMUON

PRECISIONS = ("auto", "fp32", "bf16")
RULES = ("muon", *NORMUON, *CONTROLS)


def _option(default: Any, text: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class TrainConfig:
    """One training run; every field is a scalar or a tuple, and an option of `muonlab train`.

    A field's default never changes, and that of a later field is what was done before it: records
    that lack a field are read so.
    """

    corpus: str = _option("docs", "docs, code, fineweb, a folder, facts-M or regression-D")
    size: str = _option("tiny", "the model: " + ", ".join(SIZES))
    gated: bool = _option(False, "gated feed-forward, with w_gate")
    attention: str = _option("multi-head", "the attention: " + ", ".join(ATTENTIONS))
    experts: int = _option(0, "experts in a feed-forward layer, of which a token takes 3; 0: dense")
    muon: tuple[str, ...] = _option(("QK", "VO", "FFN"), "groups under Muon; none: AdamW alone")
    rule: str = _option("muon", "what steps those groups: " + ", ".join(RULES))
    lr: float = _option(0.01, "the learning rate of that rule; Muon's before adjust_lr_fn")
    adamw_lr: float = _option(3e-3, "AdamW's learning rate, for everything that Muon does not take")
    adamw_matrix_lr: float | None = _option(None, "the same for matrices alone, if it is to differ")
    adjust_lr_fn: str = _option("match_rms_adamw", "how lr depends on a matrix's shape")
    momentum: float = _option(0.95, "Muon's average of gradients")
    nesterov: bool = _option(True, "Muon looks one step ahead")
    ns_coefficients: str = _option("jordan", f"exact, or one of {', '.join(COEFFICIENTS)}")
    ns_steps: int = _option(5, "Newton-Schulz steps")
    betas: tuple[float, float] = _option((0.9, 0.95), "AdamW's two averages")
    weight_decay: float = _option(0.0, "decoupled decay, for both; 0 as in arXiv 2509.26030")
    pretraining: int = _option(0, "steps of AdamW on docs, at lesson 04's rates, that come first")
    steps: int = _option(200, "updates of the weights")
    batch: int = _option(16, "sequences in a batch")
    context: int = _option(64, "tokens in a sequence")
    warmup: float = _option(0.1, "fraction of the steps in which both rates rise from 0")
    decay: float = _option(0.4, "fraction of the steps, at the end, in which they fall to 0")
    seed: int = _option(0, "of the first weights and of the batches")
    eval_every: int = _option(50, "steps between two measurements of the held-out loss")
    eval_tokens: int = _option(16_384, "held-out tokens that a measurement reads")
    spectra_every: int = _option(0, "steps between two measurements of the spectra; 0: none")
    precision: str = _option("auto", "fp32, bf16, or auto: bf16 where it is faster")
    device: str = _option("auto", "cpu, cuda, or auto: the GPU where there is one")

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, list):  # as JSON and the command line bring it
                object.__setattr__(self, name, tuple(value))
        self._check_names()
        self._check_numbers()
        self._check_experts()

    def _check_names(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if kind in (str, bool) and not isinstance(value, kind):
                wanted = "True or False" if kind is bool else "a name"
                raise ValueError(f"{field.name} must be {wanted}, got {value!r}")
        _one_of("size", self.size, tuple(SIZES))
        _one_of("precision", self.precision, PRECISIONS)
        _one_of("attention", self.attention, tuple(ATTENTIONS))
        _one_of("rule", self.rule, RULES)
        _one_of("ns_coefficients", self.ns_coefficients, (*COEFFICIENTS, "exact"))
        if not isinstance(self.muon, tuple):
            raise ValueError(f"muon takes several groups: write ({self.muon!r},)")
        for group in self.muon:
            _one_of("muon", group, tuple(GROUPS))
        _one_of("adjust_lr_fn", self.adjust_lr_fn, get_args(LRScale))
        if not re.fullmatch(
            r"auto|cpu|cuda(:\d+)?", self.device
        ):  # if it is there, the run will see
            raise ValueError(f"device must be auto, cpu, cuda or cuda:N; got {self.device!r}")

    def _check_numbers(self) -> None:
        for name in ("steps", "batch", "context", "eval_every", "eval_tokens", "ns_steps"):
            _within(name, getattr(self, name), 1, math.inf, whole=True)
        for name in ("experts", "pretraining", "seed", "spectra_every"):
            _within(name, getattr(self, name), 0, 2**63, whole=True)
        rates = ("lr", "adamw_lr", *(() if self.adamw_matrix_lr is None else ("adamw_matrix_lr",)))
        for name in (*rates, "weight_decay", "warmup", "decay"):
            _within(name, getattr(self, name), 0, math.inf)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers in [0, 1), got {self.betas}")
        for name, value in (("momentum", self.momentum), *(("betas", b) for b in self.betas)):
            _within(name, value, 0, 1)
        if self.warmup + self.decay > 1:
            raise ValueError(
                "warmup and decay are fractions of the steps with a sum of at most 1, got "
                f"warmup={self.warmup} and decay={self.decay}"
            )
        longest = SIZES[self.size].context
        if self.context > longest:
            raise ValueError(
                f"context must be at most {longest} for size={self.size!r}, got {self.context}: "
                "shorten it, or choose a larger size"
            )
        if self.eval_tokens < self.context:
            raise ValueError(
                f"eval_tokens must be at least one context of {self.context}, got "
                f"{self.eval_tokens}"
            )

    def _check_experts(self) -> None:
        least = SIZES[self.size].active_experts
        if 0 < self.experts < least:
            raise ValueError(
                f"experts must be 0, or at least the {least} that a token takes; got {self.experts}"
            )
        if self.experts and self.rule in CONTROLS:
            raise ValueError(
                f"rule={self.rule!r} knows single matrices, and experts={self.experts} makes "
                f"stacks of them: take {', '.join(('muon', *NORMUON))}, or experts=0"
            )

    def rate(self, step: int) -> float:
        """Returns what the learning rates are multiplied by at a step, see `schedule.factor`."""
        return schedule.factor(step, self.steps, self.warmup, self.decay)

    def command(self) -> str:
        """Returns the line for a terminal that runs this configuration again."""
        words = ["muonlab", "train"]
        for field in dataclasses.fields(self):
            value, flag = getattr(self, field.name), "--" + field.name.replace("_", "-")
            if value == field.default:
                continue
            if isinstance(value, bool):
                words.append(flag if value else flag.replace("--", "--no-", 1))
            else:
                words += [flag, *map(str, value if isinstance(value, tuple) else (value,))]
        return " ".join(words)


def _one_of(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{field} must be one of {', '.join(known)}; got {value!r}")


def _within(field: str, value: float, lowest: float, end: float, *, whole: bool = False) -> None:
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"{field} must be {kind}, got {value!r}")
    if not lowest <= value < end:
        bound = f"in [{lowest}, {end})" if end < math.inf else f">= {lowest} and finite"
        raise ValueError(f"{field} must be {kind} {bound}, got {value}")
