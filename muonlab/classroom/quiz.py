"""Quizzes: each wrong option is a misconception with a name, and points to what refutes it."""

import tomllib
import zlib
from typing import Any

import traitlets

from muonlab.classroom.widget import Widget, own_text, script


def questions(lesson: str) -> list[dict[str, Any]]:
    """Returns a lesson's questions: text and options, in an order fixed by the question's words."""
    quiz = tomllib.loads(own_text("quizzes/{}.toml", lesson))
    return [_question(entry) for entry in quiz["question"]]


def _question(entry: dict[str, Any]) -> dict[str, Any]:
    right = {"option": entry["right"], "because": entry.get("because", "")}
    place = zlib.crc32(entry["text"].encode()) % (len(entry["wrong"]) + 1)
    options = [*entry["wrong"][:place], right, *entry["wrong"][place:]]
    return {"text": entry["text"], "options": options, "right": place}


class Quiz(Widget):
    """A lesson's questions; answers are checked in the page, with or without a kernel."""

    _esm = script("dom.js", "quiz.js")
    lesson = traitlets.Unicode().tag(sync=True)
    questions: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: str) -> None:
        super().__init__(lesson=lesson, questions=questions(lesson))

    def __repr__(self) -> str:
        return "\n".join([f"Quiz {self.lesson}", *(f"- {q['text']}" for q in self.questions)])
