"""What a notebook cell calls: start("02"), then the methods of the lesson it returns."""

import os
import platform
import re
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import torch
from IPython.display import display
from matplotlib.figure import Figure

from muonlab.classroom import claims, exercise, figures, output
from muonlab.classroom.explore import Explorer
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz

SEED = 0


def start(lesson: str) -> "Lesson":
    """Returns the lesson; seeds torch, sets its threads, and shows what the lesson runs on."""
    if not re.fullmatch(r"\d\d", lesson):
        raise ValueError(f"a lesson is called by two digits, like start('02'); {lesson!r} came")
    torch.manual_seed(SEED)
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(2, os.cpu_count() or 1))
    figures.style()
    _show_machine()
    return Lesson(lesson)


def _show_machine() -> None:
    facts = {
        "muonlab": version("muonlab"),
        "torch": version("torch").split("+")[0],
        "Python": platform.python_version(),
        "threads": str(torch.get_num_threads()),
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU",
        "seed": str(SEED),
    }
    table = output.Table(list(facts), [list(facts.values())])
    output.show(table.text, html=table.html())


class Lesson:
    """One lesson in one process: its predictions and claims so far."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.predictions: dict[str, Prediction] = {}
        self.claims: dict[str, claims.Claim] = {}

    def predict(self, id: str, question: str, options: list[str]) -> None:
        """Asks a question before its result; the choice is saved on this machine, or skipped."""
        self._own(id, "p")
        self.predictions[id] = Prediction(id, question, options)
        display(self.predictions[id])

    def reveal(self, id: str, answer: int, because: str) -> None:
        """Shows the prediction beside what happened; `answer` is the number of the true option."""
        if id not in self.predictions:
            raise ValueError(f'{id!r} was not asked: run the cell with lesson.predict("{id}", …)')
        text, markdown = self.predictions[id].outcome(answer, because)
        output.show(text, markdown=markdown)

    def explore(self, name: str, data: dict[str, Any] | None = None, **values: Any) -> None:
        """Shows an explorer; `values` set its controls, `data` is what it draws from."""
        display(Explorer(name, data, **values))

    def show(self, figure: Figure, alt: str) -> None:
        """Shows a figure whose text alternative states the finding, in 20 characters or more."""
        if len(alt.strip()) < 20:
            raise ValueError(f"alt must state what the figure shows, in a sentence; {alt!r} came")
        if not isinstance(figure, Figure):
            raise TypeError(f"show takes a matplotlib Figure; {type(figure).__name__} came")
        output.show(f"Figure: {alt}", html=figures.as_html(figure, alt))

    def say(self, text: str) -> None:
        """Shows Markdown, usually with numbers computed in this run."""
        output.show(text, markdown=text)

    def claim(self, id: str, sentence: str, value: Any, **options: Any) -> None:
        """Shows a claim that holds, or raises ClaimDoesNotHold.

        value: a number, or a tuple (low, high). One bound, inclusive: within=(low, high), at_least=
        or at_most=. source= and paper= name where the sentence and the paper's value are from;
        verdict= says whether the paper's result is "reproduced", "partly" or "not".
        """
        self._own(id, "c")
        new = claims.claim(id, sentence, value, **options)
        if id in self.claims and self.claims[id].sentence != sentence:
            raise ValueError(f"{id} already says {self.claims[id].sentence!r}: take another id")
        new.demand()
        self.claims[id] = new
        output.show(repr(new), {claims.MIME: new.as_json()}, html=new.html)

    def check(self, id: str, answer: Any, grade: bool = False) -> None:
        """Shows a verdict on an answer to an exercise; a wrong answer stops nothing.

        With `grade`, an answer that is wrong or not there raises NotRight, an AssertionError that
        says the same, for the machine that grades.
        """
        self._own(id, "e")
        verdict = exercise.judge(id, answer)
        if grade and verdict.status != "right":
            raise exercise.NotRight(verdict)
        output.show(repr(verdict), {exercise.MIME: asdict(verdict)}, html=verdict.html)

    def quiz(self) -> None:
        """Shows the lesson's quiz."""
        display(Quiz(self.id))

    def recap(self) -> None:
        """Shows the lesson's claims with what was measured in this run."""
        table = claims.as_table(self.claims.values())
        output.show(table.text, html=table.html())

    def _own(self, id: str, kind: str) -> None:
        if not re.fullmatch(rf"{self.id}-{kind}\d+", id):
            wanted = f"{self.id}-{kind}1"
            raise ValueError(f"in lesson {self.id} an id looks like {wanted!r}; {id!r} came")
