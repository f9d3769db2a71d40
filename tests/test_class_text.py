"""One text for a class: exported, copied badly, imported, and read by everybody alike."""

import errno
import random
import re
import socket
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
import torch

from muonlab import archive, cli, doctor
from muonlab.data import corpus, documents
from muonlab.data.load import load_corpus
from muonlab.teaching.corpus import TEXTS, export_texts, import_texts

LESSONS = Path(__file__).parents[1] / "lessons" / "text"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Sits down at a machine with its own cache and its own packages, in 300 tokens."""
    monkeypatch.setattr(corpus, "USUAL_WORDS", 300)

    def sit(name):
        monkeypatch.setenv("MUONLAB_CACHE", str(tmp_path / name))
        texts = [f"{name} documents number {i}. " * (i + 5) for i in range(30)]
        monkeypatch.setattr(documents, "documentation", lambda: texts)
        monkeypatch.setattr(documents, "installed", lambda: [("python", name)])
        return tmp_path / name

    return sit


@pytest.fixture
def exported(machine, tmp_path):
    """The teacher's archive."""
    machine("teacher")
    export_texts(tmp_path / "class.zip")
    return tmp_path / "class.zip"


def one_member(name, content):
    with ZipFile(buffer := BytesIO(), "w", ZIP_STORED) as made:
        made.writestr(name, content)
    return buffer.getvalue()


def named(content, name="docs"):
    return one_member(f"{name}.{sha256(content).hexdigest()}", content)


def test_after_an_import_a_student_has_the_teachers_tokens(machine, exported, monkeypatch):
    theirs = load_corpus("docs"), load_corpus("docs-512")
    machine("student")
    own = load_corpus("docs")
    assert own.sha256 != theirs[0].sha256
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("asked the network"))
    assert cli.main(["corpus", "import", str(exported)]) == 0
    monkeypatch.setattr(documents, "documentation", lambda: pytest.fail("read its own packages"))
    for name, their in zip(TEXTS, theirs, strict=True):
        found = load_corpus(name)
        assert found.sha256 == their.sha256
        assert torch.equal(found.train, their.train)
        assert torch.equal(found.held_out, their.held_out)
        assert found.tokenizer.to_str() == their.tokenizer.to_str()
        assert (found.documents, found.characters) == (their.documents, their.characters)


def test_the_same_texts_give_the_same_file_and_it_can_be_passed_on(machine, exported, tmp_path):
    machine("student")
    import_texts(exported)
    assert export_texts(tmp_path / "again.zip") == archive.hashes(exported.read_bytes())
    assert (tmp_path / "again.zip").read_bytes() == exported.read_bytes()


def test_every_text_that_a_lesson_loads_is_exported():
    texts = "\n".join(path.read_text("utf-8") for path in LESSONS.glob("*.md"))
    loaded = set(re.findall(r'^[^`]*load_corpus\("((?:docs|code)[^"]*)"\)', texts, re.MULTILINE))
    assert loaded == set(TEXTS)


def test_the_command_prints_hashes_that_a_class_can_compare(machine, exported, capsys):
    machine("student")
    assert cli.main(["corpus", "import", str(exported)]) == 0
    printed = capsys.readouterr().out
    assert printed.split() == ["docs", printed.split()[1], "docs-512", printed.split()[3]]
    assert load_corpus("docs").sha256.startswith(printed.split()[1])
    assert printed.split()[1] in str(doctor._text())


def test_an_export_overwrites_no_file(machine, exported, capsys):
    before = exported.read_bytes()
    assert cli.main(["corpus", "export", str(exported)]) == 2
    assert "is there already: name a new file" in capsys.readouterr().err
    assert exported.read_bytes() == before


def test_only_texts_of_this_machine_can_be_exported(machine, tmp_path):
    machine("teacher")
    for name in ("facts-9", "fineweb", "../docs", "docs-", "docs-9"):
        with pytest.raises(ValueError, match=r"expected docs, docs-V, code or code-V; got"):
            export_texts(tmp_path / "class.zip", [name])
    assert not (tmp_path / "class.zip").exists()


def test_another_archive_is_kept_until_it_is_asked_to_go(machine, exported, tmp_path, capsys):
    machine("other")
    other = export_texts(tmp_path / "other.zip", ["docs"])
    cache = machine("student")
    import_texts(exported)
    import_texts(exported)  # the same again changes nothing
    assert cli.main(["corpus", "import", str(tmp_path / "other.zip")]) == 2
    assert "exchange it with --replace" in capsys.readouterr().err
    assert (cache / "class.zip").read_bytes() == exported.read_bytes()
    assert cli.main(["corpus", "import", str(tmp_path / "other.zip"), "--replace"]) == 0
    assert load_corpus("docs").sha256 == other["docs"]


def test_a_text_that_the_class_lacks_is_made_here_and_that_is_said(machine, exported):
    machine("student")
    import_texts(exported)
    with pytest.warns(UserWarning, match=r"class has docs, docs-512; docs-400 is made") as caught:
        load_corpus("docs-400")
    assert caught[0].filename == __file__


def broken_copies(whole):
    """Copies cut at any place, and copies with one bit changed."""
    chance = random.Random(0)
    for _ in range(60):
        yield whole[: chance.randrange(len(whole))]
        place = chance.randrange(len(whole))
        yield whole[:place] + bytes([whole[place] ^ 1 << chance.randrange(8)]) + whole[place + 1 :]


def test_no_half_or_changed_copy_replaces_anything(machine, exported, tmp_path):
    cache, whole = machine("student"), exported.read_bytes()
    import_texts(exported)
    refused, copy = 0, tmp_path / "copy.zip"
    for content in broken_copies(whole):
        copy.write_bytes(content)
        try:
            assert import_texts(copy, replace=True) == archive.hashes(whole)
        except ValueError:
            refused += 1
            assert (cache / "class.zip").read_bytes() == whole
        import_texts(exported, replace=True)
    assert refused > 100  # a bit that says when a member was written changes no text


FACTS = b'{"train": 2, "held_out": 1, "documents": 1, "characters": 1, "tokenizer": "{}"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short or changed"),
        (one_member("../../evil.py", b"x"), r"expected texts like docs\.HASH.*evil"),
        (one_member("docs.pickle", b"x"), "expected texts like"),
        (one_member(f"docs.{'0' * 64}", b"x"), "not the one that its hash names"),
        (named(b"x"), "does not hold tokens and their tokenizer"),
        (named(FACTS + bytes(6)), "does not hold tokens and their tokenizer"),
        (named(b"[" * 100_000), "does not hold tokens"),
        (named(b"x", name="facts-9"), "expected texts like"),
    ],
    ids=["empty", "path", "pickle", "hash", "line", "tokenizer", "nested", "other"],
)
def test_what_is_no_archive_of_texts_is_refused(machine, tmp_path, content, message):
    cache = machine("student")
    (tmp_path / "odd.zip").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        import_texts(tmp_path / "odd.zip")
    assert not (cache / "class.zip").exists()


def test_tokens_beyond_the_tokenizer_are_refused(machine, exported, tmp_path):
    content = archive.content_of(exported.read_bytes(), "docs")
    high = content[:-2] + b"\xff\xff"
    for changed, name in ((high, "docs"), (content, "docs-257")):
        (tmp_path / "odd.zip").write_bytes(named(changed, name=name))
        with pytest.raises(ValueError, match=rf"{name} does not fit its name: its largest token"):
            import_texts(tmp_path / "odd.zip")


def test_what_is_too_large_is_refused_before_it_is_read(machine, tmp_path, monkeypatch):
    machine("student")
    with (tmp_path / "large.zip").open("wb") as file:
        file.truncate(archive.CEILING + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("was read"))
    with pytest.raises(ValueError, match="200,000,001 bytes; expected an archive of 200,000,000"):
        import_texts(tmp_path / "large.zip")


def test_a_bomb_is_refused_before_it_is_unpacked(machine, tmp_path, monkeypatch):
    machine("student")
    monkeypatch.setattr(archive, "CEILING", 10_000)
    (tmp_path / "bomb.zip").write_bytes(archive.pack({"docs": bytes(10_001)}))
    monkeypatch.setattr(ZipFile, "read", lambda *_: pytest.fail("was unpacked"))
    with pytest.raises(ValueError, match="more than 10,000 bytes unpacked"):
        import_texts(tmp_path / "bomb.zip")


def test_a_member_twice_is_refused(machine, tmp_path):
    machine("student")
    with ZipFile(tmp_path / "odd.zip", "w") as made:
        for content in (b"one", b"two"):
            made.writestr(f"docs.{sha256(content).hexdigest()}", content)
    with pytest.raises(ValueError, match="expected each text once, got 2 members"):
        import_texts(tmp_path / "odd.zip")


def test_an_archive_that_rots_in_the_cache_stops_training_and_the_doctor_says_so(machine, exported):
    cache = machine("student")
    assert str(doctor._text()).startswith("text       OK · made here")
    import_texts(exported)
    assert not doctor._text().advice
    (cache / "class.zip").write_bytes(b"")
    assert doctor._text().advice
    (cache / "class.zip").write_bytes(exported.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"class\.zip: .*cut short.*import it again"):
        load_corpus("docs")
    assert "muonlab corpus import FILE --replace" in doctor._text().advice
    import_texts(exported, replace=True)
    assert not doctor._text().advice


def test_the_doctor_finds_a_quota_and_is_content_where_a_class_shares_a_folder(
    machine, exported, monkeypatch
):
    cache = machine("student")
    monkeypatch.setattr(doctor, "ROOM", 2**30)  # of the file that is written, no byte is kept
    monkeypatch.setattr(doctor, "bytes", lambda n: (_ for _ in ()).throw(full), raising=False)
    full = OSError(errno.EDQUOT, "Disk quota exceeded")
    assert doctor._cache().advice == (
        "Disk quota exceeded: free 1024 MiB there, or set MUONLAB_CACHE elsewhere"
    )
    import_texts(exported)
    assert not doctor._cache().advice
    assert [path.name for path in cache.iterdir()] == ["class.zip"]
