"""Text as tokens, from this machine, a folder of yours, or a download.

`code` is a text for a model that has learned `docs` to move on to: the source of Python's standard
library in the tokens of docs, without its documentation. No string in triple quotes is left, so
nothing that docs holds comes again.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from muonlab import archive, checks
from muonlab.data import documents, shards, tokenization
from muonlab.data.rare_tokens import frequency_classes, losses_by_class, unseen_ends
from muonlab.data.split import split
from muonlab.data.task import number_in, with_words
from muonlab.data.windows import chance, token_ids, windows
from muonlab.files import CACHE_FORMAT, load_or_build, prepare_file
from muonlab.models.gpt import GPT, GPTConfig

USUAL_WORDS = 4096  # tokens of a tokenizer that is trained on a text
LEAST_WORDS, MOST_WORDS = 257, 65_536  # the bytes and EOT; what two bytes can hold
SHORTEST_FILE = 80  # characters: shorter source files do little beyond importing


@dataclass(frozen=True, eq=False)
class Corpus:
    """Text as tokens, split by document into training and held-out text."""

    name: str
    train: Tensor  # (tokens,) int32
    held_out: Tensor  # (tokens,) int32
    vocab_size: int
    sha256: str  # names the tokens, the tokenizer and the split
    documents: int
    characters: int | None  # None where only the tokens are known
    tokenizer: Tokenizer | None  # None where it is not on this machine

    def batch(self, step: int, batch: int, context: int, seed: int) -> tuple[Tensor, Tensor]:
        """Returns windows, drawn with replacement, and the same one token on: int64 both."""
        checks.number("context in the training text", context, 1, len(self.train), whole=True)
        fit = len(self.train) - context
        start = torch.randint(fit, (batch,), generator=chance(seed, step))
        return windows(self.train, start, context)

    def held_out_batches(
        self, batch: int, context: int, tokens: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields inputs and targets, (batch, context) int64 each, of the first `tokens` held out.

        Windows follow one another; each target is predicted once. The last batch may be smaller.
        A text of less than one raises ValueError.
        """
        checks.number("context in the held-out text", context, 1, len(self.held_out), whole=True)
        count = min(tokens, len(self.held_out) - 1) // context
        for start in (torch.arange(count) * context).split(batch):
            yield windows(self.held_out, start, context)

    def shape(self, model: GPTConfig) -> GPTConfig:
        """Returns the shape of a model for these tokens."""
        return with_words(model, self.vocab_size)

    def measure(self, model: GPT, batch: int, context: int, tokens: int) -> dict[str, Any]:
        """Returns the mean loss in nats a token, of all and apart: see `losses_by_class`."""
        batches = self.held_out_batches(batch, context, tokens)
        return losses_by_class(model, batches, self.frequency_class(), self.unseen)

    @cached_property
    def unseen(self) -> Tensor:
        """Which held-out tokens (tokens,) end a span that is nowhere in the training text."""
        return unseen_ends(self.train, self.held_out)

    def frequency_class(self) -> Tensor:
        """Returns the class of each token, (vocab_size,) int8: 0 head, 1 middle, 2 tail."""
        return frequency_classes(self.train, self.vocab_size)

    def decode(self, tokens: Tensor | list[int]) -> str:
        """Returns the text of tokens (n,); raises RuntimeError without a tokenizer."""
        if self.tokenizer is None:
            raise RuntimeError(f'{self.name} has no tokenizer; load_corpus("docs") has one')
        ids = token_ids(tokens, self.vocab_size)
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def save(self, folder: Path | str) -> None:
        """Writes the tokens as two shards, to take to a machine that lacks the text.

        There `load_corpus(folder)` gives the same tokens, no tokenizer. Errors: see `prepare_file`.
        """
        checks.word("a saved corpus", self.name, "docs")  # its files are
        for tokens, part in ((self.train, "train"), (self.held_out, "val")):
            path = prepare_file(Path(folder) / f"{self.name}_{part}_000001.bin")
            shards.write_shard(tokens.numpy(), self.vocab_size, path)


def load_docs(name: str) -> Corpus:
    """Returns the documentation on this machine, or the class's; "docs-1024" in so many tokens."""
    words = words_of(name)
    if text := archive.of_class(name):
        return unpacked(name, *text)
    key = (words, documents.installed())
    return _cached(name, "docs", key, lambda: _pack(documents.documentation(), words=words))


def load_code(name: str) -> Corpus:
    """Returns source files in the tokens of docs, split by file; "code-1024": of docs-1024."""
    if text := archive.of_class(name):
        return unpacked(name, *text)
    # the hash of docs stands for the versions of Python and of the tokenizer
    words_of(name)  # a wrong name is named as it came
    docs = load_docs(name.replace("code", "docs"))

    def build() -> bytes:
        _, folder = next(documents.source_folders())  # Python's own comes first
        codes = map(documents.bare_code, documents.python_files(folder))
        return _pack((text for text in codes if len(text) >= SHORTEST_FILE), docs.tokenizer)

    return _cached(name, "code", (docs.sha256,), build)


def words_of(name: str) -> int:
    """Returns the vocabulary that the name of a text asks for: USUAL_WORDS unless it says more.

    >>> words_of("docs"), words_of("docs-1024")
    (4096, 1024)
    """
    return number_in(name, LEAST_WORDS, MOST_WORDS, USUAL_WORDS)


def load_fineweb(name: str) -> Corpus:
    """Returns web text: 100 million GPT-2 tokens, a download of 200 MB; "fineweb-7": 7 times that.

    The text held out is the same. Another name raises ValueError.
    """
    names = shards.training_names(name)
    held_out = [shards.download(shards.HELD_OUT)]  # the smaller one first: it fails sooner
    return _from_shards(name, list(map(shards.download, names)), held_out)


def load_folder(folder: Path) -> Corpus:
    """Returns a folder's shards where it has some, else its text files."""
    name = folder.resolve().name
    if any(folder.glob("*.bin")):
        return _from_shards(name, *shards.find(folder))
    texts = documents.passages(folder)
    return _cached(name, "folder", (USUAL_WORDS, texts), lambda: _pack(texts))


def _pack(
    texts: Iterable[str], tokenizer: Tokenizer | None = None, words: int | None = None
) -> bytes:
    """Returns what the cache keeps: a line of JSON, the training tokens, the held-out ones.

    A tokenizer is trained unless one is given. The hash of this names all that it depends on.
    """
    halves = split(texts)
    if tokenizer is None:
        tokenizer = tokenization.train_tokenizer(halves[0], words or USUAL_WORDS)
    train, held_out = (tokenization.encode(tokenizer, half) for half in halves)
    facts = {
        "train": len(train),
        "held_out": len(held_out),
        "documents": sum(map(len, halves)),
        "characters": sum(len(text) for half in halves for text in half),
        "tokenizer": tokenizer.to_str(),
    }
    return json.dumps(facts).encode() + b"\n" + train.tobytes() + held_out.tobytes()


def _cached(name: str, kind: str, key: tuple[object, ...], build: Callable[[], bytes]) -> Corpus:
    """Returns the corpus of a file of the cache, which is built unless one with this key exists."""
    named = sha256(repr((CACHE_FORMAT, *key)).encode()).hexdigest()
    return unpacked(name, *load_or_build(f"{kind}-{named[:16]}.corpus", build))


def unpacked(name: str, content: bytes, digest: str) -> Corpus:
    """Returns the corpus of what `_pack` made, which has this hash."""
    line, _, tokens = content.partition(b"\n")
    facts = json.loads(line)
    tokenizer = Tokenizer.from_str(facts["tokenizer"])
    tokenizer.encode_special_tokens = True  # its JSON does not hold this setting
    both = torch.from_numpy(np.frombuffer(tokens, tokenization.TOKEN).astype(np.int32))
    train, held_out = both[: facts["train"]], both[facts["train"] :]
    counts = {key: facts[key] for key in ("documents", "characters")}
    words = tokenizer.get_vocab_size()
    return Corpus(name, train, held_out, words, digest, **counts, tokenizer=tokenizer)


def _from_shards(name: str, training: list[Path], held_out: list[Path]) -> Corpus:
    train, rest = (torch.from_numpy(shards.read_shards(paths)) for paths in (training, held_out))
    words, digest = shards.vocabulary(training + held_out), shards.digest(training + held_out)
    end = shards.GPT2_END if words == shards.GPT2_WORDS else tokenization.EOT_ID
    documents = sum(int((tokens == end).sum()) for tokens in (train, rest))
    return Corpus(name, train, rest, words, digest, documents, characters=None, tokenizer=None)
