"""What stands in a notebook where no widget lives: a picture of an explorer, a question's words.

`jupyter nbconvert`, a page that shows a repository, or a notebook that is not trusted draws no
widget. Debian's chromium takes the pictures; without it a line says what is missing.
"""

import base64
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image
from playwright.sync_api import sync_playwright

from muonlab.files import course
from muonlab.notebooks import STATE, VIEW
from printing.book import LOADER, widget
from printing.fold import STILL, is_still

# Debian's; the first opens no windows, which saves a third of the time
SHELL, WHOLE = Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")
CHROMIUM = SHELL if SHELL.is_file() else WHOLE
LIVE = course() / "book" / "assets" / "live" / "widgets.js"
COLOURS = 16
WIDE = 640  # pixels
HIDE = (  # beside a widget that lives
    f"<style>:is(.jp-OutputArea, .cell_output):has(.muonlab) .{STILL} {{ display: none }}</style>"
)
NOT_LIVE = "This explorer moves in JupyterLab (<code>muonlab lab</code>) and in the book."
PLAIN = "For pages that draw no widgets"
PAGE = '<meta charset="utf-8"><body style="font-family: sans-serif">'
Shoot = Callable[[dict[str, Any]], tuple[bytes, str]]


def add_stills(notebook: NotebookNode) -> None:
    """Puts below each widget's output its still, in place of an older one."""
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    with camera() as shoot:
        for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
            outputs = []
            for output in (output for output in cell.outputs if not is_still(output)):
                outputs.append(output)
                if view := output.get("data", {}).get(VIEW):
                    html = still(models[view["model_id"]]["state"], shoot)
                    data = {"text/html": html, "text/plain": PLAIN}
                    outputs.append(new_output("display_data", data))
            cell.outputs = outputs


def still(state: dict[str, Any], shoot: Shoot | None) -> str:
    """Returns the HTML for a widget's state: of a quiz its questions, of a prediction its own."""
    if "choice" in state:
        words = _question(state["question"], state["options"])
    elif "questions" in state:
        pairs = [(q["text"], [o["option"] for o in q["options"]]) for q in state["questions"]]
        words = "".join(_question(*pair) for pair in pairs)
    else:
        words = f"<p>{NOT_LIVE}</p>"
        if shoot:
            picture, sentence = shoot(state)
            data = base64.b64encode(picture).decode()
            words = f'<img alt="{escape(sentence)}" src="data:image/png;base64,{data}">{words}'
    return f'{HIDE}<div class="{STILL}">{words}</div>'


def _question(text: str, options: list[str]) -> str:
    return f"<p>{escape(text)}</p><ul>{''.join(f'<li>{escape(o)}</li>' for o in options)}</ul>"


@contextmanager
def camera() -> Iterator[Shoot | None]:
    """Yields what takes a PNG of an explorer's state, and returns it with the explorer's sentence.

    None where no chromium is installed.
    """
    if not CHROMIUM.is_file():
        yield None
        return
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDE, "height": 900})
        path = Path(folder, "still.html")

        def shoot(state: dict[str, Any]) -> tuple[bytes, str]:
            drawn = widget("still", {**state, "layout": None})
            drawn = drawn.replace(LOADER, f'<script src="{LIVE.as_uri()}"></script>')
            path.write_text(PAGE + drawn, encoding="utf-8")
            page.goto(path.as_uri())
            explorer = page.locator(".muonlab-explorer")
            explorer.locator("svg, canvas").first.wait_for()
            shot = Image.open(io.BytesIO(explorer.screenshot()))
            shot.convert("RGB").quantize(COLOURS).save(buffer := io.BytesIO(), "PNG", optimize=True)
            return buffer.getvalue(), explorer.locator(".muonlab-sentence").inner_text()

        yield shoot
        browser.close()
