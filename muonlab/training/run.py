"""Train one language model: a configuration in, a record out."""

import dataclasses
import json
import math
import time
import warnings
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from muonlab import checks
from muonlab.data.load import load_corpus
from muonlab.data.task import Task, spelled
from muonlab.distributed import parallel, sharded
from muonlab.machine import keep_freed_memory, pick_device
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.models.regressor import build
from muonlab.optim.muon import Muon
from muonlab.optim.refusals import NotFinite
from muonlab.optim.stacks import launches_cost
from muonlab.records.provenance import code_version, now, provenance
from muonlab.records.record import Record
from muonlab.theory.spectra import layer_spectra
from muonlab.training import checkpoints
from muonlab.training.build import build_model, build_optimizer, picks_bf16
from muonlab.training.clipping import clip_gradients
from muonlab.training.config import TrainConfig

CURVES = ("train_loss", "step_seconds", "held_out", "spectra")  # lists that grow in a run
RESUMED = ("step", "cpu_seconds", *CURVES)  # what a run goes on from, beside tensors
READ_EVERY = 20  # steps that a GPU is given before the host waits for their losses
ON_DEVICE = 2**30  # bytes: a longer text stays in the host's memory


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
    replicas: int = 1,
    timeout: float = 10,
    progress: bool = True,
) -> Record:
    """Returns the record of the run; `load_model(checkpoint)` gives the model it left.

    Args:
        corpus: the text; None loads `config.corpus`.
        checkpoint: a folder to save to after each evaluation, and to resume from if one is there.
            An interrupted and resumed run gives the same bits as an unbroken one; it may go on in
            another number of processes, sharded or not, with the same numbers up to rounding.
        shard: under torchrun, let each process keep some rows of weights, gradients and momenta
            instead of all. No process ever holds the whole model, unless it is pretrained.
        replicas: with shard, copies of the weights (see `sharded.build_sharded`).
        timeout: minutes that a process waits for one that stands still. One that ends is an error
            in the others at once.
        progress: show a bar; the environment variable TQDM_DISABLE=1 hides it too.

    Raises:
        Diverged: the loss became NaN or Inf; the message names the step and a rate to lower. On a
            GPU the run ends up to READ_EVERY steps later.
        ValueError: the checkpoint is damaged, or belongs to another configuration.
        OSError: a checkpoint cannot be written there; found out before the first step.
        UserWarning: options that change nothing.
    """
    if checkpoint is not None:
        checkpoints.prepare_folder(checkpoint)
    with parallel.world(pick_device(config.device), 60 * timeout):
        task = load_corpus(config.corpus) if corpus is None else corpus
        if (message := config.told_idle()) and not parallel.rank():
            warnings.warn(message, stacklevel=2)
        run = Run(config, task, shard, replicas)
        if checkpoint is not None and checkpoints.exists(checkpoint):
            run.resume(checkpoint)
        if config.spectra_every and run.step == 0:
            run.measure_spectra()
        # an explicit False would beat TQDM_DISABLE
        silent = {} if progress and parallel.rank() == 0 else {"disable": True}
        with tqdm(total=config.steps, initial=run.step, unit="step", **silent) as bar:
            while run.step < config.steps:
                run.advance()
                bar.update()
                judged = run.step % config.eval_every == 0 or run.step == config.steps
                looked_at = config.spectra_every and run.step % config.spectra_every == 0
                if judged or looked_at or run.step % READ_EVERY == 0 or run.reads_each:
                    bar.set_postfix_str(f"loss {run.read():.3f}", refresh=False)
                if looked_at:
                    run.measure_spectra()
                if judged:
                    run.evaluate()
                    if checkpoint is not None:
                        run.save(checkpoint)
        return run.record()


def load_model(checkpoint: Path | str) -> GPT:
    """Returns the model that a checkpoint holds, on the CPU; errors as in `checkpoints.load`."""
    config = GPTConfig(**checkpoints.read_index(checkpoint)["shape"])
    with torch.device("meta"):  # without memory
        needed = sum(p.nbytes for p in build(config).parameters())
    checks.memory(needed, "a GPT of these sizes")
    model = build(config)
    checkpoints.load({f"model.{name}": t for name, t in model.state_dict().items()}, checkpoint)
    return model


def tensors(model: nn.Module, optimizer: Muon) -> dict[str, Tensor]:
    """Returns weights and states themselves, by name: to load into them is to resume."""
    by_name = {f"model.{name}": t for name, t in model.state_dict().items()}
    names = {p: name for name, p in model.named_parameters()}
    for group in optimizer.param_groups:
        for p in group["params"]:
            for key, t in optimizer.state_of(p, group).items():
                by_name[f"optimizer.{names[p]}.{key}"] = t
    return by_name


def on_device(corpus: Task, device: torch.device) -> Task:
    """Returns the task with its training text on the device, where windows are then cut."""
    text = getattr(corpus, "train", None)
    if not isinstance(text, Tensor) or text.nbytes > ON_DEVICE:
        return corpus
    return dataclasses.replace(corpus, train=text.to(device))  # type: ignore[type-var]


@lru_cache(maxsize=2)  # a sweep starts from the same weights many times
def pretrained(config: TrainConfig) -> dict[str, Tensor]:
    """Returns the weights that a run leaves; `pretrained.cache_clear()` frees them."""
    run = Run(config, load_corpus(config.corpus))
    try:
        while run.step < config.steps:
            run.train_step()
    except Diverged as error:  # its record is not that of the run which asks
        raise ValueError(f"the pretraining {error}") from error
    return run.model.state_dict()


class Run:
    """A run in progress: take it step by step when `train` is too much at once.

    To build one touches the whole process: its C library keeps freed memory from then on (see
    `machine.keep_freed_memory`), and the weights of two pretrainings stay for the next runs.
    """

    def __init__(
        self, config: TrainConfig, corpus: Task, shard: bool = False, replicas: int = 1
    ) -> None:
        checks.number("replicas", replicas, 1, 1 + (parallel.size() if shard else 1), whole=True)
        if shard and parallel.size() == 1:
            warnings.warn("shard changes nothing in one process: use torchrun", stacklevel=2)
        self.config, self.corpus, self.shard, self.replicas = config, corpus, shard, replicas
        self.started = now()
        code_version()  # asked for before anybody edits the files that are loaded
        keep_freed_memory()
        self.device = pick_device(config.device)
        self.autocast = picks_bf16(config, self.device)
        self.precisions = ["bf16" if self.autocast else "fp32"]  # another machine may pick another
        self.rows = config.batch // (config.pieces * parallel.size())  # at once, in a process
        if self.device.type == "cpu":  # a batch, and its logits in backward, see `cost.formulas`
            shape, batch = corpus.shape(SIZES[config.size]), config.batch
            numbers = shape.vocab_size * self.rows + 2 * (shape.inputs or 1) * batch
            checks.memory(12 * config.context * numbers, f"a batch of {batch:,} × {config.context}")
        make = partial(build_model, config, corpus)
        if shard:
            self.model = sharded.build_sharded(
                make, self.device, replicas=replicas, bf16=self.autocast
            )
        else:
            self.model = make().to(self.device)
        if config.pretraining:
            sharded.fill(self.model, pretrained(config.first_run()))
        self.replica = self.model if shard else parallel.replicate(self.model)
        if config.compile:
            self.replica.compile()
        self.optimizer = build_optimizer(config, self.model)
        self.reads_each = not launches_cost(self.device)  # steps; reading costs nothing then
        for group in self.optimizer.param_groups:
            group["capturable"] = not self.reads_each
        self.data = corpus if self.reads_each else on_device(corpus, self.device)
        self.unread: list[Tensor] = []  # losses of the last steps
        self.clocks = (0.0, 0.0)  # when they began: seconds, and those of all threads
        self.step, self.cpu_seconds = 0, 0.0  # of all threads: other programs do not count
        self._set_rates()
        self.train_loss: list[float] = []
        self.step_seconds: list[float] = []
        self.held_out: list[dict[str, Any]] = []
        self.spectra: list[dict[str, Any]] = []

    def train_step(self) -> float:
        """Returns the loss on the next batch, after one update of the weights."""
        self.advance()
        return self.read()

    def advance(self) -> None:
        """Updates the weights once; on a GPU without waiting for it, so `read` tells the loss."""
        config = self.config
        if not self.unread:
            self.clocks = time.perf_counter(), time.process_time()
        batch = self.data.batch(self.step, config.batch, config.context, config.seed)
        inputs, targets = (parallel.share(t, config.pieces).to(self.device) for t in batch)
        losses: list[Tensor] = []
        for piece in zip(inputs.split(self.rows), targets.split(self.rows), strict=True):
            last = len(losses) + 1 == config.pieces
            with parallel.piece(self.replica, last):
                with self._precision():
                    loss = self.replica(*piece) / config.pieces
                loss.backward()
            losses.append(loss.detach())
        self.unread.append(parallel.mean(torch.stack(losses).sum()))
        if self.reads_each:
            self._check_losses()  # before the weights are touched
        if config.grad_clip:
            clip_gradients(self.model, config.grad_clip)
        try:
            self.optimizer.step() if self.shard else parallel.step_shared(self.optimizer)
        except NotFinite as error:  # looked for before the optimizer changes anything
            self.unread.clear()
            raise self._diverged(str(error), self.step) from error
        self.model.zero_grad()
        self.step += 1
        self._set_rates()

    def read(self) -> float:
        """Waits for all steps so far and returns the last one's loss; Diverged if one has none."""
        if self.unread:
            values = self._check_losses()
            if self.device.type != "cpu":  # the clock must not stop before the last update is made
                getattr(torch, self.device.type).synchronize()
            began, worked = self.clocks
            self.train_loss += values
            self.step_seconds += [(time.perf_counter() - began) / len(values)] * len(values)
            self.cpu_seconds += time.process_time() - worked
            self.unread.clear()
        return self.train_loss[-1] if self.train_loss else math.nan

    def _check_losses(self) -> list[float]:
        """Returns the losses that nobody has read yet; the host waits for the device."""
        values = torch.stack(self.unread).tolist()
        for number, value in enumerate(values):
            if not math.isfinite(value):
                self.unread.clear()
                self.train_loss += values[:number]
                raise self._diverged(f"the training loss is {value}", len(self.train_loss))
        return values

    def evaluate(self) -> dict[str, Any]:
        """Returns and keeps what the held-out text, or the questions, say about the model now."""
        self.read()
        sizes = (self.config.batch, self.config.context, self.config.eval_tokens)
        with torch.no_grad(), self._precision():
            rows = self.rows if self.config.pieces > 1 else None
            model = parallel.Shared(self.model, self.config.eval_batch or rows)
            measured = self.corpus.measure(model, *sizes)
        if not math.isfinite(measured["overall"]):
            raise self._diverged(f"the held-out loss is {measured['overall']}", self.step)
        clocks = {"seconds": sum(self.step_seconds), "cpu_seconds": self.cpu_seconds}
        self.held_out.append({"step": self.step, **clocks, **measured})
        return self.held_out[-1]

    def measure_spectra(self) -> dict[str, Any]:
        """Returns and keeps four numbers (see `spectra`) for each kind of matrix and each layer."""
        named = ((name, sharded.whole(p)) for name, p in self.model.blocks.named_parameters())
        try:
            self.spectra.append({"step": self.step, **layer_spectra(named)})
        except ValueError as error:  # weights that are no longer finite, before any loss says so
            raise self._diverged(f"of a matrix, {error}", self.step) from error
        return self.spectra[-1]

    def record(self) -> Record:
        """Returns what has been measured so far, with its provenance."""
        self.read()
        config, copies = self.config, self.replicas
        shared = " --shard" if self.shard else ""
        shared += f" --replicas {copies}" if copies > 1 else ""
        origin = {
            "command": config.command() + shared,
            **provenance(self.device),
            "precision": ", then ".join(self.precisions),
            "processes": parallel.size(),
            **({"sharded": True} if self.shard else {}),
            **({"replicas": copies} if copies > 1 else {}),
            "corpus": self.corpus.name,
            "corpus_sha256": self.corpus.sha256,
            "started": self.started,
        }
        tokens = self.step * config.batch * config.context
        curves: dict[str, Any] = {name: [*getattr(self, name)] for name in CURVES}
        return Record(dataclasses.asdict(config), **curves, tokens=tokens, provenance=origin)

    def save(self, path: Path | str) -> None:
        """Writes a checkpoint; under torchrun every process calls it."""
        self.read()
        if not self.shard:
            parallel.gather_state(self.optimizer)
        # batches depend on (seed, step) alone, so the position in the data needs no state
        kept = (*RESUMED, "started", "precisions")
        rest = self._identity() | {name: getattr(self, name) for name in kept}
        checkpoints.save(tensors(self.model, self.optimizer), rest, path)

    def resume(self, path: Path | str) -> None:
        """Goes back to where the checkpoint was written; refuses that of another run."""
        state = checkpoints.read_index(path)
        here = self._identity()["config"]
        # a checkpoint that lacks an option was written before it: by a run with its default
        saved = json.loads(json.dumps(vars(TrainConfig()))) | state["config"]
        saved["corpus"] = spelled(saved["corpus"])
        pairs = {name: (saved.get(name), here.get(name)) for name in sorted(saved | here)}
        differing = [f"{k} is {a!r} there and {b!r} here" for k, (a, b) in pairs.items() if a != b]
        if differing:
            raise ValueError(f"checkpoint {path} is of another run: {'; '.join(differing)}")
        checkpoints.load(tensors(self.model, self.optimizer), path)
        for name in RESUMED:
            setattr(self, name, state[name])
        self.started = state.get("started", self.started)  # a checkpoint may lack these two
        before = state.get("precisions", self.precisions)
        self.precisions = before if before[-1:] == self.precisions else before + self.precisions
        self._set_rates()

    def _identity(self) -> dict[str, Any]:
        config = dataclasses.asdict(self.config) | {"text of the corpus": self.corpus.sha256}
        identity = {"config": config, "shape": dataclasses.asdict(self.model.config)}
        return json.loads(json.dumps(identity))  # lists for tuples, as a file has them

    def _set_rates(self) -> None:
        for group in self.optimizer.param_groups:
            rate = getattr(self.config, group["rate"]) * group.get("factor", 1)
            group["lr"] = rate * self.config.rate(self.step)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast)

    def _diverged(self, what: str, step: int) -> Diverged:
        named = dict(self.model.named_parameters())
        largest = {name: sharded.whole(p.detach()).abs().max() for name, p in named.items()}
        name = max(largest, key=lambda name: largest[name].nan_to_num(nan=math.inf).item())
        rates = {p: g["rate"] for g in self.optimizer.param_groups for p in g["params"]}
        rate, warmup = rates[named[name]], self.config.warmup
        record = self.record()
        lower = f"lower {rate} (now {getattr(self.config, rate):g})"
        then = f"{lower}, or lengthen the warm-up (now {warmup:g})"
        largest_weight = f"The largest weight is in {name!r}"
        record.failure = f"diverged at step {step}: {what}. {largest_weight}: {then}"
        return Diverged(record.failure, record)
