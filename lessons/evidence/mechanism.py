"""The small studies of mechanism.ipynb: `python lessons/evidence/mechanism.py NAME` runs one.

What a study yields is written at once to data/results/mechanism.json, with where it comes from.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch.linalg import matrix_norm
from torch.optim.lr_scheduler import LinearLR

import toys
from muonlab.data.load import load_corpus
from muonlab.files import prepare_file, replace_file
from muonlab.models.config import GPTConfig
from muonlab.models.ffn_keys import keys_and_values, pair_angles
from muonlab.models.gpt import GPT
from muonlab.models.qk_clip import QKClip
from muonlab.optim.muon import Muon
from muonlab.optim.orthogonalize import newton_schulz
from muonlab.optim.routing import route
from muonlab.records.provenance import provenance
from muonlab.records.store import RESULTS
from muonlab.studies.grids import LESSON_04
from muonlab.sweeps.study import HERE, Grid, cross
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run
from toys import Parts, short

PATH = RESULTS / "mechanism.json"
Rates = Sequence[float]


HUNTED: Rates = (0.0031, 0.005, 0.0062, 0.0125, 0.025)


def hunt(seeds: int = 6, steps: int = 60, rates: Rates = HUNTED) -> Parts:
    """Lesson 03's bug hunt, one rate for all: mean training loss of the last ten steps."""
    corpus: Any = load_corpus("docs")
    bugs = ("none", "never orthogonalizes", "one axis", "momentum overwritten", "head under Muon")
    for rate, bug in product(rates, bugs):
        losses = [_suspect(corpus, bug, rate, seed, steps) for seed in range(seeds)]
        yield f"{rate:g}, {bug}", short(losses)


def _suspect(corpus: Any, bug: str, rate: float, seed: int, steps: int) -> float:
    torch.manual_seed(seed)
    model: Any = GPT(GPTConfig(layers=2, width=64))
    losses: list[float] = []
    ends = ("embedding", "head")[: 1 if bug == "head under Muon" else 2]
    M = {p: torch.zeros_like(p) for n, p in model.named_parameters() if not n.startswith(ends)}
    rest = [p for p in model.parameters() if p not in M]
    adamw = torch.optim.AdamW(rest, lr=0.02, betas=(0.95, 0.95), weight_decay=0.0)
    for step in range(steps):
        model.zero_grad()
        loss = model(*corpus.batch(step, batch=8, context=64, seed=seed))
        loss.backward()
        for W, m in M.items():
            G, W = W.grad, W.data
            m.lerp_(G, 0.05)
            D = m.lerp_(G, 0.05) if bug == "momentum overwritten" else m.lerp(G, 0.05)
            if bug != "never orthogonalizes":
                D = newton_schulz(D, dtype=torch.float32)
            side = W.shape[1] if bug == "one axis" else max(W.shape)
            W.sub_(rate * 0.2 * side**0.5 * D)
        adamw.step()
        losses.append(loss.item())
    return mean(losses[-10:])


DOUBLED: Rates = (1, 2, 4, 8, 16, 32, 64)


def tail(seeds: int = 2, steps: int = 150, rates: Rates = DOUBLED, tokens: int = 2**15) -> Parts:
    """Lesson 06's run: held-out loss on all tokens, head and tail, along training, by the rate.

    The rate is that of embedding and last matrix, in units of 0.00125; the lesson has 16 and 1.
    """
    corpus: Any = load_corpus("docs")
    _, config = _tuned()
    for rate in rates:
        runs = []
        for seed in range(seeds):
            one = replace(config, adamw_lr=0.00125 * rate, seed=seed, eval_tokens=tokens)
            measured = _along(one, corpus, steps, (0, 10, 20, 30, 50, 100, 150), Run.evaluate)
            parts = ("overall", "head", "tail")
            losses = [[step, *(loss[part] for part in parts)] for step, loss in measured.items()]
            runs.append(short(losses))
        yield f"{0.00125 * rate:g}", runs


def _along(
    config: TrainConfig, corpus: Any, steps: int, at: Sequence[int], measure: Callable[[Run], Any]
) -> dict[int, Any]:
    """Returns what is measured along a run, by the step."""
    run, measured = Run(replace(config, steps=max(steps, 10)), corpus), {}
    for step in range(steps + 1):
        if step in at:
            measured[step] = measure(run)
        if step < steps:
            run.train_step()
    return measured


def _tuned() -> Grid:
    """The best of 16 trials of rates at 150 steps, vocabulary 4,096: of AdamW, and of Muon."""
    return cross(LESSON_04.best(HERE), device="cpu")


def angles(seeds: int = 3, steps: int = 100, texts: int = 256) -> Parts:
    """Lesson 05's keys: by step, seed and layer, their mean angle and the mean key's energy.

    At the lesson's rates, the same for both, and at each one's tuned rates.
    """
    corpus: Any = load_corpus("docs")
    asked = next(iter(corpus.held_out_batches(texts, 64, texts * 64)))[0]
    alike = lambda run: [_alike(keys) for keys, _ in keys_and_values(run.model, asked)]  # noqa: E731
    own = dict(zip(("AdamW", "Muon"), _tuned(), strict=True))
    same = {"AdamW": TrainConfig(muon=(), device="cpu"), "Muon": TrainConfig(device="cpu")}
    for (way, sides), gated in product((("tuned", own), ("equal", same)), (False, True)):
        for name, config in sides.items():
            angles_by_step: dict[int, list[Any]] = {}
            for seed in range(1, seeds + 1):
                one = replace(config, gated=gated, seed=seed)
                for step, layers in _along(one, corpus, steps, (0, 10, steps), alike).items():
                    angles_by_step.setdefault(step, []).append(layers)
            yield f"{way} rates, {'gated' if gated else 'GELU'}, {name}", angles_by_step


def _alike(keys: torch.Tensor) -> list[float]:
    common = keys.mean(0).square().sum() / keys.square().sum(1).mean()
    return short([pair_angles(keys).mean().item(), common.item()])


def logits(seeds: int = 3, steps: int = 600) -> Parts:
    """Lesson 13's logits: of each arm rate, mean Frobenius and spectral step of W_q, logits, loss.

    Muon runs at its rate of the lesson, then at the rates where its steps are as long as AdamW's,
    by one norm or the other, at AdamW's tuned rate and at that of the lesson's first arm.
    """
    corpus: Any = load_corpus("docs-512")
    for seed in range(seeds):
        own = _arm(corpus, "muon", 0.012, seed, steps)
        yield f"Muon 0.012, seed {seed}", own
        for rate in (0.0018, 0.004):
            adamw = _arm(corpus, "adamw", rate, seed, steps)
            yield f"AdamW {rate:g}, seed {seed}", adamw
            for norm in ("frobenius", "spectral"):
                equal = 0.012 * adamw[norm] / own[norm]
                arm = _arm(corpus, "muon", equal, seed, steps)
                yield f"Muon, {norm} of AdamW {rate:g}, seed {seed}", arm


def clipped(seeds: int = 3, steps: int = 600, tau: float = 10.0) -> Parts:
    """Lesson 13's QK-Clip: Muon at its rate of `logits`, with its logits held at tau."""
    corpus: Any = load_corpus("docs-512")
    for seed in range(seeds):
        yield f"seed {seed}", _arm(corpus, "muon", 0.012, seed, steps, tau)


def _arm(
    corpus: Any, rule: str, rate: float, seed: int, steps: int, tau: float = math.inf
) -> dict[str, Any]:
    torch.manual_seed(seed)
    model: Any = GPT(corpus.shape(GPTConfig(attention="latent", qk_norm=False, width=64, layers=2)))
    matrices, rest = route(model).groups(rate, adamw_lr=0.02, weight_decay=0)
    optimizer = Muon([matrices | {"rule": rule}, rest], adjust_lr_fn="match_rms_adamw")
    clip = QKClip(model, tau)
    W = model.blocks[0].attention.q.weight
    warmup, rows = LinearLR(optimizer, 1 / 20, total_iters=19), []
    for step in range(steps):
        loss = model(*corpus.batch(step, 8, 64, seed))
        loss.backward()
        before = W.detach().clone()
        optimizer.step()
        optimizer.zero_grad()
        warmup.step()
        D = W.detach() - before
        row = [D.norm(), matrix_norm(D, 2), clip.step().max(), loss.detach()]
        rows.append([number.item() for number in row])
    frobenius, spectral, heights, losses = zip(*rows, strict=True)
    windows = [mean(heights[i : i + 50]) for i in range(0, steps, 50)]
    means = mean(frobenius), mean(spectral), mean(losses[-50:]), windows
    names = "rate", "frobenius", "spectral", "loss", "logit"
    return dict(zip(names, short([rate, *means]), strict=True))


TOYS = (toys.rotations, toys.race, toys.unequal, toys.many, toys.balance)
SMALL_STUDIES = {study.__name__: study for study in (*TOYS, hunt, tail, angles, logits, clipped)}


def run(name: str, path: Path = PATH, **sizes: Any) -> None:
    """Runs a study, and writes each part as it comes."""
    began, origin = time.perf_counter(), provenance()
    parts: dict[str, Any] = {}
    for part, value in SMALL_STUDIES[name](**sizes):
        parts[part] = value
        written = json.loads(path.read_text()) if path.exists() else {}
        seconds = round(time.perf_counter() - began)
        written[name] = {"provenance": origin, "seconds": seconds, "parts": parts}
        text = json.dumps(written, sort_keys=True).replace(', "', ',\n"')  # a name a line
        replace_file(prepare_file(path), f"{text}\n".encode())
        print(part, flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(name)
