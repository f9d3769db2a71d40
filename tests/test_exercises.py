"""Every check of every lesson: wrong answers, right ones, the stub and the solution."""

import importlib.util
from pathlib import Path

import pytest
from lesson_texts import CHECK, solutions, stubs

from muonlab.classroom.exercise import UNREADABLE, checks, judge
from muonlab.publishing.release import LESSONS
from muonlab.publishing.source import read, texts

MUTANTS = Path(__file__).parent / "mutants"
ANSWERS = {}
for path in sorted(MUTANTS.glob("lesson_*.py")):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ANSWERS |= module.ANSWERS
TEXTS = {path.name[:2]: path for path in texts(LESSONS)}
WRONG = [(e, name) for e, answers in ANSWERS.items() for name in answers["wrong"]]
RIGHT = [(e, name) for e, answers in ANSWERS.items() for name in answers["right"]]


def last_function(cell_source, setup):
    """What a learner's cell passes to lesson.check: the names of the lesson's imports are known."""
    names = {}
    exec(compile(setup, "setup", "exec"), names)
    exec(compile(cell_source, "exercise", "exec"), names)
    return next(f for f in reversed(names.values()) if getattr(f, "__code__", None))


def imports(notebook):
    first = next(c for c in notebook.cells if c.cell_type == "code")
    return first.source.split("lesson = start")[0]


@pytest.mark.parametrize(("exercise", "name"), WRONG)
def test_a_wrong_answer_is_rejected_with_a_diagnosis(exercise, name):
    verdict = judge(exercise, ANSWERS[exercise]["wrong"][name])
    assert verdict.status == "not right", verdict
    assert len(verdict.message) > 20
    assert UNREADABLE not in verdict.message, verdict


@pytest.mark.parametrize(("exercise", "name"), RIGHT)
def test_a_right_answer_is_accepted_however_it_is_written(exercise, name):
    verdict = judge(exercise, ANSWERS[exercise]["right"][name])
    assert verdict.status == "right", verdict


@pytest.mark.parametrize("exercise", ANSWERS)
def test_each_wrong_answer_gets_a_message_of_its_own(exercise):
    answers = ANSWERS[exercise]
    messages = {judge(exercise, answer).message: name for name, answer in answers["wrong"].items()}
    assert len(messages) == len(answers["wrong"]) >= 3, messages
    assert len(answers["right"]) >= 2


@pytest.mark.parametrize("lesson", TEXTS)
def test_every_exercise_has_a_check_wrong_answers_a_stub_and_a_solution(lesson):
    notebook = read(TEXTS[lesson])
    known = {f"{lesson}-{name}" for name in checks(lesson)}
    assert known == stubs(notebook).keys() == solutions(notebook).keys()
    assert known == {e for e in ANSWERS if e.startswith(lesson)}


@pytest.mark.parametrize("lesson", TEXTS)
def test_the_stub_is_not_yet_and_the_lessons_solution_is_right(lesson):
    notebook = read(TEXTS[lesson])
    for exercise, cell in stubs(notebook).items():
        stub = last_function(cell.source[: CHECK.search(cell.source).start()], imports(notebook))
        assert judge(exercise, stub).status == "not yet"
        solution = last_function(solutions(notebook)[exercise], imports(notebook))
        assert judge(exercise, solution).status == "right", exercise
