"""What a learner hands in of one lesson: predictions and checks in a small file of JSON.

    {"format": "muonlab answers 1", "lesson": "02", "learner": 16 hexadecimal digits, "name": "",
     "made": "2026-11-22T21:55:21Z", "checks": {"02-e1": "right"},
     "predictions": {"02-p1": {"question": "Which?", "options": ["one", "two"], "choice": 1}}}

`learner` is drawn by chance, and says only that two files come from one place. The book's pages
write the same (book/assets/live/widgets.js), without checks. Whoever reads such a file does not
trust it: `read_hand_in` takes these fields and nothing else.
"""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muonlab.classroom.exercise import LOOK
from muonlab.classroom.predict import Prediction
from muonlab.files import home, replace_file

SIGN = "muonlab answers 1"
MOST_BYTES = 65_536  # bytes of a file; a lesson's is about one thousand
ENTRIES, LETTERS = 40, 1_000  # predictions, checks or options; characters of a text
NAME_LETTERS = 80  # characters
FIELDS = {
    "format": re.escape(SIGN),
    "lesson": r"\d\d",
    "learner": r"[0-9a-f]{16}",
    "name": rf"(?s:.{{0,{NAME_LETTERS}}})",
    "made": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
}


@dataclass(frozen=True)
class HandIn:
    """A file that has the right form; its texts are still somebody's, and must be escaped."""

    lesson: str
    learner: str
    name: str
    made: str  # UTC
    predictions: Mapping[str, Mapping[str, Any]]  # by id: question, options, choice
    checks: Mapping[str, str]  # by id: the status of the last verdict

    @property
    def content(self) -> bytes:
        """The file."""
        fields = {"format": SIGN, **asdict(self)}
        return json.dumps(fields, ensure_ascii=False, indent=1).encode()


def write_hand_in(
    lesson: str, name: str, predictions: Mapping[str, Prediction], checks: Mapping[str, str]
) -> tuple[Path, HandIn]:
    """Writes the file into the current folder, over an older one of this learner and lesson.

    Predictions without a choice are left out. ValueError: there is nothing to hand in yet, or the
    name is too long. OSError: the folder cannot be written; an older file stays.
    """
    if not isinstance(name, str) or len(name) > NAME_LETTERS:
        raise ValueError(f"expected a name of {NAME_LETTERS} characters at most; got {name!r}")
    said = {
        id: {"question": p.question, "options": p.options, "choice": p.choice}
        for id, p in predictions.items()
        if p.choice >= 0
    }
    if not said and not checks:
        raise ValueError("nothing to hand in: run the cells, and predict or check an exercise")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    new = HandIn(lesson, _learner(), name, now, said, dict(checks))
    path = Path(f"muonlab-{lesson}-{new.learner[:8]}.json")
    replace_file(path, new.content)
    return path, new


def read_hand_in(content: bytes) -> HandIn:
    """Returns what a file holds; ValueError says what is wrong, in words of ours alone."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError("cut off, or no file of lesson.hand_in(): ask for it again") from error
    if not isinstance(fields, dict) or fields.keys() != {*FIELDS, "predictions", "checks"}:
        raise ValueError("it is not a file of lesson.hand_in(): it has other fields")
    fits: dict[str, Any] = {
        field: isinstance(fields[field], str) and re.fullmatch(pattern, fields[field])
        for field, pattern in FIELDS.items()
    }
    for field, letter, whole in (("predictions", "p", _is_prediction), ("checks", "e", _is_status)):
        entries, id = fields[field], re.compile(rf"{fields['lesson']}-{letter}\d{{1,3}}")
        short = isinstance(entries, dict) and len(entries) <= ENTRIES
        fits[field] = short and all(id.fullmatch(k) and whole(v) for k, v in entries.items())
    if odd := [field for field, fit in fits.items() if not fit]:
        raise ValueError(f"its {odd[0]} should look otherwise")
    return HandIn(**{field: value for field, value in fields.items() if field != "format"})


def _is_prediction(said: Any) -> bool:
    if not isinstance(said, dict) or said.keys() != {"question", "options", "choice"}:
        return False
    options, choice = said["options"], said["choice"]
    if not isinstance(options, list) or not 2 <= len(options) <= ENTRIES:
        return False
    texts = all(isinstance(t, str) and len(t) <= LETTERS for t in (said["question"], *options))
    return texts and type(choice) is int and 0 <= choice < len(options)


def _is_status(said: Any) -> bool:
    return isinstance(said, str) and said in LOOK


def _learner() -> str:
    """Returns the name that chance gave to this folder of a learner's data."""
    path = home() / "learner"
    known = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    if re.fullmatch(FIELDS["learner"], known):  # else none yet, or damaged: a new one
        return known
    new = secrets.token_hex(8)
    replace_file(path, new.encode())
    return new
