"""Typical answers to the exercises of lesson 11: wrong ones to reject, right ones to accept."""

from fnmatch import fnmatchcase

import torch

from muonlab.optim.routing import GROUPS


def ratio(row, adamw, muon):
    return (adamw - row) / (adamw - muon)


def as_floats(*losses):
    return [loss.tolist() for loss in losses]


SEVERAL = {"QK": ["q", "k"], "VO": ["v", "o"], "FFN": ["w_in", "w_out", "w_gate"]}


def unfolded(groups):
    return [kind for group in groups for kind in SEVERAL.get(group, [group.lower()])]


def by_kind(name, shape, kinds):
    return "muon" if len(shape) == 2 and name.split(".")[-2] in kinds else "adamw"


def routed(name, shape, groups):
    return by_kind(name, shape, unfolded(groups))


ANSWERS = {
    "11-e2": {
        "wrong": {
            "still missing": lambda row, adamw, muon: (row - muon) / (adamw - muon),
            "sign": lambda row, adamw, muon: (row - adamw) / (adamw - muon),
            "in nats": lambda row, adamw, muon: adamw - row,
            "of the loss": lambda row, adamw, muon: (adamw - row) / adamw,
            "mean gap": lambda row, adamw, muon: (adamw - row) / (adamw - muon).mean(),
            "upside down": lambda row, adamw, muon: (adamw - muon) / (adamw - row),
            "mean over seeds": lambda row, adamw, muon: (
                ((adamw - row) / (adamw - muon)).mean().expand(3)
            ),
            "one number": lambda row, adamw, muon: ((adamw - row) / (adamw - muon)).mean(),
            "of means": lambda row, adamw, muon: (adamw - row).mean() / (adamw - muon).mean(),
            "mean AdamW": lambda row, adamw, muon: (adamw.mean() - row) / (adamw - muon).mean(),
            "the gap": lambda row, adamw, muon: adamw - muon,
            "a cost": lambda row, adamw, muon: row - adamw,
            "of Muon's loss": lambda row, adamw, muon: (adamw - row) / muon,
            "the rest": lambda row, adamw, muon: (adamw - row) / (row - muon),
            "clamped": lambda *losses: ratio(*losses).clamp(0, 1),
            "not negative": lambda *losses: ratio(*losses).clamp(min=0),
            "at most 1": lambda *losses: ratio(*losses).clamp(max=1),
            "size": lambda *losses: ratio(*losses).abs(),
            "size of the gap": lambda row, adamw, muon: (adamw - row) / (adamw - muon).abs(),
            "per cent": lambda *losses: 100 * ratio(*losses),
            "in place": lambda row, adamw, muon: adamw.sub_(row) / (adamw - muon),
        },
        "generic": {
            "rounded": lambda *losses: ratio(*losses).round(decimals=1),
            "column": lambda *losses: ratio(*losses)[:, None],
            "exponential": lambda row, adamw, muon: (
                (adamw.exp() - row.exp()) / (adamw.exp() - muon.exp())
            ),
        },
        "right": {
            "direct": lambda row, adamw, muon: (adamw - row) / (adamw - muon),
            "one minus": lambda row, adamw, muon: 1 - (row - muon) / (adamw - muon),
            "loop": lambda row, adamw, muon: torch.tensor(
                [(a - r) / (a - m) for r, a, m in zip(row, adamw, muon, strict=True)]
            ),
            "both signs": lambda row, adamw, muon: (row - adamw).div(muon - adamw),
            "list of floats": lambda *losses: [
                ratio(*v) for v in zip(*as_floats(*losses), strict=True)
            ],
            "tuple of 0-d tensors": lambda *losses: tuple(map(ratio, *losses)),
            "NumPy": lambda *losses: ratio(*(loss.double().numpy() for loss in losses)),
            "half-way to a parameter": lambda *losses: torch.nn.Parameter(ratio(*losses)),
        },
    },
    "11-e4": {
        "wrong": {
            "all to Muon": lambda name, shape, groups: "muon",
            "all to AdamW": lambda name, shape, groups: "adamw",
            "every hidden matrix": lambda name, shape, groups: (
                "muon" if len(shape) == 2 and name.startswith("blocks") else "adamw"
            ),
            "every matrix": lambda name, shape, groups: "muon" if len(shape) == 2 else "adamw",
            "changed places": lambda *given: "adamw" if routed(*given) == "muon" else "muon",
            "bias": lambda name, shape, groups: routed(name, (2, 2), groups),
            "no several": lambda name, shape, groups: by_kind(
                name, shape, [group.lower() for group in groups]
            ),
            "several alone": lambda name, shape, groups: by_kind(
                name, shape, [x for group in groups for x in SEVERAL.get(group, [])]
            ),
            "no gate": lambda name, shape, groups: by_kind(
                name,
                shape,
                [x for x in unfolded(groups) if x != "w_gate" or "FFN" not in groups],
            ),
            "letters": lambda name, shape, groups: (
                "muon" if len(shape) == 2 and any(x in name for x in unfolded(groups)) else "adamw"
            ),
            "first group": lambda name, shape, groups: routed(name, shape, groups[:1]),
        },
        "generic": {
            "square ones": lambda name, shape, groups: (
                routed(name, shape, groups) if len({*shape}) == 1 else "adamw"
            ),
        },
        "right": {
            "lists": lambda name, shape, groups: by_kind(name, shape, unfolded(groups)),
            "patterns": lambda name, shape, groups: (
                "muon"
                if len(shape) > 1
                and any(fnmatchcase(name, f"*.{x}.weight") for x in unfolded(groups))
                else "adamw"
            ),
            "package": lambda name, shape, groups: (
                "muon"
                if len(shape) == 2 and any(fnmatchcase(name, p) for g in groups for p in GROUPS[g])
                else "adamw"
            ),
        },
    },
}
