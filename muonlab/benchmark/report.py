"""The record of `bench` as Markdown: what the command prints and what the book shows."""

from collections.abc import Mapping
from typing import Any

from muonlab.records.table import columns, markdown

MORE = {  # what some rows have: its head and its format
    "times AdamW": ("× AdamW", ".1f"),
    "scratch MB": ("scratch MB", ".1f"),
    "tokens per second": ("tokens/s", ",.0f"),
}


def report(record: Mapping[str, Any]) -> str:
    """Returns the tables of a record, each under a line that says how to read it."""
    made, peak = record["provenance"], dict(record["peak"])
    copies = peak.pop("copy")
    speeds = [f"{1e-3 * speed:.2f} TFLOP/s in {name}" for name, speed in peak.items()]
    alone, steps = record["newton_schulz_steps"], record["optimizer_step"]
    timed = [*alone, *steps, *record["training"]]
    accepted, rejected = (sum(row[key] for row in timed) for key in ("samples", "rejected"))
    lines = [
        f"Measured on {made['device']}, {made['threads']} threads, torch {made['torch']}, on "
        f"{made['utc'][:10]}, code {made['code']}. Products reach {' and '.join(speeds)}; copies "
        f"{copies:.0f} GB/s.",
        "**Newton-Schulz**, five steps, milliseconds a matrix in stacks of 12. Ratios are to "
        "torch.optim.Muon's routine; the floor is the products of our form at the machine's best "
        "speed, and the share of peak is the floor divided by the time.",
        markdown(*columns(map(_cells, alone))),
        "**One optimizer step** of a 6 × 384 GPT, 10.7M numbers. The floor is the products, and "
        "one read of weights, momentum and gradients with one write of the first two.",
        markdown(*columns(map(_cells, steps))),
        "**Training** the same GPT, 8 × 256 tokens a step, forward and backward included.",
        markdown(*columns(map(_cells, record["training"]))),
        f"Every figure is the median of samples taken in turns; {accepted} samples count, "
        f"{rejected} were rejected because other processes were busy.",
    ]
    return "\n\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    spent, ratio = row["milliseconds"], row["ratio"]
    cells = {"shape": row["shape"]} if "shape" in row else {}
    cells |= {"": row["name"], "ms": f"{spent:,.0f}" if spent >= 100 else f"{spent:.3g}"}
    cells["ratio"] = f"{ratio:.3f}"
    if "floor" in row and "AdamW" not in row["name"]:
        cells |= {"floor": f"{row['floor']:.2f}", "share of peak": f"{row['floor'] / ratio:.0%}"}
    return cells | {head: format(row[key], f) for key, (head, f) in MORE.items() if key in row}
