"""Every check of every lesson: wrong answers, right ones, the stub and the solution."""

import inspect
import itertools
import math
import re
import runpy
from contextlib import suppress
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from lesson_texts import imports, solutions, stubs

from muonlab.classroom.exercise import UNREADABLE, checks, compare, judge_answer
from muonlab.classroom.kinds import Wrong, as_shown, equal, float_array, real_number
from muonlab.files import LESSONS
from muonlab.notebooks import read, texts

MUTANTS = Path(__file__).parent / "mutants"
ANSWERS = {}
for path in sorted(MUTANTS.glob("lesson_*.py")):
    ANSWERS |= runpy.run_path(str(path))["ANSWERS"]
TEXTS = {path.name[:2]: path for path in texts(LESSONS)}
exercises = pytest.mark.parametrize("exercise", ANSWERS)


@cache
def verdicts(exercise, kind):
    answers = ANSWERS[exercise].get(kind, {})
    return {name: judge_answer(exercise, answer) for name, answer in answers.items()}


@cache
def known(lesson):
    """The names that the imports of the lesson make known to whoever tries an example there."""
    names = {}
    exec(imports(read(TEXTS[lesson])), names)
    return names


@exercises
def test_each_wrong_answer_is_rejected_with_a_message_of_its_own(exercise):
    messages = {}
    for name, verdict in verdicts(exercise, "wrong").items():
        assert verdict.status == "not right", (name, verdict)
        assert len(verdict.message) > 20
        assert UNREADABLE not in verdict.message, (name, verdict)
        messages[verdict.message] = name
    assert len(messages) == len(ANSWERS[exercise]["wrong"]) >= 3, messages


@exercises
def test_a_right_answer_is_accepted_however_it_is_written(exercise):
    right = verdicts(exercise, "right")
    assert {name: v for name, v in right.items() if v.status != "right"} == {}
    assert len(right) >= 2


@exercises
def test_a_wrong_answer_of_no_known_kind_gets_nobody_elses_diagnosis(exercise):
    messages = {verdict.message for verdict in verdicts(exercise, "wrong").values()}
    for name, verdict in verdicts(exercise, "generic").items():
        assert verdict.status == "not right", (name, verdict)
        assert UNREADABLE not in verdict.message, (name, verdict)
        assert verdict.message not in messages, name


@cache
def compared(exercise):
    """What the check hands to `compare`: cases, what is right, mistakes, and how near is equal."""
    check, seen = checks(exercise[:2])[exercise], []

    def spy(answer, cases, look, *, within=1e-4, **options):
        seen.append(([look(*case) for case in cases], within))

    with mock.patch.dict(check.__globals__, compare=spy):
        check(next(iter(ANSWERS[exercise]["right"].values())))
    return seen


def said_of_values(exercise, answer, table):
    """What the check says; what is right is in the table, for to compute it may take long."""
    rows = iter(table)

    def known(answer, cases, look, **options):
        compare(answer, cases, lambda *case: next(rows), **options)

    with mock.patch.dict(checks(exercise[:2])[exercise].__globals__, compare=known):
        return judge_answer(exercise, answer).message


@exercises
def test_no_mistake_gives_what_is_right_or_what_another_gives(exercise):
    for table, within in compared(exercise):
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


@exercises
def test_whoever_makes_a_mistake_of_the_list_is_told_that_one(exercise):
    if len(compared(exercise)) != 1:
        return  # a check of another form, or one that compares twice
    [(table, _)] = compared(exercise)
    for place, (_, message) in enumerate(table[0][1]):
        values = [mistakes[place][0] for _, mistakes in table]
        if undefined(values[0]):
            continue  # with the first input this mistake raises

        def makes_it(*args, left=iter(values)):  # noqa: B008  one answer a mistake
            return 1 / 0 if undefined(value := next(left)) else value

        said = said_of_values(exercise, makes_it, table)
        assert said in {mistakes[place][1] for _, mistakes in table}, (message, said)


def test_shapes_in_the_order_of_their_first_sides_are_not_in_that_of_their_costs():
    parts = ANSWERS["14-e4"]["right"]["heap"]
    least, operations = (parts.__globals__[name] for name in ("least", "operations"))

    def by_first_side(shapes, gpus):
        order = sorted(range(len(shapes)), key=shapes.__getitem__, reverse=True)
        return parts(shapes, gpus, least(order, operations(shapes), gpus))

    assert judge_answer("14-e4", by_first_side).status == "not right"


@pytest.mark.parametrize("rounding", [math.floor, math.ceil, round])
def test_who_rounds_the_steps_is_told_so(rounding):
    on_the_line = ANSWERS["15-e3"]["wrong"]["steps"].__globals__["on_the_line"]
    told = judge_answer(
        "15-e3", lambda runs, n, longer: on_the_line(runs, rounding(n / longer))
    ).message
    assert told.startswith("Do not round the steps")


def undefined(value):
    numbers = np.asarray(value if value is not None else 0.0, dtype=object).ravel().tolist()
    return any(isinstance(v, float) and math.isnan(v) for v in numbers)


@exercises
def test_what_a_message_says_to_try_gives_what_it_says_to_expect(exercise):
    right = next(iter(ANSWERS[exercise]["right"].values()))
    for verdict in (verdicts(exercise, "wrong") | verdicts(exercise, "generic")).values():
        tried = re.fullmatch(r"Try `\w+\((.*)\)`: expected (.*), got .*\.", verdict.example)
        if tried and "<" not in tried[1]:  # no model, large tensor, or function that raised
            args = eval(f"({tried[1]},)", known(exercise[:2]))
            result = as_told(right(*args))
            assert tried[2] in {as_shown(result, digits) for digits in (4, 7, 17)}, verdict


def decays_late(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    ANSWERS["03-e1"]["right"]["muon"](W, gradient, M, lr, momentum)
    W.mul_(1 - lr * weight_decay)


def forgets_its_momentum(W, gradient, M, lr, momentum=0.95, weight_decay=0.0):
    ANSWERS["03-e1"]["right"]["muon"](W, gradient, M, lr, 0.9, weight_decay)


WRONG_STEPS = [*ANSWERS["03-e1"]["wrong"].values(), decays_late, forgets_its_momentum]


@pytest.mark.parametrize("wrong", WRONG_STEPS)
def test_a_step_to_try_becomes_what_it_says_to_expect(wrong):
    found = re.match(
        r"With `(.*?)`: expected (.) to become (.*), got", judge_answer("03-e1", wrong).example
    )
    given = eval(f"dict({found[1]})", {"torch": torch})
    ANSWERS["03-e1"]["right"]["muon"](**given)
    torch.testing.assert_close(given[found[2]], torch.tensor(eval(found[3])), rtol=1e-3, atol=1e-3)


def as_told(result):
    for kind in (float_array, real_number):
        with suppress(Wrong):
            return kind(result)
    return result


@pytest.mark.parametrize("lesson", TEXTS)
def test_every_exercise_has_a_check_wrong_answers_a_stub_and_a_solution(lesson):
    notebook = read(TEXTS[lesson])
    known = checks(lesson).keys()
    assert known == stubs(notebook).keys() == solutions(notebook).keys()
    assert known == {e for e in ANSWERS if e.startswith(lesson)}
    for exercise, cell in stubs(notebook).items():  # a rule that turns answers down is told before
        strict = "by_hand=" in inspect.getsource(checks(lesson)[exercise])
        assert not strict or re.search("by hand|without", cell.source), exercise
