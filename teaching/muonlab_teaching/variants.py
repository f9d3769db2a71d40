"""Tasks for a class: the exercises of a lesson, or variants of them that a class seed draws.

A variant asks for the same thing in another convention: other constants, units, shapes, names. The
file lessons/variants/NN.toml says how to turn a function of the variant into one of the book
(`asks`) and back (`gives`). So the book's own check judges it, and each wrong answer that the check
is tested with is one of the variant too.
"""

import copy
import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from muonlab import checks as given
from muonlab.classroom.exercise import (
    Answer,
    Swaps,
    Verdict,
    compare,
    judge_answer,
    swapped,
    verdict_of,
)
from muonlab.classroom.guarded import same
from muonlab.classroom.kinds import Wrong, as_shown, code, float_array, plain
from muonlab.files import course
from muonlab.notebooks import read, texts

TITLE = re.compile(r"\*\*Exercise (\d\d-e\d+)\*\* · (\d+) minutes · ([^.\n]+)\.?")
SECTIONS = re.compile(r"^## .*$", re.MULTILINE)  # what is above a heading is about something else
DETAILS = re.compile(r"<details>.*?</details>\s*", re.DOTALL)
SOLUTION = re.compile(r"<summary>Solution (\d\d-e\d+)</summary>\s*```python\n(.*?)```", re.DOTALL)
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
DOTS = re.compile(r"^( *)\.\.\.  # your code.*?$", re.MULTILINE)
BY_A_PERSON = {"16-e4": "a plan of one's own has no one right answer; a person reads it"}
IN_PLACE = {"03-e1"}  # what it is given is what it shall change
LONGEST = 150  # characters of an example in the text


@dataclass(frozen=True)
class ClassTask:
    """One exercise as a class gets it.

    code: the function with its solution between nbgrader's marks; setup: the imports it needs.
    convert: Python that defines `asks` and `gives`; empty where the book's convention is kept.
    """

    exercise: str
    minutes: int
    level: str
    text: str
    code: str
    setup: str
    convert: str = ""
    swaps: Swaps = ()

    @property
    def name(self) -> str:
        """The name of the function asked for."""
        return re.findall(r"^def (\w+)", self.code, re.MULTILINE)[-1]

    def solution(self) -> Answer:
        """Returns the right answer, which the task's own code defines."""
        return defined_by(self.name, self.setup, self.code)

    def judge(self, answer: Answer) -> Verdict:
        """Returns the verdict on an answer to this task, in the task's own convention."""
        if not self.convert:
            return judge_answer(self.exercise, answer, self.swaps)
        calls: list[tuple[Any, ...]] = []

        def noted(*args: Any) -> Any:
            calls.append(copy.deepcopy(args))
            value = fluent(answer(*args))
            if self.exercise not in IN_PLACE and not same(calls[-1], args):
                raise Wrong("It changed its argument in place.")  # `_retold` says which
            return value

        verdict = judge_answer(self.exercise, self._converts("asks")(noted), self.swaps)
        if verdict.status == "right":
            return Verdict(self.exercise, "right", "Right in every case tried.")
        return self._retold(answer, calls, verdict)

    def disguised(self, answer: Answer) -> Answer:
        """Returns an answer to the book's exercise as the same answer to this task."""
        if not self.convert:
            return answer
        return self._converts("gives")(lambda *args: fluent(answer(*args)))

    def example(self) -> str:
        """Returns one call and what is right there, from the check's own cases; or nothing."""
        calls: list[tuple[Any, ...]] = []
        solution = self.solution()

        def noted(*args: Any) -> Any:
            calls.append(copy.deepcopy(args))
            return solution(*args)

        self.judge(noted)
        for args in calls:
            text = f"{self.name}({', '.join(map(code, args))})"
            value = solution(*copy.deepcopy(args))
            if args and value is not None and len(text) <= LONGEST and "<" not in text:
                result = as_shown(value)
                rounded = ", to four digits" if "." in result else ""
                return f"For example, `{text}` returns `{result}`{rounded}."
        return ""

    def _converts(self, name: str) -> Callable[[Answer], Answer]:
        return defined_by(name, "import math\nimport torch", self.convert)

    def _retold(self, answer: Answer, calls: list[tuple[Any, ...]], verdict: Verdict) -> Verdict:
        """The verdict without the book's words, which would name the book's constants."""
        solution = self.solution()
        # without arguments many answers may be right
        cases = [args for args in calls if args and self.exercise not in IN_PLACE]

        def look(*args: Any) -> tuple[Any, tuple[()]]:
            return plain(solution(*copy.deepcopy(args))), ()

        check = partial(compare, cases=cases, look=look, returns=plain, within=1e-3)
        retold = verdict_of(self.exercise, check, answer)
        if retold.status != "right":
            return retold
        if not calls:
            return verdict
        said = verdict.message
        if not self.swaps and not said.startswith("The result is right"):  # it may name constants
            said = f"In the book's form of the exercise the check says: {said}"
        return Verdict(self.exercise, verdict.status, said)


def fluent(value: Any) -> Any:
    """Returns numbers in any ordered collection as a tensor, float64; all else as it came."""
    try:
        return float_array(value)
    except Wrong:  # one value, words, or rows of unlike lengths
        in_lists = plain(value)
        return value if isinstance(in_lists, list) else in_lists


def defined_by(name: str, *sources: str) -> Any:
    """Returns what our own sources, run one after the other, define under that name."""
    names: dict[str, Any] = {}
    for source in sources:
        exec(compile(source, "<a task>", "exec"), names)
    return names[name]


@cache
def book_tasks(lesson: str) -> Mapping[str, ClassTask]:
    """Returns the tasks of a lesson by exercise id, as the book has them.

    FileNotFoundError: no such lesson. ValueError: it has no exercises.
    """
    notebook = read(texts(course() / "lessons", [lesson])[0])
    words = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    solutions = dict(SOLUTION.findall(words))
    code_cells = [c for c in notebook.cells if c.cell_type == "code"]
    setup = code_cells[0].source.split("lesson = start")[0].rstrip()
    tasks, above = {}, ""
    for cell in notebook.cells:
        if "exercise" in cell.metadata.get("tags", []) and (title := TITLE.search(above)):
            stub = cell.source.partition("lesson.check")[0].rstrip()
            id, minutes, level = title.groups()
            text = SECTIONS.split(TITLE.sub("", DETAILS.sub("", above)))[-1].strip()
            written = solved(stub, solutions[id])
            tasks[id] = ClassTask(id, int(minutes), level.strip(), text, written, setup)
        above = cell.source
    if not tasks:
        raise ValueError(f"lesson {lesson} has no exercises to grade")
    return tasks


def solved(stub: str, solution: str) -> str:
    """Returns the stub with the solution's code, between nbgrader's marks, in place of its dots."""
    body = re.split(r'^    """.*?"""\n', solution.rstrip(), maxsplit=1, flags=re.M | re.S)[-1]
    return f"{DOTS.split(stub)[0].rstrip()}\n    {BEGIN}\n{body.strip(chr(10))}\n    {END}"


def task(exercise: str, seed: str | None = None) -> ClassTask:
    """Returns the book's task, or with a class seed its variant where there is a template."""
    given.word("an exercise", exercise, "02-e1", r"\d\d-e\d+")
    known = book_tasks(exercise[:2])
    given.choice("exercise", exercise, known)
    book = known[exercise]
    template = templates(exercise[:2]).get(exercise)
    return varied(book, template, seed) if seed and template else book


@cache
def templates(lesson: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns lessons/variants/NN.toml by exercise id; nothing where there is no such file.

    Of a template `draw` lists values by name, of which a seed takes one (a table adds its keys);
    @name stands for the value in `text`, `code`, `convert` and in the values of `swap`.
    """
    path = course() / "lessons" / "variants" / f"{lesson}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def varied(book: ClassTask, template: Mapping[str, Any], seed: str) -> ClassTask:
    """Returns the variant of a task that the seed draws."""
    drawn: dict[str, Any] = {}
    for name, values in template.get("draw", {}).items():
        digest = hashlib.sha256(f"{seed}/{book.exercise}/{name}".encode()).digest()
        value = values[int.from_bytes(digest) % len(values)]
        drawn |= value if isinstance(value, dict) else {name: value}

    def filled(text: str) -> str:
        return re.sub(r"@(\w+)", lambda m: str(drawn.get(m[1], m[0])), text.strip())

    swaps = tuple((old, filled(new)) for old, new in template.get("swap", {}).items())
    code = filled(template["code"]).replace("    # solution\n", f"    {BEGIN}\n") + f"\n    {END}"
    text, convert = filled(template["text"]), filled(template.get("convert", ""))
    return replace(book, text=text, code=code, convert=convert, swaps=swaps)


def stored_answers(source: str, task: ClassTask, kind: str) -> dict[str, Answer]:
    """Returns the answers of a kind, "wrong" or "right", that a file of mutants has for a task."""
    answers_by_kind = defined_by("ANSWERS", swapped(source, task.swaps)).get(task.exercise, {})
    return {name: task.disguised(answer) for name, answer in answers_by_kind.get(kind, {}).items()}
