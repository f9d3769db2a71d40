"""Hypotheses: stated before, unchanged after, and judged on whole records only."""

import dataclasses
import json

import pytest

from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.statistics import Interval, paired_interval
from muonlab.studies.hypothesis import Finding, Hypothesis, judge, state
from muonlab.training.config import TrainConfig

VO = Hypothesis(lower=("VO",), than=(), by=0.05)


def run(groups, seed, loss, **changes):
    config = TrainConfig(muon=groups, seed=seed, steps=2, **changes)
    held_out = [{"step": 2, "overall": loss, "head": loss - 1, "middle": loss, "tail": None}]
    where = {"command": config.command(), "utc": "2026-01-02T00:00:00+00:00", "code": "abc"}
    return Record(dataclasses.asdict(config), [9.0, 8.0], [1.0, 1.0], held_out, 2048, where)


PAIRS = [
    run(g, s, x) for g, xs in ((("VO",), (1.0, 1.1)), ((), (1.2, 1.4))) for s, x in enumerate(xs)
]


def test_a_finding_pairs_the_seeds_whatever_the_order_of_the_records():
    others = [run(("QK",), 0, 3.0)]
    found = judge(VO, [*reversed(PAIRS), *others])
    assert (found.seeds, found.lower, found.than) == ((0, 1), (1.0, 1.1), (1.2, 1.4))
    assert found.interval == paired_interval((1.2, 1.4), (1.0, 1.1))
    assert found.verdict == "cannot tell"
    head = judge(dataclasses.replace(VO, metric="head"), PAIRS)
    assert head.lower == pytest.approx((0.0, 0.1))


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
        ({"lower": ("WO",)}, "lower must hold groups of QK, VO, .*; got 'WO'"),
        ({"lower": "VO"}, r"lower takes several groups: write \('VO',\)"),
        ({"lower": ("VO",), "metric": "accuracy"}, "metric must be one of overall, .*'accuracy'"),
        ({"lower": ("V", "O"), "than": ("O", "V")}, "both sides are Muon on V"),
        ({"lower": ("VO",), "by": -0.1}, "exchange lower and than"),
        ({"lower": ("VO",), "by": float("nan")}, "by must be a finite number"),
    ],
)
def test_a_hypothesis_about_nothing_known_is_refused(fields, says):
    with pytest.raises(ValueError, match=says):
        Hypothesis(**fields)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (PAIRS[:2], "no run of AdamW alone among Muon on VO"),
        ([], "no run of Muon on VO among no records"),
        (PAIRS[:3], "only one of Muon on VO and AdamW alone has been run at seed 1:"),
        (PAIRS[::2], "at least two seeds, and there is 1"),
        ([*PAIRS, run((), 1, 1.3)], "AdamW alone has a seed twice"),
        ([*PAIRS, run((), 2, 1.3, gated=True)], "AdamW alone have several settings of gated"),
        (
            [*PAIRS[:3], dataclasses.replace(PAIRS[3], failure="diverged at step 1")],
            r"AdamW alone failed at seed 1 \(diverged at step 1\)",
        ),
    ],
)
def test_records_that_cannot_answer_are_named(runs, says):
    with pytest.raises(ValueError, match=says):
        judge(VO, runs)


def test_a_class_without_tokens_is_named():
    with pytest.raises(ValueError, match="has no loss 'tail'"):
        judge(dataclasses.replace(VO, metric="tail"), PAIRS)


def test_a_statement_keeps_its_time_and_cannot_change_after_a_run(tmp_path):
    folder = tmp_path / "mine"
    first = state(Hypothesis(("QK",)), folder)
    assert state(VO, folder).hypothesis == VO  # nothing has run: a better idea may replace it
    path = folder / "hypothesis.json"
    old = json.loads(path.read_text()) | {"utc": "2026-01-01T00:00:00+00:00"}
    path.write_text(json.dumps(old))
    records.append(PAIRS[0], first.runs)
    kept = state(VO, folder)
    assert (kept.utc, kept.hypothesis, kept.runs) == (old["utc"], VO, folder / "runs.jsonl")
    with pytest.raises(ValueError, match=r"has recorded runs already.*0\.05.*cannot become.*0\.01"):
        state(dataclasses.replace(VO, by=0.01), folder)
    assert json.loads(path.read_text()) == old
    path.unlink()
    with pytest.raises(ValueError, match="made for: no hypothesis"):
        state(VO, folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"utc": "x"}', '{"lower": ["WO"], "utc": "x"}'])
def test_a_broken_statement_is_named_and_left_alone(text, tmp_path):
    path = tmp_path / "hypothesis.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"hypothesis\.json is no statement"):
        state(VO, tmp_path)
    assert path.read_text() == text
