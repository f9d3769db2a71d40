"""The record of `bench` as Markdown: what the command prints and what the book shows."""

from collections.abc import Mapping
from typing import Any

from muonlab.records.table import markdown

PLAIN = ["", "ms", "ratio"]
FLOOR = [*PLAIN, "floor", "share of peak"]
Row = Mapping[str, Any]


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
        markdown(["shape", *FLOOR], map(_alone, alone)),
        "**One optimizer step** of a 6 × 384 GPT, 10.7M numbers. The floor is the products, and "
        "one read of weights, momentum and gradients with one write of the first two.",
        markdown([*FLOOR, "× AdamW", "scratch MB"], map(_step, steps)),
        "**Training** the same GPT, 8 × 256 tokens a step, forward and backward included.",
        markdown([*PLAIN, "tokens/s"], map(_trained, record["training"])),
        f"Every figure is the median of samples taken in turns; {accepted} samples count, "
        f"{rejected} were rejected because other processes were busy.",
    ]
    return "\n\n".join(lines) + "\n"


def _alone(row: Row) -> list[str]:
    return [row["shape"], *_plain(row), *_floor(row)]


def _trained(row: Row) -> list[str]:
    return [*_plain(row), f"{row['tokens per second']:,.0f}"]


def _step(row: Row) -> list[str]:
    floor = ["", ""] if "AdamW" in row["name"] else _floor(row)
    scratch = f"{row['scratch MB']:.1f}" if "scratch MB" in row else ""
    return [*_plain(row), *floor, f"{row['times AdamW']:.1f}", scratch]


def _plain(row: Row) -> list[str]:
    spent = row["milliseconds"]
    digits = f"{spent:,.0f}" if spent >= 100 else f"{spent:.3g}"
    return [row["name"], digits, f"{row['ratio']:.3f}"]


def _floor(row: Row) -> list[str]:
    return [f"{row['floor']:.2f}", f"{row['floor'] / row['ratio']:.0%}"]
