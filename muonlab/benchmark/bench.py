"""What Muon costs on this machine: against torch's, against other public ones, against the floor.

Ratios carry over to other machines, seconds do not. So each table names its rival, and the floor:
the products and the memory traffic that nobody can avoid, at the machine's own best speed.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Any

import torch
from torch.optim import AdamW, Optimizer

from muonlab import checks
from muonlab.benchmark.on_gpu import bench_card, card_report
from muonlab.benchmark.timed_optimizers import (
    CHARACTERS,
    CONTEXT,
    GPT_SHAPES,
    ROUTINES,
    rivals,
    trainer,
)
from muonlab.benchmark.timing import in_turn
from muonlab.files import prepare_file, replace_file
from muonlab.machine import fast_bf16, keep_freed_memory, pick_device, work_dtype
from muonlab.optim.coefficients import schedule
from muonlab.optim.fast import fast_newton_schulz, steps_together
from muonlab.optim.muon import Muon
from muonlab.optim.orthogonalize import newton_schulz
from muonlab.optim.routing import route
from muonlab.records.provenance import provenance
from muonlab.records.record import rounded
from muonlab.records.table import columns, markdown

SHAPES = [(128, 128), (128, 512), (384, 1536), (768, 768), (768, 3072), (1024, 4096)]
STACKED = 12  # matrices of each shape
BYTES = 20  # a parameter: weight, momentum and gradient are read, the first two written, float32
SEQUENCES = 8  # sequences of a training step
MORE = {  # what some rows hold: its head in the table, and its format
    "times AdamW": ("× AdamW", ".1f"),
    "scratch MB": ("scratch MB", ".1f"),
    "tokens per second": ("tokens/s", ",.0f"),
}


def bench(device: str = "cpu") -> dict[str, Any]:
    """Returns a record of all tables: rows of figures, with the machine they were measured on.

    Of a GPU, "cuda", they are those of `card`. ValueError: torch can use none.
    """
    if (chosen := pick_device(device)).type == "cuda":
        return bench_card(chosen)
    made = provenance() | {"freed memory kept": keep_freed_memory()}
    record: dict[str, Any] = {"provenance": made}
    for part, measure in MEASURES.items():
        print(f"measuring: {part.replace('_', ' ')} …", file=sys.stderr, flush=True)
        record[part] = measure()
    return record


def write_bench(record: dict[str, Any], path: Path) -> None:
    """Writes a record of `bench` as JSON, whole or not at all."""
    if Path(path).suffix != ".json":
        raise ValueError(f"a record of `muonlab bench` is called like 'here.json'; got {path}")
    replace_file(prepare_file(path), (json.dumps(rounded(record), indent=1) + "\n").encode())


def read_bench(path: Path) -> dict[str, Any]:
    """Returns a record that `write_bench` wrote; ValueError if the file holds something else."""
    text = checks.text(path, "a record of `muonlab bench`")
    try:
        bench_report(record := json.loads(text))  # it can be shown
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected a record of `muonlab bench` ({error!r})") from error
    return record


def bench_report(record: Mapping[str, Any]) -> str:
    """Returns the tables of a record as Markdown, each under a line that says how to read it."""
    if "driver" in record:
        return _printable(card_report(record))
    made, peak = record["provenance"], dict(record["peak"])
    copies = peak.pop("copy")
    speeds = [f"{1e-3 * speed:.2f} TFLOP/s in {name}" for name, speed in peak.items()]
    parts = {part: record[part] for part in ("newton_schulz_steps", "optimizer_step", "training")}
    text = Template(Path(__file__).with_name("bench.md").read_text(encoding="utf-8")).substitute(
        made,
        day=made["utc"][:10],
        speeds=" and ".join(speeds),
        copies=f"{copies:.0f}",
        accepted=sum(row["samples"] for rows in parts.values() for row in rows),
        rejected=sum(row["rejected"] for rows in parts.values() for row in rows),
        **{part: markdown(*columns(map(_cells, rows))) for part, rows in parts.items()},
    )
    return _printable(text)


def _printable(text: str) -> str:
    return "".join(f"{checks.printable(line, 10_000)}\n" for line in text.splitlines())


@cache
def peak() -> dict[str, float]:
    """Returns the best speed of products, in GFLOP/s, and of copying, in GB/s."""
    best: dict[str, float] = {}
    threads = torch.get_num_threads()
    dtypes = {"bf16": torch.bfloat16} if fast_bf16() else {}
    for name, dtype in (dtypes | {"float32": torch.float32}).items():
        for count, side in ((1, 2048), (threads, 1024), (4 * threads, 384)):
            A = torch.randn(count, side, side).to(dtype)
            speed = 2e-9 * count * side**3 / _seconds(partial(torch.bmm, A, A))
            best[name] = max(best.get(name, 0.0), speed)
    X, Y = torch.ones(2**25), torch.empty(2**25)
    return best | {"copy": 2e-9 * 4 * X.numel() / _seconds(lambda: Y.copy_(X))}


def newton_schulz_steps() -> list[dict[str, Any]]:
    """Returns rows of five steps, or four, on one of 12 matrices, for each shape."""
    fast = partial(fast_newton_schulz, norm="schatten4")
    contestants = ROUTINES | {
        "muonlab, four steps": lambda G: fast(G, 4, "four"),
        "muonlab, Polar Express": lambda G: fast(G, 5, "polar_express"),
        "muonlab, readable": lambda G: [newton_schulz(X) for X in G],
    }
    rows = []
    for shape in SHAPES:
        G = torch.randn(STACKED, *shape, generator=torch.Generator().manual_seed(0))
        floor = STACKED * _product_seconds(*shape, dtype=work_dtype(G.dtype, G.device, G.numel()))
        runs = {name: partial(run, G) for name, run in contestants.items()}
        rows += in_turn(runs, floor=floor, count=STACKED, shape=f"{shape[0]} × {shape[1]}")
    return rows


def optimizer_step() -> list[dict[str, Any]]:
    """Returns rows of one optimizer step of the 6×384 GPT."""
    dtype = torch.bfloat16 if fast_bf16() else torch.float32
    floor = sum(_product_seconds(*shape, dtype=dtype) for shape in GPT_SHAPES)
    floor += BYTES * sum(map(math.prod, GPT_SHAPES)) / (1e9 * peak()["copy"])
    optimizers = rivals()
    rows = in_turn({name: partial(_step, alike) for name, alike in optimizers.items()}, floor=floor)
    adamw = next(row["ratio"] for row in rows if row["name"] == "AdamW, fused")
    for row in rows:
        row["times AdamW"] = row["ratio"] / adamw
        if isinstance(optimizer := optimizers[row["name"]][0], Muon):
            row["scratch MB"] = 1e-6 * optimizer.scratch.nbytes
    return rows


def training() -> list[dict[str, Any]]:
    """Returns rows of whole training steps: tokens per second, forward and backward included.

    The first is what nanoGPT does on a CPU as published: float32, and AdamW in a Python loop.
    """
    tokens, bf16 = torch.randint(CHARACTERS, (SEQUENCES, CONTEXT + 1)), fast_bf16()
    contestants = {
        "float32, AdamW in a loop": trainer(tokens, False, lambda m: AdamW(m.parameters())),
        "muonlab, AdamW": trainer(tokens, bf16, lambda m: Muon(route(m, muon=()).groups())),
        "muonlab, Muon": trainer(tokens, bf16, lambda m: Muon(route(m).groups())),
    }
    rows = in_turn(contestants, samples=5)
    for row in rows:
        row["tokens per second"] = 1000 * SEQUENCES * CONTEXT / row["milliseconds"]
    return rows


MEASURES = {part.__name__: part for part in (peak, newton_schulz_steps, optimizer_step, training)}


def _seconds(run: Callable[[], object]) -> float:
    return in_turn({"alone": run}, samples=3)[0]["milliseconds"] / 1000


def _step(optimizers: list[Optimizer]) -> None:
    for optimizer in optimizers:
        optimizer.step()


def _product_seconds(rows: int, columns: int, *, dtype: torch.dtype, steps: int = 5) -> float:
    """Returns the time of the fast path's products alone, at the machine's peak."""
    k, n = sorted((rows, columns))
    together = steps_together(k, n, dtype, schedule("jordan", steps))
    blocks = math.ceil(steps / together)
    operations = 2 * k * k * (2 * n * blocks + k * (steps + 3 * (steps - blocks)))
    return 1e-9 * operations / peak()["bf16" if dtype == torch.bfloat16 else "float32"]


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    spent, ratio = row["milliseconds"], row["ratio"]
    cells = {"shape": row["shape"]} if "shape" in row else {}
    cells |= {"": row["name"], "ms": f"{spent:,.0f}" if spent >= 100 else f"{spent:.3g}"}
    cells["ratio"] = f"{ratio:.3f}"
    if "floor" in row and "AdamW" not in row["name"]:
        cells |= {"floor": f"{row['floor']:.2f}", "share of peak": f"{row['floor'] / ratio:.0%}"}
    return cells | {head: format(row[key], f) for key, (head, f) in MORE.items() if key in row}
