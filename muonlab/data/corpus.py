"""Load text as tokens: `docs` is on every learner's machine, `fineweb` is a download.

>>> from muonlab.data.corpus import load_corpus
>>> corpus = load_corpus("docs")
>>> inputs, targets = corpus.batch(step=0, batch=16, context=64, seed=0)  # (16, 64) each
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from muonlab.data import documents, shards, tokenization
from muonlab.data.cache import FORMAT, Stored, cache_folder, load_or_build

__all__ = ["Corpus", "cache_folder", "load_corpus"]
NAMES = ("docs", "code", "fineweb")
HEAD, MIDDLE = 0.5, 0.9  # the share of training tokens that the most frequent tokens cover


@dataclass(frozen=True, eq=False)
class Corpus:
    """Text as tokens, split by document into training and held-out text."""

    name: str
    train: torch.Tensor  # (tokens,) int32
    held_out: torch.Tensor  # (tokens,) int32
    vocab_size: int
    sha256: str  # names the tokens, the tokenizer and the split
    documents: int
    characters: int | None  # None where only the tokens are known
    tokenizer: Tokenizer | None  # None where it is not on this machine

    def batch(
        self, step: int, batch: int, context: int, seed: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns inputs and targets of one training step: (batch, context) int64 each.

        The windows are drawn with replacement; they follow from `seed` and `step` alone.

        Raises:
            ValueError: a context that is longer than the training text.
        """
        _check_sizes(batch, context, len(self.train), "training")
        generator = torch.Generator().manual_seed(_mix(seed, step))
        start = torch.randint(len(self.train) - context, (batch,), generator=generator)
        return _windows(self.train, start, context)

    def held_out_batches(
        self, batch: int, context: int, tokens: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields inputs and targets, (batch, context) int64 each, of the first `tokens` held out.

        Windows follow one another, each target is predicted once, and every call yields the same.
        The last batch may be smaller. Fewer tokens come when the text holds no more.

        Raises:
            ValueError: `tokens` or the held-out text is less than one window.
        """
        _check_sizes(batch, context, len(self.held_out), "held-out")
        if tokens < context:
            raise ValueError(f"expected tokens of at least one context of {context}, got {tokens}")
        count = min(tokens, len(self.held_out) - 1) // context
        for start in (torch.arange(count) * context).split(batch):
            yield _windows(self.held_out, start, context)

    def frequency_class(self) -> torch.Tensor:
        """Returns the class of each token, (vocab_size,) int8: 0 head, 1 middle, 2 tail.

        The head is the most frequent tokens that cover half of the training text; the middle
        covers the next 40 %, the tail the last 10 % and what the training text never shows.
        """
        count = torch.bincount(self.train, minlength=self.vocab_size)
        order = count.argsort(descending=True, stable=True)
        before = (count[order].cumsum(0) - count[order]) / count.sum()  # covered by those ahead
        found = torch.empty(self.vocab_size, dtype=torch.int8)
        found[order] = ((before >= HEAD).int() + (before >= MIDDLE)).to(torch.int8)
        return found

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text; raises RuntimeError without a tokenizer."""
        return self._needs_tokenizer().encode(text).ids

    def decode(self, tokens: torch.Tensor | list[int]) -> str:
        """Returns the text of tokens (n,); raises RuntimeError without a tokenizer."""
        ids = tokens.tolist() if isinstance(tokens, torch.Tensor) else list(tokens)
        return self._needs_tokenizer().decode(ids, skip_special_tokens=False)

    def save(self, folder: Path | str) -> None:
        """Writes the tokens as two shards, to take to a machine that lacks the text.

        There `load_corpus(folder)` gives the same tokens, without the tokenizer.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for tokens, part in ((self.train, "train"), (self.held_out, "val")):
            path = folder / f"{self.name}_{part}_000001.bin"
            shards.write_shard(tokens.numpy(), self.vocab_size, path)

    def _needs_tokenizer(self) -> Tokenizer:
        if self.tokenizer is None:
            raise RuntimeError(
                f"expected a tokenizer, but {self.name} is GPT-2 tokens without one: to see text, "
                'use load_corpus("docs") or a folder of text files'
            )
        return self.tokenizer


def load_corpus(
    name: str | Path = "docs", *, vocab_size: int = 4096, training_shards: int = 1
) -> Corpus:
    """Returns a corpus by name.

    Args:
        name: "docs", the documentation on this machine; "code", source files in the tokens of
            docs; "fineweb", public shards of GPT-2 tokens (a download); "facts-M", the biographies
            of `facts`; "regression-D", the prompts of `regression`; or a folder, of text files or
            of such shards.
        vocab_size: the size of the tokenizer that is trained on docs or on your text.
        training_shards: how many shards of FineWeb, of 100 million tokens each.

    Raises:
        ValueError: an unknown name, or a file with the wrong content.
        OSError: a folder that cannot be read, a full disk, no network.
    """
    if name == "docs":
        return _docs(vocab_size)
    if name == "code":
        from muonlab.data.code import load_code  # it builds on this module, like the next two

        return load_code()
    if str(name).startswith("facts-"):
        from muonlab.data.facts import load_facts

        return load_facts(str(name))
    if str(name).startswith("regression-"):
        from muonlab.data.regression import load_regression

        return load_regression(str(name))
    if name == "fineweb":
        names = [shards.training_shard(1 + i) for i in range(max(training_shards, 0))]
        if not names:
            raise ValueError(f"expected training_shards of at least 1, got {training_shards}")
        held_out = [shards.download(shards.HELD_OUT)]  # the smaller one first: it fails sooner
        return _from_shards("fineweb", [shards.download(name) for name in names], held_out)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        what = "a file" if folder.exists() else "neither"
        raise ValueError(
            f"expected {' or '.join(map(repr, NAMES))} or the path of a folder, got {str(name)!r}, "
            f"which is {what}: check the spelling, or the folder that paths start from"
        )
    if any(folder.glob("*.bin")):
        return _from_shards(folder.name, *shards.find(folder))
    return _folder(folder, vocab_size)


def _docs(vocab_size: int) -> Corpus:
    key = _key(FORMAT, vocab_size, documents.installed())
    stored, digest = load_or_build(
        f"docs-{key}.corpus", lambda: _build(documents.documentation(), vocab_size)
    )
    return _from_stored("docs", stored, digest)


def _folder(folder: Path, vocab_size: int) -> Corpus:
    texts = documents.passages(folder)
    key = _key(FORMAT, vocab_size, texts)
    stored, digest = load_or_build(f"folder-{key}.corpus", lambda: _build(texts, vocab_size))
    return _from_stored(folder.resolve().name, stored, digest)


def _build(texts: list[str], vocab_size: int) -> Stored:
    """Returns what goes into the cache: the texts split, a tokenizer of their own, the tokens."""
    train, held_out = documents.split(texts)
    return _encoded(train, held_out, tokenization.train_tokenizer(train, vocab_size))


def _encoded(train: list[str], held_out: list[str], tokenizer: Tokenizer) -> Stored:
    return Stored(
        train=tokenization.encode(tokenizer, train),
        held_out=tokenization.encode(tokenizer, held_out),
        tokenizer=tokenizer.to_str(),
        documents=len(train) + len(held_out),
        characters=sum(map(len, train)) + sum(map(len, held_out)),
    )


def _from_stored(name: str, stored: Stored, digest: str) -> Corpus:
    tokenizer = tokenization.as_text(Tokenizer.from_str(stored.tokenizer))
    return Corpus(
        name=name,
        train=torch.from_numpy(stored.train.astype(np.int32)),
        held_out=torch.from_numpy(stored.held_out.astype(np.int32)),
        vocab_size=tokenizer.get_vocab_size(),
        sha256=digest,
        documents=stored.documents,
        characters=stored.characters,
        tokenizer=tokenizer,
    )


def _from_shards(name: str, training: list[Path], held_out: list[Path]) -> Corpus:
    train, rest = (torch.from_numpy(shards.read_shards(paths)) for paths in (training, held_out))
    return Corpus(
        name=name,
        train=train,
        held_out=rest,
        vocab_size=shards.vocabulary(training + held_out),
        sha256=shards.digest(training + held_out),
        documents=sum(int((tokens == shards.END).sum()) for tokens in (train, rest)),
        characters=None,
        tokenizer=None,
    )


def _key(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:16]


def _mix(seed: int, step: int) -> int:
    """Returns 32 bits, all that torch's generator takes in, that differ for each seed and step."""
    return int.from_bytes(blake2b(f"{seed} {step}".encode(), digest_size=4).digest(), "big")


def _windows(
    tokens: torch.Tensor, start: torch.Tensor, context: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the windows that begin at `start` (B,), and the same one token on: (B, T) each."""
    window = tokens[start[:, None] + torch.arange(context + 1)].long()  # (B, T + 1)
    return window[:, :-1].contiguous(), window[:, 1:].contiguous()


def _check_sizes(batch: int, context: int, length: int, which: str) -> None:
    if batch < 1 or context < 1:
        raise ValueError(f"expected batch and context of at least 1, got {batch} and {context}")
    if length <= context:
        raise ValueError(
            f"expected a context below {length:,}, the tokens of the {which} text, "
            f"got {context:,}: shorten the context, or add text"
        )


if __name__ == "__main__":
    import sys

    from muonlab.data.summary import report  # it imports this module, so not at the top

    print(report(*sys.argv[1:]))
