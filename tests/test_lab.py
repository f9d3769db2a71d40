"""`muonlab lab`, started as a learner starts it: what JupyterLab opens, lists and asks first."""

import json
import subprocess
from urllib.request import urlopen

import pytest
from test_browser import browser, free_port, open_page, own_folders, stop, wait_until_up  # noqa: F401

from muonlab import cli


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """The address of its server, and the page that sends a browser to what it opens."""
    folder = tmp_path_factory.mktemp("lab")
    server = {"ip": "127.0.0.1", "port": free_port(), "open_browser": False}
    config = {"ServerApp": server, "IdentityProvider": {"token": ""}}
    (folder / "jupyter_config_dir").mkdir()
    path = folder / "jupyter_config_dir" / "jupyter_server_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    address = f"http://127.0.0.1:{server['port']}"
    with pytest.MonkeyPatch.context() as patch, (folder / "log.txt").open("w") as log:
        for name, place in own_folders(folder).items():
            patch.setenv(name, place)
        patch.setattr(cli, "unchanged", lambda *given: [])  # to trust them takes seconds
        begun = []

        def begin(command, environment):
            begun.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            return 0

        patch.setattr(cli, "_served", begin)
        assert cli.main(["lab"]) == 0
    [lab] = begun
    try:
        wait_until_up(address, lab)
        (opens,) = (folder / "jupyter_runtime_dir").glob("jpserver-file-to-run-*-open.html")
        yield address, opens.read_text(encoding="utf-8")
    finally:
        stop(lab)


def test_it_opens_lesson_00_and_asks_for_no_news(started):
    address, opens = started
    assert "/lab/tree/00-start-here.ipynb" in opens
    with urlopen(address) as page:  # as the address leads there that is copied from a terminal
        assert page.url == f"{address}/lab/tree/00-start-here.ipynb"
    with urlopen(f"{address}/lab/api/settings/@jupyterlab/apputils-extension:notification") as page:
        settings = json.load(page)["schema"]["properties"]
    assert settings["fetchNews"]["default"] == "false", "Jupyter's own default is to ask"


def test_a_learner_sees_lessons_and_evidence_and_no_answers(started):
    with urlopen(f"{started[0]}/api/contents/?content=1") as answer:
        listed = json.load(answer)["content"]
    assert {entry["name"] for entry in listed if entry["type"] == "directory"} == {"evidence"}
    assert "16-capstone.ipynb" in {entry["name"] for entry in listed}


@pytest.mark.browser
def test_the_first_screen_is_the_top_of_lesson_00_and_nothing_lies_on_it(started, browser):  # noqa: F811
    page = open_page(browser)
    page.goto(f"{started[0]}/lab/tree/00-start-here.ipynb")
    title = page.locator(".jp-Notebook h1").first
    title.wait_for()
    page.locator(".jp-StatusBar-Widget", has_text="| Idle").wait_for()  # news would be there now
    assert 0 < title.bounding_box()["y"] < 200
    assert page.locator(".Toastify__toast, .jp-Dialog").count() == 0
    page.context.close()
