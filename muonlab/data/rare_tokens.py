"""Rare tokens, apart: the classes of tokens by how often they occur, and the loss of each."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from muonlab.models.gpt import GPT

CLASSES = ("head", "middle", "tail")  # of tokens, by how often they occur
HEAD, MIDDLE = 0.5, 0.9  # the share of training tokens that the most frequent tokens cover
SPAN = 16  # tokens: a target whose span stands in the training text may be remembered, not guessed
PART = 10_000_000  # tokens of the training text whose spans are looked up at once


def frequency_classes(train: Tensor, words: int) -> Tensor:
    """Returns the class of each token in a vocabulary, (words,) int8: 0 head, 1 middle, 2 tail.

    The head is the most frequent tokens that cover half of the training text (tokens,); the middle
    covers the next 40 %, the tail the last 10 % and what the training text never shows.
    """
    count = torch.bincount(train, minlength=words)
    order = count.argsort(descending=True, stable=True)
    before = (count[order].cumsum(0) - count[order]) / count.sum()  # covered by those ahead
    classes = torch.empty(words, dtype=torch.int8)
    classes[order] = ((before >= HEAD).int() + (before >= MIDDLE)).to(torch.int8)
    return classes


@torch.no_grad()
def losses_by_class(
    model: GPT, batches: Iterable[tuple[Tensor, Tensor]], classes: Tensor, unseen: Tensor
) -> dict[str, Any]:
    """Returns the mean loss in nats a token: "overall", and for each of CLASSES.

    "unseen_overall", "unseen_head", … are the same over the targets whose SPAN of tokens, the
    target the last of them, is nowhere in the training text: "unseen_share" of all targets.
    The class is that of the token to be predicted; None where the text has none of it.

    Args:
        batches: inputs and targets (B, T), which follow one another from the text's second token.
        classes: of each token in the vocabulary, as of `frequency_classes`.
        unseen: of each token in the text, as of `unseen_ends`.
    """
    device, of_token, kinds = model.head.weight.device, classes.long(), len(CLASSES)
    total, count = torch.zeros(2, 2 * kinds, dtype=torch.float64)  # seen classes, then unseen
    done = 1  # the first token is no target
    for inputs, targets in batches:
        losses = model(inputs.to(device), targets.to(device), reduction="none")  # (B, T)
        of = of_token[targets].flatten() + kinds * unseen[done : done + targets.numel()]  # (B·T,)
        total.index_add_(0, of, losses.flatten().cpu().double())
        count += torch.bincount(of, minlength=2 * kinds)
        done += targets.numel()
    total, count = total.view(2, kinds), count.view(2, kinds)
    means = {f"unseen_{name}": mean for name, mean in _means(total[1], count[1]).items()}
    share = (count[1].sum() / count.sum()).item()
    return _means(total.sum(0), count.sum(0)) | means | {"unseen_share": share}


def unseen_ends(train: Tensor, held_out: Tensor) -> Tensor:
    """Returns which held-out tokens (tokens,) end a SPAN that is nowhere in the training text.

    Spans are compared by 64 bits of a hash. The first SPAN - 1 tokens count as seen.
    """
    import pandas  # its import takes a second; its isin a twentieth of the time of NumPy's

    spans = pandas.Series(_span_hashes(held_out))
    seen = np.zeros(len(spans), dtype=bool)
    for start in range(0, len(train), PART):  # a text may be larger than twice its memory
        trained = _span_hashes(train[start : start + PART + SPAN - 1])
        seen |= spans.isin(trained).to_numpy()
    unseen = torch.zeros(len(held_out), dtype=torch.bool)
    unseen[SPAN - 1 :] = torch.from_numpy(~seen)
    return unseen


def _means(total: Tensor, count: Tensor) -> dict[str, float | None]:
    """Returns the mean loss over all classes and of each, None of none, from sums (classes,)."""
    overall = (total.sum() / count.sum()).item() if count.sum() else None
    sums = zip(CLASSES, total.tolist(), count.tolist(), strict=True)
    return {"overall": overall} | {name: t / n if n else None for name, t, n in sums}


def _span_hashes(tokens: Tensor) -> np.ndarray:
    """Returns a hash of every SPAN of successive tokens: (tokens - SPAN + 1,) uint64, or none."""
    hashes = tokens.numpy().astype(np.uint64) + np.uint64(12_345)
    for width in (1, 2, 4, 8):  # of two spans that touch one twice as long; 64 bits overflow
        hashes = hashes[:-width] * np.uint64(pow(1_000_003, width, 2**64)) + hashes[width:]
    return hashes
