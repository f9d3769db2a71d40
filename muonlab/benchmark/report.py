"""The record of `bench` as Markdown: what the command prints and what the book shows."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def report(record: Mapping[str, Any]) -> str:
    """Returns the tables of a record, each under a line that says how to read it."""
    peak, made = record["peak"], record["provenance"]
    speeds = [f"{1e-3 * speed:.2f} TFLOP/s in {name}" for name, speed in peak.items()][:-1]
    lines = [
        f"Measured on {made['device']}, {made['threads']} threads, torch {made['torch']}, code "
        f"{made['code']}. Products reach {' and '.join(speeds)}; copies {peak['copy']:.0f} GB/s. "
        f"`import muonlab` takes {record['import_milliseconds']:.0f} ms beyond `import torch`.",
        "**Newton-Schulz**, five steps, milliseconds a matrix in stacks of 12. Ratios are to "
        "torch.optim.Muon's routine; the floor is the products of our form at the machine's best "
        "speed, and the share of peak is the floor divided by the time.",
        _table(
            ["shape", "", "ms", "ratio", "floor", "share of peak"],
            [_newton_schulz(row) for row in record["newton_schulz_steps"]],
        ),
        "**One optimizer step** of a 6 × 384 GPT, 10.7M numbers. The floor is the products, and "
        "one read of weights, momentum and gradients with one write of the first two.",
        _table(
            ["", "ms", "ratio", "floor", "share of peak", "× AdamW", "scratch MB"],
            [_step(row) for row in record["optimizer_step"]],
        ),
        "**The same step without fast bf16**: AVX2 alone, oneDNN off, one thread.",
        _table(["", "ms", "ratio"], [_plain(row) for row in record["step_without_bf16"]]),
        "**What each idea brings**: the same step with one idea taken away.",
        _table(["", "ms", "ratio"], [_plain(row) for row in record["gains"]]),
        "**Freed memory**: forward, backward and AdamW of the same GPT, in two processes.",
        _table(["", "ms", "ratio"], [_plain(row) for row in record["memory"]]),
        "**Training** the same GPT, 8 × 256 tokens a step, forward and backward included.",
        _table(
            ["", "ms", "ratio", "tokens/s"],
            [[*_plain(row), f"{row['tokens per second']:,.0f}"] for row in record["training"]],
        ),
        "**Quality**: cosine between five steps in the work dtype and the exact polar factor.",
        _table(
            ["", "matrix", "worst", "mean"],
            [
                [row["name"], row["matrix"], f"{row['worst']:.4f}", f"{row['mean']:.4f}"]
                for row in record["quality"]
            ],
        ),
        _accepted(record),
    ]
    return "\n\n".join(lines) + "\n"


def _newton_schulz(row: Row) -> list[str]:
    return [row["shape"], *_plain(row), f"{row['floor']:.2f}", _share(row)]


def _step(row: Row) -> list[str]:
    floor = [f"{row['floor']:.2f}", _share(row)] if "AdamW" not in row["name"] else ["", ""]
    scratch = f"{row['scratch MB']:.1f}" if "scratch MB" in row else ""
    return [*_plain(row), *floor, f"{row['times AdamW']:.1f}", scratch]


def _plain(row: Row) -> list[str]:
    spent = row["milliseconds"]
    digits = f"{spent:,.0f}" if spent >= 100 else f"{spent:.3g}"
    return [row["name"], digits, f"{row['ratio']:.3f}"]


def _share(row: Row) -> str:
    return f"{row['floor'] / row['ratio']:.0%}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    ruled = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in ruled)


def _accepted(record: Mapping[str, Any]) -> str:
    parts = ("newton_schulz_steps", "optimizer_step", "step_without_bf16", "gains", "training")
    timed = [row for part in parts for row in record[part]]
    accepted, rejected = (sum(row[key] for row in timed) for key in ("samples", "rejected"))
    return (
        f"Every figure is the median of samples taken in turns; {accepted} samples count, "
        f"{rejected} were rejected because other processes were busy."
    )
