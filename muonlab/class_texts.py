"""One text for a class: the teacher's, exported to a file that each student imports."""

from collections.abc import Sequence
from pathlib import Path

from muonlab import archive, checks
from muonlab.data.corpus import load_code, load_docs, unpacked, words_of
from muonlab.files import cache_folder, checked_content, prepare_file, replace_file

TEXTS = ("docs", "docs-512")  # what the lessons train on when their cells run


def export_texts(file: Path, names: Sequence[str] = TEXTS) -> dict[str, str]:
    """Writes texts of this machine to an archive; returns their hashes by name.

    Raises:
        ValueError: a name that is no text of this kind; a file that is there already.
        OSError: the file cannot be written; nothing is left behind.
    """
    for name in names:
        checks.word("a text, docs or code,", name, "docs-512", archive.TEXT_NAME.pattern)
    if file.exists():
        raise ValueError(f"{file} is there already: name a new file, or delete the old one")
    prepare_file(file)  # rather now than after the work
    texts = {name: _content(name) for name in names}
    replace_file(file, archive.pack(texts))
    return archive.hashes(texts)


def import_texts(file: Path, replace: bool = False) -> dict[str, str]:
    """Puts an archive where `load_corpus` finds it; returns the hashes of its texts by name.

    All of it is checked before anything is put in place.

    Raises:
        ValueError: a damaged or odd archive; or another one is there, and `replace` is False.
        OSError: it cannot be read, or not be put in place; the old one stays.
    """
    archived = archive.read_archive(file)
    texts = archive.read_texts(archived)
    for name, content in texts.items():
        _check(name, content)
    archive.put_in_place(archived, replace)
    return archive.hashes(texts)


def _content(name: str) -> bytes:
    of_class = archive.kept() or {}
    if name in of_class:
        return of_class[name]
    load = load_code if name.startswith("code") else load_docs
    digest = load(name).sha256
    for path in cache_folder().glob(f"{name.partition('-')[0]}-*.corpus"):
        content, actual = checked_content(path.read_bytes())
        if actual == digest:
            return content
    raise FileNotFoundError(f"{name} is no longer in {cache_folder()}: try again")


def _check(name: str, content: bytes) -> None:
    """Raises ValueError unless a model can train on it: what somebody made by hand may not fit."""
    try:
        corpus = unpacked(name, content, digest="")
        most = max(int(half.max()) for half in (corpus.train, corpus.held_out))
        if not most < corpus.vocab_size <= words_of(name):
            raise ValueError(f"its largest token is {most:,}, of {corpus.vocab_size:,}")
    except Exception as error:  # the tokenizers library raises nothing more special
        raise ValueError(f"{name} does not hold tokens and their tokenizer: {error}") from error
