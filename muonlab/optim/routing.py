"""Decide which parameter Muon takes and which AdamW, and show the decision as a table."""

import inspect
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from torch import Tensor, nn

from muonlab import checks
from muonlab.models.attention import Attention
from muonlab.optim.muon import Muon
from muonlab.optim.refusals import ADAMW_READS
from muonlab.optim.stacks import Group, is_stack, matrix_shape

_QUERIES = ("*.q.weight", "*.q_rope.weight")
_KEYS = ("*.k.weight", "*.k_rope.weight", "*.k_up.weight")
_VALUES = ("*.v.weight", "*.v_up.weight")
_FFN = ("*.w_in.weight", "*.w_out.weight", "*.w_gate.weight")
GROUPS: dict[str, tuple[str, ...]] = {
    "QK": (*_QUERIES, *_KEYS),
    "VO": (*_VALUES, "*.o.weight"),
    "FFN": _FFN,
    "KV_down": ("*.kv_down.weight",),
    "QKV": ("*.qkv.weight",),
    **{"Q": _QUERIES, "K": _KEYS, "V": _VALUES, "O": ("*.o.weight",)},
    **{"W_in": _FFN[:1], "W_out": _FFN[1:2], "W_gate": _FFN[2:]},
}
"""The paper's groups of matrices (arXiv 2509.26030, section 3) as patterns of parameter names.

Latent attention has two matrices for K, one after the other, and two for V, and the first is the
same: KV_down. It is in neither QK nor VO; who gives both to Muon gives it too. QKV is the one
matrix of attention that makes queries, keys and values together.
"""

HEAD_NAMES = {"head", "lm_head", "unembedding", "embed_out", "classifier", "score"}
"""Names under which public models keep the matrix from features to classes."""

Names = dict[nn.Parameter, list[str]]  # a tied parameter has several
HEAD_SHAPED = ": shaped as the embedding is; if it is the head, name it in adamw"
FUSED = {
    "whole": ": queries, keys and values as one matrix; fused='split' takes them apart",
    "split": ": queries, keys and values, each orthogonalized alone",
    "heads": ": queries, keys and values of each head, orthogonalized alone",
}
OF_BOTH = ": keys and values share it, so it goes with QK and VO together, or by name"


@dataclass(frozen=True)
class Route:
    """Where one parameter goes, and why."""

    name: str
    shape: tuple[int, ...]
    rule: str  # "muon", "adamw" or "frozen"
    reason: str
    kernel: bool = False  # of a Conv1d, whose shape (out, in, k) could be that of a stack
    split: tuple[int, ...] = ()  # the rows of its parts, unless it is taken as one


@dataclass(frozen=True, eq=False, repr=False)
class Routing:
    """Which parameters of a model Muon takes; print it to see the table."""

    routes: list[Route]
    _parameters: dict[str, nn.Parameter]

    def groups(self, lr: float = 1e-3, adamw_lr: float = 3e-3, **options: Any) -> list[Group]:
        """Returns the parameter groups for `muonlab.Muon`, each with its own learning rate.

        `options` of Muon (momentum, weight_decay, betas, …) go into the groups that read them.

        >>> model = nn.Sequential(nn.Linear(4, 4))
        >>> [group["rule"] for group in route(model, muon=["0.weight"]).groups()]
        ['muon', 'adamw']
        """
        known = {*inspect.signature(Muon).parameters, "betas"} - {"params", "lr", "own"}
        if unknown := options.keys() - known:
            checks.choice("an option of Muon", sorted(unknown)[0], sorted(known))
        params_of = defaultdict(list)
        for r in self.routes:
            params_of[r.rule, r.kernel, r.split].append((r.name, self._parameters[r.name]))
        params_of.pop(("frozen", False, ()), None)
        groups = []
        for rule, kernel, split in sorted(params_of, key=lambda kind: (kind[0] == "adamw", *kind)):
            own = {"kernels": True} if kernel else {"split": split} if split else {}
            rate = lr if rule == "muon" else adamw_lr
            reads = ADAMW_READS if rule == "adamw" else known - {"betas"}
            own |= {name: value for name, value in options.items() if name in reads}
            params = params_of[rule, kernel, split]
            groups.append({"params": params, "rule": rule, "lr": rate, **own})
        return groups

    def count(self, rule: str) -> int:
        """Returns how many numbers the parameters of this rule hold."""
        checks.choice("rule", rule, ("muon", "adamw", "frozen"))
        return sum(self._parameters[r.name].numel() for r in self.routes if r.rule == rule)

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Of each parameter its name, shape, rule and reason, as text."""
        return [(r.name, "×".join(map(str, r.shape)), r.rule, r.reason) for r in self.routes]

    def __str__(self) -> str:
        rows = [("parameter", "shape", "rule", "reason"), *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows]
        totals = [f"{rule} {self.count(rule):,}" for rule in ("muon", "adamw", "frozen")]
        return "\n".join([*lines, "numbers: " + " · ".join(totals)])

    __repr__ = __str__


def route(
    model: nn.Module,
    muon: Iterable[str] = ("QK", "VO", "FFN"),
    adamw: Iterable[str] = (),
    fused: str = "whole",
) -> Routing:
    """Returns the routing of every parameter of `model`, each exactly once.

    Args:
        model: any module; tied weights count once, under their first name.
        muon: groups of the paper ("QK", "VO", "FFN"), those of one block as "QK.0", or patterns of
            parameter names such as "blocks.*.w_in.weight"; () gives everything to AdamW.
        adamw: patterns that must go to AdamW.
        fused: how Muon takes the queries, keys and values that one matrix makes, `in_proj_weight`
            of nn.MultiheadAttention or `qkv` of our attention: "whole"; "split", three matrices;
            or "heads", three a head. Groups with `split` (see `Muon`) do the same elsewhere.

    Embeddings, the output head, routers of experts and vectors go to AdamW. Only the exact name of
    one of them, without a wildcard, sends it to Muon, which refuses a vector.

    Raises:
        ValueError: a name that matches nothing, a parameter claimed by both sides, or no matrix to
            be split. The message names it.

    >>> print(route(nn.ModuleDict({"w_in": nn.Linear(4, 8, bias=False), "norm": nn.LayerNorm(8)}),
    ...             muon=["w_in.weight"]))
    parameter    shape  rule   reason
    w_in.weight  8×4    muon   matches w_in.weight
    norm.weight  8      adamw  a vector has no singular spectrum
    norm.bias    8      adamw  a vector has no singular spectrum
    numbers: muon 32 · adamw 16 · frozen 0
    """
    muon = checks.several("several names for muon, as ('QK', 'VO')", muon, str)
    adamw = checks.several("several names for adamw, as ('head.weight',)", adamw, str)
    checks.choice("fused", fused, FUSED)
    parameters = dict(model.named_parameters())  # tied weights once, by their first name
    names: Names = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(p, []).append(name)
    for_muon, for_adamw = _claims(muon, names), _claims(adamw, names)
    shared = {p for p in names if _fits("KV_down", names[p])}
    if {"QK", "VO"} <= set(muon):
        for_muon = dict.fromkeys(shared - for_adamw.keys(), "KV_down") | for_muon
    outer = _outer_parameters(model, names)
    embeddings = {m.weight.shape for m in model.modules() if isinstance(m, nn.Embedding)}
    kernels = {m.weight for m in model.modules() if isinstance(m, nn.Conv1d | nn.ConvTranspose1d)}
    parts, routes = _parts(model, fused), []
    for name, p in parameters.items():
        muon_pattern, adamw_pattern = for_muon.get(p), for_adamw.get(p)
        if muon_pattern and adamw_pattern:
            raise ValueError(f"{name!r} is claimed twice: {muon_pattern!r} and {adamw_pattern!r}")
        if p in outer or p.ndim < 2:  # a head must not slip in by a wide pattern
            muon_pattern = next((name for name in muon if name in names[p]), None)
        rule, reason = _decide(p, muon_pattern, adamw_pattern, outer.get(p))
        if p in shared and rule != "frozen":
            reason += OF_BOTH
        kernel = rule == "muon" and p.ndim == 3 and p in kernels
        split = parts.get(p, ()) if rule == "muon" else ()
        if rule == "muon":
            reason += _remark(p, kernel)
            if "*" in (muon_pattern or "") and p.shape in embeddings:
                reason += HEAD_SHAPED
            if p in parts:
                reason += FUSED[fused]
        routes.append(Route(name, tuple(p.shape), rule, reason, kernel, split))
    if fused != "whole" and not any(r.split for r in routes):
        raise ValueError(f"fused={fused!r} finds no in_proj_weight or qkv of attention to split")
    return Routing(routes, parameters)


def _parts(model: nn.Module, fused: str) -> dict[Tensor, tuple[int, ...]]:
    """Returns of each matrix that makes queries, keys and values the rows of its parts."""
    parts: dict[Tensor, tuple[int, ...]] = {}
    for m in model.modules():
        if isinstance(m, Attention) and hasattr(m, "qkv"):
            p, heads = m.qkv.weight, m.heads
        elif isinstance(m, nn.MultiheadAttention) and m.in_proj_weight is not None:
            p, heads = m.in_proj_weight, m.num_heads
        else:
            continue
        count = {"whole": 0, "split": 3, "heads": 3 * heads}[fused]
        parts[p] = (len(p) // max(count, 1),) * count
    return parts


def _claims(patterns: list[str], names: Names) -> dict[nn.Parameter, str]:
    """Returns the first that fits a parameter; a group or pattern that fits none is refused."""
    claims: dict[nn.Parameter, str] = {}
    for entry in patterns:
        fitting = [p for p in names if _fits(entry, names[p])]
        if not fitting:
            examples = ", ".join([first for first, *_ in names.values()][:4])
            message = f"{entry!r} finds no parameter; this model has {examples}, …"
            raise ValueError(f"{message}: name its matrices by patterns, or by {', '.join(GROUPS)}")
        claims = dict.fromkeys(fitting, entry) | claims
    return claims


def _fits(entry: str, names: list[str]) -> bool:
    """Returns whether a group or a pattern fits one of these names of a parameter."""
    group, _, block = entry.rpartition(".")
    if group in GROUPS:  # of one block
        entry, names = group, [name for name in names if f".{block}." in f".{name}"]
    names = [*names, *(f".{name}" for name in names)]  # "*.q.weight" also means a q at the top
    patterns = GROUPS.get(entry, (entry,))
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _decide(
    p: nn.Parameter, for_muon: str | None, for_adamw: str | None, outer: str | None
) -> tuple[str, str]:
    if not p.requires_grad:
        return "frozen", "requires no gradient"
    if for_muon:
        return "muon", f"group {for_muon}" if for_muon in GROUPS else f"matches {for_muon}"
    if for_adamw:
        return "adamw", f"matches {for_adamw}"
    other = "a vector has no singular spectrum" if p.ndim < 2 else "not asked for Muon"
    return "adamw", outer or other


def _remark(p: nn.Parameter, kernel: bool) -> str:
    """Returns what else there is to say about a stack, or a kernel."""
    if p.ndim == 2:
        return ""
    if is_stack(p, kernel):
        return f": a stack of {len(p)} matrices, each orthogonalized alone"
    return ": a kernel, taken as a matrix of {}×{}".format(*matrix_shape(p, kernel))


def _outer_parameters(model: nn.Module, names: Names) -> dict[Tensor, str]:
    """Returns the reasons of what Muon should not take: a model's two ends, and routers."""
    outer: dict[Tensor, str] = {}
    for p, own_names in names.items():
        parts = set(".".join(own_names).split("."))
        if parts & HEAD_NAMES:
            outer[p] = "the head: its rows are classes, not features"
        if "router" in parts:
            outer[p] = "a router: each row is the score of one expert, as a head's of one class"
    for module in model.modules():
        if isinstance(module, nn.Embedding | nn.EmbeddingBag):  # the reason for a tied head too
            outer[module.weight] = "an embedding: one row a token, not a map"
    return outer
