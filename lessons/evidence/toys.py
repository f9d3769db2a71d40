"""Small studies of memories and of one layer: lessons 00, 01 and 08 rest on their numbers.

Each yields what it measured, part by part, for mechanism.py to write down.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.linalg import matrix_norm
from torch.nn.functional import cross_entropy

from muonlab.optim.muon import Muon
from muonlab.optim.orthogonalize import polar
from muonlab.theory import embeddings, memory

Parts = Iterator[tuple[str, Any]]
Rule = Callable[[Tensor], Tensor]


def short(values: Any) -> Any:
    """Returns a number, or lists of them, to five digits."""
    return [*map(short, values)] if isinstance(values, list) else float(f"{values:.5g}")


def rotations(draws: int = 100) -> Parts:
    """Lesson 00's ten facts in random axes: the nine rare ones when the common one is at 0.9."""
    p = embeddings.two_block(10, 1, 0.9)
    ways: dict[str, tuple[float, ...]] = {"gd": (0.3,), "muon": (0.3,)}  # the length of a step
    ways |= {"sign": (0.1, 0.3, 1.0), "adam": (0.01, 0.03, 0.1)}  # of Adam: its rate
    for rule, lengths in ways.items():
        for length in lengths:
            rare = []
            for draw in range(draws):
                facts = embeddings.rotation(10, 2 * draw), embeddings.rotation(10, 2 * draw + 1)
                known = _ten_facts(p, facts, rule, length)
                rare.append(known[(known[:, 0] >= 0.9).long().argmax(), 1:].tolist())
            yield f"{rule} {length:g}", short(rare)


def _ten_facts(p: Tensor, facts: tuple[Tensor, Tensor], rule: str, length: float) -> Tensor:
    if rule == "adam":  # at the lowest rate the common fact takes 171 steps in some rotations
        return memory.memorize(p, *facts, "adam", length, 200, momentum=0.9, beta2=0.999).correct

    def even(G: Tensor) -> Tensor:
        D = memory.direction(G, rule)  # type: ignore[arg-type]
        return D / matrix_norm(D, 2)

    return memory.memorize(p, *facts, even, length, 100).correct


RATES_TRIED = torch.logspace(-2, 1.5, 22)
CASES: dict[str, dict[str, Any]] = {
    "the race": {},
    "label noise 1, not 0.3": {"noise": 1},
    "batches of 16, not 64": {"batch": 16},
    "rates do not fall": {"fall": 0},
    "rates do not fall, noise 1": {"fall": 0, "noise": 1},
    "inputs differ 10 times": {"weakest": -1},
    "inputs differ 10 times, 30 steps": {"weakest": -1, "steps": 30},
    "inputs equally strong": {"weakest": 0},
}


DIRECTIONS: dict[str, Rule | None] = {
    "gradient": lambda G: G,
    "normalized": lambda G: G / matrix_norm(G, keepdim=True).clamp_min(1e-30),
    "sign": torch.sign,
    "polar": polar,
    "adam": None,
}
MOMENTA = torch.tensor([0, 0.5, 0.8, 0.9])


def race(seeds: int = 8, ranks: Sequence[int] = (16, 1), cases: int = 8) -> Parts:
    """Lesson 01's race with Adam in it: by rule, the lowest loss of all settings, one a seed."""
    for (case, how), rank in product([*CASES.items()][:cases], ranks):
        yield f"{case}, rank {rank}", _lowest(DIRECTIONS, rank, seeds, **how)


def unequal(seeds: int = 8, times: Sequence[float] = (1, 2, 4, 6, 8, 10, 16, 32, 100)) -> Parts:
    """U Vᵀ and Adam in lesson 01's race, by how many times stronger the strongest input is."""
    for ratio in times:
        yield f"{ratio}", _lowest(("polar", "adam"), 16, seeds, weakest=-math.log10(ratio))


def _lowest(names: Iterable[str], rank: int, seeds: int, **how: Any) -> dict[str, list[Any]]:
    losses_by_rule: dict[str, list[Any]] = {}
    for seed, name in product(range(seeds), names):
        squares = [torch.tensor([0.9, 0.99, 0.999])] if name == "adam" else []
        grid = torch.cartesian_prod(RATES_TRIED, MOMENTA, *squares)
        losses = _race(grid, DIRECTIONS[name], rank, seed, **how)
        rate = int(losses.argmin()) * len(RATES_TRIED) // len(losses)  # 0 and 21 are the edges
        losses_by_rule.setdefault(name, []).append([short(losses.min().item()), rate])
    return losses_by_rule


def _race(
    grid: Tensor,
    rule: Rule | None,
    rank: int,
    seed: int,
    weakest: float = -1.5,
    noise: float = 0.3,
    batch: int = 64,
    fall: float = 1,
    steps: int = 100,
) -> Tensor:
    torch.manual_seed(seed)
    scale = torch.linalg.qr(torch.randn(32, 32)).Q @ torch.diag(torch.logspace(0, weakest, 32))
    target = torch.randn(16, rank) @ torch.randn(rank, 32) / rank**0.5
    draw = torch.Generator().manual_seed(seed)
    rate, b1, *b2 = grid.T[:, :, None, None]
    W = M = V = torch.zeros(len(grid), 16, 32)  # a layer for each setting
    for t in range(steps):
        X = scale @ torch.randn(32, batch, generator=draw)
        G = (W @ X - target @ X - noise * torch.randn(16, batch, generator=draw)) @ X.mT / batch
        M = b1 * M + (1 - b1) * G
        if rule is None:
            V = b2[0] * V + (1 - b2[0]) * G**2
            D = M / (1 - b1 ** (t + 1)) / ((V / (1 - b2[0] ** (t + 1))).sqrt() + 1e-8)
        else:
            D = rule(M)
        W = W - rate * (1 - fall * t / steps) * D
    return (((W - target) @ scale).square().sum((1, 2)) / 16).nan_to_num(torch.inf)


def many(draws: int = 13, most: int = 150) -> Parts:
    """Lesson 08's batches: steps until both means have been at 0.9, at rates doubled in turn.

    Until two doublings in a row no longer help draws 0 to 2. The other draws choose nothing.
    """
    for name, rate in (("SGD", 0.5), ("Adam", 0.02), ("Muon", 0.2)):
        tried: dict[str, list[int]] = {}
        sums: list[int] = []
        while len(sums) < 3 or min(sums) not in sums[:-2]:
            tried[f"{rate:g}"] = [_until(name, rate, most, draw) for draw in range(draws)]
            sums.append(sum(tried[f"{rate:g}"][:3]))
            rate *= 2
        yield name, tried
    yield "drawn", [_drawn(draw, most) for draw in range(draws)]


STOCHASTIC: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": partial(torch.optim.SGD, momentum=0.95),
    "Adam": partial(torch.optim.Adam, betas=(0.9, 0.95)),
    "Muon": partial(Muon, weight_decay=0),
}


def _until(name: str, rate: float, most: int, draw: int) -> int:
    p, generator = embeddings.two_block(99, 20, 0.8), torch.Generator().manual_seed(draw)
    W = torch.nn.Parameter(torch.zeros(99, 99).double())
    E, values = (embeddings.rotation(99, 2 * draw + i) for i in (1, 2))
    optimizer, seen = STOCHASTIC[name]([W], lr=rate), torch.zeros(2)
    for step in range(most):
        facts = torch.multinomial(p, 99, replacement=True, generator=generator)
        logits = values.T @ W @ E
        f = logits.detach().softmax(0).diagonal()
        seen = torch.maximum(seen, torch.stack([f[:20].mean(), f[20:].mean()]).float())
        if seen.min() >= 0.9:
            return step
        W.grad = None
        cross_entropy(logits.T[facts], facts).backward()
        optimizer.step()
    return most


def _drawn(draw: int, most: int) -> int:
    """After how many batches nine rare facts of ten have been drawn."""
    p, generator = embeddings.two_block(99, 20, 0.8), torch.Generator().manual_seed(draw)
    seen: set[int] = set()
    for step in range(most):
        if len([fact for fact in seen if fact >= 20]) >= 0.9 * 79:
            return step
        seen |= {*torch.multinomial(p, 99, replacement=True, generator=generator).tolist()}
    return most


def balance(steps: int = 400, lengths: Sequence[float] = (0.125, 0.5, 2, 8, 32)) -> Parts:
    """Lesson 08's full batches: a frequent and a rare fact by step; what the length of a step does.

    Normalized gradient descent gets the Frobenius length of Muon's step.
    """
    p, E = embeddings.two_block(99, 20, 0.8), torch.eye(99).double()
    rules: dict[str, memory.StepRule | Rule] = {"gd": "gd", "muon": "muon"}
    rules["normalized"] = lambda G: G / G.norm().clamp_min(1e-300) * 98**0.5

    def run(rule: str, length: float) -> list[list[float]]:
        trace = memory.memorize(p, E, E, rules[rule], length, steps - 1)
        return trace.correct[:, [0, -1]].tolist()

    for rule, length in (("gd", 20.0), ("normalized", 0.5), ("muon", 0.5)):
        yield f"{rule} by step", short(run(rule, length))
    for rule, length in product(("gd", "normalized", "muon"), lengths):
        length *= 160 if rule == "gd" else 1
        rows = run(rule, length)
        when = [[t for t, at in enumerate(rows) if at[i] >= 0.9] for i in (0, 1)]
        known = [min(steps_of, default=steps) for steps_of in when]
        yield f"{rule} {length:g}", [*known, short(max(a - b for a, b in rows))]
