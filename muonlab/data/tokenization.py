"""A byte-level BPE tokenizer for a corpus: train it, and encode whole documents fast.

Documents repeat the same words. So each different piece of text is encoded once, and a document is
the concatenation of its pieces: several times faster than to encode document by document.
"""

import re
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TOKEN = np.dtype("<u2")
EOT, EOT_ID = "<|endoftext|>", 0  # what stands after every document, and its id
LEARNED_FROM = 3_000_000  # characters of the training split that the merges are learned from
# What BPE never merges across: letters, digits, signs, each with the space before it; white space.
# Written with explicit ranges, so that Python's `re` and the tokenizers library agree everywhere.
_SPACE = r"\t\n\x0b\x0c\r "
_LETTER = "A-Za-z\u0080-\U0010ffff"
PIECES = (
    rf" ?[{_LETTER}]+| ?[0-9]+| ?[^{_SPACE}{_LETTER}0-9]+"
    rf"|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)


def train_tokenizer(documents: list[str], vocab_size: int) -> Tokenizer:
    """Returns a byte-level BPE tokenizer, learned from the first `LEARNED_FROM` characters.

    It has 257 tokens, the bytes and EOT, or more; a small text may give fewer than `vocab_size`.
    """
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[EOT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    before = accumulate(map(len, documents), initial=0)  # characters ahead of each document
    pairs = zip(documents, before, strict=False)
    sample = (text[: LEARNED_FROM - ahead] for text, ahead in pairs if ahead < LEARNED_FROM)
    tokenizer.train_from_iterator(sample, trainer)
    tokenizer.encode_special_tokens = True  # EOT inside a text is text like any other
    return tokenizer


def encode(tokenizer: Tokenizer, documents: Iterable[str]) -> np.ndarray:
    """Returns the tokens of all documents, each followed by EOT: (tokens,) little-endian uint16."""
    texts: list[list[str]] = [re.findall(PIECES, text) for text in documents]
    different = list(set().union(*texts))
    encodings = tokenizer.encode_batch_fast(different, add_special_tokens=False)
    encoded = (np.array(encoding.ids, TOKEN).tobytes() for encoding in encodings)
    known = dict(zip(different, encoded, strict=True))
    end = np.array(EOT_ID, TOKEN).tobytes()
    joined = (b"".join(map(known.__getitem__, pieces)) for pieces in texts)
    return np.frombuffer(b"".join(part + end for part in joined), TOKEN)
