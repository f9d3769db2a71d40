"""Writes the mark, the social picture, README's pictures: `python book/_ext/pictures.py`."""

import io
import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.patches import Ellipse

from muonlab.drawing import axes
from muonlab.drawing.looks import CONTESTANTS, DARK
from muonlab.files import course, replace_file
from printing.picture import BOTH, GRADIENT, PICTURES, as_svg, draw_leads, draw_losses

ASSETS = course() / "book" / "assets"
MARK = course() / "book" / "static" / "mark.svg"
SOCIAL = ASSETS / "og.png"
HEADLINE = "Does Muon train language models\nbetter than Adam, and why?"


def ellipse() -> tuple[tuple[float, float], float]:
    """Returns the half axes of what GRADIENT makes of a circle, and its turn in degrees.

    Of unit root mean square, so that the ellipse and the circle of Muon's step are equally long.
    """
    out, stretch, _ = torch.linalg.svd(GRADIENT)
    long, short = (stretch * (2 / stretch.square().sum()).sqrt()).tolist()
    return (long, short), math.degrees(math.atan2(out[1, 0], out[0, 0]) % math.pi)


def mark() -> bytes:
    """Returns the course's mark as SVG: a gradient's ellipse, and the circle that Muon makes."""
    (long, short), turn = ellipse()
    size = 10  # of the circle, in a square of 32
    rules = {name: CONTESTANTS[name]["light"] for name in BOTH}
    light = "".join(f".{name}{{stroke:{colour}}}" for name, colour in rules.items())
    dark = "".join(f".{name}{{stroke:{DARK[colour]}}}" for name, colour in rules.items())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 -16 32 32" fill="none">
<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>
<circle class="Muon" r="{size}" stroke-width="4"/>
<ellipse class="AdamW" rx="{size * long:.1f}" ry="{size * short:.1f}" stroke-width="2.6"
  transform="rotate({-turn:.1f})"/>
</svg>
""".encode()


def as_png() -> bytes:
    """Returns the race in the shape that pages which link to the book show: 1200 x 630."""
    axes.style()
    figure = plt.figure(figsize=(8, 4.2), layout="none")
    left = figure.add_axes((0.09, 0.13, 0.5, 0.54))
    right = figure.add_axes((0.7, 0.13, 0.28, 0.54))
    draw_losses(left)
    draw_leads(right)
    left.set_ylabel("loss, nats a token")
    sides = ("left", "bottom", 6), ("right", "top", -6)  # the curves fall: there they are not
    for line, (ha, va, off) in zip(left.lines, sides, strict=True):
        x, y = (float(np.asarray(values)[3]) for values in line.get_data())
        look: dict[str, Any] = {"color": line.get_color(), "fontsize": 16, "fontweight": "bold"}
        look |= {"textcoords": "offset points", "ha": ha, "va": va}
        left.annotate(str(line.get_label()), (x, y), (off, off), **look)
    right.legend(loc="upper left", handlelength=1, borderaxespad=0, fontsize=9.5)
    badge = figure.add_axes((0.02, 0.76, 0.12, 0.12 * 8 / 4.2), aspect="equal")
    badge.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    badge.axis("off")
    (long, short), turn = ellipse()
    for name, (wide, high), width in (("Muon", (1, 1), 7), ("AdamW", (long, short), 4.5)):
        look = {"edgecolor": CONTESTANTS[name]["light"], "linewidth": width, "fill": False}
        badge.add_patch(Ellipse((0, 0), 2 * wide, 2 * high, angle=turn, **look))
    figure.text(0.16, 0.96, HEADLINE, fontsize=21, fontweight="bold", va="top", linespacing=1.25)
    subtitle = "muonlab: a course, and its measurements. Both sides tuned."
    figure.text(0.16, 0.745, subtitle, fontsize=12, va="top", color="#4d5870")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, facecolor="white")
    plt.close(figure)
    return buffer.getvalue()


def main() -> None:
    """Writes the pictures."""
    ASSETS.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        replace_file(ASSETS / f"{name}.svg", as_svg(name))
        print(f"{name}.svg: written")
    replace_file(MARK, mark())
    replace_file(SOCIAL, as_png())
    print(f"{MARK.name}, {SOCIAL.name}: written")


if __name__ == "__main__":
    main()
