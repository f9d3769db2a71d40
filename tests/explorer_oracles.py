"""What each explorer must show, computed by the package or from the records, never by its script.

An oracle takes the values of the controls and the x of each series that the script drew; it returns
the y that belong there, and phrases that the sentence must contain.
"""

import json
import math
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from itertools import cycle, islice, pairwise, product
from statistics import fmean as mean

import numpy as np
import scipy
import torch

from muonlab import newton_schulz, polar
from muonlab.classroom.explorer_data import learner
from muonlab.cost.formulas import Counts
from muonlab.cost.plans import GPT_1B, GPT_70B
from muonlab.cost.timeline import Machine, ends, timeline
from muonlab.data.load import load_corpus
from muonlab.data.rare_tokens import HEAD, MIDDLE
from muonlab.data.zipf import zipf as zipf_law
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.optim.coefficients import JORDAN, QUINTIC
from muonlab.records.record import contestant
from muonlab.records.store import RESULTS
from muonlab.statistics import chance_to_see, half_width, paired_interval, seeds_needed
from muonlab.studies import races, table1
from muonlab.studies.table1 import PAPER_ROWS
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE
from muonlab.theory import embeddings, memory, scalar_map
from muonlab.theory.spectra import Isotropy
from muonlab.theory.theorems import TwoBlock


@dataclass
class Expected:
    """The series of a picture, and what its sentence says."""

    y: list
    phrases: list[str]
    x: list = field(default_factory=list)  # only where x is no free choice of the script
    ranges: list = field(default_factory=list)  # (low, high) of each series that has them
    tolerance: float = 1e-9  # relative, and absolute below 1


def float64(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def fixed(number, digits):
    """Returns what JavaScript's toFixed does: halves are rounded up."""
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def significant(number, digits):
    """Returns a number with so many significant digits, zeros at its end left out."""
    if not number:
        return "0"
    place = math.floor(math.log10(abs(number))) - digits + 1
    rounded = Decimal(number).quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole_percent(share):
    return f"{fixed(100 * share, 0)} %"


def nearest(number):
    return math.floor(number + 0.5)


# --- closed forms ------------------------------------------------------------------------------


def circle(x, long, short, turn):
    angle = math.radians(turn)
    rotation = float64([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    M = rotation @ torch.diag(float64([long, short]))
    t = math.pi / 2 + torch.linspace(0, 2 * math.pi, 121, dtype=torch.float64)
    unit = torch.cat([torch.zeros(2, 1).double(), torch.stack([t.cos(), t.sin()])], dim=1)
    across, up = zip(M @ unit, polar(M) @ unit, strict=True)
    sizes = " and ".join(fixed(size, 1) for size in torch.linalg.svdvals(M).tolist())
    turned = math.degrees(math.atan2(polar(M)[1, 0], polar(M)[0, 0]))
    return Expected(up, [f"stretches by {sizes}", f"turn by {nearest(turned)} degrees"], across)


def tenfacts(x, share, axes):
    """As lesson 00: Adam and Muon, at rates that know the common fact at one step."""
    p = float64([share / 100] + [(1 - share / 100) / 9] * 9)
    straight = axes == "one for each fact"
    facts = [torch.eye(10).double() if straight else embeddings.rotation(10, n) for n in (0, 1)]
    steps = len(x[0]) - 1
    adam = memory.memorize(p, *facts, "adam", 0.03, steps, momentum=0.9, beta2=0.999).correct
    known = adam, memory.memorize(p, *facts, "muon", 0.15, steps).correct
    rare = [k[:, 1:] for k in known]
    last = [fixed(r[-1].mean().item(), 2) for r in rare]
    y = [known[0][:, 0], rare[0].mean(1), known[1][:, 0], rare[1].mean(1)]
    ranges = [torch.stack(r.aminmax(dim=1)) for r in rare]
    phrases = [
        f"The common fact is {share} % of the questions",
        f"After 40 steps a rare answer has the probability {last[0]} under Adam and "
        f"{last[1]} under Muon, on average.",
    ]
    return Expected(y, phrases, [range(41)] * 4, ranges, tolerance=1e-7)


def norms(x, angle, p):
    """The steepest step is the gradient of the dual norm at g."""
    order = math.inf if p == 20 else 1 / (1 - p / 20)
    dual = {1: math.inf, math.inf: 1}.get(order) or order / (order - 1)
    pair = [math.cos(math.radians(angle)), math.sin(math.radians(angle))]
    g = float64([round(v) if angle % 90 == 0 else v for v in pair]).requires_grad_()
    promise = torch.linalg.vector_norm(g, dual)
    d = torch.autograd.grad(promise, g)[0]
    t = torch.arange(361, dtype=torch.float64) * (math.pi / 180)
    ball = torch.stack([t.cos(), t.sin()])
    ball = ball / torch.linalg.vector_norm(ball, order, dim=0)
    parts = [[fixed(v if abs(v) >= 0.005 else 0.0, 2) for v in w.tolist()] for w in (g, d)]
    shown = [f"({', '.join(pair)})" for pair in parts]
    name = "∞" if p == 20 else fixed(order, 2).rstrip("0").rstrip(".")
    phrases = [
        f"With p = {name}, the steepest step for the gradient {shown[0]} is {shown[1]}",
        f"a gain of {fixed(promise.item(), 2)}",
    ]
    across, up = ([ball[i], [0, g[i].item()], [0, d[i].item()]] for i in (0, 1))
    return Expected(up, phrases, across)


BASIS = torch.tensor([[[1, 0], [0, -1]], [[0, 1], [1, 0]], [[1, 0], [0, 1]]], dtype=torch.float64)


def balls(x, around, height):
    """The steps are those of the package; a matrix is drawn where the script draws its basis."""
    t, h = math.radians(around), math.radians(height)
    parts = [math.cos(h) * math.cos(t), math.cos(h) * math.sin(t), math.sin(h)]
    G = torch.einsum("i,ijk->jk", float64([v if abs(v) > 1e-9 else 0 for v in parts]), BASIS)
    G = torch.where(G.abs() < 1e-9, 0, G)
    steps = [G / G.norm(), G.sign(), polar(G)]
    across = float64([math.cos(0.45), -math.sin(0.45), 0])
    up = float64([math.sin(0.45), math.cos(0.45), 0]) * math.sin(0.3)
    up = up + float64([0, 0, math.cos(0.3)])

    def paper(matrices, panel):
        points = torch.einsum("...jk,ijk->...i", torch.stack(matrices), BASIS) / 2
        return torch.stack([points @ across + 3.1 * panel, points @ up])

    def joined(strokes):
        gap = torch.full((2, 1), torch.nan).double()
        return torch.cat([part for stroke in strokes for part in (gap, stroke)][1:], dim=1)

    zero, arrow = torch.zeros_like(G), 1.3 * math.sqrt(2) * G / G.norm()
    drawn = [joined(_balls(paper)), joined([paper([zero, arrow], panel) for panel in range(3)])]
    drawn += [paper([zero, step], panel) for panel, step in enumerate(steps)]
    low, high = torch.linalg.eigvalsh(G).tolist()
    phrases = [f"the eigenvalues {_two(high)} and {_two(low)}"]
    for name, step in zip(("Frobenius norm", "largest entry", "spectral norm"), steps, strict=True):
        first, second = (", ".join(map(_two, row)) for row in step.tolist())
        phrases.append(f"in the {name} (({first}), ({second}))")
    rank, trace = torch.linalg.matrix_rank(steps[2], tol=1e-6), steps[2].trace().item()
    place = "the middle of an edge" if rank == 1 else "a point of the rim, a reflection"
    if abs(trace) > 1.5:
        place = "the upper tip, the identity" if trace > 0 else "the lower tip, minus the identity"
    x, y = zip(*drawn, strict=True)
    return Expected(y, [*phrases, place], x)


def _two(number):
    return fixed(number if abs(number) > 1e-9 else 0.0, 2)


def _balls(paper):
    """The drawn matrices by what they are: of equal norm, signs, reflections, plus or minus I."""
    t = torch.arange(49, dtype=torch.float64) * (math.pi / 24)
    rim = torch.einsum("ti,ijk->tjk", torch.stack([t.cos(), t.sin()], 1), BASIS[:2])
    yield paper((rim / rim[0].norm()).unbind(), 0)
    yield torch.stack([t.cos(), t.sin()]) * math.sqrt(0.5)  # a sphere looks round from everywhere
    corners = (1, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)
    front, back = ([float64([[a, b], [b, c]]) for a, c in corners] for b in (-1, 1))
    for stroke in (front, back, *zip(front[1:], back[1:], strict=True)):
        yield paper(stroke, 1)
    yield paper(rim.unbind(), 2)
    ends = [point for i, R in enumerate(rim[::4]) for point in ((-1) ** i * BASIS[2], R)]
    yield paper(ends, 2)


def polynomial(x, steps, a, b, c, preset, show, axis):
    after = scalar_map("polar_express" if preset == "Polar Express" else (a, b, c), steps)
    grid = torch.cat([torch.linspace(math.log(0.002), 0, 400_001).double().exp(), float64([1.0])])
    image = after(grid)
    phrases = ["grow without bound"]
    if steps == 0:
        phrases = ["Without a step"]
    elif image.isfinite().all() and image.max() < 100:
        ends = fixed(image.min().item(), 3), fixed(image.max().item(), 3)
        slope = torch.func.grad(after)(float64(0.0)).item()
        phrases = [f"end between {ends[0]} and {ends[1]}", f"factor of {significant(slope, 3)}"]
    value, last = show == "the value", float64(x[-1])
    y = [after(float64(x[0])) if value else (1 - after(float64(x[0]))).abs()]
    if value and preset != "Polar Express":
        y.append(scalar_map((a, b, c), 1)(float64(x[1])))
    return Expected(y=[*y, last if value else 1 - last], phrases=phrases, tolerance=1e-8)


def cobweb(x, share, start, steps):
    """Iterates for long, and asks after how many steps the values come back."""
    ends = [torch.tensor(t, dtype=torch.float64) for t in (QUINTIC[0], JORDAN[0])]
    a, b, c = (ends[0] + share / 100 * (ends[1] - ends[0])).tolist()
    p = scalar_map((a, b, c), 1)
    visited = [start]
    for _ in range(20_032):
        square = visited[-1] ** 2
        visited.append(visited[-1] * (a + square * (b + square * c)))
    walk = float64(visited)
    apart = (walk[20_001:] - walk[20_000]).abs()
    period = int((apart < 1e-6).nonzero()[0]) + 1 if (apart < 1e-6).any() else 0
    corners = walk[: steps + 1].repeat_interleave(2)
    path_x, path_y = corners[:-1], torch.cat([float64([0.0]), corners[2:]])
    known = walk[20_000 : 20_000 + period]
    cycle_of = known.roll(-int(known.argmin())) if period else known
    said = " → ".join(fixed(v, 3) for v in cycle_of.tolist())
    phrases = {0: "do not settle", 1: f"settle at {said}."}
    phrase = phrases.get(period, f"cycle of {period}: {said}, and again")
    across = [x[0], [0, 1.3], path_x, *([cycle_of] * bool(period))]
    y = [p(float64(x[0])), [0, 1.3], path_y, *([p(cycle_of)] * bool(period))]
    return Expected(y, [phrase], across, tolerance=1e-5)


def power(x, effect, size, spread, seeds, show):
    widths = [half_width(spread, n) for n in range(2, 31)]
    supported, refuted = (
        [100 * chance_to_see(truth, spread, n, by=by) for n in range(2, 31)]
        for truth, by in ((effect, size), (-effect, -size))
    )
    likely, word = (supported, "supported") if effect >= size else (refuted, "refuted")
    chances = show.startswith("chance")
    lines = [supported, refuted] if chances else [widths]
    end = "The truth is the size: no number of seeds"
    if apart := abs(effect - size):
        needed = seeds_needed(apart, spread) if apart > 1e-9 else 31
        end = f'{needed if needed <= 30 else "More than 30"} seeds give "{word}" in 80 %.'
    phrases = [
        f"reaches {fixed(widths[seeds - 2], 3)} nats either way",
        f"supported in {_share(supported[seeds - 2])} of such experiments",
        f"refuted in {_share(refuted[seeds - 2])}.",
        end,
    ]
    y = [*lines, [(likely if chances else widths)[seeds - 2]]]
    return Expected(y, phrases, [*[range(2, 31)] * len(lines), [seeds]], tolerance=1e-6)


def _share(percent):
    return f"{fixed(percent, 1 if percent < 10 else 0)} %"


def park_and_miller(seed):
    """Their generator, in whole numbers."""
    while True:
        seed = 16807 * seed % (2**31 - 1)
        yield seed / (2**31 - 1)


def standard_draws(seed, count):
    """Four draws make one number."""
    draws = park_and_miller(seed)
    return [math.fsum(islice(draws, 4)) - 2 for _ in range(count)]


def rows(x, rows, columns, spread, steps, factor):
    """The singular values go through the polynomial; their vectors stay."""
    entries = float64(standard_draws(11, rows * columns)).view(rows, columns)
    entries = entries / torch.arange(1, columns + 1)
    G = torch.exp(spread * float64(standard_draws(7, rows)))[:, None] * entries
    U, s, Vh = torch.linalg.svd(G, full_matrices=False)
    exact = factor != "Newton-Schulz"
    after = torch.ones_like(s) if exact else scalar_map("jordan", steps)(s / s.norm())
    lengths = [X.norm(dim=1).sort().values for X in (G, (U * after) @ Vh)]
    ratios = [fixed((v[-1] / v[0]).item(), 2) for v in lengths]
    how = factor if exact else f"{steps} step{'s' * (steps != 1)}"
    y = [v / v.square().mean().sqrt() for v in lengths]
    phrases = [f"is {ratios[0]} times as long", f"after {how}, {ratios[1]} times"]
    return Expected(y, phrases, [range(1, rows + 1)] * 2, tolerance=1e-6)


LOGITS = json.loads((RESULTS / "mechanism.json").read_text())["logits"]["parts"]


def logits(x, norm, height):
    arms = "AdamW 0.0018", "AdamW 0.004", "Muon 0.012", "Muon, frobenius of AdamW 0.004"
    found, ways = Expected(y=[], phrases=[], x=[]), {"AdamW": [], "Muon": []}
    for arm in arms:
        seeds = [LOGITS[f"{arm}, seed {seed}"] for seed in range(3)]
        length = np.mean([run[norm.split()[0].lower()] for run in seeds])
        high = np.mean([run["logit"] for run in seeds], axis=0)
        walked = length * np.arange(25, 600, 50)
        found.x.append(walked.tolist())
        found.y.append(high.tolist())
        if high.max() >= height:
            assert (np.diff(high)[: np.argmax(high >= height)] > 0).all()  # so that interp fits
            upto = np.argmax(high >= height) + 1
            way = np.interp(height, high[:upto], walked[:upto])
            ways["AdamW" if arm.startswith("AdamW") else "Muon"].append(significant(way, 2))
    for who, some in ways.items():
        found.phrases.append(f"{' and '.join(some)} under {who}")
    return found


def mulberry32(seed):
    """The generator of the script (Tommy Ettinger's, public domain), with Box and Muller."""
    state = seed * 0x9E3779B9

    def uniform():
        nonlocal state
        state = (state + 0x6D2B79F5) % 2**32
        t = (state ^ (state >> 15)) * (1 | state) % 2**32
        t = (t + (t ^ (t >> 7)) * (61 | t)) % 2**32 ^ t
        return (t ^ (t >> 14)) / 2**32

    while True:
        size = math.sqrt(-2 * math.log(1 - uniform()))
        yield size * math.cos(2 * math.pi * uniform())


@cache
def _draw(seed, d, count):
    normal = mulberry32(seed)
    drawn = float64([[[next(normal) for _ in range(d)] for _ in range(count)] for _ in range(2)])
    keys, values = (drawn / drawn.norm(dim=-1, keepdim=True)).mT
    straight = torch.eye(d).double().repeat(1, math.ceil(count / d))[:, :count]
    return {"random": keys, "orthogonal": straight}, values


def recall(x, d, most, show):
    count = d * most
    draws = [_draw(seed, d, count) for seed in range(1, 5)]
    if show != "share recalled":
        keys = show.split()[2]
        return _crosstalk(x, d, count, [(both[keys], values) for both, values in draws])
    y, ranges = [], []
    for kind in ("random", "orthogonal"):
        found = [
            [_recalled(_scores(both[kind][:, :n], values[:, :n])) for both, values in draws]
            for n in map(int, x[0])
        ]
        y.append([mean(shares) for shares in found])
        ranges.append(([min(shares) for shares in found], [max(shares) for shares in found]))
    ends = [f"{nearest(100 * series[-1])} %" for series in y]
    said = f"Of {count} facts, random keys recall {ends[0]}, orthogonal keys {ends[1]}"
    return Expected(y=y, ranges=ranges, phrases=[said])


def _crosstalk(x, d, count, draws):
    scores = torch.stack([_scores(*draw) for draw in draws])  # [draw, value, key]
    own = scores.diagonal(dim1=1, dim2=2).flatten()
    others = scores[:, ~torch.eye(count, dtype=torch.bool)].flatten()
    edges = torch.linspace(-3, 5, 41, dtype=torch.float64)
    y = [100 * torch.histogram(s, edges).hist / len(s) for s in (own, others)]
    lost = 1 - mean([_recalled(each) for each in scores])
    spread = fixed(others.std(correction=0).item(), 2)
    phrases = [
        f"others score {spread} more or less: one of {count - 1} is",
        f"for {nearest(100 * lost)} % of the facts",
    ]
    return Expected(y, phrases, [(edges[1:] + edges[:-1]) / 2] * 2)


def _scores(keys, values):
    return values.mT @ memory.store(keys, values) @ keys


def _recalled(scores):
    """As memory.recall, which leaves it to rounding which of two equal answers wins."""
    best = scores.round(decimals=9).argmax(0)
    return (best == torch.arange(len(scores))).double().mean().item()


def frequencies(x, exponent, count):
    """The gradient of a memory with embeddings turned at random, by the package, and its SVD."""
    p = embeddings.power_law(count, exponent)
    E, values = embeddings.rotation(count, 1), embeddings.rotation(count, 2)
    G = memory.descent(torch.zeros(count, count).double(), E, values, p)
    ends = []
    for M in (G, polar(G)):
        diagonal = (values.mT @ M @ E).diagonal().tolist()
        ends.append(f"{significant(diagonal[0], 2)} to {significant(diagonal[-1], 2)}")
    phrases = [
        f"seen {significant((p[0] / p[-1]).item(), 3)} times as often",
        f"the gradient goes from {ends[0]}, its polar factor from {ends[1]}",
    ]
    y = [p, *(torch.linalg.svdvals(M)[:-1] for M in (G, polar(G)))]
    return Expected(y, phrases, [range(1, count + 1), *[range(1, count)] * 2], tolerance=1e-7)


def zipf(x, exponent, power, known):
    words = 2**power
    p = zipf_law(words, exponent)
    covered = torch.cat([float64([0.0]), p.cumsum(0)])
    before = covered[:-1] + 1e-12  # the classes of Corpus.frequency_class, but for rounding
    head, tail = int((before < HEAD).sum()), int((before >= MIDDLE).sum())
    learned = nearest(words * known / 100)
    blind, way = math.log(words), covered[learned].item()
    shares = head / words, tail / words, known / 100, way
    percent = [f"{significant(100 * share, 2)} %" for share in shares]
    ranks = torch.tensor(x[0], dtype=torch.int64)
    phrases = [
        f"Head: {head:,} {'word' if head == 1 else 'words'}, {percent[0]} of them",
        f"Tail: {tail:,}, {percent[1]}",
        f"knows the {learned:,} most frequent words",
        f"a mean loss of {fixed((1 - way) * blind, 2)} nats, where a blind guess has "
        f"{fixed(blind, 2)}: {percent[2]} of the words, {percent[3]} of the way",
    ]
    return Expected([covered[ranks], ranks / words, [way]], phrases)


def onestep(x, alpha, L, optimizer, turn):
    K = 999
    rule = {"gradient descent": "gd", "Muon": "muon", "SignGD": "sign"}[optimizer]
    own, after = (_one_dense if rule == "sign" else _one_block)(K, L, alpha, rule, turn)
    unit, reached = _first_step(lambda step: max(after(step)), own)
    curves = [after(share * unit) for share in x[0]]
    best, worst = ([f(curve) for curve in curves] for f in (max, min))
    gaps = [b - w for b, w in zip(best, worst, strict=True)]
    low = _probability(min(after(unit)))
    lowest = f"takes the best fact to 0.9 takes the worst to {low}. "
    phrases = [
        f"α = {fixed(alpha, 2)}, L = {L}, turn {fixed(turn, 2)}",
        lowest if reached else "No step takes any fact to 0.9",
        f"the gap reaches {_probability(max(gaps))}.",
    ]
    return Expected([best, worst, gaps], phrases, tolerance=1e-8)


def _one_dense(K, L, alpha, rule, turn):
    """Returns the largest logit, and the function step size → probability of each fact."""
    p = float64([alpha / L] * L + [(1 - alpha) / (K - L)] * (K - L))
    E, values = embeddings.coupled(K, turn)
    G = memory.descent(torch.zeros(K, K).double(), E, values, p)
    logits = values.mT @ memory.direction(G, rule) @ E
    own = logits.diagonal().abs().max().item()
    border = L // 3 * 3  # facts look alike by place in three, and by what the three hold
    kinds = [0, 1, 2, border, border + 1, border + 2, K - 3, K - 2, K - 1]
    columns, own_of_kind = logits[:, kinds], logits.diagonal()[kinds]
    return own, lambda step: (step * own_of_kind - (step * columns).logsumexp(0)).exp().tolist()


def _one_block(K, L, alpha, rule, turn):
    start = TwoBlock(K, L)
    update = start.descent(alpha / L, (1 - alpha) / (K - L)).direction(rule)
    own = max(abs(update.a + update.c11), abs(update.b + update.c22))
    return own, lambda step: [math.exp(v) for v in start.add(update, step).log_correct()]


def _first_step(best, own, goal=0.9):
    steps = [0.01 / own * 1.05**i for i in range(280)]
    for low, high in pairwise(steps):
        if best(high) >= goal:
            return scipy.optimize.brentq(
                lambda step: best(step) - goal, low, high, xtol=1e-300, rtol=1e-15
            ), True
    return 10 / own, False


def _probability(p):
    if p < 1e-12:
        return "0"
    return fixed(p, 4) if p > 0.99 else repr(float(f"{p:.3g}")).replace("e-0", "e-")


def manysteps(x, optimizer, batch, momentum, step):
    K, L, count = 20, 4, [5, 10, 20, 40, 80, 160, None][batch]
    p = embeddings.two_block(K, L, 0.8)
    lr = {"Muon": 0.1, "normalized gradient descent": 0.1, GRADIENT: 2}[optimizer] * 2**step
    W = M = torch.zeros(K, K).double()
    eye, draws, drawn, means, after = torch.eye(K).double(), park_and_miller(8), None, [], 0
    while True:
        right = W.softmax(0).diagonal()
        means.append([right[:L].mean().item(), right[L:].mean().item()])
        if len(means) > 200 or min(means[-1]) > 0.98:
            break
        seen = p
        if count:
            facts = torch.searchsorted(p.cumsum(0), float64([*islice(draws, count)]), right=True)
            seen = torch.bincount(facts, minlength=K).double() / count
        after = after + seen
        if drawn is None and (after[L:] > 0).sum() >= 0.9 * (K - L):
            drawn = len(means)
        M = momentum * M + (1 - momentum) * memory.descent(W, eye, eye, seen / seen.sum())
        if optimizer == "Muon":
            update = newton_schulz(M, dtype=torch.float64)
        else:
            update = M if optimizer == GRADIENT else M * math.sqrt(K - 1) / M.norm()
        W = W + lr * update
    first = next((t for t, m in enumerate(means) if m[0] >= 0.9), None)
    both = next((t for t, m in enumerate(means) if min(m) >= 0.9), None)
    phrases = ["The frequent facts stay below 0.9. "]
    if first is not None:
        phrases = [f"pass 0.9, the rare ones are at {fixed(means[first][1], 2)}."]
    for words, t in (
        ("Both are at 0.9", both),
        ("Nine rare facts of ten have been drawn", drawn),
    ):
        when = f"after {t} step{'s' if t != 1 else ''}." if t is not None else "in none of 200"
        phrases.append(f"{words} {when}")
    frequent, rare = zip(*means, strict=True)
    return Expected(x=[frequent, [0, 1]], y=[rare, [0, 1]], phrases=phrases, tolerance=1e-6)


# --- records -----------------------------------------------------------------------------------


def trials(x, steps, knob, part, trials):
    search, average = races.RACE[int(steps.replace(",", ""))], knob.startswith("average")
    # in the order of the grids, whatever the order in which they ended
    runs = [run for tuning in search.tunings for run in tuning.recorded(HERE).values()]
    trials = min(trials, sum(search.rounds))
    fields = {
        "rate of the matrices": ("adamw_matrix_lr", "lr"),
        "average of the matrices": ("adamw_matrix_beta1", "momentum"),
        "rate of the rest": ("adamw_lr",) * 2,
        "average of the rest": (0,) * 2,
        "average of squares": (1,) * 2,
    }[knob]
    found, best, told = Expected([], []), [], []
    for name, key in zip(["AdamW", "Muon"], fields, strict=True):
        made = [run for run in runs if contestant(run.config) == name][:trials]
        values = [r.config["betas"][key] if key in (0, 1) else r.config[key] for r in made]
        losses = [run.held_out[-1][part] for run in made]
        for part_of in ((0, 16), (16, None))[: 1 + (trials > 16)]:  # spread, then near the best
            found.x.append([1 - v if average else v for v in values[slice(*part_of)]])
            found.y.append(losses[slice(*part_of)])
        best.append(min(losses))
        value = significant(values[losses.index(best[-1])], 3)
        told.append(f"{name}'s best ends at {fixed(best[-1], 3)} ({value})")
    below = sum(loss < best[0] for loss in losses)  # Muon's
    found.phrases += [*told, f"{below} of {trials} end below AdamW's best"]
    found.tolerance = 2e-4  # the values are stored with four digits
    return found


def facts(x, step, first, second):
    text, y, ranges, told = load_corpus("facts-9"), [], [], []
    read = step * 16 * 64 / len(text.train)  # how often the text was passed over
    times = [2 ** (9 - g) * read for g in range(10)]
    for name in dict.fromkeys([first, second]):
        runs = [run.held_out for run in recorded("facts-400") if learner(run.config) == name]
        seeds = [at["accuracy"] for run in runs for at in run if at["step"] == step]
        means = [mean(group) for group in zip(*seeds, strict=True)]
        y.append(means)
        ranges.append([[f(group) for group in zip(*seeds, strict=True)] for f in (min, max)])
        told.append(f"rarest group: {whole_percent(means[-1])}")
        right = next((g for g, share in enumerate(means) if share < 0.5), None)
        if right:
            places = np.interp(-0.5, [-m for m in means], np.log2(times))
            told.append(f"{name}: one half after about {2**places:.1f} times")
        else:
            told.append(f"{name}: crosses one half nowhere")
    # how often it was seen is stored with four digits
    return Expected(y, told, ranges=ranges, tolerance=2e-4)


def isotropy(x, length, matrix, metric, eighth, runs):
    groups = {"AdamW": [], "Muon": ["QK", "VO", "FFN"], "Muon(VO, FFN)": ["VO", "FFN"]}
    names = list(groups) if "VO" in runs else ["AdamW", "Muon"]
    field = Isotropy._fields.index(metric.replace(" ", "_"))
    y, ranges, told = [], [], []
    study = recorded(f"race-{length.replace(',', '')}")
    runs = [run for run in study if run.config["rule"] == "muon"]
    for name in names:
        spectra = [run.spectra for run in runs if [*run.config["muon"]] == groups[name]]
        # (seeds, steps, layers, 4)
        measured = float64([[at[matrix.lower()] for at in steps] for steps in spectra])
        seeds = measured.mean(2)[..., field]
        band = [
            [float(f"{v:.4g}") for v in ends.tolist()]
            for ends in (seeds.mean(0), seeds.amin(0), seeds.amax(0))
        ]
        y.append(band[0])
        ranges.append(band[1:])
        now = [_metric(metric, ends[eighth]) for ends in band]
        told.append(
            f"{name} {now[0]} ({now[1]} to {now[2]})" if now[1] != now[2] else f"{name} {now[0]}"
        )
    step = eighth * int(length.replace(",", "")) // 8 if length == "1,200" else 18 * eighth
    return Expected(y=y, ranges=ranges, phrases=[f"Step {step}", *told])


def _metric(metric, v):
    digits = {"effective rank": 1, "quartile ratio": 2}.get(metric)
    return f"{fixed(100 * v, 1)} %" if digits is None else fixed(v, digits)


def _losses(source, gated):
    if source == "the paper, 160M":
        return {table1.row_name(g): [both[gated]] for g, both in PAPER_ROWS.items() if both[gated]}
    found = {}
    for run in sorted(recipe(source), key=lambda run: run.config["seed"]):
        if run.config["gated"] is gated and not run.failure:
            row = table1.row_name(run.config["muon"])
            found.setdefault(row, []).append(run.held_out[-1]["overall"])
    return found


def recipe(source):
    """The runs of a recipe; in the third, a row that a wider search bettered has that one's."""
    runs = recorded(RECIPES[source])
    if source != "3: both sides":
        return runs
    for run in recorded("table-1200-wide"):
        own = {key: run.config[key] for key in ("gated", "muon", "seed")}
        runs = [r for r in runs if any(r.config[key] != own[key] for key in own)] + [run]
    return runs


def table1_rows(x, row, source, kind):
    losses, name = _losses(source, kind == "gated"), row
    rows = [known for known in table1.ROW_NAMES if known in losses]
    adamw, muon = losses["all AdamW"], losses["all Muon"]
    shares = {
        known: [(a - v) / (a - m) for v, a, m in zip(losses[known], adamw, muon, strict=True)]
        for known in rows
    }
    gains = {known: [a - v for v, a in zip(losses[known], adamw, strict=True)] for known in rows}
    drawn = shares if _divisible(losses) else gains
    heights = list(range(1, len(rows) + 1))
    seeds = [[drawn[known][seed] for known in rows] for seed in range(len(adamw))]
    chosen = mean(drawn[name]) if name in rows else math.nan
    at = rows.index(name) + 1 if name in rows else 0
    return Expected(
        x=[[0, chosen], *seeds],
        y=[[at, at], *[heights] * len(seeds)],
        phrases=_row_told(name, losses, shares),
    )


def _divisible(losses):
    if len(losses["all AdamW"]) == 1:
        return True
    gap = paired_interval(losses["all AdamW"], losses["all Muon"])
    return gap.low >= gap.mean / 2


def _row_told(name, losses, shares):
    if name not in losses:
        return [f"{name} is not a row of this table."]
    phrases = [f"{name} ends at {fixed(mean(losses[name]), 3)} nats"]
    part = f"recovers {nearest(100 * mean(shares[name]))} % of the gap of "
    if len(losses[name]) == 1:
        gap = losses["all AdamW"][0] - losses["all Muon"][0]
        return [*phrases, f"{part}{fixed(gap, 3)}. This is one run."]
    gap = paired_interval(losses["all AdamW"], losses["all Muon"])
    size = f"{fixed(gap.mean, 3)} [{fixed(gap.low, 3)}, {fixed(gap.high, 3)}]"
    if not _divisible(losses):
        gain = mean(losses["all AdamW"]) - mean(losses[name])
        below = f"{fixed(abs(gain), 3)} nats {'above' if gain < 0 else 'below'} all AdamW"
        return [*phrases, below, f"No share is given: the gap of {size}"]
    low, high = nearest(100 * min(shares[name])), nearest(100 * max(shares[name]))
    return [*phrases, f"{part}{size}, from {low} % to {high} %"]


FOUR = ("AdamW", "everybody", "owners", "overlap")
BARS = {  # what the explorer calls the parts of `timeline`
    "forward": "forward",
    "backward": "backward",
    "Newton-Schulz": "Newton-Schulz",
    "gather": "gather weights",
    "reduce": "sum gradients",
    "momenta": "send momenta",
}
SIZE = {"160M": SIZES["paper"], "1B": GPT_1B, "70B": GPT_70B}
SIZE["8B"] = GPTConfig(vocab_size=50_304, context=4096, layers=32, width=4096, heads=32)


def step(x, model, gpus, sequences, cards, ways):
    """The package's bars; the shapes are counted from the model, not from a formula."""
    shape, P = SIZE[model], 2**gpus
    tokens, machine = P * 2**sequences * shape.context, Machine(cards=cards)
    counts = Counts(SIZE[model])
    found = {way: timeline(counts, tokens, shape.context, P, way, machine) for way in FOUR}
    shown = [way for way in FOUR if way != "everybody" or ways == "all four"]
    xs, ys = {name: [] for name in BARS}, {name: [] for name in BARS}
    for place, way in enumerate(shown):
        for bar in found[way]:
            xs[bar.name] += [1000 * bar.end, 1000 * bar.start, math.nan]
            row = 2 * (len(shown) - place) - (bar.lane == "links")
            ys[bar.name] += [row, row, math.nan]
    ms = {way: 1000 * ends(found[way]) for way in FOUR}
    more = {
        way: f"{significant(v - ms['AdamW'], 3)} ms "
        f"({significant(100 * (v - ms['AdamW']) / ms['AdamW'], 2)} %)"
        for way, v in ms.items()
    }
    phrases = [
        f"With AdamW a step takes {significant(ms['AdamW'], 3)} ms",
        f"Muon adds {more['everybody']} where everybody orthogonalizes all",
        f"{more['owners']} with owners",
        f"{more['overlap']} with overlap",
    ]
    return Expected([*ys.values()], phrases, [*xs.values()])


def breakeven(x, extra, saved):
    """A run of 100 steps in exact fractions; the line is found by bisection, not by formula."""

    def seconds(longer, fewer):
        return Fraction(100 + longer) * (100 - Fraction(fewer))  # AdamW's 100 steps of 100

    def needed(longer):
        return scipy.optimize.brentq(
            lambda fewer: float(seconds(longer, fewer) - 10_000), 0, 100, xtol=1e-12
        )

    ratio = seconds(extra, saved) / 10_000
    percent, way = fixed(float(100 * abs(ratio - 1)), 1), "longer" if ratio > 1 else "less long"
    phrases = [
        f"The run takes {'as long as' if ratio == 1 else f'{percent} % {way} than'} with AdamW",
        f"To be even, {needed(extra):.1f} % of the steps must be saved.",
    ]
    return Expected([[*map(needed, x[0])], [saved]], phrases, [x[0], [extra]])


def leadmap_data():
    """Made-up races: some alike, a lead below 0, and steps saved that could not be measured."""

    def made(number):
        tokens = (1024, 512, 1024, 8192)[number % 4]
        low, rare = 0.05 * (number - 1) + 1e-5 * tokens, (0.6, 1.3)[number % 3 == 0]
        lead, saved = ({"overall": v, "tail": rare * v} for v in (low, 0.9 * low))
        ends = {
            name: {part: [v, v - 0.01 * (1 + number % 2), v + 0.013] for part, v in found.items()}
            for name, found in (("lead", lead), ("saved", saved))
        }
        for part in {0: ("overall", "tail"), 4: ("tail",)}.get(number, ()):
            ends["saved"][part] = None
        steps = (100, 1200, 150, 800, 600)[number % 5]
        size = 589_824 * (1, 1, 1, 4, 18)[number % 5]
        name = f"race {'abcdefghijkl'[number]}, made up"
        study = {2: "race-1200", 9: "race-gpu"}.get(number, "made-up")
        sizes = {"size": size, "tokens": tokens, "steps": steps, "vocabulary": 512}
        return {"name": name, "study": study, **sizes, "n": 5 + number % 2, **ends}

    return {"races": [made(number) for number in range(12)]}


def leadmap(x, sort, measure, race):
    scale = {"tokens a step": "tokens", "size": "size", "steps": "steps"}[sort]
    key, times, digits, unit = {"nats": ("lead", 1, 3, "nats")}.get(measure, ("saved", 100, 1, "%"))
    order = (scale, "size", "tokens", "steps")
    races = sorted(leadmap_data()["races"], key=lambda one: [one[name] for name in order])
    logs = np.log10([one[scale] / (1e6 if scale == "size" else 1) for one in races])
    apart = np.arange(len(races)) * (logs[-1] - logs[0]) / 44
    places = 10 ** (scipy.optimize.isotonic_regression(logs - apart).x + apart)
    parts = {
        part: [[times * v for v in one[key][part] or [math.nan] * 3] for one in races]
        for part in ("overall", "tail")
    }
    means, low, high = ([[end[i] for end in parts[part]] for part in parts] for i in range(3))
    joined = [f(*means).tolist() for f in (np.minimum, np.maximum)]
    y = [means[0], [math.nan] * len(races), means[1]]
    ranges, phrases = [[low[0], high[0]], joined, [low[1], high[1]]], []

    def number(v):
        return fixed(v, digits).replace("-", "−")

    def told(ends):
        if math.isnan(ends[0]):
            return "not measured"
        return f"{number(ends[0])} {unit} [{number(ends[1])}, {number(ends[2])}]"

    if race:
        i = min(race, len(races)) - 1
        one = races[i]
        about = f"{one['tokens']:,} tokens a step, {one['steps']:,} steps, {one['n']} seeds"
        phrases += [
            f"R{one['name'][1:]} ({fixed(one['size'] / 1e6, 1)}M numbers, {about}): "
            f"all tokens {told(parts['overall'][i])}, rare tokens {told(parts['tail'][i])}."
        ]
    named = dict(zip((one["name"] for one in races), means[0], strict=True))
    named = {name: v for name, v in named.items() if not math.isnan(v)}
    words = ("Largest lead", "smallest") if unit == "nats" else ("Most saved", "fewest")
    most, least = (f(named, key=named.__getitem__) for f in (max, min))
    both = [rare > every for every, rare in zip(*means, strict=True) if every + rare > -math.inf]
    phrases += [
        f"{words[0]}: {most}, {number(named[most])} {unit}; "
        f"{words[1]}: {least}, {number(named[least])} {unit}.",
        f"In {sum(both)} of {len(both)} races",
    ]
    return Expected(y, phrases, [places.tolist()] * 3, ranges)


# fmt: off
ORACLES = {oracle.__name__: oracle for oracle in (
    circle, tenfacts, norms, polynomial, recall, zipf, onestep, manysteps, rows, trials, balls,
    facts, isotropy, step, breakeven, power, cobweb, frequencies, leadmap, logits,
)} | {"table1": table1_rows}
# fmt: on


def points(**columns):
    """Returns one point for each place of the columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


KINDS = ["not gated", "gated"]
WAYS = ["Muon", "AdamW", "SGD with momentum", "Muon(VO, FFN)", "Muon(QK)"]
WAYS += [f"AdamW, {which} slower" for which in ("QK", "VO and FFN", "all")]
GRADIENT = "gradient descent"
VALUE, DISTANCE, LINEAR, LOG = "the value", "its distance from 1", "linear", "logarithmic"
RECIPES = {
    "1: the paper's": "cpu",
    "2: two rates of AdamW": "cpu-retuned",
    "3: both sides": "table-1200",
}
TABLES = ["the paper, 160M", *RECIPES]
METRICS = ["effective rank", "top energy", "quartile ratio"]
POINTS = {
    "circle": points(
        long=[2.5, 1, 3, 1.0, 1.4], short=[0.5, 0.1, 0.1, 1.0, 0.8], turn=[30, 0, 180, 95, 135]
    ),
    "tenfacts": points(
        share=[90, 90, 10, 10, 95, 50],
        axes=["turned at random", "one for each fact"] * 3,
    ),
    "norms": points(angle=[20, 0, 360, 90, 130, 90], p=[10, 0, 20, 19, 1, 12]),
    "balls": points(around=[310, 0, 360, 45, 130, 90], height=[30, -90, 90, 45, -45, 0]),
    "polynomial": points(
        steps=[5, 0, 8, 1, 8, 3, 5, 8],
        a=[3.4445, 6, 1.5, 0, 6, 1.875, 3.4445, 1],
        b=[-4.775, 4, -0.5, -16, 4, -1.25, -4.775, 1],
        c=[2.0315, 12, 0, 12, -4, 0.375, 2.0315, 1],
        preset=["jordan", "custom", "cubic", "custom", "custom", "classical quintic"]
        + ["Polar Express"] * 2,
        show=[VALUE, DISTANCE, DISTANCE, *[VALUE] * 3, DISTANCE, VALUE],
        axis=[LINEAR, LINEAR, LOG, LINEAR, LOG, LINEAR, LOG, LOG],
    ),
    "cobweb": points(
        share=[0, 100, 120, 80, 100, 98],
        start=[0.05, 0.05, 0.3, 1, 1.2, 0.01],
        steps=[30, 60, 20, 60, 0, 7],
    ),
    "trials": points(
        steps=["150", "1,200", "1,200", "150", "1,200"],
        knob=[f"rate of the {x}" for x in ("matrices", "rest")]
        + [f"average of {x}" for x in ("the matrices", "the rest", "squares")],
        part=["overall", "head", "tail", "overall", "overall"],
        trials=[48, 32, 16, 1, 20],
    ),
    "recall": points(
        d=[24, 8, 48, 16, 24, 8],
        most=[4, 8, 1, 3, 4, 8],
        show=["share recalled"] * 4
        + [f"scores with {kind} keys" for kind in ("random", "orthogonal")],
    ),
    "frequencies": points(exponent=[1, 0, 2, 0, 2, 0.7], count=[16, 4, 16, 16, 4, 9]),
    "zipf": points(
        exponent=[1, 0, 2, 0, 0.75, 2],
        power=[12, 8, 16, 16, 10, 8],
        known=[40, 0, 100, 53, 1, 7],
    ),
    "onestep": points(
        alpha=[0.8, 0.8, 0.95, 0.4, 0.8, 0.95],
        L=[200, 200, 30, 330, 198, 31],
        optimizer=[GRADIENT, "Muon", GRADIENT, "Muon", *["SignGD"] * 2],
        turn=[0, 0, 1, 0.5, 1, 0.37],
    ),
    "manysteps": points(
        optimizer=[*["Muon"] * 3, *["normalized gradient descent"] * 2, *[GRADIENT] * 2],
        batch=[2, 0, 6, 2, 4, 6, 5],
        momentum=[0.95, 0, 0.5, 0.95, 0.3, 0, 0.98],
        step=[1, 0, 4, 2, 6, 10, 7],
    ),
    "facts": points(
        step=[50, 100, 200, 300, 400, 400, 400, 400, 100],
        first=[*WAYS, "AdamW"],
        second=[*WAYS[2:], *WAYS[:2], "AdamW"],
    ),
    "rows": points(
        rows=[48, 8, 64, 16, 8],
        columns=[16, 64, 8, 48, 8],
        spread=[1, 0, 2, 0.5, 1.5],
        steps=[5, 0, 8, 1, 5],
        factor=["Newton-Schulz"] * 4 + ["the exact polar factor"],
    ),
    "logits": points(norm=["Frobenius norm", "spectral norm"] * 3, height=[12, 12, 4, 4, 18, 18]),
    "power": points(
        effect=[0.04, 0.005, 0.2, 0.03, 0.1, 0.015],
        size=[0.0, 0.2, 0.04, 0.03, 0.05, 0.01],
        spread=[0.04, 0.2, 0.005, 0.04, 0.2, 0.005],
        seeds=[3, 30, 2, 15, 17, 2],
        show=["chance of the verdict", "half the width of the interval"] * 3,
    ),
    "step": points(
        model=["1B", "160M", "70B", "8B", "1B"],
        gpus=[3, 0, 10, 6, 10],
        sequences=[0, 6, 0, 2, 0],
        cards=[8, 1, 8, 2, 8],
        ways=["all four", 'without "everybody"'] * 2 + ["all four"],
    ),
    "breakeven": points(
        extra=[40, 0, 200, 25, 37, 3],
        saved=[10, 0, 70, 20, 61, 7],
    ),
    "leadmap": points(
        sort=["tokens a step", "size", "steps"] * 2,
        measure=["nats", "nats", "steps saved (%)"] * 2,
        race=[0, 14, 6, 3, 1, 9],
    ),
    "isotropy": points(
        length=["1,200", "150", "150", "1,200", "150", "1,200"],
        matrix=["Q", "K", "V", "O", "W_in", "W_out"],
        metric=[*METRICS, *METRICS],
        eighth=[0, 8, 5, 1, 8, 3],
        runs=["AdamW and Muon", "and Muon on VO and FFN"] * 3,
    ),
    "table1": [
        {"row": row, "source": source, "kind": kind}
        for row, (source, kind) in zip(
            table1.ROW_NAMES, cycle(product(TABLES, KINDS)), strict=False
        )
    ],
}
