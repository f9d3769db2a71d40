"""Studies that begin where the race at 1,200 steps ended, and two with tasks of their own.

Isotropy, which matrices, NorMuon, latent attention and experts, batches, regression, weight decay,
and a second training on code.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product
from typing import Any

from muonlab.studies import protocol
from muonlab.studies.protocol import (
    ADAMW_KNOBS,
    MUON_KNOBS,
    OUTER,
    RIVALS,
    best_with,
    knobs,
    near,
    partly,
)
from muonlab.studies.races import RACE
from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Phase, Place, cross
from muonlab.training.config import TrainConfig

# Does isotropy gain anything? First the treatments must treat: at AdamW's own setting, fresh noise,
# and the same random matrix at every step. Then each is tuned, from the best of AdamW or Muon.
NOISE = ("noisy_adam", "fixed_noise")


def equal_rates(at: Place) -> Grid:
    """Returns AdamW, and AdamW with either kind of noise, in one setting at five seeds."""
    adamw = RACE[1200].best(at)[0]
    noisy = [_instead(adamw, rule) for rule in NOISE]
    return cross([adamw, *noisy], seed=[1, 2, 3, 4, 5], spectra_every=150)


def doses(at: Place) -> Grid:
    """Returns AdamW at lower rates, and with as much of either noise as moves its spectra.

    Seed 1 chose the sizes (a quarter of the fixed noise gave about Muon's spectra there, and four
    times the fresh noise moved them), so it does not count.
    """
    adamw = RACE[1200].best(at)[0]
    rate = adamw.adamw_matrix_lr or adamw.adamw_lr
    slower = [replace(adamw, adamw_matrix_lr=rate / n) for n in (2, 4)]
    fresh, fixed = (_instead(adamw, rule) for rule in NOISE)
    settings = [*slower, replace(fixed, noise=0.25), replace(fresh, noise=4.0)]
    return cross(settings, seed=[2, 3, 4, 5, 6], spectra_every=150)


def _instead(adamw: TrainConfig, rule: str, rate: float | None = None) -> TrainConfig:
    lr = rate or adamw.adamw_matrix_lr or adamw.adamw_lr
    return replace(adamw, muon=ALL_GROUPS, rule=rule, lr=lr, adamw_matrix_lr=None)


def noise_and_flat(at: Place) -> Grid:
    """Returns where the search of each control begins."""
    adamw, muon, _ = RACE[1200].best(at)
    return [*(_instead(adamw, rule) for rule in NOISE), _instead(adamw, "flat_adam", muon.lr)]


ISOTROPY = near("isotropy", noise_and_flat, (8,))


def tuned_controls(at: Place) -> Grid:
    """Returns each control's best at ten seeds."""
    return cross(ISOTROPY.best(at), seed=[*range(1, 11)], spectra_every=150)


CONTROLS: dict[str, Phase] = {"isotropy-equal": equal_rates, "isotropy-doses": doses}
CONTROLS["isotropy"] = tuned_controls


# Which matrices need Muon, once everything is tuned? What Muon leaves stays with AdamW, at its best
# rate and first average; those of what it takes are tuned for every row, and at two settings of
# what all matrices share. AdamW's best and Muon's best differ there (β2 .993 and .907), and a row
# with Muon's alone would count the loss of AdamW's matrices under the other's β2 as Muon's.
SINGLES = tuple((group,) for group in ("QK", "VO", "V", "O", "FFN", "W_in", "W_out"))
FULL = (ALL_GROUPS, (), ("VO", "FFN"), ("O", "FFN"), *SINGLES)
GATED = (ALL_GROUPS, (), ("VO", "FFN"))


def both_ends(at: Place) -> Grid:
    """Returns the rows that carry the answer, and with gates the three that it hangs on, twice.

    Once with Muon's rate and average of embedding and head, and its β2, then with AdamW's.
    """
    adamw, muon, _ = RACE[1200].best(at)
    gates_and_rows = [(False, row) for row in FULL] + [(True, row) for row in GATED]
    rows = (
        replace(partly(muon, adamw, row), gated=gated, adamw_lr=end.adamw_lr, betas=end.betas)
        for end in (muon, adamw)
        for gated, row in gates_and_rows
    )
    return list(dict.fromkeys(rows))  # both ends might share their setting


def own_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the knobs of the matrices that a row is about."""
    return MUON_KNOBS if config.muon else ADAMW_KNOBS


TABLE = near("table-1200", both_ends, (4,), knobs=own_knobs, contest=("gated", "muon"))


def other_ends(at: Place) -> Grid:
    """Returns AdamW, O+FFN and all Muon with the ends and the β2 that they did not choose.

    The loss over all tokens chose them; on rare tokens alone another choice might be the better.
    """
    trials = replace(TABLE.tunings[0], contest=("gated", "muon", "betas")).best(at)
    rows = ((), ("O", "FFN"), ALL_GROUPS)
    left = [c for c in trials if not c.gated and c.muon in rows and c not in TABLE.best(at)]
    return cross(left, seed=[1, 2, 3, 4, 5], eval_every=150)


ENDS = {"table-1200-ends": other_ends}


# The four settings of a row lie near the best of Muon on all. Here each row that mixes the two
# searches the whole ranges, at those of the two common settings that it found the better.
def mixed(at: Place) -> Grid:
    """Returns the rows in which Muon takes some matrices, and AdamW the others."""
    return [c for c in TABLE.best(at) if not c.gated and 0 < len(c.muon) < len(ALL_GROUPS)]


WIDE = Search("table-1200-wide", mixed, (8,), own_knobs, ("muon",))


def better_when_wide(at: Place) -> Grid:
    """Returns, at five seeds, the rows for which the wide search found the lower loss."""
    near, [first], [wide] = TABLE.best(at), TABLE.tunings, WIDE.tunings
    better = [c for c in first.best(at, wide) if c not in near]
    return cross(better, seed=[1, 2, 3, 4, 5], eval_every=150)


# Does NorMuon gain more where it has more to do: one tall matrix for Q, K and V, and the neurons'
# side of w_out?
QKV = ("QKV", "O", "FFN")


def taller(at: Place) -> Grid:
    """Returns Muon and NorMuon on the tall matrix, and with it the neurons' side as well."""
    _, muon, normuon = RACE[1200].best(at)
    tall = [replace(c, fused_qkv=True, muon=QKV) for c in (muon, normuon)]
    return [*tall, replace(tall[1], rule="neurons")]


NORMUON = near("normuon", taller, (8, 8))

# Do four Newton-Schulz steps train as well as five? Both are tuned again, around Muon's best.
IN_FOUR_STEPS: dict[str, Any] = {"ns_coefficients": "four", "ns_steps": 4, "ns_norm": "schatten4"}


def five_and_four(at: Place) -> Grid:
    """Returns Muon of the race with five steps, and with four."""
    return [replace(RACE[1200].best(at)[1], **kind) for kind in ({}, IN_FOUR_STEPS)]


FEWER = near("four", five_and_four, (8,), contest=("ns_coefficients",))

# Latent attention, experts, or both: does Muon's lead change with the architecture? Each attention
# has its usual norms. If queries and the shared key were normed in latents as well, the position's
# part of a logit could not exceed p/√(h+p) = 2.3; in multi-head attention all of it can be 5.7.
CHANGES: list[dict[str, Any]] = [{"attention": "multi-head"}]
CHANGES += [{"attention": "latent", "qk_norm": False}]


def architectures(at: Place) -> Grid:
    """Returns AdamW and Muon of the race in each kind of model, half as long."""
    half = cross(RACE[1200].best(at)[:2], steps=600, eval_every=600)
    return [replace(c, **kind, experts=n) for c, kind, n in product(half, CHANGES, (0, 16))]


KIND = ("attention", "experts", "muon")
LATENT = near("latent-600", architectures, (8, 8, 8), contest=KIND, runoff=3)

# Batches: the same tokens in fewer steps, or the same steps with more tokens. After two rounds a
# reader found AdamW far better at the race's settings: the third looks around them, for both.
PLANS = {(8, 1600): 1200, (8, 100): 150, (128, 100): 150}  # (batch, steps): steps of that race


def planned(best_for: Callable[[int], Grid]) -> Grid:
    """Returns AdamW and Muon for each batch and length, of the settings found for some steps."""
    best = {race: best_for(race)[:2] for race in {*PLANS.values()}}
    plans = (cross(best[race], batch=b, steps=n, eval_every=n) for (b, n), race in PLANS.items())
    return [*chain(*plans)]


BATCH = Search(
    "batch",
    planned(protocol.sides),
    (8, 8, 8, 8, 8, 8),
    knobs,
    ("batch", "steps", "muon"),
    around=("all", "best", lambda at: planned(lambda steps: RACE[steps].best(at))),
    runoff=3,  # seed 0 alone chose for AdamW, by 0.003 nats, a setting 0.09 worse at other seeds
)


# A task without head or tail, long enough to be learned: linear regression in context.
LINEAR = TrainConfig(
    corpus="regression-4", steps=600, batch=16, context=20, eval_every=600, eval_tokens=20_480
)
REGRESSION_OUTER = (Knob("adamw_lr", 0.001, 0.016), *OUTER[1:])
LINEAR_ADAMW = replace(LINEAR, muon=(), adamw_matrix_lr=0.0005, adamw_matrix_beta1=0.9)


def regression_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs; AdamW's rates are lower than on text."""
    adamw = (Knob("adamw_matrix_lr", 0.000125, 0.002), ADAMW_KNOBS[1])
    return (MUON_KNOBS if config.muon else adamw) + REGRESSION_OUTER


IN_CONTEXT = Search("regression-600", [LINEAR_ADAMW, LINEAR], (16, 8, 8), regression_knobs, RIVALS)


def routes(at: Place) -> Grid:
    """Returns Muon on QK, and on VO and FFN, from what two rounds of each found."""
    adamw, muon = IN_CONTEXT.best(at, 2)
    return [partly(muon, adamw, groups) for groups in (("QK",), ("VO", "FFN"))]


ROUTES = Search("regression-600-routes", routes, (16, 8, 8), regression_knobs, RIVALS)


# Weight decay, with the same product of rate and decay for either optimizer: three strengths, five
# seeds each; without decay it is the race.
DECAYED = best_with(
    RACE[1200], matrix_decay=[1e-4, 3e-4, 1e-3], eval_every=150, seed=[1, 2, 3, 4, 5]
)

# Would tuned decay help either? It is a sixth number of both, near what did no harm above.
DECAY = Knob("matrix_decay", 2e-5, 2e-3)
SOME_DECAY = best_with(RACE[1200], matrix_decay=2e-4)
DECAYING = near("decay-tuned", SOME_DECAY, (8,), knobs=lambda config: (*knobs(config), DECAY))


# Does the optimizer that pretrained a model matter for the one that moves it on to code?
ON_CODE = {"corpus": "code-512", "pretraining": 1200, "steps": 300, "eval_every": 300}


def movers(at: Place) -> Grid:
    """Returns both optimizers on the models of both, at a quarter of the rates of the race."""
    adamw, muon, _ = cross(RACE[1200].best(at), **ON_CODE)
    rates_of = {adamw: ("adamw_lr", "adamw_matrix_lr"), muon: ("adamw_lr", "lr")}
    slower = [replace(c, **{n: getattr(c, n) / 4 for n in names}) for c, names in rates_of.items()]
    return cross(slower, pretrained_by=["AdamW", "Muon"])


def mover_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs, with a quarter of the rates."""
    return tuple(
        knob if knob.average else replace(knob, low=knob.low / 4, high=knob.high / 4)
        for knob in knobs(config)
    )


MOVING = Search("finetuning", movers, (16, 8, 8, 8, 8), mover_knobs, ("pretrained_by", "muon"))

ON_TEXT = (ISOTROPY, TABLE, WIDE, NORMUON, LATENT, BATCH, FEWER)
FURTHER = (IN_CONTEXT, ROUTES, MOVING, DECAYING)
