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

BY_NAME = {"docs": corpus.load_docs, "code": corpus.load_code, "fineweb": corpus.load_fineweb}
BEGINNINGS: dict[str, Callable[[str], Task]] = {  # of names that go on, as "facts-9"
    "facts-": load_facts,
    "regression-": load_regression,
    **{f"{name}-": load for name, load in BY_NAME.items()},
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
    checks.kind("the name of a text, or a folder", name, str, Path)
    if not str(name):
        raise ValueError(f"expected the name of a text, such as 'docs', or a folder; got {name!r}")
    name = spelled(name) if isinstance(name, str) else name
    if name in BY_NAME:
        return BY_NAME[str(name)]()
    if make := _maker(str(name)):
        return make(str(name))
    folder = Path(os.path.expanduser(name))
    if not folder.is_dir():
        what = "a file" if folder.exists() else "neither"
        known = [*BY_NAME, *(f"{start}9" for start in BEGINNINGS)] if isinstance(name, str) else []
        then = checks.meant(name, known) or ": check the folder that paths start from"
        message = f"expected {' or '.join(map(repr, BY_NAME))} or the path of a folder"
        raise ValueError(f"{message}, got {str(name)!r}, which is {what}{then}")
    return corpus.load_folder(folder)


@cache  # a grid has hundreds of runs and a few shapes
def shape_for(name: str, model: GPTConfig) -> GPTConfig:
    """Returns the shape that a model of the task has, known from the name alone: for estimates.

    Nothing is read or downloaded; a folder is taken to hold text. A text with other tokens than
    docs stands here too.
    """
    if name.startswith(("docs-", "code-")):
        return with_words(model, corpus.words_of(name))
    if name.split("-")[0] == "fineweb":
        shards.training_names(name)  # it says what it expects
        return with_words(model, shards.GPT2_WORDS)
    if make := _maker(name):
        return make(name).shape(model)
    if name not in BY_NAME and not Path(name).expanduser().is_dir():
        load_corpus(name)  # it says what it expects
    return with_words(model, corpus.USUAL_WORDS)


def training_tokens(name: str) -> int | None:
    """Returns how many tokens a run can train on; None where each step makes new ones.

    FineWeb is not downloaded for that; other texts are read.
    """
    if name.split("-")[0] == "fineweb":
        return shards.SHARD_TOKENS * len(shards.training_names(name))
    tokens = getattr(load_corpus(name), "train", None)
    return None if tokens is None else len(tokens)


def _maker(name: str) -> Callable[[str], Task] | None:
    return next((make for start, make in BEGINNINGS.items() if name.startswith(start)), None)
