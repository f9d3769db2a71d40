"""Checks of lesson 11: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import float_array, one_of


def e2(answer: Callable) -> None:
    """The recovered share of the gap, seed by seed."""
    cases = [  # among them a row below all Muon, one above all AdamW, a seed in which Muon is behind
        _losses([4.5, 5.0], [5.0, 5.1], [4.0, 4.4]),
        _losses([3.7, 5.3, 4.8], [5.0, 5.1, 5.2], [4.0, 4.7, 4.1]),
        _losses([4.9, 4.2, 4.7, 4.4], [4.8, 4.6, 4.5, 4.9], [5.1, 4.3, 4.0, 4.3]),
    ]
    otherwise = "All AdamW must give 0 and all Muon 1, in every seed."
    compare(answer, cases, _shares, returns=float_array, otherwise=otherwise)


def _shares(row: Tensor, adamw: Tensor, muon: Tensor) -> tuple[Tensor, Mistakes]:
    gain, gap = adamw - row, adamw - muon
    right = gain / gap
    divide = "Divide by the gap between all AdamW and all Muon."
    above, below = "A row above all AdamW has a negative share", "one below all Muon more than 1."
    return right, [
        ((row - muon) / gap, "That is the share that is still missing: all Muon must come out as 1, all AdamW as 0."),
        (-right, "The sign is reversed: a row with a lower loss than all AdamW has a positive share."),
        (gain, f"These are nats. {divide}"),
        (-gain, "That is what the row costs, in nats. Its share of the gap is asked for."),
        (gap, "That is the gap. Which share of it does the row recover?"),
        (gain / adamw, f"You divided by AdamW's loss. {divide}"),
        (gain / muon, f"You divided by Muon's loss. {divide}"),
        (gain / row, f"You divided by the row's loss. {divide}"),
        (gain / (row - muon), "You divided by the rest of the way. Divide by the whole gap."),
        (gain / gap.mean(), "You divided by the mean gap. Divide each seed by its own gap: a seed moves all three."),
        (
            (adamw.mean() - row) / gap.mean(),
            "You took means of AdamW and Muon over the seeds. A seed moves all three: compare within a seed.",
        ),
        (right.mean(), "That is the mean over the seeds. Return one number for each seed."),
        (
            right.mean().expand_as(row),
            "All seeds came out alike. Return one number for each seed, not their mean.",
        ),
        (gain.mean() / gap.mean(), "That is the share of the mean losses. Return one number for each seed."),
        (gap / gain, "The fraction is upside down: the gap stands below."),
        (right.clamp(0, 1), f"You cut the share at 0 and 1. {above}, {below}"),
        (right.clamp(min=0), f"You cut the share at 0. {above}."),
        (right.clamp(max=1), "You cut the share at 1. A row below all Muon has more than 1."),
        (right.abs(), f"You dropped the sign. {above}."),
        (gain / gap.abs(), "You dropped the sign of the gap: in a seed in which Muon is behind, it is negative."),
        (gain.abs() / gap, f"You dropped the sign of the gain. {above}."),
        (100 * right, "These are per cent. A share of 1 is all Muon."),
    ]


def e4(answer: Callable) -> None:
    """The optimizer of a parameter, by its name, its shape and the groups that Muon takes."""
    block = "blocks.1.{}.weight".format
    q, k, v, o = (block(f"attention.{x}") for x in "qkvo")
    w_in, w_out, gate = (block(f"feedforward.{x}") for x in ("w_in", "w_out", "w_gate"))
    square, tall, wide, head = (8, 8), (32, 8), (8, 32), (64, 8)
    every = ["QK", "VO", "FFN"]
    cases = [
        (q, square, ["QK"]),
        (v, square, ["QK"]),
        (k, square, ["QK"]),
        (v, square, ["VO"]),
        (o, square, ["VO"]),
        (q, square, ["VO"]),
        (w_in, tall, ["FFN"]),
        (w_out, wide, ["FFN"]),
        (gate, tall, ["FFN"]),
        (o, square, ["FFN"]),
        (v, square, ["V"]),
        (o, square, ["V"]),
        (q, square, ["Q"]),
        (k, square, ["Q"]),
        (w_in, tall, ["W_in"]),
        (w_out, wide, ["W_in"]),
        (gate, tall, ["W_gate"]),
        (w_out, wide, ["VO", "W_out"]),
        (w_in, tall, ["VO", "W_out"]),
        (o, square, ["VO", "W_out"]),
        (w_out, wide, ["O", "V"]),
        (v, square, ["K"]),
        (q, square, []),
        ("embedding.weight", head, every),
        ("head.weight", head, every),
        ("blocks.0.attention.q.bias", (8,), every),
        ("blocks.0.norm.weight", (8,), every),
    ]
    compare(answer, cases, _routed, returns=one_of("muon", "adamw"), otherwise=_misrouted)


SEVERAL = {"QK": ["q", "k"], "VO": ["v", "o"], "FFN": ["w_in", "w_out", "w_gate"]}


def _routed(name: str, shape: tuple[int, ...], groups: list[str]) -> tuple[str, Mistakes]:
    kind, matrix = name.split(".")[-2], len(shape) == 2

    def by(taken: list[str], others: bool = True) -> str:
        return "muon" if others and kind in taken else "adamw"

    own = [g.lower() for g in groups]
    taken = [kind for g in groups for kind in SEVERAL.get(g, [g.lower()])]
    whole = [kind for g in groups for kind in SEVERAL.get(g, [])]
    outer = name.split(".")[0] in ("embedding", "head")
    letters = any(x in name for x in taken)
    first = [kind for g in groups[:1] for kind in SEVERAL.get(g, [g.lower()])]
    ungated = [x for x in taken if x != "w_gate" or "FFN" not in groups]
    return by(taken, matrix), [
        ("muon", "Muon takes everything. It takes the matrices that the groups name; AdamW takes the rest."),
        ("adamw", "AdamW takes everything. Muon takes the matrices that the groups name."),
        (
            "muon" if matrix and not outer else "adamw",
            "Muon takes every hidden matrix, whatever the groups are.",
        ),
        ("muon" if matrix else "adamw", "Muon takes every matrix, whatever the groups are."),
        ("adamw" if by(taken, matrix) == "muon" else "muon", "The two optimizers have changed places."),
        (by(taken), "A bias goes to Muon. It is a vector: one number in its shape."),
        (
            by(own, matrix),
            "Groups that stand for several matrices are not unfolded: QK is q and k, VO v and o, FFN three.",
        ),
        (by(whole, matrix), "A matrix is a group of its own, too: V is v, W_in is w_in."),
        (by(ungated, matrix), "FFN has a third matrix where it is gated: w_gate."),
        (
            "muon" if matrix and letters else "adamw",
            'The name is searched for letters, and "k" stands in "blocks". Compare the part before "weight" alone.',
        ),
        (by(first, matrix), "Only the first group is looked at. A row may name several."),
    ]


def _misrouted(came: str, name: str, shape: tuple[int, ...], groups: list[str]) -> str:
    other = "muon" if came == "adamw" else "adamw"
    return f"`{name}` of shape {shape} goes to {other} when Muon takes {groups}."


def _losses(*rows: list[float]) -> tuple[Tensor, ...]:
    return tuple(torch.tensor(row) for row in rows)
