"""Hypotheses: stated before, unchanged after, and judged on whole records only."""

import dataclasses
import json

import pytest

from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.statistics import Interval, paired_interval
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


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"better": {"muon": ("WO",)}}, "muon must be one of QK, VO, .*; got 'WO'"),
        ({"better": {"muon": "VO"}}, r"muon takes several groups, as .*; got 'VO'"),
        ({"better": ("VO",)}, r'better takes fields and their values, such as \{"momentum": 0.8\}'),
        ({"better": {"momentm": 0.8}}, "better: a setting has no 'momentm'"),
        ({"better": {"seed": 1}}, "better: a setting has no 'seed'"),
        ({"better": {"momentum": 0.95}}, "both sides are Muon: name two that differ"),
        ({"better": {"muon": (), "rule": "normuon"}, "than": {"muon": ()}}, "both sides are AdamW"),
        ({"better": {"momentum": 1.5}}, "momentum must be a number in"),
        (
            {"better": {"momentum": 0.8}, "shared": {"momentum": 0.9}},
            "momentum is shared, so it cannot be named",
        ),
        ({"better": {"momentum": 0.8}, "by": -0.1}, "exchange better and than"),
        ({"better": {"momentum": 0.8}, "by": float("nan")}, "by .* must be a number >= 0"),
        ({"better": {"momentum": 0.8}, "by": True}, "by .* got True"),
        ({"better": {"momentum": 0.8}, "metric": "accuracy 9"}, "metric on docs must be one of"),
        ({"better": {"corpus": "facts-9"}}, "two texts cannot be compared"),
        ({"better": {"lr": 0.1}, "shared": {"muon": ()}}, "lr does nothing here"),
        (
            {"better": {"muon": ("VO", "QK")}, "than": {"muon": ("QK", "VO")}},
            "name two that differ",
        ),
    ],
)
def test_a_hypothesis_about_nothing_known_is_refused(fields, says):
    with pytest.raises(ValueError, match=says):
        Hypothesis(**{"than": {}} | fields)


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
    with pytest.raises(
        ValueError, match=r"no 'accuracy 2'; its records hold overall, .*accuracy 1"
    ):
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
        (PAIRS[:3], r"only one of Muon\(VO\) and AdamW has been run at seed 1:"),
        (PAIRS[::2], "at least two seeds, and there is 1"),
        ([*PAIRS, run((), 1, 1.3)], "AdamW has a seed twice"),
        ([*PAIRS, run((), 2, 1.3, gated=True)], "AdamW have several settings of gated"),
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
    with pytest.raises(ValueError, match="has no 'tail'; its records hold overall, head, middle"):
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
