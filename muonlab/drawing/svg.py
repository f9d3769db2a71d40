"""A figure as SVG that stands in a page: its colours are the page's, its text is text."""

import hashlib
import io
import re
from html import escape
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from muonlab.drawing.looks import DARK, INK

SVG, LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}"
COLOUR = re.compile("|".join((INK, *DARK)), re.IGNORECASE)
SIZE, FAMILIES = re.compile(r"font-size: ([\d.]+)px"), re.compile(r" ?font-family: [^;]*;?")
SMALLER = 0.87  # text where the figure is wide; it is laid out for the larger text of a phone
WIDEST = 1.5  # times its own size, in a wide page
CELLS = 144  # dots an inch of a heat map: sharp where the figure is widest
FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
DARK_PAGES = 'html[data-theme="dark"] {0},body[data-jp-theme-light="false"] {0}'  # book, JupyterLab
INK_OF_PAGE = "var(--jp-content-font-color1,var(--pst-color-text-base,currentColor))"


def inline(figure: Figure, alt: str) -> str:
    """Returns the figure as one <svg> for a page, dark where the page is, and closes it.

    Its ids begin with a digest of the figure, so that those of two figures in a page differ. Text
    in it, and the text alternative, is escaped.
    """
    root, key = _parsed(figure)
    light, dark = _rules(root, key, INK_OF_PAGE)
    return _finished(root, key, alt, f"{light}{DARK_PAGES.format(f'#{key}')}{{{dark}}}")


def standalone(figure: Figure, alt: str) -> bytes:
    """Returns the figure as the bytes of an SVG file, dark where the reader asks for dark."""
    root, key = _parsed(figure)
    light, dark = _rules(root, key, "#1f2328")
    dark = f"#{key}{{{dark}}}#{key}{{color:#e6edf3}}"
    root.set("xmlns", SVG)
    whole = _finished(root, key, alt, f"{light}@media (prefers-color-scheme:dark){{{dark}}}")
    return f"{whole}\n".encode()


def _parsed(figure: Figure) -> tuple[ElementTree.Element, str]:
    """Returns the drawing without what only an editor of SVG needs, and the start of its ids."""
    buffer = io.BytesIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "muonlab"}):
        figure.draw_without_rendering()  # a second pass of the layout: legends need it
        figure.savefig(buffer, format="svg", transparent=True, dpi=CELLS, metadata={"Date": None})
    plt.close(figure)
    key = f"figure-{hashlib.sha256(buffer.getvalue()).hexdigest()[:10]}"
    root = ElementTree.fromstring(buffer.getvalue())
    used = set(re.findall(r'(?:href="#|url\(#)([\w-]+)', buffer.getvalue().decode()))
    for node in root.iter():
        _rename(node, used, key)
    _drop(root)
    return root, key


def _rename(node: ElementTree.Element, used: set[str], key: str) -> None:
    node.tag = node.tag.removeprefix(f"{{{SVG}}}")
    attributes = {name.removeprefix(LINK): value for name, value in node.attrib.items()}
    node.attrib.clear()
    for name, value in attributes.items():
        if name == "id":
            value = f"{key}-{value}" if value in used else ""
        elif name == "href":
            value = re.sub("^#", f"#{key}-", value).replace("\n", "")
        elif name == "d":
            value = value.replace(" \n", " ").strip()
        elif name == "style":
            value = COLOUR.sub(lambda match: f"var({_variable(match[0])})", value)
            value = FAMILIES.sub("", SIZE.sub(r"font-size: calc(var(--text) * \1px)", value))
        if value and not value.startswith("rotate(-0 "):
            node.set(name, value.replace("url(#", f"url(#{key}-"))


def _drop(parent: ElementTree.Element) -> None:
    """Takes out what shows nothing: notes for editors, empty frames, groups that say nothing."""
    kept: list[ElementTree.Element] = []
    for child in list(parent):
        _drop(child)
        child.tail = "\n"
        if child.tag == "g" and not child.attrib:
            kept.extend(child)
        elif child.tag not in ("metadata", "style") and child.get("style") != "fill: none":
            kept.append(child)
    if parent.tag != "text":
        parent.text = None
        parent[:] = kept


def _variable(colour: str) -> str:
    return f"--c{colour.lower().removeprefix('#')}"


def _rules(root: ElementTree.Element, key: str, ink: str) -> tuple[str, str]:
    """Returns the rules of a light page, and what a dark one gives other values."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = [colour for colour in DARK if f"var({_variable(colour)})" in text]
    light = "".join(f"{_variable(colour)}:{colour};" for colour in used)
    dark = "".join(f"{_variable(colour)}:{DARK[colour]};" for colour in used)
    rules = (
        f"#{key}{{color:{ink};{_variable(INK)}:currentColor;{light}font-family:{FAMILY}}}"
        f"#{key}{{--text:{SMALLER}}}@media (max-width:500px){{#{key}{{--text:1}}}}"
    )
    return rules, dark


def _finished(root: ElementTree.Element, key: str, alt: str, rules: str) -> str:
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    root.attrib.pop("version", None)
    root.set("id", key)
    root.set("role", "img")
    root.set("aria-label", alt)
    look = f"width:100%;max-width:{WIDEST * width:.0f}px;height:auto"
    root.set("style", f"{look};stroke-linejoin:round")
    text = ElementTree.tostring(root, encoding="unicode")
    start, rest = text.split(">", 1)
    return f"{start}><title>{escape(alt)}</title><style>{rules}</style>{rest}"
