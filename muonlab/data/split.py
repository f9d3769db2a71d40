"""What is held out of a text: a tenth of its documents, the same ones wherever it is split."""

from collections.abc import Iterable
from hashlib import blake2b


def split(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the training documents and the held-out ones, one in ten, without duplicates.

    The order and the side of a document follow from the hash of its text alone: a document that
    stays the same stays on its side when others come or go. Fewer than two raise ValueError.
    """
    by_hash = {blake2b(text.encode(), digest_size=16).digest(): text for text in texts}
    order = sorted(by_hash)
    if len(order) < 2:
        raise ValueError(f"expected 2 different documents, one to hold out, got {len(order)}")
    share = sum(key[0] * 10 < 256 for key in order)
    cut = min(max(share, 1), len(order) - 1)  # a small folder may have none below, or nothing else
    different = [by_hash[key] for key in order]
    return different[cut:], different[:cut]
