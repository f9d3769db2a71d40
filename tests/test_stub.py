"""A new lesson: its files, at their places, and nothing of another lesson touched."""

import shutil
import tomllib

import pytest
from test_lessons import LIMITS, measure

import stub
from muonlab.notebooks import read


@pytest.fixture
def course(tmp_path, monkeypatch):
    for folder in ("lessons/text", "lessons/claims", "lessons/quizzes", "lessons/checks"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("lessons/variants", "tests/mutants", "book"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(stub.ROOT / "book" / "_toc.yml", tmp_path / "book")
    monkeypatch.setattr(stub, "ROOT", tmp_path)
    return tmp_path


def test_a_new_lesson_has_the_whole_anatomy_and_its_place_in_the_contents(course):
    before = (course / "book" / "_toc.yml").read_text(encoding="utf-8")
    written = stub.write("18-weight-decay")
    assert all(path.is_file() and path.is_relative_to(course) for path in written)
    assert not any("NN" in path.read_text(encoding="utf-8") for path in written)
    found = measure(read(course / "lessons" / "text" / "18-weight-decay.md"))
    assert {k: v for k, v in found.items() if not LIMITS[k][0] <= v <= LIMITS[k][1]} == {}
    for folder in ("claims", "quizzes", "variants"):
        tomllib.loads((course / "lessons" / folder / "18.toml").read_text(encoding="utf-8"))
    after = (course / "book" / "_toc.yml").read_text(encoding="utf-8")
    entry = '      - file: lessons/18-weight-decay\n        title: "18 Weight decay"\n'
    assert after.replace(entry, "") == before
    assert after.index("lessons/16-") < after.index(entry) < after.index("evidence")


def test_what_exists_is_left_alone(course):
    stub.write("18-weight-decay")
    contents = {p: p.read_bytes() for p in course.rglob("*.*") if p.is_file()}
    for name, said in (("18-weight-decay", "exists"), ("18-other", "exists"), ("x", "a number")):
        with pytest.raises(ValueError, match=said):
            stub.write(name)
    assert {p: p.read_bytes() for p in course.rglob("*.*") if p.is_file()} == contents
