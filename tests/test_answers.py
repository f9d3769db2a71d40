"""Answers as students write them: right in many styles, wrong in many ways; see tests/answers."""

import runpy
from pathlib import Path

import pytest

from muonlab.classroom import asking
from muonlab.classroom.exercise import UNREADABLE, judge

ANSWERS = {}
for path in sorted((Path(__file__).parent / "answers").glob("lesson_*.py")):
    ANSWERS |= runpy.run_path(str(path))["ANSWERS"]


def named(kind):
    return [(exercise, name) for exercise, found in ANSWERS.items() for name in found[kind]]


@pytest.mark.parametrize(("exercise", "name"), named("right"))
def test_what_an_expert_calls_right_is_accepted(exercise, name):
    verdict = judge(exercise, ANSWERS[exercise]["right"][name])
    assert verdict.status == "right", verdict


@pytest.mark.parametrize(("exercise", "name"), named("wrong"))
def test_what_an_expert_calls_wrong_is_not(exercise, name, monkeypatch):
    monkeypatch.setattr(asking, "SECONDS", 2.0)
    verdict = judge(exercise, ANSWERS[exercise]["wrong"][name])
    assert verdict.status != "right", verdict
    assert len(verdict.message) > 20
    assert UNREADABLE not in verdict.message, verdict


@pytest.mark.parametrize("exercise", ANSWERS)
def test_there_are_enough_answers_to_judge_a_check_by(exercise):
    assert len(ANSWERS[exercise]["right"]) >= 6
    assert len(ANSWERS[exercise]["wrong"]) >= 12
