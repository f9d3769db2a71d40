"""A Sphinx extension: what the book's pages show is made from the lessons while the book is built.

A page asks for a part with a comment, such as `<!-- made: claims -->`. Two settings come from the
environment, since a clone knows neither: MUONLAB_SITE, the address at which the book will stand,
and MUONLAB_REPOSITORY, the address at which its text can be edited.
"""

import json
import os
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml

from muonlab.classroom import explore, quiz
from muonlab.classroom.claims import EVIDENCE_FOLDER, claims_in
from muonlab.classroom.widget import Widget, script
from muonlab.drawing import looks
from muonlab.files import course
from muonlab.notebooks import STATE, VIEW
from muonlab.records.store import path_of
from muonlab.records.table import markdown
from muonlab.studies import comparisons
from muonlab.studies.table1 import TIERS
from muonlab.sweeps.results import read_runs
from printing import answer, gpu, route
from printing.claims import brief, claims_table, link, measured
from printing.fold import fold
from printing.launches import launch_figure
from printing.paper import counts, gap, paper, table1
from printing.picture import picture
from printing.refresher import drawn
from printing.released import lessons, pages, text_of

PART = re.compile(r"<!-- made: (\w+) ?([^>]*?) -->")
FORMULA = r'<span class="math notranslate nohighlight">[^<]*</span>'  # in a line of text
JOINED = re.compile(rf"[(“]{FORMULA}[^\s<]*|{FORMULA}[^\s<]+")  # with what touches it
INTERVAL = re.compile(r"(?<=\d \[)([-+]?[\d.]+), (?=[-+]?[\d.]+\])")  # its lower end
TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
HEADER = re.compile(r"^> Read (\d+) min · do (\d+) min · needs ([^·]*)", re.MULTILINE)
THEBE = ("init_thebe_core", "update_thebe_context")
SIGNS = {
    "mathjax": 'class="math',
    "mystnb": 'class="cell ',
    "design": 'class="sd-',
    "tabs": 'class="sd-tab',
    "clipboard": 'class="highlight',
    "copybutton": 'class="highlight',
    "thebe": "thebe",
}
ICON = re.compile(r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}')
PLAYGROUND = course() / "book" / "playground"
STILL = """<div id="playground"></div>
<noscript><p>Here stands a figure that moves. It needs JavaScript, which is off in your browser. The
answer, the lessons and all numbers can be read without it.</p></noscript>
"""
MOVED = {  # pages that people may have kept a link to, and what holds their numbers now
    "book/conditions": "lessons/evidence/race",
    "book/equal-time": "lessons/evidence/time",
}
FORWARD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Moved</title>
<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">This page has moved.</a></html>
"""
LOADER = '<script src="../live/widgets.js"></script>'
SLIDES = '<p class="muonlab-source"><a href="../slides/{}.html">This lesson as slides</a></p>'


def claims() -> str:
    """Returns a table of claims for each lesson or page of evidence that has any, in Markdown."""
    parts = []
    for page, path in pages().items():
        if stored := claims_in(path):
            place = path.stem[:2] if path.stem == page else "Evidence"
            title = _found(TITLE, nbformat.read(path, as_version=4))[1]
            parts += [f"## {place} · {title}", claims_table((claim, page) for claim in stored)]
    return "\n\n".join(parts)


def tiers() -> str:
    """Returns which tiers of machines have recorded runs of the paper's Table 1, and which not."""
    counts = {name: len(read_runs(path_of(name))) for name in TIERS}
    done = [f"{count} runs on `{name}`" for name, count in counts.items() if count]
    missing = [f"`{name}`" for name, count in counts.items() if not count]
    none = f" No run is recorded on {' and '.join(missing)}." if missing else ""
    return f"Recorded for the paper's Table 1: {', '.join(done)}.{none}"


def lesson_map() -> str:
    """Returns the lessons with their minutes, and the seconds that their last release took."""
    rows = []
    for path in lessons():
        notebook = nbformat.read(path, as_version=4)
        read, do, needs = _found(HEADER, notebook).groups()
        link = f"[{path.name[:2]}](../lessons/{path.name})"
        took = f"{notebook.metadata.muonlab.seconds} s"
        times = [x.replace(" ", "\N{NO-BREAK SPACE}") for x in (f"{read} min", f"{do} min", took)]
        rows.append((link, _found(TITLE, notebook)[1], needs.strip(), *times))
    return markdown(("lesson", "question", "needs (all)", "read", "do", "Run All"), rows)


def lesson_graph() -> str:
    """Returns the lessons as a graph, by what each says that it needs."""
    toc = yaml.safe_load((course() / "book" / "_toc.yml").read_text(encoding="utf-8"))
    pages = (page for part in toc["parts"] for page in part["chapters"])
    titles = {page["file"]: page.get("title", "")[3:] for page in pages}
    stops = []
    for path in lessons():
        notebook = nbformat.read(path, as_version=4)
        read, do, needs = _found(HEADER, notebook).groups()
        states = [model["state"] for model in notebook.metadata.widgets[STATE]["state"].values()]
        asks = tuple(state["id"] for state in states if "choice" in state)
        title, question = titles[f"lessons/{path.stem}"], _found(TITLE, notebook)[1]
        page, minutes = f"../lessons/{path.stem}.html", int(read) + int(do)
        lesson = route.Stop(path.name[:2], title, question, page, minutes, needs.strip(), asks)
        stops.append(lesson)
    return route.draw(stops)


def lead_map() -> str:
    """Returns the explorer of Muon's lead in every race, as a notebook's page holds one."""
    data = {"races": comparisons.lead_points()}
    return widget("leadmap", {"_esm": explore.module("leadmap"), "values": {}, "data": data})


def playground() -> str:
    """Returns the playground, a memory that learns while one watches."""
    css = (PLAYGROUND / "playground.css").read_text(encoding="utf-8")
    return STILL + widget("play", {"_esm": playground_module()}, css)


def playground_module() -> str:
    """Returns the ES module that computes and draws the playground, its settings first."""
    settings = (PLAYGROUND / "settings.json").read_text(encoding="utf-8")
    parts = (PLAYGROUND / f"{name}.js" for name in ("numerics", "drawing", "controls"))
    known = f"const LOOKS = {looks.TEXT};\nconst SETTINGS = {settings};\n"
    shared = script("dom.js", "matrix.js")
    return "\n".join([known + shared, *(part.read_text(encoding="utf-8") for part in parts)])


def codespace() -> str:
    """Returns how to run the lessons without installing: a link, where the repository is known."""
    repository = os.environ.get("MUONLAB_REPOSITORY", "")
    if match := re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)", repository):
        return f'<a href="https://codespaces.new/{match[1]}?quickstart=1">open a codespace</a>'
    return "on the repository's page at GitHub, choose *Code*, *Codespaces*, *Create codespace*"


def self_test(name: str) -> str:
    """Returns the quiz of a page that is no lesson."""
    asked = {"questions": quiz.questions(name), "answers": {}}
    return widget(f"quiz-{name}", {"_esm": script("dom.js", "quiz.js"), **asked})


def widget(name: str, model: dict[str, Any], css: str = "") -> str:
    """Returns what draws a widget in a page without a kernel; model: its state, with "_esm"."""
    model = {**model, "_css": Widget._css + css}
    parts = {VIEW: {"model_id": name}, STATE: {"state": {name: {"state": model}}}}
    texts = {kind: json.dumps(data).replace("</", "<\\/") for kind, data in parts.items()}
    scripts = [f'<script type="{kind}">{text}</script>' for kind, text in texts.items()]
    return "\n".join([*scripts, LOADER])


PAGE_PARTS: dict[str, Callable[..., str]] = {
    part.__name__: part
    for part in (
        *(claims, tiers, lesson_map, lesson_graph, lead_map, playground, codespace, self_test),
        *(measured, brief, gap, table1, picture, drawn, launch_figure, answer.answer, answer.ended),
        *(answer.saved, answer.paid, answer.unseen, answer.directions, answer.rates),
        *(gpu.gpu_race, gpu.gpu_row, gpu.gpu_setting, gpu.gpu_unfinished, gpu.gpu_timed),
        *(gpu.gpu_step, gpu.gpu_newton_schulz, gpu.gpu_training),
    )
}
PAGE_PARTS |= {
    "count": lambda: counts(paper().all()),
    "trained": lambda: counts(paper().trained()),
    "factor": lambda factor: paper().trained_by(float(factor)),
    "cell": lambda id: link(paper().stored[id]),
    "claim": lambda id: paper().rows([paper().stored[id]]),
    "against": lambda: paper().against(),
    "results": lambda: paper().summary(),
    "verdicts": lambda: paper().sections(),
    "word": lambda ids: paper().word(ids),
}


def fill(text: str) -> str:
    """Returns a page's text with its parts; ValueError names a part that nothing makes."""

    def made(match: re.Match[str]) -> str:
        name, argument = match.groups()
        if name not in PAGE_PARTS:
            raise ValueError(f"nothing makes the part {name!r}; there are {', '.join(PAGE_PARTS)}")
        return PAGE_PARTS[name](*filter(None, [argument]))

    whole = PART.sub(made, text)
    once = max(0, whole.count(LOADER) - 1)  # each draws all widgets of the page
    return whole.replace(LOADER, "", once)


def source_line(page: str, repository: str) -> str:
    """Returns the line below a page that says where its text stands, a link where one is known.

    >>> source_line("lessons/03-muon", "")
    '<p class="muonlab-source">The text of this page: <code>lessons/text/03-muon.md</code></p>'
    """
    path = f"{page}.md".replace("lessons/", "lessons/text/")
    where = f"<code>{escape(path)}</code>"
    if repository:
        where = f'<a href="{escape(repository)}/edit/main/{escape(path)}">edit {where}</a>'
    return f'<p class="muonlab-source">The text of this page: {where}</p>'


def _found(pattern: re.Pattern[str], notebook: nbformat.NotebookNode) -> re.Match[str]:
    words = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    if match := pattern.search(words):
        return match
    raise ValueError(f"a lesson has no line like {pattern.pattern!r}; it begins {words[:60]!r}")


def _configure(app: Any, config: Any) -> None:
    site = os.environ.get("MUONLAB_SITE", "").rstrip("/")
    config.ogp_site_url = site and f"{site}/"
    # Jupyter Book loads sphinx-thebe, asked or not, and that names another host in every page
    for listeners in app.events.listeners.values():
        listeners[:] = [x for x in listeners if getattr(x.handler, "__name__", "") not in THEBE]


def _fill_page(app: Any, page: str, source: list[str]) -> None:
    if PART.search(source[0]):  # what it shows stands elsewhere, and may have changed
        app.env.note_reread()
    source[0] = fold(text_of(page)) if page.startswith("lessons/") else fill(source[0])


def _add_source(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if "body" in context and tree is not None:
        # docutils calls it a list, but gives its entries another role: screen readers stumble
        context["body"] = context["body"].replace('<div role="list" class="cit', '<div class="cit')
        # the theme's words for a folded cell hide ours from a screen reader
        context["body"] = context["body"].replace(' aria-label="Toggle hidden content"', "")
        context["body"] = INTERVAL.sub("\\1,\N{NO-BREAK SPACE}", context["body"])  # on one line
        context["body"] = JOINED.sub(r'<span class="muonlab-joined">\g<0></span>', context["body"])
        if page.startswith("lessons/") and not page.startswith(f"lessons/{EVIDENCE_FOLDER}/"):
            context["body"] += SLIDES.format(page.removeprefix("lessons/"))
        context["body"] += source_line(page, os.environ.get("MUONLAB_REPOSITORY", ""))
    if "metatags" in context and not app.config.ogp_site_url:  # a picture beside this page
        own = context["pathto"]("og.png", resource=True)
        context["metatags"] = context["metatags"].replace('content="og.png"', f'content="{own}"')
    if "metatags" in context:  # which joins what it takes for punctuation to the word before it
        context["metatags"] = re.sub(r"(?<=\w)\+(?=\d)", " +", context["metatags"])
    for files in (context["script_files"], context["css_files"]):
        files[:] = [file for file in files if _used(file, context.get("body", ""))]


def _used(asset: Any, body: str) -> bool:
    """Whether a page has what a script or a style sheet is for; extensions give each to all."""
    signs = f"{asset.filename} {asset.attributes.get('body', '')}".lower()
    return all(sign in body for name, sign in SIGNS.items() if name in signs)


def _finish(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page, now in MOVED.items():
            place = Path(app.outdir) / f"{page}.html"
            place.parent.mkdir(exist_ok=True)
            place.write_text(FORWARD.format(f"../{now}.html"), encoding="utf-8")
        # two thousand icons, of which icons.css draws those that pages have: a fifth of the sheet
        for sheet in Path(app.outdir).glob("_static/styles/pydata-sphinx-theme.css"):
            sheet.write_text(ICON.sub("", sheet.read_text("utf-8")), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Registers the extension with Sphinx."""
    app.connect("config-inited", _configure)
    app.connect("source-read", _fill_page)
    app.connect("html-page-context", _add_source, priority=900)  # when all are added
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
