"""What a model is trained on, and how it is asked what it has learned."""

import math
import re
from dataclasses import replace
from typing import Any, Protocol

from torch import Tensor

from muonlab.models.gpt import GPTConfig

MADE_KIND = re.compile(r"(?:docs|code|fineweb|facts|regression)\b")
MADE_NAME = re.compile(  # facts alone follow a law
    r"(facts|(?:docs|code|fineweb|regression)(?!.*zipf))"
    r"-0*([1-9][0-9]*)(?:-zipf([0-9](?:\.[0-9]{1,4})?))?"
)


class Task(Protocol):
    """All that a run knows of what it learns. A further task keeps this and joins `data.load`."""

    @property
    def name(self) -> str:
        """The name that `load_corpus` takes, or that of the folder."""

    @property
    def sha256(self) -> str:
        """What names the data; records of one task can be compared where it is the same."""

    def batch(self, step: int, batch: int, context: int, seed: int) -> tuple[Tensor, Tensor]:
        """Returns inputs (batch, context, …) and targets of one training step.

        They follow from `seed` and `step` alone, so a run that goes on needs no other state.

        Raises:
            ValueError: sizes that do not fit the data.
        """

    def shape(self, model: GPTConfig) -> GPTConfig:
        """Returns a shape with this task's tokens; `models.regressor.build` makes the model."""

    def measure(self, model: Any, batch: int, context: int, tokens: int) -> dict[str, Any]:
        """Returns what the model, called as a `GPT`, knows of about so many held-out tokens.

        Numbers, None, or lists of them: "overall", the loss that judges a run; "accuracy", a list
        of shares that judges it instead; and whatever else a table shows. `muonlab.records` knows
        no task, only these names.
        """


def spelled(name: str) -> str:
    """Returns the one spelling of a text's name, by which runs are told apart.

    >>> spelled("docs-0512"), spelled("facts-9-zipf1.50"), spelled("facts-9-zipf1.0")
    ('docs-512', 'facts-9-zipf1.5', 'facts-9')
    >>> spelled("my/texts/"), spelled("docs/")  # the second, without its sign, is no folder
    ('my/texts', 'docs/')
    """
    if not (match := MADE_NAME.fullmatch(name)):
        return name if MADE_KIND.match(name) else name.rstrip("/") or name
    kind, number, exponent = match.groups()
    if f"{kind}-{number}" in ("docs-4096", "code-4096", "fineweb-1"):  # what the name alone means
        return kind
    steep = float(exponent or 1)
    return f"{kind}-{number}" + (f"-zipf{steep:g}" if steep != 1 else "")


def number_in(name: str, least: int, most: int, usual: int | None = None) -> int:
    """Returns the number in a text's name, 512 of "docs-512", or the usual one where none is.

    ValueError: it is not least to most, or is missing where no usual one is given.
    """
    kind, dash, number = name.partition("-")
    if not dash and usual is not None:
        return usual
    if not (number.isascii() and number.isdecimal() and least <= int(number) <= most):
        raise ValueError(f"expected {kind}-{least} to {kind}-{most}, got {name!r}")
    return int(number)


def with_words(model: GPTConfig, words: int) -> GPTConfig:
    """Returns the shape with a vocabulary for so many words: products of multiples of 64 are fast.

    >>> with_words(GPTConfig(), 867).vocab_size
    896
    """
    return replace(model, vocab_size=64 * math.ceil(words / 64))
