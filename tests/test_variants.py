"""Variants of exercises: their own answers pass, and the book's and wrong ones do not."""

import re
from pathlib import Path

import pytest

from muonlab.classroom.exercise import Verdict, checks, swapped
from muonlab.files import LESSONS, course
from muonlab.notebooks import texts
from muonlab_teaching import copies
from muonlab_teaching.variants import (
    BEGIN,
    BY_A_PERSON,
    END,
    book_tasks,
    stored_answers,
    task,
    templates,
    varied,
)

MUTANTS = {
    path.stem[-2:]: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parent / "mutants").glob("lesson_*.py"))
}
CHECKS = course() / "lessons" / "checks"
TEMPLATES = {id: found for lesson in MUTANTS for id, found in templates(lesson).items()}
GOOD_ELSEWHERE = {"in place"}  # a mistake of the book's form that a change of convention mends


def drawn(exercise, number):
    """The variant with the value of that number from each list, and the first of longer ones."""
    template = TEMPLATES[exercise]
    draw = {name: [values[number % len(values)]] for name, values in template["draw"].items()}
    return varied(book_tasks(exercise[:2])[exercise], template | {"draw": draw}, "any")


def most(exercise):
    return max(len(values) for values in TEMPLATES[exercise]["draw"].values())


@pytest.mark.parametrize("exercise", TEMPLATES)
def test_a_variant_takes_its_own_solution_and_not_the_books(exercise):
    book = task(exercise)
    for number in range(most(exercise)):
        asked = drawn(exercise, number)
        assert asked.judge(asked.solution()).status == "right", number
        assert asked.judge(book.solution()).status != "right", number
        assert not re.search(r"@(?!torch)\w", "\n".join((asked.text, asked.code, asked.convert)))
    assert book.judge(asked.solution()).status != "right"
    assert drawn(exercise, 0).judge(drawn(exercise, 1).solution()).status != "right", "neighbours"


SOON = ("02", "05")  # the others by `make processes`


@pytest.mark.parametrize(
    "id",
    [pytest.param(id, marks=() if id[:2] in SOON else pytest.mark.processes) for id in TEMPLATES],
)
def test_a_variant_has_the_books_mutants(id):
    asked = drawn(id, 0)
    for kind in ("wrong", "generic", "right"):
        found = stored_answers(MUTANTS[id[:2]], asked, kind)
        for name in found.keys() - GOOD_ELSEWHERE:
            verdict = asked.judge(found[name])
            assert (verdict.status == "right") == (kind == "right"), (name, verdict)
            assert verdict.message
            assert "the book's form" not in verdict.message


def test_what_a_variant_allows_is_named_in_its_own_numbers():
    for number, t in enumerate(TEMPLATES["02-e4"]["draw"]["t"]):
        message = drawn("02-e4", number).judge(lambda: (1e80, 0, 0)).message
        assert f"A singular value of {0.002 * t:.3g} ends at inf" in message
        assert f"and {0.68 * t:.4g} to {1.21 * t:.4g} is allowed" in message


@pytest.mark.parametrize("lesson", MUTANTS)
def test_every_exercise_is_right_as_exported_and_has_a_variant_or_says_why_not(lesson):
    tasks = book_tasks(lesson)
    assert tasks.keys() == templates(lesson).keys() | {i for i in BY_A_PERSON if i[:2] == lesson}
    assert tasks.keys() == checks(lesson).keys()
    for asked in tasks.values():
        assert asked.code.count(BEGIN) == asked.code.count(END) == 1
        assert asked.minutes > 0
        assert "##" not in asked.text
        if asked.exercise not in BY_A_PERSON:
            assert asked.judge(asked.solution()).status == "right"


def test_a_swap_changes_the_check_and_leaves_nothing_of_the_book():
    for exercise in (id for id, template in TEMPLATES.items() if "swap" in template):
        source = (CHECKS / f"lesson_{exercise[:2]}.py").read_text(encoding="utf-8")
        swaps = drawn(exercise, 0).swaps
        both = source + MUTANTS[exercise[:2]]
        assert all(old in both for old, _ in swaps), exercise
        assert not any(old in swapped(source, swaps) for old, _ in swaps), exercise


def test_one_seed_draws_one_variant_and_seeds_differ():
    assert task("02-e1", "autumn") == task("02-e1", "autumn")
    assert len({task("02-e1", f"class {n}").code for n in range(40)}) == 5


def test_a_change_in_place_is_seen_in_a_variant_too():
    asked = task("05-e5", "a")

    def answer(weights, keys, values):
        found = asked.solution()(weights, keys, values)
        weights.zero_()
        return found

    assert "changed its argument 1 in place" in asked.judge(answer).message


def test_a_blank_and_a_wrong_answer_are_told_in_the_variants_own_numbers():
    asked = task("02-e1", "a")
    assert asked.judge(lambda X: ...).status == "not yet"
    wrong = asked.judge(task("02-e1").solution())
    assert "expected" in wrong.example
    assert "a + b = 1" not in wrong.message
    free = task("02-e4", "a")  # no expected numbers: they would be an answer
    assert "3.55" not in repr(free.judge(lambda: (1.9, -1.2, 0.3)))


def test_an_example_speaks_of_digits_only_where_it_was_rounded():
    assert task("03-e2", "a").example().endswith(("returns `False`.", "returns `True`."))
    assert task("02-e1", "a").example().endswith("to four digits.")


def test_a_constant_changes_something():
    """The scale 1 would leave the book's numbers, and read as `1 times the share`."""
    draws = {exercise: template["draw"].values() for exercise, template in TEMPLATES.items()}
    assert [id for id, lists in draws.items() if any(1 in values for values in lists)] == []


def test_the_books_text_begins_at_its_own_section():
    assert task("16-e4").text.startswith("Plan a study on paper")


def words(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


@pytest.mark.parametrize("lesson", [path.name[:2] for path in texts(LESSONS)])
def test_a_students_copy_has_no_solution_and_a_teachers_has_all(lesson, monkeypatch):
    verdict = Verdict("02-e1", "not right", "No.")  # to judge all wrong answers takes seconds
    monkeypatch.setattr(copies, "judge_answer", lambda exercise, answer: verdict)
    student, teacher = words(copies.student(lesson)), words(copies.teacher(lesson))
    for id in book_tasks(lesson):
        assert f"Solution {id}" not in student
        assert f"Solution {id}" in teacher
        assert f"**For the teacher: exercise {id}.**" in teacher
    assert "lesson.check(" in student
    assert "For the teacher" not in student
    assert "What happened: **" in teacher
    assert teacher.count("When the class splits") == student.count("lesson.predict(")
    assert "believes “" in teacher


@pytest.mark.parametrize("lesson", [path.name[:2] for path in texts(LESSONS)])
def test_a_copy_has_no_link_to_a_file_that_is_not_beside_it(lesson):
    prose = "\n".join(c.source for c in copies.student(lesson).cells if c.cell_type == "markdown")
    assert not re.search(r"\]\((?!https?:|#)", prose)
    paths = re.findall(r"\(in the course: `(.+?)`\)", prose)
    assert paths
    assert all((course() / path).is_file() for path in paths)


def test_a_teachers_copy_tries_answers_under_the_name_that_students_see():
    teacher = words(copies.teacher("02"))
    assert "Try `my_newton_schulz(" in teacher
    assert "Try `f(" not in teacher
