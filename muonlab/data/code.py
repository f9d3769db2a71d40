"""Another text in the tokens of `docs`, for a model that has learned docs to move on to: code.

It is the source of Python's standard library without its documentation: no string in triple quotes
is left, so nothing that docs holds comes again.
"""

from muonlab.data import documents
from muonlab.data.cache import FORMAT, Stored, load_or_build
from muonlab.data.corpus import Corpus, _encoded, _from_stored, _key, load_corpus

SHORTEST = 80  # characters: shorter files do little beyond importing


def load_code() -> Corpus:
    """Returns the code as tokens of the tokenizer of docs, split by file.

    Raises:
        FileNotFoundError: Python is installed without its source files.
    """
    docs = load_corpus("docs")  # its hash stands for the versions of Python and of the tokenizer
    name = f"code-{_key(FORMAT, docs.sha256)}.corpus"
    stored, digest = load_or_build(name, lambda: _build(docs))
    return _from_stored("code", stored, digest)


def _build(docs: Corpus) -> Stored:
    _, folder = next(documents.source_folders())  # Python's own comes first
    found = map(documents.bare_code, documents.python_files(folder))
    long = (text for text in found if len(text) >= SHORTEST)
    return _encoded(*documents.split(long), docs.tokenizer)
