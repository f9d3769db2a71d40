"""Explorers: sliders and one picture, drawn in the page from two files of lessons/explorers/.

NAME.toml declares the controls, in order: a slider has a label, min, max, step and a value to begin
with; a list has a label, options and a value; a map has a label, cells (how many) and the number of
one. NAME.js draws: `view(values, data)` returns the picture and a sentence (widgets/plot.js says
how), points that can be dragged (handles.js) and maps (explorer.js); `format`, if there is one,
says a control's value in words, from it and the data; `changed(name, values, before, data)`, if
there is one, sets controls that depend on another. A cell shows it by `lesson.explore(NAME, data)`;
data that come from records are made in `explorer_data`. `tests/explorer_oracles.py` must hold an
oracle and points for each.
"""

import json
import re
import tomllib
from typing import Any

import traitlets

from muonlab import checks
from muonlab.classroom.widget import Widget, script
from muonlab.drawing import looks
from muonlab.files import LESSONS

FOLDER = LESSONS / "explorers"
SCRIPTS = ("dom.js", "matrix.js", "plot.js", "readout.js", "handles.js", "explorer.js", "chosen.js")


def names() -> list[str]:
    """Returns the explorers that exist."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def controls(name: str) -> list[dict[str, Any]]:
    """Returns an explorer's controls in order; ValueError names the explorers that exist."""
    checks.choice("explorer", name, names())
    declared = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return [{"name": control, **spec} for control, spec in declared.items()]


def source(name: str) -> str:
    """Returns what draws an explorer, its controls first."""
    declared = json.dumps(controls(name), ensure_ascii=False)
    return f"const controls = {declared};\n" + (FOLDER / f"{name}.js").read_text(encoding="utf-8")


def module(name: str) -> str:
    """Returns the ES module that draws an explorer; chosen.js takes what is its own."""
    known = f"const LOOKS = {looks.TEXT};\n"
    return known + script(*SCRIPTS).replace("SOURCE", source(name))


class Explorer(Widget):
    """One explorer; `values` are its controls and go both ways, `data` is what it draws."""

    name = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, name: str, data: dict[str, Any] | None = None, **values: Any) -> None:
        known = {control["name"]: control for control in controls(name)}
        for control, value in values.items():
            checks.choice(f"a control of explorer {name}", control, known)
            spec = known[control]
            ends = [spec.get("min", 0), spec.get("max", spec.get("cells", 0) - 1)]
            fits = value in spec["options"] if "options" in spec else ends[0] <= value <= ends[1]
            if not fits:
                choices = spec.get("options", ends)
                raise ValueError(f"{control} of explorer {name} takes {choices}; got {value!r}")
        if bool(data) != bool(re.search(r"function view\(.*, data\)", source(name))):
            raise ValueError(f"explorer {name} draws {'no ' if data else ''}data; got {data}")
        self._esm = module(name)
        super().__init__(name=name, data=data or {}, values=values)

    def __repr__(self) -> str:
        return f"Explorer {self.name}"
