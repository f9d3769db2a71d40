"""What can be chosen about a training run, and which choices make no sense."""

import dataclasses
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

from muonlab import checks
from muonlab.data.task import spelled
from muonlab.models.gpt import ATTENTIONS, SIZES
from muonlab.optim.coefficients import COEFFICIENTS, MOST_STEPS
from muonlab.optim.lr_scale import LRScale
from muonlab.optim.orthogonalize import NORMS
from muonlab.optim.routing import GROUPS
from muonlab.optim.rules import OPTIONS, OWN, RULES, rule_of
from muonlab.training.pretraining import PRETRAININGS

ALL_MATRICES = {False: ("QK", "VO", "FFN"), True: ("QKV", "O", "FFN")}  # by fused_qkv
SHAPE = ("gated", "attention", "qk_norm", "fused_qkv", "experts")  # of the model, beside its size
# of a fine-tuning, which its pretraining has, too
CARRIED = ("size", *SHAPE, "context", "precision", "device", "seed")
IDLE = "in this run these options change nothing"


def _option(default: Any, text: str, **allowed: Any) -> Any:
    return dataclasses.field(default=default, metadata={"help": text, **allowed})


def _choice(default: str, text: str, known: Iterable[str]) -> Any:
    return _option(default, f"{text}: {', '.join(known)}", known=known)


def _number(default: Any, text: str, least: float = 0, end: float = checks.LARGEST) -> Any:
    return _option(default, text, least=least, end=end)


@dataclass(frozen=True)
class TrainConfig:
    """One training run; every field is a scalar or a tuple, and an option of `muonlab train`.

    A field's default never changes, and that of a later field is what was done before it: records
    that lack a field are read so.

    `grad_clip` scales all gradients of a step down together. Muon's step stays as long as it was,
    since to orthogonalize forgets the size of the momentum: a clipped gradient only weighs less
    among the others in the momentum.
    """

    corpus: str = _option("docs", "docs[-V], code[-V], facts-M[-zipfS], fineweb, a folder, …")
    size: str = _choice("tiny", "the model", SIZES)
    gated: bool = _option(False, "gated feed-forward, with w_gate")
    attention: str = _choice("multi-head", "the attention", ATTENTIONS)
    qk_norm: bool = _option(True, "queries and keys are normed; latent attention: all but k_up c")
    fused_qkv: bool = _option(False, "one matrix makes queries, keys and values: group QKV")
    experts: int = _number(0, "experts in a feed-forward layer, of which a token takes 3; 0: dense")
    muon: tuple[str, ...] = _option(("QK", "VO", "FFN"), "groups under Muon, QK.0: of one block")
    rule: str = _choice("muon", "what steps those groups", RULES)
    noise: float = _number(1.0, "the norm of a rule's noise, as a share of that of its step")
    lr: float = _number(0.01, "the learning rate of that rule; Muon's before adjust_lr_fn")
    adamw_lr: float = _number(3e-3, "AdamW's learning rate, for everything that Muon does not take")
    adamw_matrix_lr: float | None = _number(None, "the same for matrices alone, if it is to differ")
    adjust_lr_fn: str = _choice("match_rms_adamw", "how lr follows a shape", get_args(LRScale))
    matrix_lr_factors: tuple[float, float, float, float] = _number(
        (1.0, 1.0, 1.0, 1.0), "that rate's factors for QK, VO, w_in with w_gate, and w_out"
    )
    momentum: float = _number(0.95, "Muon's average of gradients", end=1)
    nesterov: bool = _option(True, "Muon looks one step ahead")
    ns_coefficients: str = _choice("jordan", "what orthogonalizes", (*COEFFICIENTS, "exact"))
    ns_steps: int = _number(5, "Newton-Schulz steps", 1, MOST_STEPS + 1)
    ns_norm: str = _choice("frobenius", "the norm that divides a matrix before them", NORMS)
    betas: tuple[float, float] = _number((0.9, 0.95), "AdamW's two averages", end=1)
    adamw_matrix_beta1: float | None = _number(None, "the first, for matrices alone", end=1)
    weight_decay: float = _number(0.0, "decoupled decay, for both; 0 as in arXiv 2509.26030")
    matrix_decay: float = _number(0.0, "of matrices: what a step at the full rate takes off")
    pretraining: int = _number(0, "steps on docs that come first")
    pretrained_by: str = _choice("lesson-04", "by that lesson, or the race's best of", PRETRAININGS)
    steps: int = _number(200, "updates of the weights", 1)
    batch: int = _number(16, "sequences in a batch", 1)
    context: int = _number(64, "tokens in a sequence", 1)
    warmup: float = _number(0.1, "fraction of the steps in which all rates rise")
    decay: float = _number(0.4, "fraction of the steps, at the end, in which they fall to 0")
    seed: int = _number(0, "of the first weights and of the batches", end=2**63)
    eval_every: int = _number(50, "steps between two measurements of the held-out loss", 1)
    eval_tokens: int = _number(16_384, "held-out tokens that a measurement reads", 1)
    spectra_every: int = _number(0, "steps between two measurements of the spectra; 0: none")
    eval_batch: int = _number(0, "most sequences a process reads at once there; 0: as in training")
    pieces: int = _number(
        1, "equal pieces of a batch, one after the other, for smaller memories", 1
    )
    grad_clip: float = _number(0.0, "largest norm of all gradients together; 0: any")
    precision: str = _choice("auto", "auto is bf16 where that is faster", ("auto", "fp32", "bf16"))
    compile: bool = _option(False, "torch.compile makes one program of the model")
    device: str = _option("auto", "cpu, cuda, mps, or auto: cuda where it is, else cpu")

    def __post_init__(self) -> None:
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            if hasattr(value, "tolist"):  # of NumPy or torch: JSON knows none
                value = value.tolist()
            if isinstance(value, list | tuple):  # JSON and the command line bring lists
                value = tuple(v.tolist() if hasattr(v, "tolist") else v for v in value)
            object.__setattr__(self, option.name, value)
            if type(value) is not type(option.default) or value != option.default:
                self._check(option, value)
        object.__setattr__(self, "corpus", spelled(self.corpus))
        self._check_together()

    def _check(self, option: dataclasses.Field[Any], value: Any) -> None:
        """Raises ValueError unless the value of an option is what its field allows."""
        name, default, allowed = option.name, option.default, option.metadata
        if isinstance(default, bool):
            checks.choice(name, value, (True, False))
        elif "known" in allowed and not (name == "rule" and OWN.fullmatch(str(value))):
            checks.choice(name, value, allowed["known"])
        elif "least" in allowed:
            whole, parts = isinstance(default, int), value if isinstance(value, tuple) else (value,)
            if isinstance(default, tuple) and len(parts) != len(default):
                raise ValueError(f"{name} must be {len(default)} numbers, got {value}")
            for number in parts if isinstance(default, tuple) else (value,):
                checks.number(name, number, allowed["least"], allowed["end"], whole=whole)
        elif isinstance(default, str):
            checks.kind(f"text in {name}", value, str)

    def _check_together(self) -> None:
        """Raises ValueError for options that do not fit each other."""
        size, warmup, decay = SIZES[self.size], self.warmup, self.decay
        if warmup + decay > 1:
            raise ValueError(f"{warmup=} and {decay=} are fractions of the steps: at most 1 in sum")
        for entry in checks.several("several groups in muon, as ('QK', 'VO')", self.muon, str):
            group, _, block = entry.partition(".")
            checks.choice("muon", group, GROUPS)
            if block:
                checks.choice(f"the block in {entry}", block, map(str, range(size.layers)))
        if self.pretraining and self.corpus.partition("-")[0] not in ("docs", "code"):
            raise ValueError(f"docs and code have pretraining's tokens, not corpus={self.corpus!r}")
        # the run sees if it is there
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", self.device):
            raise ValueError(f"device must be auto, cpu, mps, cuda or cuda:N; got {self.device!r}")
        checks.number(
            f"context for size={self.size!r}", self.context, 1, size.context + 1, whole=True
        )
        if self.batch % self.pieces:
            raise ValueError(f"batch must be a multiple of pieces={self.pieces}, got {self.batch}")
        checks.number("eval_tokens (a context or more)", self.eval_tokens, self.context)
        if self.experts and not rule_of(self.rule).stacks:
            raise ValueError(f"rule={self.rule!r} knows no stacks, which experts make")

    def rate(self, step: int) -> float:
        """Returns what all learning rates are multiplied by at a step, in [0, 1].

        They rise, stay, and fall to 0 after the last step, all linear.

        >>> config = TrainConfig(steps=8, warmup=0.25, decay=0.5)
        >>> [config.rate(step) for step in range(9)]
        [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
        """
        rising = (step + 1) / max(1, round(self.warmup * self.steps))
        falling = (self.steps - step) / max(1, round(self.decay * self.steps))
        return min(1.0, rising, falling)

    def first_run(self) -> "TrainConfig":
        """Returns the run on docs whose weights a run with `pretraining` starts from.

        `training.pretraining` has its settings.
        """
        _, *vocabulary = self.corpus.split("-")
        kept = {name: getattr(self, name) for name in CARRIED}
        kept |= {"muon": ALL_MATRICES[self.fused_qkv]} | PRETRAININGS[self.pretrained_by]
        text = "-".join(["docs", *vocabulary])
        rows = self.batch // self.pieces  # as many as the memory takes, if it takes no whole batch
        pieces = next(n for n in (1, 2, 4, 8, 16) if self.pieces == 1 or n * rows >= 16)
        return TrainConfig(corpus=text, steps=self.pretraining, batch=16, pieces=pieces, **kept)

    def idle(self) -> set[str]:
        """Returns the options that change nothing in this run."""
        reads = rule_of(self.rule).reads if self.muon else set()
        options = {*OPTIONS - reads} - {"betas"}  # AdamW reads those
        options |= set() if self.muon else {"lr", "rule"}
        # AdamW keeps the experts' routers
        if {*ALL_MATRICES[self.fused_qkv]} <= {*self.muon} and not self.experts:
            options |= {"adamw_matrix_lr"} | (set() if "betas" in reads else {"adamw_matrix_beta1"})
        options |= set() if self.pretraining else {"pretrained_by"}
        if self.fused_qkv and {*self.matrix_lr_factors[1:]} == {1}:  # none of its matrices is QK
            options |= {"matrix_lr_factors"}
        options |= {"eval_tokens"} if self.corpus.startswith("facts-") else set()  # all are asked
        return options | ({"ns_steps", "ns_norm"} if self.ns_coefficients == "exact" else set())

    def told_idle(self) -> str:
        """Returns a sentence that names those which are chosen all the same, or ""."""
        options = sorted(n for n in self.idle() if getattr(self, n) != getattr(TrainConfig, n))
        return f"{IDLE}: {', '.join(options)}" if options else ""

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
        return shlex.join(words)
