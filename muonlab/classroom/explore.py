"""Explorers: sliders and one picture, drawn in the page from a file of lessons/explorers/."""

import re
from typing import Any

import traitlets

from muonlab.classroom.widget import LESSONS, Widget, script

WIRE = """
const chosen = (() => {{  // a scope of its own: an explorer may use any name
{source}
  return {{ controls, view, changed: typeof changed === "undefined" ? null : changed }};
}})();
export default explorer(chosen);
"""


def names() -> list[str]:
    """Returns the explorers that exist."""
    return sorted(path.stem for path in (LESSONS / "explorers").glob("*.js"))


def source(name: str) -> str:
    """Returns the file of an explorer: its controls, and what it draws."""
    return (LESSONS / "explorers" / f"{name}.js").read_text(encoding="utf-8")


def controls(name: str) -> list[str]:
    """Returns the names of an explorer's controls."""
    return re.findall(r'\{ ?name: "(\w+)"', source(name))


def module(name: str) -> str:
    """Returns the ES module that draws an explorer."""
    wired = WIRE.format(source=source(name))
    return script("dom.js", "plot.js") + wired


class Explorer(Widget):
    """One explorer; `values` are its controls and go both ways, `data` is what it draws."""

    name = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, name: str, data: dict[str, Any] | None = None, **values: Any) -> None:
        if name not in names():
            raise ValueError(f"no explorer {name!r}; there are {', '.join(names())}")
        known = controls(name)
        if unknown := sorted(values.keys() - set(known)):
            raise ValueError(f"explorer {name} has no {unknown}; its controls are {known}")
        self._esm = module(name)
        super().__init__(name=name, data=data or {}, values=values)

    def describe(self) -> str:
        return f"Explorer {self.name}"
