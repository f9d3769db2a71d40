"""The archive: it says when it cannot be made, it is the same twice, and it reads offline."""

import os
import re
import subprocess
import sys
from io import BytesIO
from zipfile import ZipFile

import pytest
from test_book import visit  # noqa: F401  a fixture
from test_browser import browser  # noqa: F401  a fixture

import bundle

TREE = (
    "book/_build/html/index.html",
    "book/_build/html/lessons/02.html",
    "book/_build/html/_static/mathjax/tex.js",
    "book/_build/html/.buildinfo",
    "book/intro.md",
    "lessons/02.ipynb",
    "lessons/text/02.md",
    "lessons/.ipynb_checkpoints/02.ipynb",
    "data/card.md",
    "data/results/cpu.jsonl",
    "data/results/cpu.jsonl-1-ab.part",
    "data/results/.locks/cpu.lock",
)
KNOWN = ("lessons/02.ipynb", "lessons/text/02.md", "data/card.md", "data/results/cpu.jsonl")
WHEELS = "muonlab-1.2.3-py3-none-any.whl", "muonlab_teaching-1.2.3-py3-none-any.whl"


def write(path, text="text"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *words], check=True)


def wheels(tree):
    return [tree / "dist" / name for name in WHEELS]


@pytest.fixture
def tree(tmp_path):
    """A small repository with a built book."""
    for name in (*TREE, *bundle.FILES, *(f"dist/{w}" for w in WHEELS), bundle.BUILT):
        write(tmp_path / name)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", *KNOWN)
    return tmp_path


def test_without_a_book_the_command_ends_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "course", lambda: tmp_path)
    with pytest.raises(SystemExit, match=r"bundle: there is no book/.*: run make book first"):
        bundle.main()
    assert not (tmp_path / "dist").exists()


def test_the_command_writes_the_archive_and_prints_its_size(tree, monkeypatch, capsys):
    monkeypatch.setattr(bundle, "course", lambda: tree)
    monkeypatch.setattr(bundle, "build_wheels", lambda folder: wheels(tree))
    bundle.main()
    assert re.fullmatch(r"dist.muonlab-1\.2\.3\.zip: 0\.0 MB\n", capsys.readouterr().out)
    expected = bundle.pack(tree, wheels(tree))
    assert (tree / "dist" / "muonlab-1.2.3.zip").read_bytes() == expected


def test_where_git_does_not_say_what_is_ours_nothing_is_packed(tree, monkeypatch):
    monkeypatch.setattr(bundle, "course", lambda: tree)
    monkeypatch.setattr(bundle, "build_wheels", lambda folder: wheels(tree))
    monkeypatch.setenv("GIT_DIR", str(tree / "nowhere"))
    with pytest.raises(SystemExit, match=r"bundle: .*git.*ls-files"):
        bundle.main()
    assert not list(tree.glob("dist/*.zip"))


def test_a_wheel_that_pip_cannot_build_is_an_error(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(bundle, "course", lambda: tmp_path)  # no project
    with pytest.raises(OSError, match="no wheel"):
        bundle.build_wheels(tmp_path)


def test_what_is_in_it_and_what_is_not(tree):
    archive = ZipFile(BytesIO(bundle.pack(tree, wheels(tree))))
    assert set(archive.namelist()) == {
        *bundle.FILES,
        *WHEELS,
        "START-HERE.txt",
        "index.html",
        "book/index.html",
        "book/searchindex.js",
        "book/lessons/02.html",
        "book/_static/mathjax/tex.js",
        *KNOWN,
    }
    start = archive.read("START-HERE.txt").decode()
    assert all(f"pip install -c constraints.txt ./{name}\n" in start for name in WHEELS)
    assert 'url=book/index.html"' in archive.read("index.html").decode()


def test_equal_files_make_equal_bytes(tree):
    before = bundle.pack(tree, wheels(tree))
    for name in reversed(TREE):
        (tree / name).unlink()
        write(tree / name)
        os.utime(tree / name, (4000, 4000))
    assert bundle.pack(tree, wheels(tree)) == before
    write(tree / "data/card.md", "another text")
    assert bundle.pack(tree, wheels(tree)) != before


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The bundle of the book as it is built now, unpacked in a folder of its own."""
    built = bundle.build_wheels(tmp_path_factory.mktemp("wheels"))
    folder = tmp_path_factory.mktemp("unpacked bundle")  # a name with a space, as people have
    ZipFile(BytesIO(bundle.pack(bundle.course(), built))).extractall(folder)
    return folder


KINDS = "py", "js", "css", "html", "toml", "md", "txt"


@pytest.mark.browser
@pytest.mark.parametrize(("package", "at"), [("muonlab", "."), ("muonlab_teaching", "teaching")])
def test_a_wheel_holds_all_files_of_its_package(unpacked, package, at):
    (wheel,) = unpacked.glob(f"{package}-*.whl")
    root = bundle.course() / at
    files = {p for kind in KINDS for p in (root / package).rglob(f"*.{kind}")}
    assert {p.relative_to(root).as_posix() for p in files} <= set(ZipFile(wheel).namelist())


@pytest.mark.browser
@pytest.mark.parametrize(  # the course in MUONLAB_COURSE, or around the .venv
    ("folder", "named"),
    [(".", True), ("lessons", False)],  # of `muonlab lab`, and of its kernels
)
def test_outside_a_clone_the_package_finds_lessons_and_records(unpacked, tmp_path, folder, named):
    (wheel,) = unpacked.glob("muonlab-*.whl")
    ZipFile(wheel).extractall(tmp_path if named else unpacked / ".venv")
    code = "from muonlab import cli; from muonlab.records import store as r; "
    code += "print(cli.LESSONS, r.RESULTS, sep='|', end='')"
    where = {"PYTHONPATH": str(unpacked / ".venv"), "MUONLAB_COURSE": ""}
    if named:
        where = {"PYTHONPATH": str(tmp_path), "MUONLAB_COURSE": str(unpacked)}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=unpacked / folder,
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == f"{unpacked / 'lessons'}|{unpacked / 'data' / 'results'}"


@pytest.mark.browser
def test_the_bundle_is_read_without_a_network(unpacked, visit):  # noqa: F811
    page = visit(unpacked / "index.html")
    page.wait_for_url("**/book/book/intro.html")
    page.locator("main a[href$='lessons/00-start-here.html']").first.click()
    page.locator("nav a[href$='02-newton-schulz.html']").first.click()
    page.wait_for_url("**/lessons/02-newton-schulz.html")
    page.locator("mjx-container").first.wait_for()
    fonts = "[...document.fonts].filter(f => /MJX/.test(f.family) && f.status == 'loaded')"
    page.wait_for_function(f"{fonts}.length > 0")

    explorer = page.locator(".muonlab-explorer").first
    before = explorer.locator(".muonlab-sentence").inner_text()
    explorer.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert explorer.locator(".muonlab-sentence").inner_text() != before

    page.goto((unpacked / "book" / "search.html").as_uri() + "?q=momentum")
    page.locator("#search-results li a", has_text="Muon").first.wait_for()
    assert page.outside == []
