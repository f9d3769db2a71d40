"""What Muon costs on this machine: against torch's, against other public ones, against the floor.

Ratios carry over to other machines, seconds do not. So each table names its rival, and the floor:
the products and the memory traffic that nobody can avoid, at the machine's own best speed.
"""

import json
import math
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim._muon import _zeropower_via_newtonschulz as torch_newton_schulz

from muonlab.benchmark.rivals import (
    CLOSE_AND_FAST,
    CLOSEST,
    CONTEXT,
    GPT_SHAPES,
    VOCABULARY,
    WIDTH,
    adamw,
    parameters,
    rivals,
    stepper,
    trainer,
)
from muonlab.benchmark.timing import as_rows, race
from muonlab.files import replace_file
from muonlab.machine import fast_bf16, keep_freed_memory, work_dtype
from muonlab.optim.coefficients import JORDAN, schedule
from muonlab.optim.fast import Scratch, fast_newton_schulz, iterate, steps_together
from muonlab.optim.muon import Muon
from muonlab.optim.orthogonalize import largest_entry, newton_schulz, polar
from muonlab.optim.routing import route
from muonlab.optim.update import as_stacks
from muonlab.records.record import provenance, rounded

SHAPES = [(128, 128), (128, 512), (384, 1536), (768, 768), (768, 3072), (1024, 4096)]
PARTS = (
    "provenance",
    "peak",
    "newton_schulz_steps",
    "optimizer_step",
    "step_without_bf16",
    "gains",
    "memory",
    "training",
    "quality",
    "import_milliseconds",
)
STACKED = 12  # matrices of each shape
BYTES = 20  # a parameter: weight, momentum and gradient are read, the first two written, float32


def bench() -> dict[str, Any]:
    """Returns a record of all tables: rows of figures, with the machine they were measured on."""
    record = {"provenance": provenance() | {"freed memory kept": keep_freed_memory()}}
    for part in (part for part in PARTS if part not in record):
        print(f"measuring: {part.replace('_', ' ')} …", file=sys.stderr, flush=True)
        record[part] = globals()[part]()
    return record


def write_bench(record: dict[str, Any], path: Path) -> None:
    """Writes a record of `bench` as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(rounded(record), indent=1) + "\n").encode())


def read_bench(path: Path) -> dict[str, Any]:
    """Returns a record that `write_bench` wrote.

    Raises:
        ValueError: the file holds something else.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {part: record[part] for part in PARTS}
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected a record of `muonlab bench` ({error!r})") from error


@cache
def peak() -> dict[str, float]:
    """Returns the best speed of products, in GFLOP/s, and of copying, in GB/s."""
    best = {}
    for name, dtype in (("bf16", torch.bfloat16), ("float32", torch.float32)):
        if name == "bf16" and not fast_bf16():
            continue
        threads = torch.get_num_threads()
        for count, side in ((1, 2048), (threads, 1024), (4 * threads, 384)):
            A = torch.randn(count, side, side).to(dtype)
            seconds = race({"bmm": lambda A=A: torch.bmm(A, A)}, samples=3)["bmm"].median
            best[name] = max(best.get(name, 0.0), 2e-9 * count * side**3 / seconds)
    X, Y = torch.ones(2**25), torch.empty(2**25)
    seconds = race({"copy": lambda: Y.copy_(X)}, samples=3)["copy"].median
    return best | {"copy": 2e-9 * 4 * X.numel() / seconds}


def newton_schulz_steps() -> list[dict[str, Any]]:
    """Returns rows of five steps on one of 12 matrices, for each shape."""
    rows, scratch = [], Scratch()
    for shape in SHAPES:
        G = list(torch.randn(STACKED, *shape, generator=torch.Generator().manual_seed(0)))
        timings = race(
            {
                "torch.optim.Muon": lambda G=G: [
                    torch_newton_schulz(X, JORDAN[0], 5, 1e-7) for X in G
                ],
                "muonlab": lambda G=G: _orthogonalize(G, scratch),
                "muonlab, Polar Express": lambda G=G: _orthogonalize(G, scratch, **CLOSEST),
                "muonlab, readable": lambda G=G: [newton_schulz(X) for X in G],
            }
        )
        floor = STACKED * _product_seconds(
            *shape, dtype=work_dtype(G[0].dtype, G[0].device, len(G) * G[0].numel())
        )
        rows += as_rows(timings, floor, shape=f"{shape[0]} × {shape[1]}", calls=STACKED)
    return rows


def optimizer_step() -> list[dict[str, Any]]:
    """Returns rows of one optimizer step of the 6×384 GPT."""
    dtype = torch.bfloat16 if fast_bf16() else torch.float32
    floor = sum(_product_seconds(*shape, dtype=dtype) for shape in GPT_SHAPES)
    floor += BYTES * sum(map(math.prod, GPT_SHAPES)) / (1e9 * peak()["copy"])
    optimizers = {name: make(*parameters()) for name, make in rivals().items()}
    timings = race({name: stepper(steps) for name, steps in optimizers.items()})
    rows = as_rows(timings, floor)
    adamw = timings["AdamW, fused"].median
    for row in rows:
        row["times AdamW"] = timings[row["name"]].median / adamw
        if isinstance(optimizer := optimizers[row["name"]][0], Muon):
            row["scratch MB"] = 1e-6 * optimizer.scratch.nbytes
    return rows


def step_without_bf16() -> list[dict[str, Any]]:
    """Returns rows of the step where bf16 is emulated: AVX2 alone, one thread, a new process."""
    capped = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
    return _elsewhere("bench", "ordinary_step()", capped | {"OMP_NUM_THREADS": "1"})


def gains() -> list[dict[str, Any]]:
    """Returns rows of the step without each idea in turn, in a process that keeps no memory."""
    return _elsewhere("gains", "step_without()")


def memory() -> list[dict[str, Any]]:
    """Returns rows of a training step with freed memory returned to the system, and kept."""
    taken = [_elsewhere("gains", f"training_seconds({keep})") for keep in (False, True)]
    return [
        {"name": name, "milliseconds": 1000 * seconds, "ratio": seconds / taken[0]}
        for name, seconds in zip(("freed memory returned", "freed memory kept"), taken, strict=True)
    ]


def _elsewhere(module: str, call: str, environment: dict[str, str] | None = None) -> Any:
    """Returns what a function of muonlab.benchmark gives, called in a process of its own."""
    code = f"import json, muonlab.benchmark.{module} as m; print(json.dumps(m.{call}))"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def ordinary_step() -> list[dict[str, Any]]:
    """Returns rows of the step with oneDNN off, as `step_without_bf16` asks."""
    torch.set_num_threads(1)
    keep_freed_memory()
    (ours, rest), (theirs, others) = parameters(), parameters()
    contestants = {
        "torch.optim.Muon": [torch.optim.Muon(theirs), adamw(others)],
        "muonlab": [
            Muon([{"params": ours}, {"params": rest, "rule": "adamw"}], ns_dtype=torch.float32)
        ],
    }
    with torch.backends.mkldnn.flags(enabled=False):
        timings = race({n: stepper(steps) for n, steps in contestants.items()}, samples=2)
    return as_rows(timings)


def training() -> list[dict[str, Any]]:
    """Returns rows of whole training steps: tokens per second, forward and backward included.

    The first is what nanoGPT does on a CPU as published: float32, and AdamW in a Python loop.
    """
    batch = 8
    tokens = torch.randint(VOCABULARY, (batch, CONTEXT + 1))
    bf16 = fast_bf16()
    contestants = {
        "float32, AdamW in a loop": trainer(
            tokens, False, lambda m: torch.optim.AdamW(m.parameters())
        ),
        "muonlab, AdamW": trainer(tokens, bf16, lambda m: Muon(route(m, muon=()).groups())),
        "muonlab, Muon": trainer(tokens, bf16, lambda m: Muon(route(m).groups())),
    }
    rows = as_rows(race(contestants, samples=5))
    for row in rows:
        row["tokens per second"] = 1000 * batch * CONTEXT / row["milliseconds"]
    return rows


def quality() -> list[dict[str, Any]]:
    """Returns the cosine between five steps and the exact polar factor, for several matrices."""
    k, n = WIDTH, 4 * WIDTH
    generator = torch.Generator().manual_seed(0)
    U, _, Vh = torch.linalg.svd(
        torch.randn(k, n, generator=generator, dtype=torch.float64), full_matrices=False
    )
    matrices = {
        "Gaussian": [torch.randn(k, n, generator=generator)],
        "singular values 1 … 0.001, log-spaced": [((U * torch.logspace(0, -3, k)) @ Vh).float()],
        "momenta of a 6 × 384 GPT, step 110": _real_momentum(),
    }
    kinds = {"Jordan": {}, "Polar Express safe, Schatten-4": CLOSE_AND_FAST} | {
        "Polar Express, Schatten-4": CLOSEST
    }
    rows = []
    for name, options in kinds.items():
        for matrix, some in matrices.items():
            cosines = [_cosine(G, options) for G in some]
            mean = sum(cosines) / len(cosines)
            rows.append({"name": name, "matrix": matrix, "worst": min(cosines), "mean": mean})
    return rows


def import_milliseconds(times: int = 7) -> float:
    """Returns what `import muonlab` takes beyond `import torch`: the median of fresh processes."""
    code = (
        "import time, torch; t = time.perf_counter(); import muonlab; "
        "print(time.perf_counter() - t)"
    )
    found = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(times)
    ]
    return 1000 * sorted(found)[times // 2]


def _orthogonalize(matrices: list[Tensor], scratch: Scratch, **options: Any) -> None:
    """Does what a step of `Muon` does, without momentum and weights."""
    triples = schedule(options.get("ns_coefficients", "jordan"), 5)
    for stack, dtype in as_stacks(matrices):
        G = stack[0]
        X = scratch.empty("X", (len(stack), *G.shape), like=G.new_empty(0, dtype=dtype))
        D = scratch.empty("D", G.shape, like=G)
        for G, x in zip(stack, X, strict=True):
            x.copy_(torch.div(G, largest_entry(G), out=D))
        iterate(X, triples, options.get("ns_norm", "frobenius"), scratch)


def _real_momentum(steps: int = 110) -> list[Tensor]:
    """Returns the momenta of w_in and o in the middle of a run on the course's text."""
    from muonlab.training.config import TrainConfig
    from muonlab.training.run import Run, load_corpus

    config = TrainConfig(size="small", steps=steps, batch=8, context=CONTEXT)
    run = Run(config, load_corpus(config.corpus))
    for _ in range(steps):
        run.train_step()
    state = run.optimizer.state
    named = dict(run.model.named_parameters())
    chosen = [name for name in named if name.endswith(("w_in.weight", "o.weight"))]
    return [state[named[name]]["momentum_buffer"] for name in chosen]


def _cosine(G: Tensor, options: dict[str, Any]) -> float:
    X = fast_newton_schulz(
        G, 5, options.get("ns_coefficients", "jordan"), norm=options.get("ns_norm", "frobenius")
    )
    return torch.cosine_similarity(X.flatten(), polar(G).flatten(), dim=0).item()


def _product_seconds(rows: int, columns: int, *, dtype: torch.dtype, steps: int = 5) -> float:
    """Returns the time of the fast path's products alone, at the machine's peak."""
    k, n = sorted((rows, columns))
    together = steps_together(k, n, dtype, schedule("jordan", steps))
    blocks = math.ceil(steps / together)
    operations = 2 * k * k * (2 * n * blocks + k * (steps + 3 * (steps - blocks)))
    return 1e-9 * operations / peak()["bf16" if dtype == torch.bfloat16 else "float32"]
