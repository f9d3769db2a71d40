"""Train one language model: a configuration in, a record out."""

import dataclasses
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from tqdm.auto import tqdm

from muonlab.allocator import keep_freed_memory
from muonlab.data.corpus import Corpus, load_corpus
from muonlab.experiments import checkpoints
from muonlab.experiments.build import build_model, build_optimizer, pick_device, picks_bf16
from muonlab.experiments.config import TrainConfig
from muonlab.experiments.records import Record, code_version, provenance
from muonlab.models.gpt import GPT, GPTConfig

CLASSES = ("head", "middle", "tail")  # of tokens, by how often they occur; Corpus.frequency_class


class Diverged(ArithmeticError):
    """The loss is no longer finite. `record` holds the curves up to there."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        self.record = record


def train(
    config: TrainConfig,
    corpus: Corpus | None = None,
    *,
    checkpoint: Path | str | None = None,
    progress: bool = True,
) -> Record:
    """Returns the record of the run; `load_model(checkpoint)` gives the model it left.

    Args:
        corpus: the text; None loads `config.corpus`.
        checkpoint: a file to save to after each evaluation, and to resume from if it is there.
            An interrupted and resumed run gives the same bits as an unbroken one.
        progress: show a bar; the environment variable TQDM_DISABLE=1 hides it too.

    Raises:
        Diverged: the loss became NaN or Inf; the message names the step and a rate to lower.
        ValueError: the checkpoint is damaged, or belongs to another configuration.
    """
    run = Run(config, load_corpus(config.corpus) if corpus is None else corpus)
    if checkpoint is not None and Path(checkpoint).exists():
        run.resume(checkpoint)
    silent = {} if progress else {"disable": True}  # an explicit False would beat TQDM_DISABLE
    with tqdm(total=config.steps, initial=run.step, unit="step", **silent) as bar:
        while run.step < config.steps:
            loss = run.train_step()
            bar.update()
            bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            if run.step % config.eval_every == 0 or run.step == config.steps:
                run.evaluate()
                if checkpoint is not None:
                    run.save(checkpoint)
    return run.record()


def load_model(checkpoint: Path | str) -> GPT:
    """Returns the model that a checkpoint holds, on the CPU."""
    state = checkpoints.load(checkpoint)
    model = GPT(GPTConfig(**state["shape"]))
    model.load_state_dict(state["model"])
    return model


class Run:
    """A run in progress: take it step by step when `train` is too much at once."""

    def __init__(self, config: TrainConfig, corpus: Corpus) -> None:
        self.config, self.corpus = config, corpus
        code_version()  # now, before anybody edits the files that this process has loaded
        self.device = pick_device(config.device)
        keep_freed_memory()
        self.model = build_model(config, corpus.vocab_size).to(self.device)
        self.optimizer = build_optimizer(config, self.model)
        self.scheduler = LambdaLR(self.optimizer, config.rate)
        self.autocast = picks_bf16(config, self.device)
        self.frequency_class = corpus.frequency_class().to(self.device).long()  # (V,)
        self.step = 0
        self.train_loss: list[float] = []
        self.step_seconds: list[float] = []
        self.held_out: list[dict[str, Any]] = []

    def train_step(self) -> float:
        """Returns the loss on the next batch, after one update of the weights."""
        config, start = self.config, time.perf_counter()
        batch = self.corpus.batch(self.step, config.batch, config.context, config.seed)
        inputs, targets = (tokens.to(self.device) for tokens in batch)  # (B, T) each
        with self._precision():
            loss = self.model(inputs, targets)
        loss.backward()
        value = loss.item()
        if not math.isfinite(value):
            raise self._diverged(f"the training loss is {value}")
        with self._finite_gradients():
            self.optimizer.step()
        self.optimizer.zero_grad()
        self.scheduler.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()  # or the clock stops before the work does
        self.step += 1
        self.train_loss.append(value)
        self.step_seconds.append(time.perf_counter() - start)
        return value

    @torch.no_grad()
    def evaluate(self) -> dict[str, Any]:
        """Returns and keeps the mean held-out loss: overall, and for each class of tokens.

        The class is that of the token to be predicted; None where the text has none of it.
        """
        config = self.config
        total = torch.zeros(len(CLASSES), dtype=torch.float64)
        count = torch.zeros(len(CLASSES), dtype=torch.float64)
        windows = self.corpus.held_out_batches(config.batch, config.context, config.eval_tokens)
        for inputs, targets in windows:
            targets = targets.to(self.device)
            with self._precision():
                losses = self.model(inputs.to(self.device), targets, reduction="none")  # (B, T)
            of = self.frequency_class[targets].flatten().cpu()  # (B·T,)
            total.index_add_(0, of, losses.flatten().double().cpu())
            count += torch.bincount(of, minlength=len(CLASSES))
        overall = (total.sum() / count.sum()).item()
        if not math.isfinite(overall):
            raise self._diverged(f"the held-out loss is {overall}")
        means = [t / n if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]
        measured = {"step": self.step, "seconds": sum(self.step_seconds), "overall": overall}
        self.held_out.append(measured | dict(zip(CLASSES, means, strict=True)))
        return self.held_out[-1]

    def record(self) -> Record:
        """Returns what has been measured so far, with its provenance."""
        config = self.config
        return Record(
            config=dataclasses.asdict(config),
            train_loss=list(self.train_loss),
            step_seconds=list(self.step_seconds),
            held_out=list(self.held_out),
            tokens=self.step * config.batch * config.context,
            provenance={
                "command": config.command(),
                **provenance(self.device),
                "precision": "bf16" if self.autocast else "fp32",
                "corpus": self.corpus.name,
                "corpus_sha256": self.corpus.sha256,
            },
        )

    def save(self, path: Path | str) -> None:
        """Writes a checkpoint: the old one stays until the new one is whole."""
        checkpoints.save(self._identity() | self._state(), path)

    def resume(self, path: Path | str) -> None:
        """Goes back to where the checkpoint was written; refuses that of another run."""
        # on the run's device: the optimizer leaves AdamW's step counter where it was loaded
        state = checkpoints.load(path, self.device)
        checkpoints.check_same(state["config"], self._identity()["config"], path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        for name in ("step", "train_loss", "step_seconds", "held_out"):
            setattr(self, name, state[name])

    def _identity(self) -> dict[str, Any]:
        config = dataclasses.asdict(self.config) | {"text of the corpus": self.corpus.sha256}
        return {"config": config, "shape": dataclasses.asdict(self.model.config)}

    def _state(self) -> dict[str, Any]:
        # batches depend on (seed, step) alone, so the position in the data needs no state
        parts = ("model", "optimizer", "scheduler")
        curves = ("step", "train_loss", "step_seconds", "held_out")
        states = {name: getattr(self, name).state_dict() for name in parts}
        return states | {name: getattr(self, name) for name in curves}

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast)

    @contextmanager
    def _finite_gradients(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:  # the optimizer checks before it changes anything
            raise self._diverged(str(error)) from error

    def _diverged(self, what: str) -> Diverged:
        name, p = max(self.model.named_parameters(), key=lambda item: _largest(item[1]))
        rates = {id(q): g["rate"] for g in self.optimizer.param_groups for q in g["params"]}
        rate, warmup = rates[id(p)], self.config.warmup
        record = self.record()
        record.diverged = (
            f"diverged at step {self.step}: {what}. The largest weight is in {name!r}: lower "
            f"{rate} (now {getattr(self.config, rate):g}), or lengthen the warm-up (now {warmup:g})"
        )
        return Diverged(record.diverged, record)


def _largest(p: Tensor) -> float:
    return p.detach().abs().max().nan_to_num(nan=math.inf).item()
