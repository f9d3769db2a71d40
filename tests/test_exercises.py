"""Every check of every lesson: wrong answers, right ones, the stub and the solution."""

import inspect
import itertools
import math
import re
import runpy
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from lesson_texts import CHECK, solutions, stubs

from muonlab.classroom.exercise import UNREADABLE, checks, judge
from muonlab.classroom.kinds import Wrong, array, equal, number, told
from muonlab.classroom.widget import LESSONS
from muonlab.notebooks import read, texts

MUTANTS = Path(__file__).parent / "mutants"
ANSWERS = {}
for path in sorted(MUTANTS.glob("lesson_*.py")):
    ANSWERS |= runpy.run_path(str(path))["ANSWERS"]
TEXTS = {path.name[:2]: path for path in texts(LESSONS)}
WRONG = [(e, name) for e, answers in ANSWERS.items() for name in answers["wrong"]]
RIGHT = [(e, name) for e, answers in ANSWERS.items() for name in answers["right"]]


@cache
def verdict_on(exercise, kind, name):
    return judge(exercise, ANSWERS[exercise][kind][name])


def said(exercise):
    return {
        verdict_on(exercise, "wrong", name).message: name for name in ANSWERS[exercise]["wrong"]
    }


def last_function(cell_source, setup):
    """What a learner's cell passes to lesson.check: the names of the lesson's imports are known."""
    names = {}
    exec(compile(setup, "setup", "exec"), names)
    exec(compile(cell_source, "exercise", "exec"), names)
    return next(f for f in reversed(names.values()) if getattr(f, "__code__", None))


def imports(notebook):
    first = next(c for c in notebook.cells if c.cell_type == "code")
    return first.source.split("lesson = start")[0]


@cache
def known(lesson):
    """The names that the imports of the lesson make known to whoever tries an example there."""
    names = {}
    exec(imports(read(TEXTS[lesson])), names)
    return names


@pytest.mark.parametrize(("exercise", "name"), WRONG)
def test_a_wrong_answer_is_rejected_with_a_diagnosis(exercise, name):
    verdict = verdict_on(exercise, "wrong", name)
    assert verdict.status == "not right", verdict
    assert len(verdict.message) > 20
    assert UNREADABLE not in verdict.message, verdict


@pytest.mark.parametrize(("exercise", "name"), RIGHT)
def test_a_right_answer_is_accepted_however_it_is_written(exercise, name):
    verdict = verdict_on(exercise, "right", name)
    assert verdict.status == "right", verdict


GENERIC = [(e, name) for e, answers in ANSWERS.items() for name in answers.get("generic", {})]


@pytest.mark.parametrize(("exercise", "name"), GENERIC)
def test_a_wrong_answer_of_no_known_kind_gets_nobody_elses_diagnosis(exercise, name):
    verdict = verdict_on(exercise, "generic", name)
    assert verdict.status == "not right", verdict
    assert UNREADABLE not in verdict.message, verdict
    assert verdict.message not in said(exercise)


@pytest.mark.parametrize("exercise", ANSWERS)
def test_each_wrong_answer_gets_a_message_of_its_own(exercise):
    answers = ANSWERS[exercise]
    messages = said(exercise)
    assert len(messages) == len(answers["wrong"]) >= 3, messages
    assert len(answers["right"]) >= 2


def compared(exercise, monkeypatch):
    """What the check hands to `compare`: cases, what is right, mistakes, and how near is equal."""
    lesson, name = exercise.split("-")
    check, seen = checks(lesson)[name], []

    def spy(answer, cases, look, *, within=1e-4, **options):
        seen.append(([look(*case) for case in cases], within))

    monkeypatch.setitem(check.__globals__, "compare", spy)
    check(next(iter(ANSWERS[exercise]["right"].values())))
    return seen


@pytest.mark.parametrize("exercise", ANSWERS)
def test_no_mistake_gives_what_is_right_or_what_another_gives(exercise, monkeypatch):
    for table, within in compared(exercise, monkeypatch):
        rows = [[expected, *(value for value, _ in mistakes)] for expected, mistakes in table]
        names = ["right", *(message for _, message in table[0][1])]
        columns = list(zip(*rows, strict=True))
        assert all(len(mistakes) == len(names) - 1 for _, mistakes in table)
        for i, j in itertools.combinations(range(len(names)), 2):
            alike = (
                equal(a, b, within) or equal(b, a, within)
                for a, b in zip(columns[i], columns[j], strict=True)
            )
            assert not all(alike), f"{exercise}: the same values for: {names[i]} / {names[j]}"


@pytest.mark.parametrize("exercise", ANSWERS)
def test_whoever_makes_a_mistake_of_the_list_is_told_that_one(exercise, monkeypatch):
    with monkeypatch.context() as patch:
        found = compared(exercise, patch)
    if len(found) != 1:
        return  # a check of another form, or one that compares twice
    table = found[0][0]
    for place, (_, message) in enumerate(table[0][1]):
        values = [mistakes[place][0] for _, mistakes in table]
        if undefined(values[0]):
            continue  # with the first input this mistake raises

        def makes_it(*args, left=iter(values)):  # noqa: B008  one answer a mistake
            return 1 / 0 if undefined(value := next(left)) else value

        told_so = judge(exercise, makes_it).message
        assert told_so in {mistakes[place][1] for _, mistakes in table}, (message, told_so)


def test_shapes_in_the_order_of_their_first_sides_are_not_in_that_of_their_costs():
    parts = ANSWERS["14-e4"]["right"]["heap"]
    least, operations = (parts.__globals__[name] for name in ("least", "operations"))

    def by_first_side(shapes, gpus):
        order = sorted(range(len(shapes)), key=shapes.__getitem__, reverse=True)
        return parts(shapes, gpus, least(order, operations(shapes), gpus))

    assert judge("14-e4", by_first_side).status == "not right"


@pytest.mark.parametrize("rounding", [math.floor, math.ceil, round])
def test_who_rounds_the_steps_is_told_so(rounding):
    on_the_line = ANSWERS["15-e3"]["wrong"]["steps"].__globals__["on_the_line"]
    told = judge("15-e3", lambda runs, n, longer: on_the_line(runs, rounding(n / longer))).message
    assert told.startswith("Do not round the steps")


def undefined(value):
    numbers = np.asarray(value if value is not None else 0.0, dtype=object).ravel().tolist()
    return any(isinstance(v, float) and math.isnan(v) for v in numbers)


@pytest.mark.parametrize(("exercise", "name"), WRONG + GENERIC)
def test_what_a_message_says_to_try_gives_what_it_says_to_expect(exercise, name):
    answers = ANSWERS[exercise]
    verdict = verdict_on(exercise, "wrong" if name in answers["wrong"] else "generic", name)
    found = re.fullmatch(r"Try `\w+\((.*)\)`: expected (.*), got .*\.", verdict.example)
    if not found or "<" in found[1]:
        return  # a model, a large tensor, or a function that raised
    args = eval(f"({found[1]},)", known(exercise[:2]))
    result = next(iter(answers["right"].values()))(*args)
    assert found[2] in {told(as_told(result), digits) for digits in (4, 7, 17)}, result


def decays_late(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    ANSWERS["03-e1"]["right"]["muon"](W, gradient, M, lr, momentum)
    W.mul_(1 - lr * weight_decay)


def forgets_its_momentum(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    ANSWERS["03-e1"]["right"]["muon"](W, gradient, M, lr, 0.9, weight_decay)


WRONG_STEPS = [*ANSWERS["03-e1"]["wrong"].values(), decays_late, forgets_its_momentum]


@pytest.mark.parametrize("wrong", WRONG_STEPS)
def test_a_step_to_try_becomes_what_it_says_to_expect(wrong):
    found = re.match(
        r"With `(.*?)`: expected (.) to become (.*), got", judge("03-e1", wrong).example
    )
    given = eval(f"dict({found[1]})", {"torch": torch})
    ANSWERS["03-e1"]["right"]["muon"](**given)
    torch.testing.assert_close(given[found[2]], torch.tensor(eval(found[3])), rtol=1e-3, atol=1e-3)


def as_told(result):
    for kind in (array, number):
        with suppress(Wrong):
            return kind(result)
    return result


@pytest.mark.parametrize("lesson", TEXTS)
def test_every_exercise_has_a_check_wrong_answers_a_stub_and_a_solution(lesson):
    notebook = read(TEXTS[lesson])
    known = {f"{lesson}-{name}" for name in checks(lesson)}
    assert known == stubs(notebook).keys() == solutions(notebook).keys()
    assert known == {e for e in ANSWERS if e.startswith(lesson)}
    for exercise, cell in stubs(notebook).items():  # a rule that turns answers down is told before
        strict = "by_hand=" in inspect.getsource(checks(lesson)[exercise[3:]])
        assert not strict or re.search("by hand|without", cell.source), exercise


@pytest.mark.parametrize("lesson", TEXTS)
def test_the_stub_is_not_yet_and_the_lessons_solution_is_right(lesson):
    notebook = read(TEXTS[lesson])
    for exercise, cell in stubs(notebook).items():
        stub = last_function(cell.source[: CHECK.search(cell.source).start()], imports(notebook))
        assert judge(exercise, stub).status == "not yet"
        solution = last_function(solutions(notebook)[exercise], imports(notebook))
        assert judge(exercise, solution).status == "right", exercise
