"""JupyterLab in a real Chromium: a lesson runs, its explorer moves, its quiz answers."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import still
from muonlab.files import LESSONS

pytestmark = pytest.mark.browser
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LESSON = "02-newton-schulz.ipynb"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_up(address, server, seconds=180):
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            return urllib.request.urlopen(f"{address}/api", timeout=2).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer at {address} within {seconds} s")


def stop(server):
    """Ends a JupyterLab; on a busy machine it may wait for a thread of its own, for ever."""
    server.terminate()
    try:
        server.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def own_folders(folder):
    """The environment of a JupyterLab that knows nothing of this machine's settings."""
    names = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR IPYTHONDIR MUONLAB_HOME"
    names += " JUPYTERLAB_SETTINGS_DIR JUPYTERLAB_WORKSPACES_DIR"
    return {name: str(folder / name.lower()) for name in names.split()}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of its own, on a copy of the lessons."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(LESSONS, folder / "lessons")
    threads = {"OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": "10000"}  # as `muonlab lab` sets it
    environment = {**os.environ, **own_folders(folder), **threads}
    notebooks = sorted(map(str, (folder / "lessons").glob("*.ipynb")))
    subprocess.run(
        [sys.executable, "-m", "jupyter", "trust", *notebooks], env=environment, check=True
    )
    port = free_port()
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--port={port}"]
    options += ["--IdentityProvider.token=", "--ServerApp.password="]
    command = [sys.executable, "-m", "jupyter", "lab", *options]
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder / "lessons", env=environment, stdout=log, stderr=log
        )
    try:
        wait_until_up(f"http://127.0.0.1:{port}", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(server)


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=still.CHROMIUM, args=QUIET)
        yield browser
        browser.close()


def open_page(browser, width=1280):
    """A new page whose console errors, if they are ours, are collected in page.faults."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(120_000)  # milliseconds: other programs may keep the machine busy
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text) if ours(message) else 0)
    return page


class Questions:
    """What is asked of pages, all on one visit of each: questions, and of which pages."""

    def __init__(self):
        self.subjects = {}

    def of(self, subjects):
        def register(question):
            self.subjects[question] = [*subjects]
            return question

        return register

    def ask(self, subject, page, subtests):
        """Asks them in the order in which they were written."""
        for question, subjects in self.subjects.items():
            if subject in subjects:
                with subtests.test(question.__name__):
                    question(page)


def resize(page, width, height=900):
    """Waits until all that follows the width is drawn again."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise(go => requestAnimationFrame(() => setTimeout(go)))")


@pytest.fixture
def page(lab, browser):
    """Lesson 02, opened in JupyterLab, its kernel ready."""
    page = open_page(browser)
    page.goto(f"{lab}/lab/tree/{LESSON}?reset")
    page.locator(".jp-StatusBar-Widget", has_text="| Idle").wait_for(timeout=180_000)
    yield page
    page.context.close()


def ours(message):
    return message.type == "error" and any(w in message.text for w in ("muonlab", "anywidget"))


def scroll_to(page, selector, seconds=240):
    """Scrolls the notebook until the element exists: JupyterLab draws only what is near."""
    scroller = page.locator(".jp-WindowedPanel-outer").first
    scroller.evaluate("node => node.scrollTo(0, 0)")
    end, pause = time.monotonic() + seconds, 100  # milliseconds
    while time.monotonic() < end:
        if page.locator(selector).count():
            page.locator(selector).first.scroll_into_view_if_needed()
            return page.locator(selector).first
        at_end = scroller.evaluate("""node => {
            const end = node.scrollTop + node.clientHeight >= node.scrollHeight - 2;
            end ? node.scrollTo(0, 0) : node.scrollBy(0, 500);
            return end;
        }""")
        # A slow machine may draw a cell after we passed it: from the top again, and more slowly.
        pause *= 1 + at_end
        page.wait_for_timeout(pause)
    raise AssertionError(f"{selector} did not appear within {seconds} s")


def move_and_compare(page):
    explorer = scroll_to(page, ".muonlab-explorer")
    line, sentence = explorer.locator(".muonlab-line").first, explorer.locator(".muonlab-sentence")
    before = line.get_attribute("d"), sentence.inner_text()
    explorer.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([node, old]) => node.querySelector('.muonlab-line').getAttribute('d') !== old",
        arg=[explorer.element_handle(), before[0]],
    )
    assert sentence.inner_text() != before[1]
    assert "2 steps of" in explorer.locator(".muonlab-title").inner_text()


def test_the_stored_explorer_moves_before_anything_is_run(page):
    move_and_compare(page)
    stills = page.locator(".jp-OutputArea:has(.muonlab-explorer) .muonlab-still").all()
    assert stills
    assert not any(still.is_visible() for still in stills)  # they are for pages without widgets
    assert page.faults == []


def test_a_learner_runs_all_moves_a_slider_and_answers_the_quiz(page):
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    done = page.locator(
        ".jp-Notebook-ExecutionIndicator", has_text=re.compile(r"Executed \d+ cells")
    )
    done.wait_for(state="attached", timeout=400_000)
    move_and_compare(page)
    scroll_to(page, ".muonlab-predict input").check()
    page.get_by_text("Saved on this machine.").first.wait_for()
    quiz = scroll_to(page, ".muonlab-quiz")
    quiz.locator(".muonlab-option", has_text="Exactly U Vᵀ").click()
    assert "Newton-Schulz returns the exact polar factor" in quiz.inner_text()
    quiz.locator(".muonlab-option", has_text="s about 0.7 to 1.2").click()
    assert "Right." in quiz.inner_text()
    assert "0 of 4 right at the first try, 1 answered." in quiz.inner_text()
    assert page.faults == []
