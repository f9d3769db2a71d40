"""A corpus in numbers: `python -m muonlab.data.summary [NAME]` prints them.

For `docs`, the corpus without a name, it also prints where the documents come from.
"""

import sys
import time

import numpy as np
import torch

from muonlab.data import documents
from muonlab.data.corpus import Corpus
from muonlab.data.load import load_corpus

SPAN = 16  # tokens: long enough that a repetition is a shared phrase, not chance


def repeated(corpus: Corpus) -> float:
    """Returns the share of held-out spans of 16 tokens that the training text has word for word."""
    known, asked = _spans(corpus.train), _spans(corpus.held_out)
    return float(np.isin(asked, known).mean()) if len(asked) else 0.0


def summary(corpus: Corpus, seconds: float) -> str:
    """Returns the table of counts that the dataset card quotes."""
    head, middle, tail = torch.bincount(corpus.frequency_class(), minlength=3).tolist()
    characters = "not known" if corpus.characters is None else f"{corpus.characters:,}"
    rows = {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "documents": f"{corpus.documents:,}",
        "characters": characters,
        "training tokens": f"{len(corpus.train):,}",
        "held-out tokens": f"{len(corpus.held_out):,}",
        "vocabulary": f"{corpus.vocab_size:,}: {head:,} head, {middle:,} middle, {tail:,} tail",
        f"held-out spans of {SPAN} tokens also in training": f"{repeated(corpus):.1%}",
        "seconds to load": f"{seconds:.2f}",
    }
    if corpus.name == "docs":
        rows["text of"] = ", ".join(" ".join(pair) for pair in documents.installed())
    return "\n".join(f"{name:<44} {value}" for name, value in rows.items())


def report(name: str = "docs") -> str:
    """Returns the summary of a corpus by name, with the time that it took to load.

    Raises:
        ValueError: a task by rule, which has no text.
    """
    start = time.perf_counter()
    corpus = load_corpus(name)
    if not isinstance(corpus, Corpus):
        raise ValueError(f"expected a text, got {name!r}: data/ has a card for each task by rule")
    found = summary(corpus, time.perf_counter() - start)
    return f"{found}\n\n{sources()}" if name == "docs" else found


def sources() -> str:
    """Returns the table of where `docs` comes from: different documents and their characters.

    A document that several packages hold is counted for the first of them.
    """
    found: dict[str, set[str]] = {"python's topics": set(documents.topics())}
    known = set(found["python's topics"])
    for name, folder in documents.source_folders():
        texts = {
            text for path in documents.python_files(folder) for text in documents.docstrings(path)
        }
        found.setdefault(name, set()).update(texts - known)
        known |= texts
    rows = [(name, len(texts), sum(map(len, texts))) for name, texts in found.items()]
    rows.sort(key=lambda row: -row[2])
    rows.append(("all", len(known), sum(map(len, known))))
    return "\n".join(f"{name:<16} {count:>7,} {size:>12,}" for name, count, size in rows)


def _spans(tokens: torch.Tensor) -> np.ndarray:
    """Returns a 64-bit hash of each span of 16 tokens: (tokens - 15,) uint64."""
    values = tokens.numpy().astype(np.uint64)
    total = np.zeros(max(len(values) - SPAN + 1, 0), np.uint64)
    for i in range(SPAN):  # a polynomial hash: products wrap around on purpose
        total = total * np.uint64(0x9E3779B97F4A7C15) + values[i : i + len(total)] + np.uint64(1)
    return total


if __name__ == "__main__":
    print(report(*sys.argv[1:]))
