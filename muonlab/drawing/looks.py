"""One grammar of figures: a contestant has one colour, marker and dash wherever it is drawn."""

import json
import re
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

TEXT = (Path(__file__).parent / "optimizers.json").read_text("utf-8")
STYLES = json.loads(TEXT)
CONTESTANTS = {look["name"]: look for look in STYLES["contestants"]}
SERIES = STYLES["series"]
ALIASES = {alias: name for name, look in CONTESTANTS.items() for alias in (name, *look["also"])}
INK = "#010203"  # stands for the colour of the page's text
DARK = {look["light"]: look["dark"] for look in (*STYLES["contestants"], *SERIES)}
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "triangle down": "v"}
MARKERS |= {"plus": "P", "cross": "X", "star": "*", "pentagon": "p"}


def contestant_in(label: str) -> str | None:
    """Returns the contestant that a label names, or None: the name it begins with comes first.

    >>> contestant_in("AdamW, VO and FFN slower"), contestant_in("latent, 16 experts, Muon")
    ('AdamW', 'Muon')
    """
    longest = sorted(ALIASES, key=len, reverse=True)
    tried = ((k, rf"{where}{re.escape(k)}(?!\w)") for where in ("^", "[,:] ") for k in longest)
    return next((ALIASES[known] for known, pattern in tried if re.search(pattern, label)), None)


def looks(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Returns how matplotlib draws each label: a contestant by its name, others by their place.

    A contestant's second line in one figure keeps the colour and takes another marker and dash.
    """
    styles: list[dict[str, Any]] = []
    others = cycle(SERIES)
    for label in labels:
        name = contestant_in(label)
        look = CONTESTANTS[name] if name else next(others)
        alike = [style for style in styles if style["color"] == look["light"]]
        taken = {style["marker"] for style in alike}, {style["linestyle"] for style in alike}
        shapes = [_shape(style) for style in (look, *SERIES, *CONTESTANTS.values())]
        new = (s for s in shapes if s[0] not in taken[0] and s[1] not in taken[1])
        marker, dash = next(new, shapes[0])
        styles.append({"color": look["light"], "marker": marker, "linestyle": dash})
    return styles


def _shape(look: dict[str, Any]) -> tuple[str, Any]:
    points = tuple(0.75 * pixels for pixels in look["dash"])
    return MARKERS[look["marker"]], (0, points) if points else "-"
