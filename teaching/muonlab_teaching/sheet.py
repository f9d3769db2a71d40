"""One page of paper: exercises to solve by hand, and an exit ticket of questions."""

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import jinja2
import mistune
from markupsafe import Markup
from matplotlib.mathtext import math_to_image

from muonlab.classroom.quiz import questions
from muonlab.files import prepare_page, replace_file
from muonlab_teaching.variants import BEGIN, ClassTask, task

SHEET_STARTS = b"<!doctype html><!-- muonlab teach sheet -->"
EXERCISES = ("01-e2", "02-e1")  # those on paper of the class of 90 minutes, and its exit ticket
TICKET = ("01", "02", "07", "16")
PARAGRAPHS = 2  # of an exercise: what stands above them explains, and was on the slides
NO_DRAWING = re.compile(r"(?s)\A.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->")
KNOWN = {  # TeX that matplotlib has not
    r"\\[lr]Vert\b": r"\\|",
    r"\\[bB]ig[lr]?\b": "",
    r"\\mathbf 1": r"\\mathbf{1}",
    r"\\([tfd])rac(\d)(\w)": r"\\\1rac{\2}{\3}",
    r"\\[td]frac\b": r"\\frac",
}


def write_sheet(exercises: Sequence[str], ticket: Sequence[str], out: Path) -> str:
    """Writes the page to `out`; returns what was written, and the letters of the right answers.

    exercises: ids, as "02-e1". ticket: lessons, as "02"; of each quiz the first question.

    Raises:
        ValueError: no such exercise, or `out` is a file of another kind.
        OSError: no such quiz, or the page cannot be written; an older one stays.
    """
    out = prepare_page(out, SHEET_STARTS)
    asked = [questions(lesson)[0] for lesson in ticket]
    html = (Path(__file__).parent / "sheet.html").read_text(encoding="utf-8")
    template = jinja2.Template(html, autoescape=True)
    page = template.render(tasks=map(task, exercises), questions=asked, words=_words, end=BEGIN)
    replace_file(out, page.encode())
    right = ", ".join(f"{number} {'abcdef'[q['right']]}" for number, q in enumerate(asked, start=1))
    return f"{out}: {len(exercises)} exercises, {len(asked)} questions. Right: {right}"


def _words(asked: ClassTask) -> Markup:
    """Returns what an exercise asks for, without what explains it."""
    return Markup(as_html("\n\n".join(asked.text.split("\n\n")[-PARAGRAPHS:])))


def as_html(words: str) -> str:
    """Returns Markdown as HTML that needs nothing from outside; what looks like HTML is escaped."""
    renderer = mistune.HTMLRenderer(escape=True)
    markdown = mistune.create_markdown(renderer=renderer, plugins=["math", "table"])
    # paper has no script that draws formulas; the plugin would leave that to one
    renderer.register("inline_math", lambda _, tex: drawn(tex))
    renderer.register("block_math", lambda _, tex: f'<div class="formula">{drawn(tex)}</div>')
    return str(markdown(words))


def drawn(tex: str) -> str:
    """Returns a formula as SVG, or its TeX where matplotlib cannot draw it.

    >>> drawn("a_1").startswith("<svg"), drawn(r"\\begin{pmatrix} a < b")
    (True, '<code>\\\\begin{pmatrix} a &lt; b</code>')
    """
    known = tex.strip()
    for pattern, replacement in KNOWN.items():
        known = re.sub(pattern, replacement, known)
    try:
        math_to_image(f"${known}$", buffer := io.BytesIO(), format="svg", dpi=72)
    except ValueError:  # it has not all of TeX
        return f"<code>{escape(tex)}</code>"
    svg = NO_DRAWING.sub("", buffer.getvalue().decode())
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(tex)}" ', 1).strip()
