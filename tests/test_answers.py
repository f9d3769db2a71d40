"""Answers as students write them: right in many styles, wrong in many ways; see tests/answers."""

import runpy
from pathlib import Path

import pytest

from muonlab.classroom import guarded
from muonlab.classroom.exercise import UNREADABLE, judge_answer

ANSWERS = {}
for path in sorted((Path(__file__).parent / "answers").glob("lesson_*.py")):
    ANSWERS |= runpy.run_path(str(path))["ANSWERS"]


@pytest.mark.parametrize("exercise", ANSWERS)
def test_a_check_says_of_an_answer_what_an_expert_says(exercise, monkeypatch):
    right, wrong = ANSWERS[exercise]["right"], ANSWERS[exercise]["wrong"]
    assert len(right) >= 6
    assert len(wrong) >= 12
    for name, answer in right.items():
        assert judge_answer(exercise, answer).status == "right", name
    monkeypatch.setattr(guarded, "SECONDS", 2.0)  # of the wrong ones some have no end
    for name, answer in wrong.items():
        verdict = judge_answer(exercise, answer)
        assert verdict.status != "right", name
        assert len(verdict.message) > 20
        assert UNREADABLE not in verdict.message, (name, verdict)
