"""What was run, edited or saved in JupyterLab changes no deck, no page and no archive."""

import subprocess

import nbformat
import pytest

import bundle
import release
import slides
from muonlab.files import LESSONS
from muonlab.notebooks import STATE, released, released_text
from printing import book
from printing import released as printed

NAME = "02-newton-schulz.ipynb"
ASKED = "Not five steps of p, but 200."  # its first question


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)


def save_as_jupyterlab(path, clear=False):
    """Without the widgets' state, with the kernel's own words and new counts."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("widgets")
    notebook.metadata.language_info = {"name": "python", "version": "3.11.9", "mimetype": "text"}
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.execution_count = None if clear else cell.execution_count + 40
        cell.outputs = [] if clear else cell.outputs
    nbformat.write(notebook, path)


@pytest.fixture
def path(tmp_path):
    """A lesson as it was released, where git knows nothing of it."""
    path = tmp_path / "lessons" / NAME
    path.parent.mkdir()
    path.write_text(released_text(LESSONS / NAME), encoding="utf-8")
    return path


@pytest.fixture
def committed(tmp_path, path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "lessons")
    git(tmp_path, "commit", "-q", "-m", "a lesson")
    return path


@pytest.mark.parametrize("clear", [False, True], ids=["no widget state", "cleared"])
def test_a_deck_is_the_same_after_the_lesson_was_saved_in_jupyterlab(committed, clear, capsys):
    deck = slides.deck(released(committed))
    assert capsys.readouterr().err == ""
    assert len(deck.metadata.widgets[STATE]["state"]) >= 3
    save_as_jupyterlab(committed, clear)
    after = slides.deck(released(committed))
    for cell, cell_after in zip(deck.cells, after.cells, strict=True):
        cell_after.id = cell.id  # nbformat draws it
    assert after == deck
    said = capsys.readouterr().err
    assert said == f"{NAME} was saved since its release: git's copy is read\n"


def test_a_lesson_released_and_not_yet_committed_is_read_as_it_is(committed, tmp_path, capsys):
    anew = committed.read_text("utf-8").replace(ASKED, "Which way?")
    release.write(nbformat.reads(anew, as_version=4), committed)
    states = slides.deck(released(committed)).metadata.widgets[STATE]["state"].values()
    asked = [model["state"].get("question", "") for model in states]
    assert any(question.startswith("Which way?") for question in asked)
    assert capsys.readouterr().err == ""
    git(tmp_path, "reset", "-q", "--hard")
    assert "Which way?" not in released_text(committed)


@pytest.mark.parametrize("clear", [False, True], ids=["no widget state", "cleared"])
def test_without_git_what_is_whole_is_read_and_what_is_not_says_what_to_do(path, clear):
    assert released_text(path).encode() == path.read_bytes()
    save_as_jupyterlab(path, clear)
    with pytest.raises(ValueError, match=f"{NAME} lacks .*run `make lessons`"):
        released(path)


def test_an_outcome_with_an_error_is_refused(path):
    notebook = nbformat.read(path, as_version=4)
    error = nbformat.v4.new_output("error", ename="KeyError", evalue="x", traceback=[])
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [error]
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=f"cell {first.id}"):
        released(path)


def test_pages_and_archive_are_made_of_what_is_committed(committed, monkeypatch):
    root, before = committed.parents[1], committed.read_text("utf-8")
    monkeypatch.setattr(printed, "course", lambda: root)
    save_as_jupyterlab(committed)
    printed.folder.cache_clear()
    try:
        assert printed.folder() != committed.parent
        source = ["what JupyterLab saved"]
        book._fill_page(None, f"lessons/{committed.stem}", source)
        assert source == [book.fold(before)]
        assert [path.read_text("utf-8") for path in printed.lessons()] == [before]
        assert bundle._content(committed) == before.encode()
    finally:
        printed.folder.cache_clear()
