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
from muonlab.class_texts import TEXTS, export_texts, import_texts
from muonlab.data import corpus, documents
from muonlab.data.load import load_corpus

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


def zipped(*members):
    with ZipFile(buffer := BytesIO(), "w", ZIP_STORED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def named(*contents, name="docs"):
    return zipped(*((f"{name}.{sha256(content).hexdigest()}", content) for content in contents))


def test_after_an_import_a_student_has_the_teachers_tokens_and_can_pass_them_on(
    machine, exported, tmp_path, monkeypatch, capsys
):
    theirs = {name: load_corpus(name) for name in TEXTS}
    machine("student")
    assert load_corpus("docs").sha256 != theirs["docs"].sha256
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("asked the network"))
    capsys.readouterr()
    assert cli.main(["corpus", "import", str(exported)]) == 0
    words = capsys.readouterr().out.split()
    hashes = dict(zip(words[::2], words[1::2], strict=True))  # that a class can compare
    assert hashes["docs"] in str(doctor._text())
    monkeypatch.setattr(documents, "documentation", lambda: pytest.fail("read its own packages"))
    for name, their in theirs.items():
        own = load_corpus(name)
        assert own.sha256 == their.sha256
        assert own.sha256.startswith(hashes[name])
        assert torch.equal(own.train, their.train)
        assert torch.equal(own.held_out, their.held_out)
        assert own.tokenizer.to_str() == their.tokenizer.to_str()
        assert (own.documents, own.characters) == (their.documents, their.characters)
    export_texts(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == exported.read_bytes()


def test_every_text_that_a_lesson_loads_is_exported():
    texts = "\n".join(path.read_text("utf-8") for path in LESSONS.glob("*.md"))
    loaded = set(re.findall(r'^[^`]*load_corpus\("((?:docs|code)[^"]*)"\)', texts, re.MULTILINE))
    assert loaded == set(TEXTS)


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
    for _ in range(30):
        yield whole[: chance.randrange(len(whole))]
        place = chance.randrange(len(whole))
        yield whole[:place] + bytes([whole[place] ^ 1 << chance.randrange(8)]) + whole[place + 1 :]


def test_no_half_or_changed_copy_replaces_anything(machine, exported, tmp_path):
    cache, whole = machine("student"), exported.read_bytes()
    import_texts(exported)
    refused, copy = 0, tmp_path / "copy.zip"
    hashes = archive.hashes(archive.read_texts(whole))
    for content in broken_copies(whole):
        copy.write_bytes(content)
        try:  # a bit that says when a member was written changes no text
            assert import_texts(copy, replace=True) == hashes
            import_texts(exported, replace=True)
        except ValueError:
            refused += 1
        assert (cache / "class.zip").read_bytes() == whole
    assert refused > 50


def flipped(whole):
    """A copy with one bit changed: its directory says that its member is packed as bzip2."""
    place = whole.index(b"PK\1\2") + 10
    return whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]


FACTS = b'{"train": 2, "held_out": 1, "documents": 1, "characters": 1, "tokenizer": "{}"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short or changed"),
        (flipped(archive.pack({"docs": b"x"})), "cut short or changed"),
        (zipped(("../../evil.py", b"x")), r"docs\.HASH of a text.*evil"),
        (zipped((f"docs.{'0' * 64}", b"x")), r"docs\.HASH of a text"),
        (named(b"x"), "does not hold tokens and their tokenizer"),
        (named(FACTS + bytes(6)), "does not hold tokens and their tokenizer"),
        (named(b"[" * 100_000), "does not hold tokens"),
        (named(b"x", name="facts-9"), r"docs\.HASH of a text"),
        (named(b"one", b"two"), "expected each text once, got 2 members"),
        (archive.pack({"docs": bytes(200_001)}), "more than 200,000 bytes unpacked"),
        (bytes(200_001), "200,001 bytes; expected an archive of 200,000"),
    ],
    ids=[
        *("empty", "packing", "path", "hash", "line", "tokenizer"),
        *("nested", "other", "twice", "bomb", "large"),
    ],
)
def test_what_is_no_archive_of_texts_is_refused(machine, tmp_path, monkeypatch, content, message):
    cache = machine("student")
    (tmp_path / "odd.zip").write_bytes(content)
    monkeypatch.setattr(archive, "CEILING", 200_000)
    if "unpacked" in message:
        monkeypatch.setattr(ZipFile, "read", lambda *_: pytest.fail("was unpacked"))
    elif "bytes" in message:
        monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("was read"))
    with pytest.raises(ValueError, match=message):
        import_texts(tmp_path / "odd.zip")
    assert not (cache / "class.zip").exists()


def test_tokens_beyond_the_tokenizer_are_refused(machine, exported, tmp_path):
    content = archive.read_texts(exported.read_bytes())["docs"]
    high = content[:-2] + b"\xff\xff"
    for changed, name in ((high, "docs"), (content, "docs-257")):
        (tmp_path / "odd.zip").write_bytes(named(changed, name=name))
        with pytest.raises(ValueError, match=rf"{name} does not hold .*: its largest token"):
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
