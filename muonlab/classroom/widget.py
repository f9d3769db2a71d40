"""The base of the three widgets: one ES module each, which also runs in a page without a kernel."""

from pathlib import Path

import anywidget

from muonlab import checks
from muonlab.drawing.looks import STYLES
from muonlab.files import LESSONS

SCRIPT_FOLDER = Path(__file__).parent / "widgets"


def own_text(place: str, lesson: str, folder: Path = LESSONS) -> str:
    """Returns what a lesson, or the refresher, has beside the lessons, as in "claims/{}.toml".

    ValueError: the name of no lesson. OSError: it has none.
    """
    checks.word("a lesson", lesson, "02")
    return checks.text(folder / place.format(lesson), f"{place.split('/')[0]} of lesson {lesson}")


def script(*names: str) -> str:
    """Returns the named files of widgets/ as one ES module, in order."""
    return "\n".join((SCRIPT_FOLDER / name).read_text(encoding="utf-8") for name in names)


def colours() -> str:
    """Returns the colours of optimizers.json as CSS variables, for light pages and dark ones."""

    def variables(theme: str) -> str:
        named = [("who", STYLES["contestants"]), ("series", STYLES["series"])]
        return " ".join(
            f"--muonlab-{kind}-{number}: {look[theme]};"
            for kind, looks in named
            for number, look in enumerate(looks)
        )

    dark = 'html[data-theme="dark"] .muonlab, body[data-jp-theme-light="false"] .muonlab'
    return f".muonlab {{ {variables('light')} }}\n{dark} {{ {variables('dark')} }}\n"


class Widget(anywidget.AnyWidget):
    """A widget; its repr is short and stable, what a reader sees where widgets cannot be drawn."""

    _css = script("widgets.css") + colours()
