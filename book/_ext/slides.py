"""Slides: one deck a lesson, of the lesson's own cells: `python book/_ext/slides.py`.

A deck keeps what a class looks at: the question, predictions with the words before them and what
happened, explorers, figures and claims, the limits and the quiz. The speaker's notes are the
lesson's words after a line on how to ask, and the small print of claims, so there is no second text
to keep. What a slide shows it also holds: words that point to something else are left out.
sphinx-revealjs makes the pages, and brings reveal.js.
"""

import copy
import itertools
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.cmd.build import build_main

from muonlab.classroom.claims import CLAIM
from muonlab.files import course
from muonlab.notebooks import STATE, VIEW, released
from printing.book import HEADER
from printing.released import lessons

SETTINGS = course() / "book" / "slides"
DECKS = course() / "book" / "_build" / "html" / "slides"
MOST = 15  # slides in a deck
NEEDED, FIGURE, MORE = range(3)  # what goes last when there are too many, and what first
LONGEST = 420  # characters of words above a question
PROOF = 800  # characters of a theorem or of a part of its proof
TALLEST = 460  # points, of a figure on a slide; its letters have ten
VIEW_BOX = re.compile(r'<svg[^>]* viewBox="[\d.]+ [\d.]+ [\d.]+ ([\d.]+)"')
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LIMITS = re.compile(r"^## Limits\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"\A(# .*?\n\n.*?)\n\n(.*?)(> \*\*.*?)\n>\n> Read ", re.DOTALL)
NOT_SAID = re.compile(r"^(#|>|\*\*Exercise|<details|```)")
DETAILS = re.compile(r"<details>.*?</details>\s*", re.DOTALL)  # hints and solutions
STATED = re.compile(r"^\*\*(Theorem|Box|First half|Second half)\b", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[A-Z`*$])")
POINTS = re.compile(  # to what a slide of a question or a claim does not hold
    r"^(Move|Drag|Turn|Choose|Read it|Look at|Now run|Train|In the explorer)\b"
    r"|\b(next|last|first) (cell|figure)|\b(from|one) above\b|^The (picture|figure)\b|\bsolution\b"
)
SMALL_PRINT = re.compile(r"<br><small>.*?</small>", re.DOTALL)
FORMULA = re.compile(r"\$+([^$]+)\$+")  # the speaker's window does not draw formulas
REASON = "Let one who was right and one who was wrong say why, before you go on."
PROVE = "Go line by line. Ask what each line uses, and where it would fail."
BREAK = "Ask which run would make this false, and by how much."
INDEX = """# Slides

```{{toctree}}
:maxdepth: 1
{}
```
"""


@dataclass
class Slide:
    """One slide: its heading, its outputs, the speaker's notes, how needed it is.

    first: the lesson's words, which stand above the outputs.
    """

    title: str
    shown: list[NotebookNode]
    notes: list[str]
    rank: int = NEEDED
    first: str = ""


def deck(notebook: NotebookNode) -> NotebookNode:
    """Returns a lesson's deck as a notebook: its question, then a heading for each slide.

    The opening picture, predictions with their outcomes, the first explorer, proofs, limits and
    quiz are always there. Figures, then other explorers and claims, fill what is left of MOST
    slides; the lesson's order stays.
    """
    models = dict(notebook.metadata.widgets[STATE]["state"])
    slides_of_all = list(_slides(notebook.cells, models))
    kept = sorted(range(len(slides_of_all)), key=lambda place: slides_of_all[place].rank)
    begin = (cell.source for cell in notebook.cells[:6] if cell.cell_type == "markdown")
    cells, on_picture = _question("\n\n".join(begin))  # a picture may stand before the minutes
    slides_of_all[0].notes.append(on_picture)
    for place in sorted(kept[: MOST - 1]):
        cells += _cells(slides_of_all[place])
    views = {view for cell in cells for out in cell.get("outputs", []) if (view := _view(out))}
    used = {view: models[view] for view in sorted(views)}
    state = {"state": used, "version_major": 2, "version_minor": 0}
    return new_notebook(cells=cells, metadata={"widgets": {STATE: state}})


def _question(source: str) -> tuple[list[NotebookNode], str]:
    """Returns the first slide, and the lesson's words on its first picture, which it lacks."""
    if not (first := QUESTION.search(source)) or not (header := HEADER.search(source)):
        raise ValueError(f"a lesson begins with its question and its minutes, not {source[:60]!r}")
    read, do, needs = header.groups()
    answer, on_picture, outcomes = first.groups()
    notes = [
        f"The lesson plans {read} minutes to read and {do} to do; it needs {needs.strip()}.",
        "The exercises are in the notebook. Most of these notes are the lesson's words.",
    ]
    return [new_markdown_cell(f"{answer}\n\n{outcomes}"), _aside(notes)], on_picture.strip()


def _cells(slide: Slide) -> list[NotebookNode]:
    above = new_markdown_cell(f"## {slide.title}\n\n{slide.first}".rstrip())
    tags, outputs = {"tags": ["remove-input"]}, [*map(_bare, slide.shown)]
    shown = [new_code_cell("# shown", metadata=tags, outputs=outputs)] if outputs else []
    return [above, *shown, _aside(slide.notes)]


def _aside(notes: list[str]) -> NotebookNode:
    text = FORMULA.sub(r"`\1`", "\n\n".join(filter(None, notes)))
    return new_markdown_cell(f'<aside class="notes">\n\n{text}\n\n</aside>')


def _slides(cells: list[NotebookNode], models: dict[str, Any]) -> Iterator[Slide]:
    """Yields all slides that a lesson could have; `models` gets one for each half of the quiz."""
    title, explored, waiting = "", False, False
    figures: list[NotebookNode] = []  # since the last prediction
    asked: dict[str, tuple[str, list[NotebookNode]]] = {}  # question and its figure, if it has one
    for place, cell in enumerate(cells):
        if title == "Recap":
            return
        if cell.cell_type == "markdown":
            title = [title, *HEADING.findall(cell.source)][-1]
            if limits := LIMITS.search(cell.source):
                notes = ["Ask: which of these matters most for what you train?"]
                yield Slide("Limits", [], notes, first=limits[1].strip())
            continue
        said, first = _said(cells[place + 1 :]), _first(cells[:place])
        drawn, claims, outcomes = ([*filter(f, cell.outputs)] for f in (_drawn, _claim, _outcome))
        last_figure = [*figures, *drawn][-1:]
        figures += drawn
        opens = "= start(" in cell.source
        below_words = place > 0 and cells[place - 1].cell_type == "markdown"
        claims_follow = any(map(_claim, _outputs_below(cells[place:])))  # on a slide with the proof
        if STATED.search(first) and below_words and not claims_follow:
            yield Slide(title, [], [PROVE], first=first)
        for out in filter(_view, cell.outputs):
            state = models[_view(out)]["state"]
            if "choice" in state:
                beside = last_figure if "figure" in state["question"] else []
                asked[state["id"]] = state["question"], beside
                words = [_without_pointing(first), *map(_told, cell.outputs)]
                figures, waiting = [], True
                yield Slide(title, [*beside, out], _asking(state), first="\n\n".join(words))
            elif "questions" in state:
                yield from _quiz(title, state, models)
            else:
                notes = ["Before you move anything: ask what will change, and which way.", said]
                yield Slide(title, [out], notes, MORE if explored and not opens else NEEDED)
                explored = True
        if outcomes:
            question, beside = asked[_outcome(outcomes[0])]
            shown = [*(figures or beside)[-1:], *claims][:2]
            notes = [REASON, *map(_words, shown), said]
            shown.insert(0 if claims[:1] == shown[:1] else 1, outcomes[0])
            yield Slide(title, shown, notes, first=question)
            waiting = False
        elif drawn and not waiting:
            shown = [drawn[-1], *claims[:1]]
            rank = NEEDED if opens else FIGURE
            yield Slide(title, shown, [*map(_words, shown), said], rank)
        elif claims and not waiting:
            above = first if STATED.search(first) else first.split("\n\n")[-1]
            notes = [BREAK, *map(_words, claims[:2]), said]
            yield Slide(title, claims[:2], notes, MORE, _without_pointing(above))


def _asking(state: dict[str, Any]) -> list[str]:
    options = "; ".join(state["options"])
    return [
        "Half a minute alone, then a show of hands for each option, then a reason for each.",
        f"{state['question']} ({options}) Click what most of the class believes: the outcome "
        "repeats it.",
    ]


def _quiz(title: str, state: dict[str, Any], models: dict[str, Any]) -> Iterator[Slide]:
    """Yields two questions a slide, each with its wrong answers and the beliefs behind them."""
    questions = state["questions"]
    for first in range(0, len(questions), 2):
        pair, notes = questions[first : first + 2], []
        for question in pair:
            right = question["options"][question["right"]]["option"]
            notes.append(f"**{question['text']}** {right}.")
            for option in question["options"]:
                if belief := option.get("misconception"):
                    notes.append(f"- *{option['option']}*: {belief}. {option['because']}")
        view = f"{state['lesson']}-questions-{first}"
        # each slide has a widget of its own, which would begin to count anew
        counted = state["_esm"].replace("${number + 1}", f"${{number + {first + 1}}}")
        models[view] = {"state": {**state, "questions": pair, "_esm": counted}}
        yield Slide(title, [new_output("display_data", {VIEW: {"model_id": view}})], notes)


def _said(cells: list[NotebookNode]) -> str:
    """Returns what the lesson says right after a cell: the next words, up to a heading."""
    text = next((cell.source for cell in cells if cell.cell_type == "markdown"), "")
    words = itertools.takewhile(lambda words: not NOT_SAID.match(words), text.split("\n\n"))
    return "\n\n".join(words)


def _outputs_below(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Returns what the cells of code show, up to the next words."""
    code = itertools.takewhile(lambda cell: cell.cell_type == "code", cells)
    return [output for cell in code for output in cell.outputs]


def _first(cells: list[NotebookNode]) -> str:
    """Returns the lesson's last words before a cell, from the last heading on, as far as they fit.

    A question about "these momenta" needs them: a class sees nothing else of the lesson. Of a
    theorem and its proof it returns the beginning, of all else the end.
    """
    text = next((cell.source for cell in reversed(cells) if cell.cell_type == "markdown"), "")
    paragraphs = DETAILS.sub("", text).strip().split("\n\n")
    if STATED.search(text):
        words = ""
        for paragraph in (part for part in paragraphs if not NOT_SAID.match(part)):
            if len(words) + len(paragraph) > PROOF:
                break
            words += f"{paragraph}\n\n"
        return words.strip()
    last: list[str] = []
    for paragraph in reversed(paragraphs):
        if NOT_SAID.match(paragraph) or len("".join([*last, paragraph])) > LONGEST:
            break
        last.insert(0, paragraph)
    return "\n\n".join(last)


def _without_pointing(words: str) -> str:
    """Returns the paragraphs, each up to the sentence that points to what the slide lacks.

    >>> _without_pointing("Rates fall to 0. The next cell trains:\\n\\nMove `p`. It grows.")
    'Rates fall to 0.'
    """
    kept = []
    for paragraph in words.split("\n\n"):
        place = 0
        for sentence in SENTENCE.split(paragraph):
            if POINTS.search(sentence):
                break
            place = paragraph.index(sentence, place) + len(sentence)
        kept.append(paragraph[:place])
    return "\n\n".join(filter(None, kept))


def _told(output: NotebookNode) -> str:
    """Returns what `lesson.say` printed, such as where the runs are when a question is asked."""
    return "" if _outcome(output) else output.get("data", {}).get("text/markdown", "")


def _bare(output: NotebookNode) -> NotebookNode:
    """Returns an output as a slide shows it: the speaker's notes have a claim's small print."""
    bare = copy.deepcopy(output)
    if _claim(output):
        bare.data["text/html"] = SMALL_PRINT.sub("", bare.data["text/html"])
    elif _outcome(output):  # a last sentence may announce a text that the slide lacks
        bare.data["text/markdown"] = re.sub(r" [^.]*:$", "", bare.data["text/markdown"])
    return bare


def _words(output: NotebookNode) -> str:
    return str(output.data.get("text/plain", ""))


def _view(output: NotebookNode) -> str:
    view = output.get("data", {}).get(VIEW)
    return view["model_id"] if view else ""


def _drawn(output: NotebookNode) -> bool:
    """Whether it is a figure whose words can still be read when it is as high as a slide."""
    size = VIEW_BOX.search(output.get("data", {}).get("text/html", ""))
    return size is not None and float(size[1]) <= TALLEST


def _claim(output: NotebookNode) -> bool:
    return CLAIM in output.get("data", {})


def _outcome(output: NotebookNode) -> str:
    """Returns the id of the prediction of which an output says what happened, or nothing."""
    text = output.get("data", {}).get("text/markdown", "")
    match = re.search(r'data-prediction="(.*?)"', text)
    return match[1] if match else ""


def main() -> int:
    """Writes the decks into the built book; returns Sphinx's exit status, 0 without a warning."""
    with tempfile.TemporaryDirectory() as folder:
        decks = []
        for path in lessons():
            question, _, _ = (lesson := released(path)).cells[0].source.partition("\n")
            nbformat.write(deck(lesson), f"{folder}/{path.name}")
            decks.append(f"{path.stem[:2]} {question.strip('# ')} <{path.stem}>")
        Path(folder, "index.md").write_text(INDEX.format("\n".join(decks)), encoding="utf-8")
        names = [f"{folder}/{kind}" for kind in ("", ".doctrees")]
        made = ["-b", "revealjs", "-q", "-W", "--keep-going", "-c", str(SETTINGS), "-d", names[1]]
        return build_main([*made, names[0], str(DECKS)])


if __name__ == "__main__":
    sys.exit(main())
