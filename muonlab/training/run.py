"""Train one language model: a configuration in, a record out."""

import dataclasses
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from tqdm.auto import tqdm

from muonlab.data.corpus import load_corpus
from muonlab.data.regression import load_regression
from muonlab.distributed import parallel, sharded
from muonlab.machine import keep_freed_memory, pick_device
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.models.regressor import Regressor
from muonlab.records.record import Record, code_version, provenance
from muonlab.theory.spectra import layer_spectra
from muonlab.training import checkpoints
from muonlab.training.build import Task, build_optimizer, model_for, picks_bf16
from muonlab.training.config import TrainConfig
from muonlab.training.evaluate import evaluate
from muonlab.training.pretraining import first_run

CURVES = ("step", "train_loss", "step_seconds", "held_out", "spectra")  # what a run adds to


class Diverged(ArithmeticError):
    """The loss is no longer finite. `record` holds the curves up to there."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        self.record = record


def train(
    config: TrainConfig,
    corpus: Task | None = None,
    *,
    checkpoint: Path | str | None = None,
    shard: bool = False,
    progress: bool = True,
) -> Record:
    """Returns the record of the run; `load_model(checkpoint)` gives the model it left.

    Args:
        corpus: the text; None loads `config.corpus`.
        checkpoint: a file to save to after each evaluation, and to resume from if it is there.
            An interrupted and resumed run gives the same bits as an unbroken one.
        shard: under torchrun, let each process keep some rows of the weights instead of all, for
            models that no device can hold. The checkpoint is a folder then, and goes on in any
            number of processes.
        progress: show a bar; the environment variable TQDM_DISABLE=1 hides it too.

    Raises:
        Diverged: the loss became NaN or Inf; the message names the step and a rate to lower.
        ValueError: the checkpoint is damaged, or belongs to another configuration.
    """
    with parallel.world(pick_device(config.device)):
        run = Run(config, load_corpus(config.corpus) if corpus is None else corpus, shard)
        if checkpoint is not None and checkpoints.exists(checkpoint):
            run.resume(checkpoint)
        shown = progress and parallel.rank() == 0
        silent = {} if shown else {"disable": True}  # an explicit False would beat TQDM_DISABLE
        with tqdm(total=config.steps, initial=run.step, unit="step", **silent) as bar:
            while run.step < config.steps:
                loss = run.train_step()
                bar.update()
                bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
                if config.spectra_every and run.step % config.spectra_every == 0:
                    run.measure_spectra()
                if run.step % config.eval_every == 0 or run.step == config.steps:
                    run.evaluate()
                    if checkpoint is not None:
                        run.save(checkpoint)
        return run.record()


def load_model(checkpoint: Path | str) -> GPT:
    """Returns the model that a checkpoint holds, on the CPU."""
    if Path(checkpoint).is_dir():
        model = GPT(GPTConfig(**checkpoints.read_index(checkpoint)["shape"]))
        named = {f"model.{name}": t for name, t in model.state_dict().items()}
        checkpoints.load_parts(named, checkpoint)
        return model
    state = checkpoints.load(checkpoint)
    shape, corpus = GPTConfig(**state["shape"]), state["config"]["corpus"]
    regression = corpus.startswith("regression-")
    model = Regressor(shape, load_regression(corpus).inputs) if regression else GPT(shape)
    model.load_state_dict(state["model"])
    return model


@cache  # a sweep starts from the same weights many times
def pretrained(config: TrainConfig) -> dict[str, Tensor]:
    """Returns the weights that a run leaves; a process trains them once."""
    run = Run(config, load_corpus(config.corpus))
    while run.step < config.steps:
        run.train_step()
    return run.model.state_dict()


class Run:
    """A run in progress: take it step by step when `train` is too much at once."""

    def __init__(self, config: TrainConfig, corpus: Task, shard: bool = False) -> None:
        self.config, self.corpus, self.shard = config, corpus, shard
        code_version()  # now, before anybody edits the files that this process has loaded
        self.device = pick_device(config.device)
        keep_freed_memory()
        self.model = model_for(config, corpus).to(self.device)
        if config.pretraining:
            self.model.load_state_dict(pretrained(first_run(config)))
        self.replica = sharded.shard(self.model) if shard else parallel.replicate(self.model)
        self.optimizer = build_optimizer(config, self.model)
        if shard:
            sharded.check_rule(self.optimizer)
        self.scheduler = LambdaLR(self.optimizer, config.rate)
        self.autocast = picks_bf16(config, self.device)
        self.step = 0
        self.train_loss: list[float] = []
        self.step_seconds: list[float] = []
        self.held_out: list[dict[str, Any]] = []
        self.spectra: list[dict[str, Any]] = []

    def train_step(self) -> float:
        """Returns the loss on the next batch, after one update of the weights."""
        config, start = self.config, time.perf_counter()
        batch = self.corpus.batch(self.step, config.batch, config.context, config.seed)
        inputs, targets = (parallel.share(t).to(self.device) for t in batch)  # (B, T, …) each
        with self._precision():
            loss = self.replica(inputs, targets)
        loss.backward()
        value = parallel.mean(loss)
        if not math.isfinite(value):
            raise self._diverged(f"the training loss is {value}")
        with self._finite_gradients():
            self.optimizer.step() if self.shard else parallel.step_shared(self.optimizer)
        self.optimizer.zero_grad()
        self.scheduler.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()  # or the clock stops before the work does
        self.step += 1
        self.train_loss.append(value)
        self.step_seconds.append(time.perf_counter() - start)
        return value

    def evaluate(self) -> dict[str, Any]:
        """Returns and keeps what the held-out text, or the questions, say about the model now."""
        with torch.no_grad(), self._precision():
            found = evaluate(self.model, self.corpus, self.config)
        if not math.isfinite(found["overall"]):
            raise self._diverged(f"the held-out loss is {found['overall']}")
        self.held_out.append({"step": self.step, "seconds": sum(self.step_seconds), **found})
        return self.held_out[-1]

    def measure_spectra(self) -> dict[str, Any]:
        """Returns and keeps four numbers (see `spectra`) for each kind of matrix and each layer."""
        named = ((name, sharded.whole(p)) for name, p in self.model.blocks.named_parameters())
        self.spectra.append({"step": self.step, **layer_spectra(named)})
        return self.spectra[-1]

    def record(self) -> Record:
        """Returns what has been measured so far, with its provenance."""
        config = self.config
        return Record(
            config=dataclasses.asdict(config),
            train_loss=list(self.train_loss),
            step_seconds=list(self.step_seconds),
            held_out=list(self.held_out),
            spectra=list(self.spectra),
            tokens=self.step * config.batch * config.context,
            provenance={
                "command": config.command(),
                **provenance(self.device),
                "precision": "bf16" if self.autocast else "fp32",
                "processes": parallel.size(),
                **({"sharded": True} if self.shard else {}),
                "corpus": self.corpus.name,
                "corpus_sha256": self.corpus.sha256,
            },
        )

    def save(self, path: Path | str) -> None:
        """Writes a checkpoint: the old one stays until the new one is whole.

        Under torchrun every process calls it, and one writes.
        """
        if self.shard:
            rest = self._identity() | {"scheduler": self.scheduler.state_dict()} | self._curves()
            checkpoints.save_parts(sharded.tensors(self.model, self.optimizer), rest, path)
            return
        parallel.gather_state(self.optimizer)
        if parallel.rank() == 0:
            checkpoints.save(self._identity() | self._state(), path)

    def resume(self, path: Path | str) -> None:
        """Goes back to where the checkpoint was written; refuses that of another run."""
        if Path(path).is_dir() != self.shard:
            raise ValueError(
                f"{path} is the checkpoint of a run {'without' if self.shard else 'with'} --shard: "
                "go on with it in the same way, or give this run a path of its own"
            )
        # on the run's device: the optimizer leaves AdamW's step counter where it was loaded
        state = checkpoints.read_index(path) if self.shard else checkpoints.load(path, self.device)
        checkpoints.check_same(state["config"], self._identity()["config"], path)
        self.scheduler.load_state_dict(state["scheduler"])
        if self.shard:
            checkpoints.load_parts(sharded.tensors(self.model, self.optimizer), path)
            for group, rate in zip(
                self.optimizer.param_groups, self.scheduler.get_last_lr(), strict=True
            ):
                group["lr"] = rate
        else:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        for name in CURVES:
            setattr(self, name, state[name])

    def _identity(self) -> dict[str, Any]:
        config = dataclasses.asdict(self.config) | {"text of the corpus": self.corpus.sha256}
        return {"config": config, "shape": dataclasses.asdict(self.model.config)}

    def _state(self) -> dict[str, Any]:
        # batches depend on (seed, step) alone, so the position in the data needs no state
        parts = ("model", "optimizer", "scheduler")
        states = {name: getattr(self, name).state_dict() for name in parts}
        return states | self._curves()

    def _curves(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CURVES}

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
        record.failure = (
            f"diverged at step {self.step}: {what}. The largest weight is in {name!r}: lower "
            f"{rate} (now {getattr(self.config, rate):g}), or lengthen the warm-up (now {warmup:g})"
        )
        return Diverged(record.failure, record)


def _largest(p: Tensor) -> float:
    return sharded.whole(p.detach()).abs().max().nan_to_num(nan=math.inf).item()
