"""The lessons as they were released: what a learner ran and saved here changes no page."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from muonlab.classroom import claims
from muonlab.files import course
from muonlab.notebooks import released_text


@cache
def folder() -> Path:
    """Returns the folder of the lessons; a copy of it, where a notebook was saved since."""
    own = course() / "lessons"
    paths = [*own.glob("[0-9][0-9]-*.ipynb"), *claims.evidence(own)]
    texts = {path: released_text(path) for path in paths}
    if all(text == path.read_text(encoding="utf-8") for path, text in texts.items()):
        return own
    copied = Path(tempfile.mkdtemp(prefix="muonlab-lessons-"))
    atexit.register(shutil.rmtree, copied)
    shutil.copytree(own, copied, dirs_exist_ok=True)
    for path, text in texts.items():
        (copied / path.relative_to(own)).write_text(text, encoding="utf-8")
    return copied


def lessons() -> list[Path]:
    """Returns the notebooks of the lessons, in order."""
    return sorted(folder().glob("[0-9][0-9]-*.ipynb"))


def text_of(page: str) -> str:
    """Returns the JSON of a page that is a notebook, as "lessons/04-nanogpt"."""
    return (folder() / f"{page.removeprefix('lessons/')}.ipynb").read_text(encoding="utf-8")


def pages() -> dict[str, Path]:
    """Returns the notebooks of lessons and evidence by page, as "04-nanogpt", "evidence/race"."""
    return claims.pages(folder())
