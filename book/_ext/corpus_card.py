"""The numbers of data/corpus-card.md: `python book/_ext/corpus_card.py [NAME]` prints them.

Of `docs`, the text without a name, also where the documents come from.
"""

import sys
from collections import Counter

import torch

from muonlab.data import documents
from muonlab.data.corpus import Corpus
from muonlab.data.load import load_corpus
from muonlab.data.rare_tokens import SPAN


def counts_of(corpus: Corpus) -> str:
    """Returns the table of counts that the dataset card quotes."""
    head, middle, tail = torch.bincount(corpus.frequency_class(), minlength=3).tolist()
    repeated = 1 - corpus.unseen[SPAN - 1 :].double().mean().item()
    rows = {
        "name": corpus.name,
        "sha256": corpus.sha256,
        "documents": f"{corpus.documents:,}",
        "characters": "not known" if corpus.characters is None else f"{corpus.characters:,}",
        "training tokens": f"{len(corpus.train):,}",
        "held-out tokens": f"{len(corpus.held_out):,}",
        "vocabulary": f"{corpus.vocab_size:,}: {head:,} head, {middle:,} middle, {tail:,} tail",
        f"held-out spans of {SPAN} tokens also in training": f"{repeated:.1%}",
    }
    return "\n".join(f"{name:<44} {value}" for name, value in rows.items())


def report(name: str = "docs") -> str:
    """Returns the summary of a text by name; raises ValueError for a task by rule."""
    corpus = load_corpus(name)
    if not isinstance(corpus, Corpus):
        raise ValueError(f"expected a text, got {name!r}: data/ has a card for each task by rule")
    return counts_of(corpus) + (f"\n\n{sources()}" if name == "docs" else "")


def sources() -> str:
    """Returns the table of where `docs` comes from: different documents and their characters.

    A document that several packages hold is counted for the first of them.
    """
    first: dict[str, str] = {}  # of each document, its source
    for name, texts in documents.by_source():
        first |= {text: name for text in texts if text not in first}
    count, size = Counter(first.values()), Counter[str]()
    for text, name in first.items():
        size[name] += len(text)
    rows = [(name, count[name], total) for name, total in size.most_common()]
    rows.append(("all", count.total(), size.total()))
    return "\n".join(f"{name:<16} {number:>7,} {total:>12,}" for name, number, total in rows)


if __name__ == "__main__":
    print(report(*sys.argv[1:]))
