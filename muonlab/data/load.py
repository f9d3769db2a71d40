"""A name → what a model is trained on: `docs` is on every learner's machine.

>>> from muonlab.data import load_corpus
>>> corpus = load_corpus("docs")
>>> inputs, targets = corpus.batch(step=0, batch=16, context=64, seed=0)  # (16, 64) each
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from muonlab import checks
from muonlab.data import corpus, shards
from muonlab.data.facts import load_facts
from muonlab.data.regression import load_regression
from muonlab.data.task import Task, spelled, with_words
from muonlab.models.gpt import GPTConfig

MADE: dict[str, Callable[[str], Task]] = {  # by how a name begins: docs, docs-512, facts-9
    "docs": corpus.load_docs,
    "code": corpus.load_code,
    "fineweb": corpus.load_fineweb,
    "facts": load_facts,
    "regression": load_regression,
}


def load_corpus(name: str | Path = "docs") -> Task:
    """Returns a task by name.

    Args:
        name: "docs", the documentation on this machine; "code", source files in the tokens of
            docs; "docs-V" and "code-V", the same with a vocabulary of V; "fineweb", 100 million
            public GPT-2 tokens (a download), "fineweb-N", N times as many; "facts-M" (or -zipfS),
            biographies of `facts`; "regression-D", the prompts of `regression`; or a folder, of
            text files or of shards of tokens.

    Raises:
        ValueError: an unknown name, or a file with the wrong content.
        OSError: a folder that cannot be read, a full disk, no network.
    """
    name = spelled(name) if isinstance(name, str) else name
    if isinstance(name, str) and (make := MADE.get(name.split("-")[0])):
        return make(name)
    folder = Path(os.path.expanduser(name))
    if not str(name) or not folder.is_dir():
        expected = "'docs', 'code', 'fineweb' or the path of a folder"
        raise ValueError(f"expected {expected}, got {str(name)!r}{checks.meant(name, MADE)}")
    return corpus.load_folder(folder)


@cache  # a grid has hundreds of runs and a few shapes
def shape_for(name: str, model: GPTConfig) -> GPTConfig:
    """Returns the shape that a model of the task has, known from the name alone: for estimates.

    Nothing is downloaded, and no text of the course is read. A text with other tokens than docs
    stands here too.
    """
    kind = name.split("-")[0]
    if kind in ("docs", "code"):
        return with_words(model, corpus.words_of(name))
    if kind == "fineweb":
        shards.training_names(name)  # it says what it expects
        return with_words(model, shards.GPT2_WORDS)
    return load_corpus(name).shape(model)  # or it says what it expects


def training_tokens(name: str) -> int | None:
    """Returns how many tokens a run can train on; None where each step makes new ones.

    FineWeb is not downloaded for that; other texts are read.
    """
    if name.split("-")[0] == "fineweb":
        return shards.SHARD_TOKENS * len(shards.training_names(name))
    tokens = getattr(load_corpus(name), "train", None)
    return None if tokens is None else len(tokens)
