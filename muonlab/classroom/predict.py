"""Predictions: asked before the result, kept on this machine only, never in the way."""

import json
import warnings
from contextlib import suppress
from html import escape
from typing import Any

import traitlets

from muonlab import checks
from muonlab.classroom.widget import Widget, script
from muonlab.files import home, lock, replace_file

SAVED = "Saved on this machine."


def saved_predictions() -> dict[str, str]:
    """Returns the recorded options by prediction id; a broken file is set aside as .bad."""
    path = home() / "predictions.json"
    try:
        return {**json.loads(path.read_text(encoding="utf-8"))}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        aside = path.with_name(path.name + ".bad")
        with suppress(OSError):  # a folder that is read-only must not stop the lesson
            path.replace(aside)
        message = f"{path} cannot be read ({error}); a new one begins, the old is {aside.name}"
        warnings.warn(message, stacklevel=2)
        return {}


def save_prediction(id: str, option: str) -> None:
    """Records one choice; the file is never half-written, and other processes wait."""
    path = home() / "predictions.json"
    with lock(path, "save"):
        recorded = {**saved_predictions(), id: option}
        text = json.dumps(recorded, ensure_ascii=False, indent=1, sort_keys=True)
        replace_file(path, text.encode(errors="backslashreplace"))  # half a character, as JSON


class Prediction(Widget):
    """A question with radio buttons; a choice is saved at once."""

    _esm = script("dom.js", "predict.js")
    id = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    options = traitlets.List(traitlets.Unicode()).tag(sync=True)
    choice = traitlets.Int(-1).tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)

    def __init__(self, id: str, question: str, options: list[str]) -> None:
        if not 2 <= len({*options}) == len(options):
            raise ValueError(f"prediction {id} needs two options or more, unlike; got {options!r}")
        recorded = saved_predictions().get(id)
        choice = options.index(recorded) if recorded in options else -1
        note = SAVED if choice >= 0 else ""
        super().__init__(id=id, question=question, options=options, choice=choice, note=note)
        self.observe(self._record, "choice")

    @traitlets.validate("choice")
    def _known(self, proposal: dict[str, Any]) -> int:
        """A page can send any number; one that is no option is none."""
        return proposal["value"] if 0 <= proposal["value"] < len(self.options) else -1

    def _record(self, change: dict[str, Any]) -> None:
        if change["new"] < 0:
            return
        try:
            save_prediction(self.id, self.options[change["new"]])
            self.note = SAVED
        except OSError as error:  # a full or read-only disk must not stop the lesson
            self.note = f"Not saved: {error.strerror}. Set MUONLAB_HOME to a folder you can write."

    def __repr__(self) -> str:
        return f"Prediction {self.id}: {self.question}"

    def outcome(self, answer: int, because: str) -> tuple[str, str]:
        """Returns text and Markdown: the prediction or that there was none, what happened, and why.

        The Markdown names the prediction, so that a page without a kernel can put in the reader's.
        """
        checks.number(f"the option of {self.id}", answer, 0, len(self.options), whole=True)
        right = self.options[answer]
        first = "You have not predicted."
        if self.choice >= 0:
            first = f"You predicted: *{self.options[self.choice]}*."
        if self.choice == answer:
            first = "Your prediction came true."
        id, shown, said = escape(self.id), escape(right), first.replace("<", "&lt;")
        span = f'<span data-prediction="{id}" data-right="{shown}">{said}</span>'
        rest = f"What happened: **{right}**. {because}"
        return f"{first} {rest}", f"{span} {rest.replace('<', '&lt;')}"
