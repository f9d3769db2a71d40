"""What a notebook cell calls: start("02"), then the methods of the lesson it returns."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from IPython.display import display
from matplotlib.figure import Figure

from muonlab import checks
from muonlab.classroom import built, claims, exercise, handin, output
from muonlab.classroom.explore import Explorer
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz
from muonlab.drawing import axes, figures, svg
from muonlab.machine import cores
from muonlab.records.record import Record, contestant
from muonlab.records.runs import Contrast, by_contestant, contrasted
from muonlab.statistics import Interval, mean_interval

SEED = 0
Cells = Iterable[Iterable[Any]] | Mapping[Any, Iterable[Any]]


def start(lesson: str) -> "Lesson":
    """Returns the lesson; seeds torch, sets its threads and the look of figures."""
    claims.defined(lesson)  # it says if there is no such lesson
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(2, cores()))
    return start_evidence(lesson)


def start_evidence(page: str) -> "Lesson":
    """Returns a page of evidence, such as "race"; seeds torch, and sets the look of figures."""
    torch.manual_seed(SEED)
    axes.style()
    return Lesson(page)


def _cell(value: Any, digits: int) -> str:
    value = value.item() if isinstance(value, torch.Tensor | np.generic) else value
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


class Effects(dict[str, Interval]):
    """Intervals by name; the figure shows them, so a cell that ends in them prints nothing more."""

    def _ipython_display_(self) -> None:
        pass


class Lesson:
    """One lesson in one process: its predictions, claims and checks so far."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.predictions: dict[str, Prediction] = {}
        self.claims: dict[str, claims.Claim] = {}
        self.checks: dict[str, str] = {}

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
        output.show(f"Figure: {alt}", html=svg.inline(figure, alt))

    def table(self, heads: Iterable[Any], rows: Cells, digits: int = 3) -> None:
        """Shows a table; `rows` are lists, or by their first cell the lists of the others.

        A number with a fraction is written with `digits` after the point, all else as it prints.
        """
        if isinstance(rows, Mapping):
            rows = [[name, *row] for name, row in rows.items()]
        shown = [[_cell(cell, digits) for cell in row] for row in rows]
        table = output.Table([*map(str, heads)], shown)
        output.show(table.text, html=table.html())

    def compare(
        self,
        results: Iterable[Record] | Mapping[str, Sequence[float]],
        contrasts: Mapping[str, Contrast] | None = None,
        *,
        unit: str,
        alt: str,
        matters: float = 0.0,
        claims: Mapping[str, str] = {},
    ) -> Effects:
        """Draws effects with their 95 % intervals over seeds, and returns the intervals by name.

        Args:
            results: recorded runs, or of each contestant one number a seed, in the order of seeds.
            contrasts: of each effect ("AdamW", "Muon"), for the first minus the second; see
                `records.runs.contrasted`. None: `results` are differences already, one a seed.
            unit: what is measured, with its unit; it stands below the axis.
            alt: what the figure shows, in a sentence; the intervals are added to it.
            matters: the size from which on an effect matters; smaller ones lie in a shade.
            claims: of some effects, the id of the claim that their interval decides.

        KeyError: no such contestant or effect. ValueError: unlike seeds, or a claim of another
        size.
        """
        if not isinstance(results, Mapping):
            results = by_contestant(results, contestant)
        by_effect = contrasted(results, contrasts)
        effects = Effects({n: mean_interval(differences) for n, differences in by_effect.items()})
        figure = figures.forest(by_effect, xlabel=unit, matters=matters)
        self.show(figure, f"{alt} " + "; ".join(f"{n} {e}" for n, e in effects.items()) + ".")
        for name, id in claims.items():
            self.claim(id, effects[name])
            if (size := self.claims[id].size) != matters:
                raise ValueError(f"{matters:g} matters in the figure, {size:g} in claim {id}")
        return effects

    def say(self, text: str) -> None:
        """Shows Markdown, usually with numbers computed in this run."""
        output.show(text, markdown=text)

    def claim(self, id: str, value: Any) -> None:
        """Shows a claim of lessons/claims/NN.toml that holds, or raises ClaimDoesNotHold.

        value: a number, or of a difference an Interval, or a list of either. The file gives the
        words, the unit and the bound: see `muonlab.classroom.claims`.
        """
        self._own(id, "c")
        new = claims.claim(id, value)
        new.demand()
        self.claims[id] = new
        output.show(repr(new), {claims.CLAIM: {"id": id, "value": [*new.value]}}, html=new.html)

    def check(self, id: str, answer: Any, grade: bool = False) -> None:
        """Shows a verdict on an answer to an exercise; a wrong answer stops nothing.

        A right one whose name begins with `my_` is kept for later lessons: see `mine`. With grade,
        an answer that is wrong or not there raises NotRight, an AssertionError that says the same,
        for the machine that grades.
        """
        self._own(id, "e")
        verdict = exercise.judge_answer(id, answer)
        if grade and verdict.status != "right":
            raise exercise.NotRight(verdict)
        self.checks[id] = verdict.status
        output.show(repr(verdict), {exercise.VERDICT: asdict(verdict)}, html=verdict.html)
        if verdict.status == "right" and not grade and (kept := built.keep_answer(id, answer)):
            self.say(kept)

    def mine(self, name: str, library: Callable[..., Any], **names: Any) -> Callable[..., Any]:
        """Returns the function my_NAME that you built in an exercise, or `library`; says which.

        lesson.mine("polar", polar) gives your my_polar, once the check of its exercise has passed.
        It finds `names` in place of the course's, as newton_schulz=…; `library` is as it came.
        """
        function, whose = built.given_back(name, library, **names)
        self.say(whose)
        return function

    def machine(self) -> None:
        """Shows what the lesson runs on: versions, threads, device and seed."""
        facts = {
            "muonlab": version("muonlab"),
            "torch": version("torch").split("+")[0],
            "Python": platform.python_version(),
            "threads": str(torch.get_num_threads()),
            "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU",
            "seed": str(SEED),
        }
        self.table(facts, [facts.values()])

    def quiz(self) -> None:
        """Shows the lesson's quiz."""
        display(Quiz(self.id))

    def hand_in(self, name: str = "") -> None:
        """Writes the predictions and checks so far to one small file, for a class to look at.

        It holds no name unless you give one: `lesson.hand_in("Ada")`.
        """
        path, made = handin.write_hand_in(self.id, name, self.predictions, self.checks)
        right = sum(status == "right" for status in made.checks.values())
        whose = "your name" if name else "no name"
        output.show(
            f"{path}: predictions: {len(made.predictions)}; exercises checked: {len(made.checks)}, "
            f"right: {right}; {whose}. Give this file to your teacher."
        )

    def recap(self) -> None:
        """Shows the lesson's claims, folded, as measured in this run, and how to hand in."""
        table = claims.as_table(self.claims.values())
        if self.claims:
            folded = "<details><summary>The claims, as measured in this run</summary>"
            output.show(table.text, html=f"{folded}{table.html()}</details>")
        else:
            output.show("No claim has been measured yet: run the cells of the lesson first.")
        chosen = any(asked.choice >= 0 for asked in self.predictions.values())
        if chosen or {*self.checks.values()} - {"not yet"}:  # a lesson as stored has neither
            output.show("For your class: lesson.hand_in() writes your predictions to a small file.")

    def _own(self, id: str, kind: str) -> None:
        """Raises ValueError unless an id is of this lesson; evidence has claims of any lesson."""
        lesson = self.id if self.id.isdecimal() else "[0-9][0-9]"
        checks.word("an id here", id, f"{lesson}-{kind}1", rf"{lesson}-{kind}[0-9]+")
