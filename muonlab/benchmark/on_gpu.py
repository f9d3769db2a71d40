"""What Muon costs on a GPU, in the shape of data/results/gpu-h200.json; nothing is compiled.

A GPU is given work faster than it does it, or slower. So a call is timed twice: by events in the
GPU's own queue, and by the host's clock.
"""

import gc
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

import torch
from torch.optim import AdamW, Optimizer

from muonlab.benchmark.launches import launches
from muonlab.benchmark.timed_optimizers import ROUTINES, drawn_matrices, trainer
from muonlab.models.gpt import GPT, SIZES
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import NorMuon
from muonlab.optim.orthogonalize import newton_schulz
from muonlab.optim.routing import route
from muonlab.records.provenance import provenance
from muonlab.records.table import columns, markdown

Sheet = list[dict[str, Any]]
PARITY = "parity, relative difference of weights after 3 steps"  # from torch.optim.Muon's
FEWEST, MOST_TIMED, WARM, TIMED_FOR = 5, 200, 3, 0.4  # timed calls, those before them, and seconds
PRODUCT, COPY = 8192, 2**30  # rows of square matrices whose product gives the peak, and bytes
COMPARED = 384  # width of the layer whose weights are compared with those of torch.optim.Muon
MUON_STEPS = 5
STACKS = {(384, 384): 12, (384, 1536): 12, (768, 768): 12, (768, 3072): 12, (1024, 4096): 12}
STACKS |= {(2048, 2048): 4, (2048, 8192): 4}
LAYER = [(1, 1)] * 4 + [(4, 1), (1, 4)]  # the hidden matrices of a GPT, in widths
GPTS = {"small, 6 x 384": (6, 384), "paper, 12 x 768": (12, 768), "1B, 16 x 2048": (16, 2048)}
TRAINED = {"small": (32, 256, 4096), "paper": (32, 1024, 50304)}  # sequences, context, vocabulary
TIMED = ROUTINES | {"muonlab readable": lambda G: [newton_schulz(X) for X in G]}
STEPPERS: dict[str, Callable[..., Any]] = {
    "torch.optim.Muon": torch.optim.Muon,
    "AdamW fused": partial(AdamW, fused=True),
    "muonlab Muon": Muon,
    "muonlab NorMuon": NorMuon,
    "muonlab AdamW": lambda params: Muon([{"params": params, "rule": "adamw"}]),
}
# As `training.run` has them on a GPU.
TRAINERS: dict[str, Callable[[GPT], Optimizer]] = {
    "AdamW": lambda model: Muon(route(model, muon=()).groups(), capturable=True),
    "Muon": lambda model: Muon(route(model).groups(), capturable=True),
    "NorMuon": lambda model: NorMuon(route(model).groups(), capturable=True),
}


def bench_card(device: torch.device) -> dict[str, Any]:
    """Returns a record of all tables: milliseconds, kernels, megabytes."""
    made = provenance(device)
    record = {"torch": made["torch"], "device": made["device"], "driver": _driver()}
    record |= {"provenance": made, PARITY: parity(device), "peak": card_peak(device)}
    for name, measure in TABLES.items():
        print(f"measuring: {name.replace('_', ' ')} …", file=sys.stderr, flush=True)
        record[name] = measure(device, 1e9 * record["peak"]["bf16 TFLOP/s"])
    return record


def card_report(record: Mapping[str, Any]) -> str:
    """Returns the tables of such a record as Markdown."""
    made, speed = record["provenance"], record["peak"]
    lines = [
        f"Measured on {made['device']}, driver {record['driver']}, torch {made['torch']}, on "
        f"{made['utc'][:10]}, code {made['code']}. Products of bf16 reach "
        f"{speed['bf16 TFLOP/s']:.3g} TFLOP/s, copies {speed['copy GB/s']:,.0f} GB/s; "
        f"{PARITY}: {record[PARITY]:.1g}. Times are milliseconds."
    ]
    for name in TABLES:
        cells = ({key: _cell(value) for key, value in row.items()} for row in record[name])
        lines += [f"**{name}**", markdown(*columns(cells))]
    return "\n\n".join(lines)


def timed(run: Callable[[], object], device: torch.device) -> tuple[float, float, float]:
    """Returns what a call takes: ms by events (median), ms by the clock (mean), MB at most."""
    event = partial(torch.cuda.Event, enable_timing=True)
    pairs = [(event(), event()) for _ in range(MOST_TIMED)]
    gc.collect()  # what was timed before may still hold memory
    torch.cuda.reset_peak_memory_stats(device)

    def spent(times: int) -> float:
        began = time.perf_counter()
        for start, end in pairs[:times]:
            start.record()
            run()
            end.record()
        torch.cuda.synchronize(device)
        return time.perf_counter() - began

    spent(WARM)
    count = max(FEWEST, min(MOST_TIMED, int(TIMED_FOR / max(spent(1), 1e-5))))
    wall = 1000 * spent(count) / count
    by_events = median(start.elapsed_time(end) for start, end in pairs[:count])
    return by_events, wall, 1e-6 * torch.cuda.max_memory_allocated(device)


def parity(device: torch.device) -> float:
    """Returns the largest difference from torch's weights, over their norm, in three steps."""
    shapes = [(COMPARED * m, COMPARED * n) for m, n in LAYER[3:]]
    sides = [drawn_matrices(shapes, device) for _ in range(2)]
    for params, make in zip(sides, (Muon, torch.optim.Muon), strict=True):
        torch._foreach_mul_([p.data for p in params], 50)  # to entries of about 1
        optimizer = make(params, lr=0.02)
        for _ in range(3):
            optimizer.step()
    return max(((p - q).norm() / q.norm()).item() for p, q in zip(*sides, strict=True))


def card_peak(device: torch.device) -> dict[str, float]:
    """Returns the speed of a large bf16 product, and of a copy: bytes read, and bytes written."""
    X = torch.randn(PRODUCT, PRODUCT, device=device, dtype=torch.bfloat16)
    source = torch.empty(COPY, device=device, dtype=torch.uint8)
    product, copy = timed(lambda: X @ X, device)[0], timed(source.clone, device)[0]
    return {"bf16 TFLOP/s": 2e-9 * PRODUCT**3 / product, "copy GB/s": 2e-6 * COPY / copy}


def newton_schulz_stacks(device: torch.device, speed: float) -> Sheet:
    """Returns rows of five steps on stacks of matrices; the speed is in operations a millisecond.

    The floor is the products of torch's routine at that speed.
    """
    rows = []
    for shape, stack in STACKS.items():
        G = torch.randn(stack, *shape, device=device)
        flop = stack * _flop(shape)
        row: dict[str, Any] = {"shape": [*shape], "stack": stack, "flop, as torch multiplies": flop}
        row |= {name: timed(partial(run, G), device)[0] for name, run in TIMED.items()}
        row |= {"floor at peak": flop / speed, "ratio": row["muonlab"] / row["torch.optim.Muon"]}
        rows.append(row)
    return rows


def card_step(device: torch.device, speed: float) -> Sheet:
    """Returns rows of one step on the hidden matrices of a model."""
    rows = []
    for name, (layers, width) in GPTS.items():
        shapes = [(m * width, n * width) for m, n in LAYER] * layers
        row: dict[str, Any] = {"set": name, "numbers": sum(map(math.prod, shapes))}
        for who, make in STEPPERS.items():
            optimizer: Any = make(drawn_matrices(shapes, device))
            row[who], row[f"{who} wall"], row[f"{who} peak MB"] = timed(optimizer.step, device)
            row[f"{who} kernels"] = launches(optimizer.step).kernels
            if who == "muonlab Muon":
                row["scratch MB"] = 1e-6 * optimizer.scratch.nbytes
        row["floor at peak"] = sum(map(_flop, shapes)) / speed
        rows.append(row | {"ratio to torch": row["muonlab Muon"] / row["torch.optim.Muon"]})
    return rows


def card_training(device: torch.device, speed: float) -> Sheet:
    """Returns rows of a step of training in bf16: forward, backward and optimizer."""
    rows = []
    for size, (batch, context, words) in TRAINED.items():
        shape, read = SIZES[size], batch * context
        tokens = torch.randint(words, (batch, context + 1), device=device)
        # six operations for each weight and token; of attention's, half: a token sees those before
        weights = 12 * shape.layers * shape.width**2 + shape.width * words
        flop = 6 * read * (weights + shape.layers * context * shape.width)
        row: dict[str, Any] = {"size": size, "tokens a step": read}
        for who, make in TRAINERS.items():
            run = trainer(tokens, True, make, size, words)
            _, spent, row[f"{who} peak MB"] = timed(run, device)
            row |= {f"{who} ms": spent, f"{who} tokens/s": 1000 * read / spent}
            row[f"{who} share of peak"] = flop / spent / speed
        rows.append(row | {"Muon / AdamW": row["Muon ms"] / row["AdamW ms"]})
    return rows


TABLES: dict[str, Callable[[torch.device, float], Sheet]] = {"newton_schulz": newton_schulz_stacks}
TABLES |= {"optimizer_step": card_step, "training, eager": card_training}


def _flop(shape: tuple[int, int]) -> int:
    """Returns the operations of Newton-Schulz steps as torch multiplies."""
    k, n = sorted(shape)
    return MUON_STEPS * (4 * k * k * n + 2 * k**3)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _driver() -> str:
    """Returns the driver of the GPUs, and their clocks, now and at most."""
    if not (command := shutil.which("nvidia-smi")):
        return "unknown"
    fields = "--query-gpu=driver_version,clocks.sm,clocks.max.sm"
    answer = subprocess.run([command, fields, "--format=csv,noheader"], capture_output=True)
    return answer.stdout.decode().strip()
