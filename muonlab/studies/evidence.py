"""The studies that judge Muon against AdamW: both sides tuned alike, at the length that is judged.

The protocol, everywhere: a pilot of AdamW alone has chosen the model and the text (`PILOT`). Each
contestant has the same knobs, with as many trials at the same points of its ranges, at seed 0,
which never counts (`sweeps.search`). Then the best of each runs at the seeds 1, 2, …, whose number
was fixed before. Every run ends with its rates decayed to 0.
"""

from dataclasses import replace
from itertools import product
from typing import Any

from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.results import by_config, read_runs
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Place, Study, Tuning, badness, cross
from muonlab.training.config import TrainConfig

# Which setting tells two optimizers apart best, for an hour of computing? AdamW alone answers, so
# that the answer cannot favour a side. Each run reads 1.2 million tokens.
PILOT = TrainConfig(muon=(), adamw_lr=0.04, adamw_matrix_lr=0.002, steps=1200, eval_tokens=65_536)


def pilot(at: Place) -> Grid:
    """Returns five seeds of each setting: smaller vocabularies, a larger batch, a wider model."""
    kinds = cross(PILOT, corpus=["docs-1024", "docs", "docs-512"], eval_every=1200)
    kinds += cross(PILOT, corpus="docs-1024", steps=600, batch=32, eval_every=600)
    kinds += cross(PILOT, corpus="docs-1024", size="wide", eval_every=1200)
    return [c for kind in kinds for c in cross(kind, seed=[1, 2, 3, 4, 5])]


# The least scatter for an hour of computing: in the pilot, AdamW's loss has a standard deviation
# over seeds of 0.003 nats with 512 tokens, of 0.010 with 1,024, of 0.026 with 4,096. Whether that
# choice makes the answer is asked in `VOCABULARY`.
SETTING = TrainConfig(corpus="docs-512", batch=16, context=64, eval_tokens=65_536)
SEEDS = {150: 10, 1200: 10, 4800: 5}  # by steps; fixed before any final run
MATTERS = 0.02  # nats a token, shares of people, squared error; fixed before any final run

# Every range spans a factor: 16 for a rate, 25 for what an average leaves to the new, 40 for the
# average of squares.
OUTER = (
    Knob("adamw_lr", 0.01, 0.16),
    Knob("betas.0", 0.02, 0.5, average=True),
    Knob("betas.1", 0.005, 0.2, average=True),
)
ADAMW = (
    Knob("adamw_matrix_lr", 0.0005, 0.008),
    Knob("adamw_matrix_beta1", 0.02, 0.5, average=True),
)
MUON = (Knob("lr", 0.00125, 0.02), Knob("momentum", 0.02, 0.5, average=True))


def knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs of a contestant: rate and first average, of matrices and ends; β2."""
    return (MUON if config.muon else ADAMW) + OUTER


def sides(steps: int) -> Grid:
    """Returns AdamW, Muon and NorMuon."""
    base = replace(SETTING, steps=steps, eval_every=steps)
    own: list[dict[str, Any]] = [
        {"muon": (), "adamw_matrix_lr": 0.002, "adamw_matrix_beta1": 0.9},
        {"muon": ALL_GROUPS},
        {"muon": ALL_GROUPS, "rule": "normuon"},
    ]
    return [replace(base, **one) for one in own]


RIVALS = ("muon", "rule")


def found_since(at: Place) -> Grid:
    """Returns the best of each at 150 steps, of two rounds of the race and of the map of averages.

    The map has beaten AdamW's two rounds, so the third looks around what is lowest anywhere.
    """
    first = RACE[150]
    phases = (*first.tunings[:2], KNOBS)
    runs = by_config(run for phase in phases for run in read_runs(at.path(phase.name)))
    mapped = [c for c in KNOBS.best(at) if c.steps == 150]
    best = {first.tunings[0].contestant(c): c for c in first.best(at, 2)}
    for who, config in best.items():
        own = [c for c in mapped if first.tunings[0].contestant(c) == who]
        best[who] = min(config, *own, key=lambda c: badness(runs[c])) if own else config
    return [c if c.muon or c.adamw_matrix_beta1 else _apart(c) for c in best.values()]


def _apart(adamw: TrainConfig) -> TrainConfig:
    return replace(adamw, adamw_matrix_beta1=adamw.betas[0])  # a knob must hold a number


# At 1,200 steps the second round still lowered AdamW's loss by 0.02, so all have a third.
RACE = {
    150: Search("race-150", sides(150), knobs, RIVALS, rounds=(16, 16, 16), last=found_since),
    1200: Search("race-1200", sides(1200), knobs, RIVALS, rounds=(16, 8, 8)),
}
RACE[4800] = Search(
    "race-4800",
    lambda at: cross(RACE[1200].best(at)[:2], steps=4800, eval_every=4800),
    knobs,
    RIVALS,
    rounds=(8,),
    near=True,
)


def memories(steps: int) -> Search:
    """Returns the search for Muon on VO and FFN: Q and K stay with AdamW, at its best setting."""

    def side(at: Place) -> Grid:
        adamw, muon, *_ = RACE[steps].best(at)
        return [partly(muon, adamw, ("VO", "FFN"))]

    first = RACE[steps]
    return Search(f"{first.name}-vo-ffn", side, knobs, RIVALS, first.rounds, first.near)


MEMORIES = {steps: memories(steps) for steps in RACE}


def race(steps: int) -> Study:
    """Returns the race of AdamW, Muon, Muon on VO and FFN, and (but at 4,800 steps) NorMuon."""

    def finals(at: Place) -> Grid:
        found = RACE[steps].best(at) + MEMORIES[steps].best(at)
        seeds = range(1, SEEDS[steps] + 1)
        often = steps // 8
        return [
            replace(c, seed=s, eval_every=often, spectra_every=often) for s in seeds for c in found
        ]

    before = RACE[1200].tunings if steps != 1200 else ()
    own = RACE[steps].tunings
    own = (*own[:2], *before, KNOBS, own[2]) if steps == 150 else before + own
    return Study(own + MEMORIES[steps].tunings, {f"race-{steps}": finals})


# Would rates of their own for QK, VO, w_in and w_out help? Four factors for either optimizer.
FACTORS = tuple(Knob(f"matrix_lr_factors.{n}", 0.25, 4) for n in range(4))
RATES = Search(
    "rates-1200", lambda at: RACE[1200].best(at)[:2], lambda c: FACTORS, RIVALS, rounds=(8,)
)

# Who wins where, as a map: AdamW by its first average, Muon by its momentum, three lengths. At each
# place the rate of the matrices is tuned again. AdamW's average is the same for all its parameters,
# as people set it; what else the two have is the best of the race.
AVERAGES = (0.5, 0.8, 0.9, 0.95)
TUNED_AT = {150: (150, 2), 600: (1200, 3), 1200: (1200, 3)}  # length: a race's, and its rounds


def places(at: Place) -> Grid:
    """Returns three rates for each average, optimizer and length."""
    found: Grid = []
    for steps, (tuned, rounds) in TUNED_AT.items():
        adamw, muon, _ = cross(RACE[tuned].best(at, rounds), steps=steps, eval_every=steps)
        for average, factor in product(AVERAGES, (0.5, 1, 2)):
            rate = adamw.adamw_matrix_lr or adamw.adamw_lr
            betas = (average, adamw.betas[1])
            adamw = replace(adamw, betas=betas, adamw_matrix_beta1=None)
            found.append(replace(adamw, adamw_matrix_lr=rate * factor))
            found.append(replace(muon, momentum=average, lr=muon.lr * factor))
    return found


KNOBS = Tuning("knobs-tuning", places, ("steps", "muon", "betas", "momentum"))

# Does isotropy gain anything? First the treatments must treat: at AdamW's own setting, fresh noise,
# and the same random matrix at every step. Then each is tuned, from the best of AdamW or Muon.
NOISE = ("noisy_adam", "fixed_noise")


def equal_rates(at: Place) -> Grid:
    """Returns AdamW, and AdamW with either kind of noise, in one setting at five seeds."""
    adamw = RACE[1200].best(at)[0]
    noisy = [_instead(adamw, rule, adamw.adamw_matrix_lr) for rule in NOISE]
    return cross([adamw, *noisy], seed=[1, 2, 3, 4, 5], spectra_every=150)


def doses(at: Place) -> Grid:
    """Returns AdamW at lower rates, and with as much of either noise as moves its spectra.

    Seed 1 chose the sizes (a quarter of the fixed noise gave about Muon's spectra there, and four
    times the fresh noise moved them), so it does not count.
    """
    adamw = RACE[1200].best(at)[0]
    rate = adamw.adamw_matrix_lr or adamw.adamw_lr
    slower = [replace(adamw, adamw_matrix_lr=rate / n) for n in (2, 4)]
    fresh, fixed = (_instead(adamw, rule, rate) for rule in NOISE)
    told = [*slower, replace(fixed, noise=0.25), replace(fresh, noise=4.0)]
    return cross(told, seed=[2, 3, 4, 5, 6], spectra_every=150)


def _instead(adamw: TrainConfig, rule: str, rate: float | None) -> TrainConfig:
    lr = rate or adamw.adamw_lr
    return replace(adamw, muon=ALL_GROUPS, rule=rule, lr=lr, adamw_matrix_lr=None)


def controls(at: Place) -> Grid:
    """Returns where the search of each control begins."""
    adamw, muon, _ = RACE[1200].best(at)
    noisy = [_instead(adamw, rule, adamw.adamw_matrix_lr) for rule in NOISE]
    return [*noisy, _instead(adamw, "flat_adam", muon.lr)]


def control_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs of a control: as many as Muon and AdamW have."""
    rate = MUON[0] if config.rule == "flat_adam" else replace(ADAMW[0], fields="lr")
    return (rate, ADAMW[1], *OUTER)


ISOTROPY = Search("isotropy", controls, control_knobs, RIVALS, rounds=(8,), near=True)

# Which matrices need Muon, once everything is tuned? What Muon leaves stays with AdamW, at its best
# setting; rate and first average of what it takes are tuned for every row.
SINGLES = tuple((group,) for group in ("QK", "VO", "V", "O", "FFN", "W_in", "W_out"))
FULL = (ALL_GROUPS, (), ("VO", "FFN"), ("O", "FFN"), *SINGLES)
GATED = (ALL_GROUPS, (), ("VO", "FFN"))


def table(at: Place) -> Grid:
    """Returns the rows that carry the answer, and with gates the three that it hangs on."""
    adamw, muon, _ = RACE[1200].best(at)
    wanted = [(False, row) for row in FULL] + [(True, row) for row in GATED]
    return [replace(partly(muon, adamw, row), gated=gated) for gated, row in wanted]


def partly(muon: TrainConfig, adamw: TrainConfig, groups: tuple[str, ...]) -> TrainConfig:
    """Returns Muon on some groups; the other matrices have AdamW's own setting."""
    kept = {name: getattr(adamw, name) for name in ("adamw_matrix_lr", "adamw_matrix_beta1")}
    return replace(muon, muon=groups, **kept) if groups else adamw


TABLE = Search(
    "table-1200",
    table,
    lambda c: MUON if c.muon else ADAMW,
    ("gated", "muon"),
    rounds=(4,),
    near=True,
)

# Does NorMuon gain more where it has more to do: one tall matrix for Q, K and V, and the neurons'
# side of w_out?
QKV = ("QKV", "O", "FFN")


def taller(at: Place) -> Grid:
    """Returns Muon and NorMuon on the tall matrix, and with it the neurons' side as well."""
    _, muon, normuon = RACE[1200].best(at)
    tall = [replace(c, fused_qkv=True, muon=QKV) for c in (muon, normuon)]
    return [*tall, replace(tall[1], rule="neurons")]


NORMUON = Search("normuon", taller, knobs, ("muon", "rule"), rounds=(8,), near=True)

# Latent attention, experts, or both: does Muon's lead change with the architecture?
PARTS = {"attention": ["multi-head", "latent"], "experts": [0, 16]}
LATENT = Search(
    "latent-600",
    lambda at: cross(cross(RACE[1200].best(at)[:2], steps=600, eval_every=600), **PARTS),
    knobs,
    ("attention", "experts", "muon"),
    rounds=(8,),
    near=True,
)

# Batches: the same tokens in fewer steps, or the same steps with more tokens.
LENGTHS = {8: (1600, 100), 128: (100,)}  # steps, by sequences in a batch
BATCH = Search(
    "batch",
    [
        replace(side, batch=batch, steps=steps, eval_every=steps)
        for batch, lengths in LENGTHS.items()
        for steps in lengths
        for side in sides(steps)[:2]
    ],
    knobs,
    ("batch", "steps", "muon"),
    rounds=(8, 8),
)

# Who learns the rare facts? AdamW with one rate; AdamW with a lower one for some matrices; Muon on
# the same matrices; SGD on all.
FACTS = TrainConfig(corpus="facts-9", batch=16, context=64, adamw_lr=0.016, muon=())
SHARED = (Knob("adamw_lr", 0.004, 0.064), Knob("betas.0", 0.02, 0.5, average=True))
MEMORY = {("QK",): (0,), ("VO", "FFN"): (1, 2, 3), ALL_GROUPS: (0, 1, 2, 3)}  # their factors
LOWER = 1 / 16


def learners(steps: int) -> Grid:
    """Returns the eight contestants."""
    base = replace(FACTS, steps=steps, eval_every=steps)
    apart = replace(base, adamw_matrix_beta1=0.9)
    low = cross(
        apart,
        matrix_lr_factors=[
            tuple(LOWER if n in own else 1.0 for n in range(4)) for own in MEMORY.values()
        ],
    )
    sgd = replace(base, muon=ALL_GROUPS, rule="sgd", lr=5.0)
    return [base, *low, *cross(base, muon=list(MEMORY)), sgd]


def whose(config: TrainConfig) -> tuple[Any, ...]:
    """Returns a contestant: what Muon or SGD takes, and where AdamW's rate is another."""
    own = tuple(n for n, factor in enumerate(config.matrix_lr_factors) if factor != 1)
    return config.corpus, config.muon, config.rule, own


def learner_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns four knobs: two rates, two first averages; the rate and average of AdamW alone."""
    own = whose(config)[-1]
    if config.muon:
        rate = Knob("lr", 0.5, 50) if config.rule == "sgd" else MUON[0]
        return (*SHARED, rate, MUON[1])
    factors = " ".join(f"matrix_lr_factors.{n}" for n in MEMORY[ALL_GROUPS] if n in own)
    return (*SHARED, Knob(factors, 1 / 128, 1 / 2), ADAMW[1]) if factors else SHARED


# After two rounds the best rate of VO and FFN lay in the outer tenth of its range, under either
# optimizer, so all have a third.
FACTS_400 = Search("facts-400", learners(400), learner_knobs, whose, rounds=(8, 8, 8))


def rate_alone(at: Place) -> Grid:
    """Returns AdamW with one rate, at its best, but VO and FFN have the lower rate: five seeds."""
    one, _, lower, *_ = FACTS_400.best(at)
    told = replace(one, matrix_lr_factors=lower.matrix_lr_factors, eval_every=50)
    return cross(told, seed=[1, 2, 3, 4, 5])


# Of the learners: AdamW with one rate; AdamW slower, and Muon, on VO and FFN and on all. A first
# round ended at edges of their ranges, on both sides, so a second goes on from there.
LONGER = (0, 2, 3, 5, 6)
FACTS_1200 = Search(
    "facts-1200",
    lambda at: cross([FACTS_400.best(at)[n] for n in LONGER], steps=1200, eval_every=1200),
    learner_knobs,
    whose,
    rounds=(8, 8),
    near=True,
)


def imbalances(at: Place) -> Grid:
    """Returns AdamW with one rate, with two, and Muon, where frequencies fall as rank^-s."""
    found = FACTS_400.best(at)
    return cross(
        [found[n] for n in (0, 2, 5)], corpus=[f"facts-9-zipf{s}" for s in ("0", "0.5", "1.5")]
    )


IMBALANCE = Search("imbalance", imbalances, learner_knobs, whose, rounds=(8,), near=True)

# A task without head or tail, long enough to be learned: linear regression in context.
REGRESSION = TrainConfig(
    corpus="regression-4", steps=600, batch=16, context=20, eval_every=600, eval_tokens=20_480
)
REGRESSION_OUTER = (Knob("adamw_lr", 0.001, 0.016), *OUTER[1:])
REGRESSION_SIDES = [
    replace(REGRESSION, muon=(), adamw_matrix_lr=0.0005, adamw_matrix_beta1=0.9),
    REGRESSION,
]


def regression_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs, with lower rates than on text."""
    adamw = (Knob("adamw_matrix_lr", 0.000125, 0.002), ADAMW[1])
    return (MUON if config.muon else adamw) + REGRESSION_OUTER


IN_CONTEXT = Search("regression-600", REGRESSION_SIDES, regression_knobs, RIVALS)


def routes(at: Place) -> Grid:
    """Returns Muon on QK, and on VO and FFN."""
    adamw, muon = IN_CONTEXT.best(at)
    return [partly(muon, adamw, groups) for groups in (("QK",), ("VO", "FFN"))]


ROUTES = Search("regression-600-routes", routes, regression_knobs, RIVALS)


# Does the vocabulary, which the pilot chose, make the answer? In a larger one the tail is rarer.
VOCABULARY = Search(
    "vocabulary-1200",
    lambda at: cross(RACE[1200].best(at)[:2], corpus="docs"),
    knobs,
    RIVALS,
    rounds=(8,),
    near=True,
)


# Weight decay, with the same product of rate and decay for either optimizer.
def decayed(at: Place) -> Grid:
    """Returns AdamW and Muon at three strengths, five seeds each; without decay it is the race."""
    found = cross(RACE[1200].best(at)[:2], matrix_decay=[1e-4, 3e-4, 1e-3], eval_every=150)
    return cross(found, seed=[1, 2, 3, 4, 5])


# Does the optimizer that pretrained a model matter for the one that moves it on to code?
MOVED = {"corpus": "code-512", "pretraining": 1200, "steps": 300, "eval_every": 300}


def movers(at: Place) -> Grid:
    """Returns both optimizers on the models of both, at a quarter of the rates of the race."""
    adamw, muon, _ = cross(RACE[1200].best(at), **MOVED)
    slower = [
        _slower(adamw, "adamw_lr", "adamw_matrix_lr"),
        _slower(muon, "adamw_lr", "lr"),
    ]
    return cross(slower, pretrained_by=["AdamW", "Muon"])


def _slower(config: TrainConfig, *rates: str) -> TrainConfig:
    return replace(config, **{rate: getattr(config, rate) / 4 for rate in rates})


def mover_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs, with a quarter of the rates."""
    return tuple(
        knob if knob.average else replace(knob, low=knob.low / 4, high=knob.high / 4)
        for knob in knobs(config)
    )


MOVING = Search("finetuning", movers, mover_knobs, ("pretrained_by", "muon"))


def knobs_of(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the knobs of any setting: those of the study above that has its task or its rule.

    Where Muon takes some matrices only, AdamW's rate and average of the others come on top.
    """
    if config.rule in (*NOISE, "flat_adam") and config.muon:
        return control_knobs(config)
    if config.corpus.startswith("facts"):
        return learner_knobs(config)
    own = regression_knobs if config.corpus.startswith("regression") else knobs
    partial = bool(config.muon) and {*config.muon} != {*ALL_GROUPS}
    return own(config) + own(replace(config, muon=()))[:2] * partial


def rates_of(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the rates among them."""
    return tuple(knob for knob in knobs_of(config) if not knob.average)


def tuned(*searches: Search, seeds: int, before: tuple[Search, ...] = ()) -> Study:
    """Returns a study: searches, and the best of each at new seeds, measured eight times."""
    name = searches[0].name

    def finals(at: Place) -> Grid:
        found = [c for search in searches for c in search.best(at)]
        return [
            replace(c, seed=seed, eval_every=c.steps // 8)
            for seed in range(1, seeds + 1)
            for c in found
        ]

    tunings = tuple(t for search in (*before, *searches) for t in search.tunings)
    return Study(tunings, {name: finals})


FIRST = (RACE[1200],)
SEARCHES = {
    search.name: search
    for search in (
        *(
            *RACE.values(),
            *MEMORIES.values(),
            RATES,
            ISOTROPY,
            VOCABULARY,
            TABLE,
            NORMUON,
            LATENT,
            BATCH,
        ),
        *(FACTS_400, FACTS_1200, IMBALANCE, IN_CONTEXT, ROUTES, MOVING),
    )
}
EVIDENCE = {
    "pilot": Study((), {"pilot": pilot}),
    **{f"race-{steps}": race(steps) for steps in RACE},
    "rates-1200": tuned(RATES, seeds=10, before=FIRST),
    "knobs": Study((*RACE[150].tunings[:2], *RACE[1200].tunings, KNOBS), {"knobs": 3}),
    "isotropy": Study(
        (*RACE[1200].tunings, *ISOTROPY.tunings),
        {
            "isotropy-equal": equal_rates,
            "isotropy-doses": doses,
            "isotropy": ISOTROPY.at_new_seeds(10, spectra_every=150),
        },
    ),
    "vocabulary-1200": tuned(VOCABULARY, seeds=5, before=FIRST),
    "table-1200": tuned(TABLE, seeds=5, before=FIRST),
    "normuon": tuned(NORMUON, seeds=10, before=FIRST),
    "latent-600": tuned(LATENT, seeds=5, before=FIRST),
    "batch": tuned(BATCH, seeds=6),
    "facts-400": Study(
        FACTS_400.tunings,
        {**tuned(FACTS_400, seeds=5).finals, "facts-400-rate": rate_alone},
    ),
    "facts-1200": tuned(FACTS_1200, seeds=5, before=(FACTS_400,)),
    "imbalance": tuned(IMBALANCE, seeds=5, before=(FACTS_400,)),
    "decay-1200": Study(RACE[1200].tunings, {"decay-1200": decayed}),
    "regression-600": tuned(IN_CONTEXT, ROUTES, seeds=10),
    "finetuning": tuned(MOVING, seeds=10, before=FIRST),
}
