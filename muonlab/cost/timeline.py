"""One training step as a timeline: what a GPU computes, and what its links send meanwhile.

Weights are sharded as FSDP2 shards them: each is gathered before the forward pass and again before
the backward pass, and each gradient is summed, four bytes a number, while GPUs compute. What then
happens to the momenta, in bf16, is the way:

    AdamW      nothing: each GPU steps the rows that it keeps
    everybody  every GPU gathers all momenta and orthogonalizes all matrices
    owners     each matrix goes to one GPU, is orthogonalized there, and its rows go back
    overlap    the same, matrix by matrix, so that sending hides behind computing

With `overlap` a momentum leaves when its gradient is there, and while one matrix is orthogonalized,
the next comes and the last goes.
All is computed, nothing measured: products at one speed, no latency, no start of a kernel, and none
of the additions that an optimizer does number by number. Drawn is each longest bar. With `overlap`
its matrices count as equal, and the last of them has its gradient when the backward pass ends.
"""

from dataclasses import dataclass
from typing import NamedTuple

from muonlab import checks
from muonlab.cost.formulas import CARD, SHARE, Counts
from muonlab.optim.sharding import divide

WAYS = ("AdamW", "everybody", "owners", "overlap")


@dataclass(frozen=True)
class Machine:
    """Servers of eight H100s. NVLink: 900 GB/s, half each way; a network card: 400 Gbit/s."""

    speed: float = CARD * SHARE  # FLOP/s
    server: int = 8  # GPUs in one
    nvlink: float = 450e9  # bytes/s from a GPU to the others of its server
    card: float = 50e9  # bytes/s of a network card
    cards: int = 8  # in a server

    def to_all(self, gpus: int) -> float:
        """Returns the bytes/s at which each GPU receives what all receive, or all sum up.

        It goes round rings, so that each byte enters a server once, over all its cards: what NCCL's
        tests call bus bandwidth.
        """
        return self.nvlink if gpus <= self.server else min(self.nvlink, self.cards * self.card)

    def to_one(self, gpus: int) -> float:
        """Returns the bytes/s at which a GPU receives what it alone receives: by its own card."""
        own = self.cards * self.card / self.server
        return self.nvlink if gpus <= self.server else min(self.nvlink, own)


class Part(NamedTuple):
    """One bar: what is done, by the "GPU" or its "links", from when to when in seconds."""

    name: str
    lane: str
    start: float
    end: float


H100S = Machine()


def timeline(
    counts: Counts,
    tokens: int,
    context: int,
    gpus: int = 1,
    way: str = "owners",
    machine: Machine = H100S,
) -> list[Part]:
    """Returns the bars of one step on the GPU with most to do; ValueError for an unknown way.

    Args:
        tokens: of the step, on all GPUs together, which share them equally, a sequence or more.
        context: tokens of a sequence.
    """
    checks.choice("way", way, WAYS)
    model = counts.flops(tokens / gpus, context) / machine.speed
    weights = 4 * counts.numbers * (gpus - 1) / gpus / machine.to_all(gpus)
    turn = max(model / 3, weights)  # backward takes twice as long as forward
    free = turn + 2 * weights  # the links
    back = turn + max(model * 2 / 3, weights)  # the last weights must have come
    done = max(back, free)
    after = {"everybody": _everybody, "owners": _owners, "overlap": _overlap}.get(way)
    later = after(counts, gpus, machine, done, free) if after and counts.matrices else []
    summed = min([done, *(bar.start for bar in later)])  # the last gradient
    bars = [
        Part("forward", "GPU", turn - model / 3, turn),
        Part("gather", "links", 0, weights),
        Part("backward", "GPU", back - model * 2 / 3, back),
        Part("gather", "links", turn, turn + weights),
        Part("reduce", "links", summed - weights, summed),
        *later,
    ]
    return [bar for bar in bars if bar.end > bar.start]


def ends(bars: list[Part]) -> float:
    """Returns the seconds of the whole step."""
    return max(bar.end for bar in bars)


def _everybody(c: Counts, gpus: int, machine: Machine, done: float, free: float) -> list[Part]:
    here = done + 2 * c.muon_numbers * (gpus - 1) / gpus / machine.to_all(gpus)
    ready = here + sum(c.muon_flops()) / machine.speed
    return [Part("momenta", "links", done, here), Part("Newton-Schulz", "GPU", here, ready)]


def _owners(c: Counts, gpus: int, machine: Machine, done: float, free: float) -> list[Part]:
    products, sent, _ = _busiest(c, gpus, machine)
    here, ready = done + sent, done + sent + products
    return [
        Part("momenta", "links", done, here),
        Part("Newton-Schulz", "GPU", here, ready),
        Part("momenta", "links", ready, ready + sent),
    ]


def _overlap(c: Counts, gpus: int, machine: Machine, done: float, free: float) -> list[Part]:
    products, sent, matrices = _busiest(c, gpus, machine)
    here = max(free + sent, done + sent / matrices)  # the last momentum has come
    begun = max(done, free + sent / matrices) if matrices > 1 else here
    ready = max(begun + products, here + products / matrices)
    first = max(begun + products / matrices, here)  # is orthogonalized, and the links are free
    last = max(first + sent, ready + sent / matrices)
    return [
        Part("momenta", "links", here - sent, here),
        Part("Newton-Schulz", "GPU", ready - products, ready),
        Part("momenta", "links", last - sent, last),
    ]


def _busiest(c: Counts, gpus: int, machine: Machine) -> tuple[float, float, int]:
    """Returns the most seconds of products, and of sending one way; and who has most, how many."""
    costs = dict(enumerate(c.muon_flops()))
    owned = divide(costs, gpus)
    numbers = [m * n for m, n in c.matrices]
    most = max(owned, key=lambda own: sum(costs[i] for i in own))
    sent = max(sum(numbers[i] for i in own) for own in owned) * 2 * (gpus - 1) / gpus
    return sum(costs[i] for i in most) / machine.speed, sent / machine.to_one(gpus), len(most)
