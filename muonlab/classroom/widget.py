"""The base of the three widgets: one ES module each, which also runs in a page without a kernel."""

from pathlib import Path

import anywidget

from muonlab.files import course

FOLDER = Path(__file__).parent / "widgets"
LESSONS = course() / "lessons"


def script(*names: str) -> str:
    """Returns the named files of widgets/ as one ES module, in order."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)


class Widget(anywidget.AnyWidget):
    """A widget; its repr is short and stable, what a reader sees where widgets cannot be drawn."""

    _css = script("widgets.css")
