"""Hypotheses: stated before, unchanged after, and judged on whole records only."""

import dataclasses
import hashlib
import inspect
import json

import numpy
import pytest
import scipy.stats

from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.statistics import Interval, contrast, paired_interval
from muonlab.studies.evidence import knobs_of, rates_of
from muonlab.studies.finding import Finding, judge
from muonlab.studies.hypothesis import Hypothesis, state
from muonlab.sweeps.study import Place
from muonlab.training.config import TrainConfig

VO = Hypothesis({"muon": ("VO",)}, {"muon": ()}, by=0.05)


def run(groups, seed, loss, **changes):
    config = TrainConfig(muon=groups, seed=seed, **{"steps": 2} | changes)
    held_out = [{"step": 2, "overall": loss, "head": loss - 1, "middle": loss, "tail": None}]
    where = {"command": config.command(), "utc": "2026-01-02T00:00:00+00:00", "code": "abc"}
    return Record(dataclasses.asdict(config), [9.0, 8.0], [1.0, 1.0], held_out, 2048, where)


PAIRS = [
    run(g, s, x) for g, xs in ((("VO",), (1.0, 1.1)), ((), (1.2, 1.4))) for s, x in enumerate(xs)
]


def test_a_finding_pairs_the_seeds_whatever_the_order_of_the_records():
    others = [run(("QK",), 0, 3.0)]
    found = judge(VO, [*reversed(PAIRS), *others])
    assert (found.seeds, found.better, found.than) == ((0, 1), (1.0, 1.1), (1.2, 1.4))
    assert found.leads == pytest.approx([0.2, 0.3])
    assert found.interval == paired_interval((1.2, 1.4), (1.0, 1.1))
    assert found.verdict == "cannot tell"
    head = judge(dataclasses.replace(VO, metric="head"), PAIRS)
    assert head.better == pytest.approx((0.0, 0.1))


@pytest.mark.parametrize(
    ("low", "high", "by", "is_"),
    [
        (0.01, 0.03, 0.0, "supported"),
        (0.01, 0.03, 0.02, "cannot tell"),
        (0.01, 0.03, 0.04, "refuted"),
        (-0.01, 0.03, 0.0, "cannot tell"),
        (-0.03, -0.01, 0.0, "refuted"),
        (0.02, 0.03, 0.02, "supported"),
        (0.01, 0.02, 0.02, "cannot tell"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(low, high, by, is_, monkeypatch):
    monkeypatch.setattr(Finding, "interval", Interval((low + high) / 2, low, high, 5))
    assert Finding(dataclasses.replace(VO, by=by), (), (), ()).verdict == is_


def test_what_only_one_side_names_has_its_default_in_the_other():
    asked = Hypothesis({"rule": "normuon"}, {"steps": 300}, shared={"muon": ["VO"]})
    assert asked.better == {"rule": "normuon", "steps": 200}
    assert asked.than == {"rule": "muon", "steps": 300}
    assert asked.shared == {"muon": ("VO",)}
    assert asked.names == ("NorMuon(VO) with steps=200", "Muon(VO) with steps=300")
    first, second = asked.sides()
    assert (first.rule, second.rule, first.steps, second.steps) == ("normuon", "muon", 200, 300)


@pytest.mark.parametrize(
    ("metric", "corpus", "unit", "direction"),
    [
        ("tail", "docs", "nats", "below"),
        ("accuracy 9", "facts-9", "of accuracy", "above"),
        ("overall", "regression-4", "of squared error", "below"),
    ],
)
def test_a_metric_has_a_unit_and_a_direction(metric, corpus, unit, direction):
    asked = Hypothesis({"momentum": 0.8}, {}, 0.1, metric, {"corpus": corpus})
    assert f"at least 0.1 {unit} {direction} Muon with momentum=0.95 ({metric}," in str(asked)


def test_more_is_better_for_accuracy_alone():
    runs = [run(("VO",), s, x) for s, x in enumerate((1.0, 1.1))]
    runs += [run((), s, x) for s, x in enumerate((1.2, 1.4))]
    for one in runs:
        one.held_out[-1]["accuracy"] = [0.5, 2 - one.held_out[-1]["overall"]]
        one.config["corpus"] = "facts-9"
    facts = dataclasses.replace(VO, shared={"corpus": "facts-9"}, metric="accuracy 1")
    found = judge(facts, runs)
    assert found.leads == pytest.approx([0.2, 0.3])
    with pytest.raises(ValueError, match=r"no 'accuracy 2'; it holds overall, .*accuracy 1"):
        judge(dataclasses.replace(facts, metric="accuracy 2"), runs)


def test_another_hypothesis_has_other_seeds_and_the_same_has_the_same():
    other = dataclasses.replace(VO, by=0.06)
    seeds = [*VO.seeds(5), *other.seeds(5)]
    assert len({*seeds}) == 10
    assert min(seeds) > 0
    again = Hypothesis(than={"muon": []}, better={"muon": ["VO"]}, by=0.05)
    assert (again, again.seeds(5)) == (VO, seeds[:5])


def test_a_search_tunes_both_sides_alike_and_leaves_what_is_named(tmp_path):
    asked = Hypothesis({"momentum": 0.8}, {"momentum": 0.95}, shared={"betas": (0.9, 0.95)})
    search, at = asked.search(trials=4), Place(tmp_path)
    assert [k.fields for k in search.knobs(asked.sides()[0])] == ["lr", "adamw_lr"]
    trials = search.tunings[0].grid(at)
    assert [c.momentum for c in trials] == [0.8] * 4 + [0.95] * 4
    assert [c.lr for c in trials[:4]] == [c.lr for c in trials[4:]]
    assert {c.seed for c in trials} == {0}
    for n, trial in enumerate(trials):
        records.append(run(trial.muon, 0, 1.0 + n % 4, **own(trial)), at.path("tuning-1"))
    finals = asked.finals(search, at, 2)
    assert [(c.momentum, c.seed) for c in finals] == [
        (m, s) for s in asked.seeds(2) for m in (0.8, 0.95)
    ]
    assert {c.lr for c in finals} == {trials[0].lr}
    whole = {f: getattr(asked.sides()[0], f) for f in ("lr", "adamw_lr", "betas")}
    alone = Hypothesis({"momentum": 0.8}, {}, shared=whole).search(trials=4)
    assert alone.tunings[0].grid(at) == [*alone.sides]  # nothing is left to tune


def own(config):
    chosen = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return {f: v for f, v in chosen.items() if f not in ("muon", "seed")}


@pytest.mark.parametrize(
    ("fields", "knobs"),
    [
        ({}, "lr momentum adamw_lr betas.0 betas.1"),
        ({"muon": ()}, "adamw_matrix_lr adamw_matrix_beta1 adamw_lr betas.0 betas.1"),
        (
            {"muon": ("VO",), "corpus": "regression-4"},
            "lr momentum adamw_lr betas.0 betas.1 adamw_matrix_lr adamw_matrix_beta1",
        ),
        ({"muon": (), "corpus": "facts-9"}, "adamw_lr betas.0"),
        ({"rule": "fixed_noise"}, "lr adamw_matrix_beta1 adamw_lr betas.0 betas.1"),
    ],
)
def test_every_setting_has_the_knobs_of_its_task_and_its_rule(fields, knobs):
    config = TrainConfig(**fields)
    assert [k.fields for k in knobs_of(config)] == knobs.split()
    rates = [k for k in knobs.split() if k.endswith("lr")]
    assert [k.fields for k in rates_of(config)] == rates


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (PAIRS[:2], r"no run of AdamW \(muon=none\) is among the 2 records: Muon\(VO\)"),
        ([], r"no run of Muon\(VO\) \(muon=VO\) is among the 0 records: nothing"),
        (PAIRS[:3], r"only some of Muon\(VO\) and AdamW have been run at seed 1:"),
        (PAIRS[::2], "at least two seeds, and there is 1"),
        ([*PAIRS, run((), 1, 1.3)], "AdamW has a seed twice"),
        ([*PAIRS, run((), 2, 1.3, gated=True)], "AdamW has several settings of gated"),
        (
            [*PAIRS[:3], dataclasses.replace(PAIRS[3], failure="diverged at step 1")],
            r"AdamW failed at seed 1 \(diverged at step 1\)",
        ),
    ],
)
def test_records_that_cannot_answer_are_named(runs, says):
    with pytest.raises(ValueError, match=says):
        judge(VO, runs)


def test_a_class_without_tokens_is_named():
    with pytest.raises(ValueError, match="has no 'tail'; it holds overall, head, middle"):
        judge(dataclasses.replace(VO, metric="tail"), PAIRS)


def test_a_statement_keeps_its_time_and_cannot_change_after_a_run(tmp_path):
    folder = tmp_path / "mine"
    first = state(Hypothesis({"muon": ("QK",)}, {}), folder, pairs=2)
    assert state(VO, folder).hypothesis == VO  # nothing has run: a better idea may replace it
    assert state(VO, folder, pairs=3).plan == {"pairs": 3}
    path = folder / "hypothesis.json"
    old = json.loads(path.read_text()) | {"utc": "2026-01-01T00:00:00+00:00"}
    path.write_text(json.dumps(old))
    records.append(PAIRS[0], first.runs)
    kept = state(VO, folder, pairs=9)
    assert kept.plan == {"pairs": 3}  # what was planned before stays
    assert (kept.utc, kept.hypothesis, kept.runs) == (old["utc"], VO, folder / "runs.jsonl")
    with pytest.raises(ValueError, match=r"has recorded runs already.*0\.05.*cannot become.*0\.01"):
        state(dataclasses.replace(VO, by=0.01), folder)
    assert json.loads(path.read_text()) == old
    path.unlink()
    with pytest.raises(ValueError, match="made for: no hypothesis"):
        state(VO, folder)


def test_a_trial_holds_the_time_and_the_plan_as_a_final_run_does(tmp_path):
    first = state(VO, tmp_path, pairs=2, hours=0.1)
    assert state(VO, tmp_path / "other", truth=-0.1).plan == {"truth": -0.1}
    old = json.loads((tmp_path / "hypothesis.json").read_text()) | {"utc": "2026-01-01T00:00:00"}
    (tmp_path / "hypothesis.json").write_text(json.dumps(old))
    records.append(PAIRS[0], first.at.path("tuning-1"))
    assert not first.runs.exists()
    again = state(VO, tmp_path, pairs=2, hours=0.2)  # the machine was measured again
    assert (again.utc, again.plan) == (old["utc"], {"pairs": 2, "hours": 0.1})
    with pytest.raises(ValueError, match="has recorded runs already"):
        state(dataclasses.replace(VO, by=0.01), tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"utc": "x"}', '{"better": {}, "than": {}, "utc": "x", "plan": {}}']
)
def test_a_broken_statement_is_named_and_left_alone(text, tmp_path):
    path = tmp_path / "hypothesis.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"hypothesis\.json is no statement"):
        state(VO, tmp_path)
    assert path.read_text() == text


FOUR = Hypothesis({"muon": ("VO",)}, {"muon": ()}, by=0.2, change={"warmup": 0.0})
ENDS = {  # (Muon, AdamW) by warm-up, a number a seed
    0.0: ((1.0, 1.1, 1.3), (1.5, 1.5, 1.9)),
    0.1: ((0.9, 1.2, 1.2), (1.0, 1.4, 1.3)),
}


def four_runs():
    return [
        run(groups, seed, loss, warmup=warmup)
        for warmup, sides in ENDS.items()
        for groups, losses in zip((("VO",), ()), sides, strict=True)
        for seed, loss in enumerate(losses)
    ]


def test_a_change_asks_for_a_difference_of_differences_at_the_same_seeds():
    found = judge(FOUR, four_runs())
    (m0, a0), (m1, a1) = (map(numpy.array, sides) for sides in ENDS.values())
    moved = (a0 - m0) - (a1 - m1)
    assert found.leads == pytest.approx([*moved])
    expected = scipy.stats.t.interval(0.95, 2, moved.mean(), scipy.stats.sem(moved))
    assert found.interval[1:3] == pytest.approx(expected)
    cells = numpy.array([[m1, a1], [m0, a0]])  # (warm-up, side, seed)
    assert found.interval == pytest.approx(contrast(cells, 0, 1))
    assert [*found.pairs] == [
        f"AdamW with {w} minus Muon(VO) with {w}" for w in ("warmup=0", "warmup=0.1")
    ]
    assert [*found.pairs.values()] == [pytest.approx([*(a0 - m0)]), pytest.approx([*(a1 - m1)])]
    assert found.word == "open"
    more = dataclasses.replace(found, better=(0.9, 1.0, 1.3))
    assert more.word == "warmup=0 leads"
    with pytest.raises(ValueError, match=r"only some of .* have been run at seed 2"):
        judge(FOUR, four_runs()[:-1])


def test_a_change_has_four_sides_that_are_tuned_and_run_alike(tmp_path):
    assert FOUR.shared == {"warmup": 0.1}
    assert Hypothesis({"lr": 0.1}, {}, change={"warmup": 0}, shared={"steps": 9}).shared == {
        "warmup": 0.1,
        "steps": 9,
    }
    assert [(c.muon, c.warmup) for c in FOUR.sides()] == [
        (m, w) for w in (0.0, 0.1) for m in (("VO",), ())
    ]
    search, at = FOUR.search(trials=2), Place(tmp_path)
    trials = search.tunings[0].grid(at)
    for n, trial in enumerate(trials):  # the second trial of each side is better
        end = [{"step": 200, "overall": 2.0 - n % 2}]
        record = Record(dataclasses.asdict(trial), [1.0], [1.0], end, 1, {"code": "abc"})
        records.append(record, at.path("tuning-1"))
    finals = FOUR.finals(search, at, 3)
    assert [(c.muon, c.warmup, c.seed) for c in finals] == [
        (side.muon, side.warmup, seed) for seed in FOUR.seeds(3) for side in FOUR.sides()
    ]
    assert [c.adamw_lr for c in finals[:4]] == [trials[n].adamw_lr for n in (1, 3, 5, 7)]


@pytest.mark.parametrize(
    ("by", "low", "is_"),
    [(-0.02, -0.019, "supported"), (-0.02, -0.021, "cannot tell"), (-0.02, -0.08, "refuted")],
)
def test_a_negative_size_says_no_worse_than(by, low, is_):
    asked = dataclasses.replace(VO, by=by)
    assert str(asked) == "Muon(VO) ends at most 0.02 nats above AdamW (overall)"
    lead = 0.001 * numpy.arange(3)
    lead += low - scipy.stats.t.interval(0.95, 2, lead.mean(), scipy.stats.sem(lead))[0]
    found = Finding(asked, (0, 1, 2), (0.0, 0.0, 0.0), tuple(lead))
    assert found.interval.low == pytest.approx(low)
    assert found.verdict == is_


def test_in_equal_time_the_longer_step_gets_fewer_of_them():
    asked = Hypothesis({"muon": ("VO",)}, {"muon": ()}, longer=1.2, shared={"steps": 1200})
    assert [c.steps for c in asked.sides()] == [1000, 1200]
    assert "equal time, a step 1.2 times as long" in str(asked)
    assert not asked.unequal
    assert dataclasses.replace(asked, by=0.01).sides() == asked.sides()
    runs = [run(("VO",), s, 1.0 + s, steps=1000) for s in (0, 1)]
    runs += [run((), s, 1.2 + s, steps=1200) for s in (0, 1)]
    runs += [run(("VO",), s, 0.5, steps=1200) for s in (0, 1)]  # of equal steps
    assert judge(asked, runs).leads == pytest.approx([0.2, 0.2])
    with pytest.raises(ValueError, match="gives `better` 1,000 of 1,200 steps"):
        dataclasses.replace(asked, better={"muon": ("VO",), "steps": 1200})


def half_way(record):
    return record.train_loss[0]


def half_way_up(record):
    return -record.train_loss[0]


def test_a_metric_of_your_own_is_stated_with_its_text(tmp_path):
    asked = dataclasses.replace(VO, metric=half_way)
    runs = [
        dataclasses.replace(r, train_loss=[float(n), 0.0])
        for n, r in enumerate(PAIRS)  # 0 and 1 of Muon, 2 and 3 of AdamW
    ]
    found = judge(asked, runs)
    assert found.leads == [2.0, 2.0]
    assert found.word == "Muon(VO) leads"
    assert "0.05 of half_way below AdamW (half_way)" in str(asked)
    first = state(asked, tmp_path)
    fields = json.loads((tmp_path / "hypothesis.json").read_text())
    assert fields["metric"] == {"half_way": inspect.getsource(half_way)}
    records.append(PAIRS[0], first.runs)
    assert state(asked, tmp_path) == first
    with pytest.raises(ValueError, match=r"made for: .*half_way.* cannot become: .*half_way_up"):
        state(dataclasses.replace(VO, metric=half_way_up), tmp_path)
    assert asked.id not in (VO.id, dataclasses.replace(VO, metric=half_way_up).id)
    broken = dataclasses.replace(VO, metric=lambda_free)
    with pytest.raises(ValueError, match="what lambda_free returns must be a number"):
        judge(broken, runs)


def lambda_free(record):
    return "low"


@pytest.mark.parametrize(
    ("sides", "says"),
    [
        (({"batch": 128}, {"batch": 8}), "batch 128 and 8, tokens read 1,638,400 and 102,400"),
        (({"muon": (), "warmup": 0.0}, {"warmup": 0.1}), "unequal plans: warmup 0.0 and 0.1"),
        (
            ({"batch": 128, "steps": 100}, {"batch": 8, "steps": 1600}),
            "steps 100 and 1,600, batch 128 and 8",
        ),
        (({"momentum": 0.8}, {}), ""),
    ],
)
def test_plans_that_are_unequal_are_named_in_the_statement(sides, says):
    asked = Hypothesis(*sides)
    assert asked.unequal.removeprefix("unequal plans: ") == says.removeprefix("unequal plans: ")
    assert says in str(asked)
    assert ("unequal" in str(asked)) == bool(says)


def test_a_question_that_was_asked_before_keeps_its_name_and_its_seeds():
    words = {"better": {"muon": ["VO"]}, "by": 0.05, "metric": "overall", "shared": {}}
    text = json.dumps(words | {"than": {"muon": []}}, sort_keys=True)
    assert VO.id == hashlib.sha256(text.encode()).hexdigest()[:8]


LOWER, IDLE, ADAMW = {"momentum": 0.8}, {"ns_norm": "schatten4"}, {"muon": ()}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"better": {"momentm": 0.8}}, "a field in better must be one of .*; got 'momentm'"),
        ({"better": {"seed": 1}}, "a field in better must be one of .*; got 'seed'"),
        ({"better": {"momentum": 1.5}}, "momentum must be a number in"),
        ({"better": {"momentum": 0.95}}, "both sides are Muon: name two that differ"),
        ({"better": {"muon": (), "rule": "normuon"}, "than": {"muon": ()}}, "both sides are AdamW"),
        ({"better": {"muon": ("VO", "QK")}, "than": {"muon": ("QK", "VO")}}, "two that differ"),
        ({"better": LOWER, "shared": {"momentum": 0.9}}, "momentum is in shared, so it cannot be"),
        ({"better": LOWER, "change": {"momentum": 0.1}}, "momentum is in change, so it cannot be"),
        ({"better": LOWER, "change": {"warmup": 0.1}}, "warmup=0.1 is no change"),
        ({"better": LOWER, "by": float("nan")}, "by must be a number"),
        ({"better": LOWER, "longer": 0}, "longer must be a number"),
        ({"better": LOWER, "metric": "accuracy 9"}, "metric on docs must be one of"),
        ({"better": LOWER, "metric": half_way, "by": 0}, "your own metric needs a size"),
        ({"better": {"corpus": "facts-9"}}, "two texts cannot be compared"),
        ({"better": LOWER, "change": {"corpus": "docs-512"}}, "two texts cannot be compared"),
        ({"better": {"lr": 0.1}, "shared": ADAMW}, "lr does nothing here"),
        (
            {"better": {"muon": ()}, "than": {"muon": (), "adamw_lr": 1.0}, "change": IDLE},
            "nothing",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(fields, says):
    with pytest.raises(ValueError, match=says):
        Hypothesis(**{"than": {}} | fields)
