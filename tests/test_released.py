"""What was run, edited or saved in JupyterLab changes no deck, no page and no archive."""

import subprocess

import nbformat
import pytest

import bundle
import release
import slides
from muonlab.classroom.widget import LESSONS
from muonlab.notebooks import STATE, read, released, released_text
from printing import book
from printing import released as printed

TEXT = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Why?

Since it is so.

> **You will be able to**
> 1. ask.
>
> Read 7 min · do 9 min · needs lesson 01 · no GPU

```{code-cell} ipython3
from muonlab.classroom import start

lesson = start("02")
```

## Ask

```{code-cell} ipython3
lesson.predict("02-p1", "Which?", ["left", "right"])
```

```{code-cell} ipython3
lesson.explore("polynomial")
```

## Quiz

```{code-cell} ipython3
lesson.quiz()
```

## Limits

Few.

## Recap
"""


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


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The notebook's release, as `make lessons` writes it, which runs once."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "02-small.md").write_text(TEXT, encoding="utf-8")
    notebook = release.execute(read(folder / "02-small.md"), LESSONS)
    release.write(release.clean(notebook, "02", 3), folder / "02-small.ipynb")
    return (folder / "02-small.ipynb").read_bytes()


@pytest.fixture
def path(tmp_path, first):
    path = tmp_path / "lessons" / "02-small.ipynb"
    path.parent.mkdir()
    path.write_bytes(first)
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
    assert said == "02-small.ipynb was saved since its release: git's copy is read\n"


def test_a_lesson_released_and_not_yet_committed_is_read_as_it_is(committed, tmp_path, capsys):
    anew = committed.read_text("utf-8").replace("Which?", "Which way?")
    release.write(nbformat.reads(anew, as_version=4), committed)
    states = slides.deck(released(committed)).metadata.widgets[STATE]["state"].values()
    assert "Which way?" in [model["state"].get("question") for model in states]
    assert capsys.readouterr().err == ""
    git(tmp_path, "reset", "-q", "--hard")
    assert "Which way?" not in released_text(committed)


@pytest.mark.parametrize("clear", [False, True], ids=["no widget state", "cleared"])
def test_without_git_what_is_whole_is_read_and_what_is_not_says_what_to_do(path, clear):
    assert released_text(path).encode() == path.read_bytes()
    save_as_jupyterlab(path, clear)
    with pytest.raises(ValueError, match=r"02-small.ipynb lacks .*run `make lessons`"):
        released(path)


def test_an_outcome_with_an_error_is_refused(path):
    notebook = nbformat.read(path, as_version=4)
    error = nbformat.v4.new_output("error", ename="KeyError", evalue="x", traceback=[])
    notebook.cells[1].outputs = [error]
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=f"cell {notebook.cells[1].id}"):
        released(path)


def test_pages_and_archive_are_made_of_what_is_committed(committed, monkeypatch):
    root, before = committed.parents[1], committed.read_text("utf-8")
    monkeypatch.setattr(printed, "course", lambda: root)
    save_as_jupyterlab(committed)
    printed.folder.cache_clear()
    try:
        assert printed.folder() != committed.parent
        source = ["what JupyterLab saved"]
        book._fill_page(None, "lessons/02-small", source)
        assert source == [book.fold(before)]
        assert [path.read_text("utf-8") for path in printed.lessons()] == [before]
        assert bundle._content(committed) == before.encode()
    finally:
        printed.folder.cache_clear()
