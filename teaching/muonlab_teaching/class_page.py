"""What a class predicted beside what happened, on one page for the projector."""

import base64
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any

from muonlab.checks import printable
from muonlab.classroom.exercise import LOOK, checks
from muonlab.classroom.handin import HandIn
from muonlab.files import course, prepare_page, replace_file
from muonlab.notebooks import STATE, VIEW, outcomes, released
from muonlab_teaching.collected import Collected, collect

NUMBER = re.compile(r"[-+−]?\d[\d.,]*")
PAGE_STARTS = b"<!doctype html><!-- muonlab teach class -->"


@dataclass(frozen=True)
class Asked:
    """A prediction as the stored lesson asks it, and what happened there."""

    id: str
    question: str
    options: list[str]
    right: int
    because: str


@dataclass(frozen=True)
class Stored:
    """A lesson as it is stored here: what it asks, and the ids of its exercises."""

    title: str
    asked: list[Asked]
    exercises: list[str]


def write_page(folder: Path, out: Path) -> str:
    """Writes the page of the hand-ins in a folder; returns what to tell the teacher.

    Raises:
        ValueError: no hand-in in the folder, a lesson without stored outputs, or `out` is a file
            of another kind.
        OSError: the page cannot be written; an older one stays.
    """
    out = prepare_page(out, PAGE_STARTS)
    collected = collect(folder, os.path.abspath(out))
    replace_file(out, class_html(collected).encode())
    lines = [f"{out}: {len(collected.counted)} hand-ins of {_learners(collected.counted)} learners"]
    return "\n".join([*lines, *(f"left out {name}: {why}" for name, why in collected.left_out)])


def class_html(collected: Collected) -> str:
    """Returns the page: what others wrote stands in it as data, which its script shows as text."""
    here = Path(__file__).parent
    script = (here / "class.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(sha256(script.encode()).digest()).decode()
    data = json.dumps(class_summary(collected)).replace("<", "\\u003c")  # no text ends the element
    template = Template((here / "class.html").read_text(encoding="utf-8"))
    return template.substitute(data=data, script=script, allowed=allowed)


def class_summary(collected: Collected) -> dict[str, Any]:
    """Returns what the page shows, in plain lists and numbers."""
    lessons = []
    for id in sorted({hand_in.lesson for hand_in in collected.counted}):
        these = [hand_in for hand_in in collected.counted if hand_in.lesson == id]
        known = stored_lesson(id)
        tables = {"asked": [_votes(a, these) for a in known.asked], **_checks(known, these)}
        lessons.append({"id": id, "title": known.title, "learners": len(these), **tables})
    return {
        "lessons": lessons,
        "statuses": list(LOOK),
        "learners": _learners(collected.counted),
        "who": [*map(_who, sorted(collected.counted, key=lambda e: (e.lesson, e.name)))],
        "left_out": collected.left_out,
    }


def stored_lesson(lesson: str) -> Stored:
    """Returns a lesson of the course's own notebooks.

    ValueError: it has lost its outputs, so that nobody knows what happened.
    """
    notebook = released(next((course() / "lessons").glob(f"{lesson}-*.ipynb")))
    models = notebook.metadata.widgets[STATE]["state"]
    views = (o.get("data", {}).get(VIEW, {}) for c in notebook.cells for o in c.get("outputs", []))
    widgets = (models.get(view.get("model_id"), {}).get("state", {}) for view in views)
    asked, happened = [state for state in widgets if "choice" in state], outcomes(notebook)
    title = next(c.source for c in notebook.cells if c.source.startswith("# ")).splitlines()[0]
    return Stored(
        title.removeprefix("# "),
        [_asked(widget, happened[widget["id"]]) for widget in asked],
        [*checks(lesson)],
    )


def _asked(widget: Any, happened: str) -> Asked:
    options = list(widget["options"])
    right, _, because = happened.removeprefix("**").partition("**.")
    because = because.replace("`", "").replace("*", "").strip()
    return Asked(widget["id"], widget["question"], options, options.index(right), because)


def _votes(asked: Asked, these: Sequence[HandIn]) -> dict[str, Any]:
    """Counts the choices of our options; the others were asked something else, in another version.

    Numbers may differ: some are computed on the learner's own text.
    """
    said = [hand_in.predictions[asked.id] for hand_in in these if asked.id in hand_in.predictions]
    ours = _without_numbers(asked.question, *asked.options)
    chosen = [p["choice"] for p in said if _without_numbers(p["question"], *p["options"]) == ours]
    votes = [chosen.count(number) for number in range(len(asked.options))]
    return {**vars(asked), "votes": votes, "others": len(said) - len(chosen)}


def _without_numbers(*texts: str) -> list[str]:
    return [NUMBER.sub("#", text) for text in texts]


def _checks(known: Stored, these: Sequence[HandIn]) -> dict[str, Any]:
    rows = []
    for id in known.exercises:
        status = Counter(hand_in.checks.get(id) for hand_in in these)
        rows.append([id, *(status[name] for name in LOOK), status[None]])
    ids = {*known.exercises, *(hand_in.id for hand_in in known.asked)}
    unknown = sum(not {*hand_in.checks, *hand_in.predictions} <= ids for hand_in in these)
    return {"exercises": rows, "unknown": unknown}


def _who(hand_in: HandIn) -> list[str]:
    right = sum(status == "right" for status in hand_in.checks.values())
    name = printable(hand_in.name) or f"no name ({hand_in.learner[:8]})"
    counts = [str(len(hand_in.predictions)), f"{right} of {len(hand_in.checks)}"]
    made = hand_in.made[:16].replace("T", " ")
    return [hand_in.lesson, name, *counts, made]


def _learners(these: Sequence[HandIn]) -> int:
    return len({hand_in.learner for hand_in in these})
