"""Hypotheses: stated before, unchanged after, and judged on whole records only."""

import dataclasses
import hashlib
import inspect
import json
from dataclasses import replace

import numpy
import pytest
import scipy

from muonlab.records.record import Record, append
from muonlab.statistics import Interval, contrast, paired_interval
from muonlab.studies.evidence import knobs_of, rates_of
from muonlab.studies.hypothesis import Hypothesis, state
from muonlab.studies.verdicts import Finding, judge
from muonlab.sweeps.study import Place
from muonlab.training.config import TrainConfig

MUON, ADAMW = {"muon": ("VO",)}, {"muon": ()}
VO = Hypothesis(MUON, ADAMW, by=0.05)


def made(config, loss):
    held_out = [{"step": 2, "overall": loss, "head": loss - 1, "middle": loss, "tail": None}]
    where = {"command": config.command(), "utc": "2026-01-02T00:00:00+00:00", "code": "abc"}
    return Record(dataclasses.asdict(config), [9.0, 8.0], [1.0, 1.0], held_out, 2048, where)


def run(groups, seed, loss, **changes):
    return made(TrainConfig(muon=groups, seed=seed, **{"steps": 2} | changes), loss)


def runs_of(sides, **changes):
    """The runs of each side at the seeds 0, 1, …, from their losses."""
    return [run(side, n, x, **changes) for side, xs in sides.items() for n, x in enumerate(xs)]


PAIRS = runs_of({("VO",): (1.0, 1.1), (): (1.2, 1.4)})


# --- what runs say about it ----------------------------------------------------------------------


def test_a_finding_pairs_the_seeds_whatever_the_order_of_the_records():
    finding = judge(VO, [*reversed(PAIRS), *runs_of({("QK",): (3.0,)})])
    assert (finding.seeds, finding.better, finding.than) == ((0, 1), (1.0, 1.1), (1.2, 1.4))
    assert finding.leads == pytest.approx([0.2, 0.3])
    assert finding.interval == paired_interval((1.2, 1.4), (1.0, 1.1))
    assert finding.verdict == "cannot tell"
    whole = [made(TrainConfig(seed=s, matrix_lr_factors=(2.0, 1, 1, 1), lr=1), s) for s in (0, 1)]
    ones = [made(TrainConfig(seed=s, lr=(1, 1.0)[s]), s + 1) for s in (0, 1)]
    sides = ({"matrix_lr_factors": factors} for factors in ((2, 1, 1, 1), (1, 1, 1, 1)))
    assert judge(Hypothesis(*sides), whole + ones).leads == [1, 1], "2 is 2.0"
    head = judge(replace(VO, metric="head"), PAIRS)
    assert head.better == pytest.approx((0.0, 0.1))


@pytest.mark.parametrize(
    ("low", "high", "by", "verdict"),
    [
        (0.02, 0.03, 0.02, "supported"),
        (-0.01, 0.03, 0.0, "cannot tell"),
        (0.0, 0.0, 0.0, "cannot tell"),  # equal at all seeds
        (0.01, 0.02, 0.02, "cannot tell"),
        (0.01, 0.03, 0.04, "refuted"),
        (-0.019, 0.03, -0.02, "supported"),  # no worse than by so much
        (-0.021, 0.03, -0.02, "cannot tell"),
        (-0.08, -0.03, -0.02, "refuted"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(low, high, by, verdict, monkeypatch):
    monkeypatch.setattr(Finding, "interval", Interval((low + high) / 2, low, high, 5))
    assert Finding(replace(VO, by=by), (), (), ()).verdict == verdict


def test_more_is_better_for_accuracy_alone():
    runs = runs_of({("VO",): (1.0, 1.1), (): (1.2, 1.4)}, corpus="facts-9")
    for run in runs:
        run.held_out[-1]["accuracy"] = [0.5, 2 - run.held_out[-1]["overall"]]
    facts = replace(VO, shared={"corpus": "facts-9"}, metric="accuracy 1")
    assert judge(facts, runs).leads == pytest.approx([0.2, 0.3])
    with pytest.raises(ValueError, match="accuracy 2 of a run on facts-9 must be a number"):
        judge(replace(facts, metric="accuracy 2"), runs)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (PAIRS[:3], r"only some of Muon\(VO\) and AdamW have been run at seed 1:"),
        ([*PAIRS, *runs_of({(): (1.3,)}, gated=True)], "AdamW has several settings of gated"),
        ([*PAIRS[:3], replace(PAIRS[3], failure="at step 1")], r"failed at seed 1 \(at step 1\)"),
        (
            [*PAIRS[:2], *runs_of({(): (1.2, 1.4)}, steps=9, corpus="code")],
            r"Muon\(VO\) and AdamW differ in corpus, steps, which nobody has named",
        ),
        (
            [replace(run, provenance={"corpus_sha256": f"{run.config['muon']}"}) for run in PAIRS],
            "differ in corpus_sha256",  # as after an update of a package that docs reads
        ),
    ],
)
def test_records_that_cannot_answer_are_named(runs, says):
    with pytest.raises(ValueError, match=says):
        judge(VO, runs)


def half_way(record):
    return record.train_loss[0]


def half_way_up(record):
    return -record.train_loss[0]


def no_number(record):
    return "low"


def test_a_metric_of_your_own_is_stated_with_its_text(tmp_path):
    asked = replace(VO, metric=half_way)
    runs = [replace(run, train_loss=[float(n), 0.0]) for n, run in enumerate(PAIRS)]
    finding = judge(asked, runs)
    assert finding.leads == [2.0, 2.0]
    assert finding.word == "Muon(VO) leads"
    first = state(asked, tmp_path)
    fields = json.loads((tmp_path / "hypothesis.json").read_text())
    assert fields["metric"] == {"half_way": inspect.getsource(half_way)}
    append(PAIRS[0], first.runs)
    assert state(asked, tmp_path) == first
    with pytest.raises(ValueError, match=r"made for: .*half_way.* cannot become: .*half_way_up"):
        state(replace(VO, metric=half_way_up), tmp_path)
    assert len({asked.id, VO.id, replace(VO, metric=half_way_up).id}) == 3
    with pytest.raises(ValueError, match="no_number of a run on docs must be a number, got 'low'"):
        judge(replace(VO, metric=no_number), runs)


# --- what can be asked ---------------------------------------------------------------------------


def test_what_only_one_side_names_has_its_default_in_the_other():
    asked = Hypothesis({"rule": "normuon"}, {"steps": 300}, shared={"muon": ["VO"]})
    assert asked.better == {"rule": "normuon", "steps": 200}
    assert asked.than == {"rule": "muon", "steps": 300}
    assert asked.shared == {"muon": ("VO",)}
    assert asked.names == ("NorMuon(VO) with steps=200", "Muon(VO) with steps=300")
    first, second = asked.sides()
    assert (first.rule, second.rule, first.steps, second.steps) == ("normuon", "muon", 200, 300)


LOWER = {"momentum": 0.8}
FEW, MANY = {"batch": 128, "steps": 100}, {"batch": 8, "steps": 1600}


@pytest.mark.parametrize(
    ("sides", "fields", "says"),
    [
        ((LOWER, {}), {"by": 0.1, "metric": "tail"}, "0.1 nats below Muon with momentum=0.95"),
        (
            (LOWER, {}),
            {"by": 0.1, "metric": "accuracy 9", "shared": {"corpus": "facts-9"}},
            "at least 0.1 of accuracy above Muon with momentum=0.95 (accuracy 9,",
        ),
        ((LOWER, {}), {"by": 0.1, "shared": {"corpus": "regression-4"}}, "0.1 of squared error"),
        ((MUON, ADAMW), {"by": 0.1, "metric": half_way}, "0.1 of half_way below AdamW (half_way)"),
        ((MUON, ADAMW), {"by": -0.02}, "at most 0.02 nats above AdamW (overall)"),
        (({"batch": 128}, {"batch": 8}), {}, "; unequal plans: batch 128 and 8, tokens read 1,638"),
        ((LOWER, {}), {"by": 0.1, "shared": {"corpus": "regressions"}}, "at least 0.1 nats"),
        ((FEW, MANY), {}, "; unequal plans: steps 100 and 1,600, batch 128 and 8"),
    ],
)
def test_a_statement_has_its_unit_its_direction_and_plans_that_are_unequal(sides, fields, says):
    text = str(Hypothesis(*sides, **fields))
    assert says in text
    assert ("unequal" in text) == ("unequal" in says)


def test_another_hypothesis_has_other_seeds_and_one_that_was_asked_before_keeps_its_own():
    seeds = [*VO.seeds(5), *replace(VO, by=0.06).seeds(5)]
    assert len({*seeds}) == 10
    assert min(seeds) > 0
    again = Hypothesis(than={"muon": []}, better={"muon": ["VO"]}, by=0.05)
    assert (again, again.seeds(5)) == (VO, seeds[:5])
    words = {"better": {"muon": ["VO"]}, "by": 0.05, "metric": "overall", "shared": {}}
    text = json.dumps(words | {"than": {"muon": []}}, sort_keys=True)
    assert VO.id == hashlib.sha256(text.encode()).hexdigest()[:8]


def test_in_equal_time_the_longer_step_gets_fewer_of_them():
    asked = Hypothesis(MUON, ADAMW, longer=1.2, shared={"steps": 1200})
    assert [c.steps for c in asked.sides()] == [1000, 1200]
    assert "equal time, a step 1.2 times as long" in str(asked)
    assert not asked.unequal
    assert replace(asked, by=0.01).sides() == asked.sides()
    runs = runs_of({("VO",): (1.0, 2.0)}, steps=1000)
    runs += runs_of({(): (1.2, 2.2), ("VO",): (0.5, 0.5)}, steps=1200)  # Muon's in equal steps
    assert judge(asked, runs).leads == pytest.approx([0.2, 0.2])
    with pytest.raises(ValueError, match="gives `better` 1,000 of 1,200 steps"):
        replace(asked, better={"muon": ("VO",), "steps": 1200})


IDLE = {"ns_norm": "schatten4"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"better": {"seed": 1}}, "a field in better must be one of .*; got 'seed'"),
        ({"better": {"momentum": 1.5}}, "momentum must be a number in"),
        ({"better": {"momentum": 0.95}}, "momentum=0.95 changes nothing here: name another"),
        ({"better": {"muon": (), "rule": "normuon"}, "than": ADAMW}, "changes nothing here"),
        ({"better": {"muon": ("VO", "QK")}, "than": {"muon": ("QK", "VO")}}, "changes nothing"),
        ({"better": LOWER, "shared": {"momentum": 0.9}}, "momentum is in shared, so it cannot be"),
        ({"better": LOWER, "change": {"momentum": 0.1}}, "momentum is in change, so it cannot be"),
        ({"better": LOWER, "change": {"warmup": 0.1}}, "warmup=0.1 changes nothing here"),
        ({"better": LOWER, "longer": 0}, "longer must be a number"),
        ({"better": LOWER, "metric": "accuracy 9"}, "metric on docs must be one of"),
        ({"better": LOWER, "metric": half_way, "by": 0}, "your own metric needs a size"),
        ({"better": {"corpus": "facts-9"}}, "two texts cannot be compared"),
        ({"better": LOWER, "change": {"corpus": "docs-512"}}, "two texts cannot be compared"),
        ({"better": {"lr": 0.1}, "shared": ADAMW}, "lr=0.1 changes nothing here"),
        ({"better": ADAMW, "than": ADAMW | {"adamw_lr": 1.0}, "change": IDLE}, "changes nothing"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(fields, says):
    with pytest.raises(ValueError, match=says):
        Hypothesis(**{"than": {}} | fields)


# --- its search ----------------------------------------------------------------------------------


def tried(search, at, losses):
    """The trials of a search, recorded: each side's have these losses."""
    trials = search.tunings[0].grid(at)
    for number, trial in enumerate(trials):
        append(made(trial, losses[number % len(losses)]), at.path("tuning-1"))
    return trials


def test_a_search_tunes_both_sides_alike_and_leaves_what_is_named(tmp_path):
    asked = Hypothesis(LOWER, {"momentum": 0.95}, shared={"betas": (0.9, 0.95)})
    search, at = asked.search(trials=4), Place(tmp_path)
    assert [k.fields for k in search.knobs(asked.sides()[0])] == ["lr", "adamw_lr"]
    trials = tried(search, at, [1.0, 2.0, 3.0, 4.0])
    assert [c.momentum for c in trials] == [0.8] * 4 + [0.95] * 4
    assert [c.lr for c in trials[:4]] == [c.lr for c in trials[4:]]
    assert {c.seed for c in trials} == {0}
    finals = asked.finals(search, at, 2)
    assert [(c.momentum, c.seed) for c in finals] == [
        (m, s) for s in asked.seeds(2) for m in (0.8, 0.95)
    ]
    assert {c.lr for c in finals} == {trials[0].lr}
    whole = {f: getattr(asked.sides()[0], f) for f in ("lr", "adamw_lr", "betas")}
    alone = Hypothesis(LOWER, {}, shared=whole).search(trials=4)
    assert alone.tunings[0].grid(at) == [*alone.sides]  # nothing is left to tune


@pytest.mark.parametrize(
    ("fields", "knobs"),
    [
        ({}, "lr momentum adamw_lr betas.0 betas.1"),
        ({"corpus": "factsheets"}, "lr momentum adamw_lr betas.0 betas.1"),  # a folder of text
        ({"muon": ()}, "adamw_matrix_lr adamw_matrix_beta1 adamw_lr betas.0 betas.1"),
        (
            {"muon": ("VO",), "corpus": "regression-4"},
            "lr momentum adamw_lr betas.0 betas.1 adamw_matrix_lr adamw_matrix_beta1",
        ),
        ({"muon": (), "corpus": "facts-9"}, "adamw_lr betas.0"),
        ({"rule": "noisy_adam", "corpus": "facts-9"}, "adamw_lr betas.0 lr adamw_matrix_beta1"),
        ({"rule": "fixed_noise"}, "lr adamw_matrix_beta1 adamw_lr betas.0 betas.1"),
    ],
)
def test_every_setting_has_the_knobs_of_its_task_and_its_rule(fields, knobs):
    config = TrainConfig(**fields)
    assert [k.fields for k in knobs_of(config)] == knobs.split()
    rates = [k for k in knobs.split() if k.endswith("lr")]
    assert [k.fields for k in rates_of(config)] == rates


# --- its statement -------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["runs", "tuning-1"])
def test_a_statement_keeps_its_time_and_its_plan_from_the_first_trial_or_run_on(phase, tmp_path):
    folder = tmp_path / "mine"
    state(Hypothesis({"muon": ("QK",)}, {}), folder, pairs=2)
    assert state(VO, folder).hypothesis == VO  # nothing has run: a better idea may replace it
    first = state(VO, folder, pairs=3)
    assert (first.plan, first.runs) == ({"pairs": 3}, folder / "runs.jsonl")
    path = folder / "hypothesis.json"
    old = json.loads(path.read_text()) | {"utc": "2026-01-01T00:00:00+00:00"}
    path.write_text(json.dumps(old))
    append(PAIRS[0], first.at.path(phase))
    kept = state(VO, folder, pairs=9)
    assert (kept.plan, kept.utc, kept.hypothesis) == ({"pairs": 3}, old["utc"], VO)
    with pytest.raises(ValueError, match=r"has recorded runs already.*0\.05.*cannot become.*0\.01"):
        state(replace(VO, by=0.01), folder)
    assert json.loads(path.read_text()) == old
    path.unlink()
    with pytest.raises(ValueError, match="made for: no hypothesis"):
        state(VO, folder)


def test_a_broken_statement_is_named_and_left_alone(tmp_path):
    path = tmp_path / "hypothesis.json"
    for text in ("{", "[]", '{"better": {}, "than": {}, "utc": "x", "plan": {}}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"hypothesis\.json is no statement"):
            state(VO, tmp_path)
        assert path.read_text() == text


# --- a change of the difference ------------------------------------------------------------------

FOUR = Hypothesis(MUON, ADAMW, by=0.2, change={"warmup": 0.0})
ENDS = {  # (Muon, AdamW) by warm-up, a number a seed
    0.0: ((1.0, 1.1, 1.3), (1.5, 1.5, 1.9)),
    0.1: ((0.9, 1.2, 1.2), (1.0, 1.4, 1.3)),
}


def four_runs():
    return [
        run(side, seed, loss, warmup=warmup)
        for warmup, ends in ENDS.items()
        for side, losses in zip((("VO",), ()), ends, strict=True)
        for seed, loss in enumerate(losses)
    ]


def test_a_change_asks_for_a_difference_of_differences_at_the_same_seeds():
    finding = judge(FOUR, four_runs())
    (m0, a0), (m1, a1) = (map(numpy.array, sides) for sides in ENDS.values())
    moved = (a0 - m0) - (a1 - m1)
    assert finding.leads == pytest.approx([*moved])
    expected = scipy.stats.t.interval(0.95, 2, moved.mean(), scipy.stats.sem(moved))
    assert finding.interval[1:3] == pytest.approx(expected)
    cells = numpy.array([[m1, a1], [m0, a0]])  # (warm-up, side, seed)
    assert finding.interval == pytest.approx(contrast(cells, 0, 1))
    assert [*finding.pairs] == [
        f"AdamW with {w} minus Muon(VO) with {w}" for w in ("warmup=0", "warmup=0.1")
    ]
    assert [*finding.pairs.values()] == [pytest.approx([*(a0 - m0)]), pytest.approx([*(a1 - m1)])]
    assert finding.word == "open"
    assert replace(finding, better=(0.9, 1.0, 1.3)).word == "warmup=0 leads"
    with pytest.raises(ValueError, match=r"only some of .* have been run at seed 2"):
        judge(FOUR, four_runs()[:-1])


def test_a_change_has_four_sides_that_are_tuned_and_run_alike(tmp_path):
    assert FOUR.shared == {"warmup": 0.1}
    longer = Hypothesis({"lr": 0.1}, {}, change={"warmup": 0}, shared={"steps": 9})
    assert longer.shared == {"warmup": 0.1, "steps": 9}
    assert [(c.muon, c.warmup) for c in FOUR.sides()] == [
        (m, w) for w in (0.0, 0.1) for m in (("VO",), ())
    ]
    search, at = FOUR.search(trials=2), Place(tmp_path)
    trials = tried(search, at, [2.0, 1.0])
    finals = FOUR.finals(search, at, 3)
    assert [(c.muon, c.warmup, c.seed) for c in finals] == [
        (side.muon, side.warmup, seed) for seed in FOUR.seeds(3) for side in FOUR.sides()
    ]
    assert [c.adamw_lr for c in finals[:4]] == [trials[n].adamw_lr for n in (1, 3, 5, 7)]
