"""How heavy a tail is: the exponent of Zipf's law, with an interval.

Zipf's law says that the token of rank r occurs with a probability proportional to 1 / rˢ.
"""

from collections.abc import Sequence

import numpy as np
import torch

from muonlab import checks
from muonlab.data.corpus import Corpus

STEEPEST_LAW = 20.0  # exponents are sought between minus and plus this
RESAMPLES = 200  # how often blocks are drawn again
BLOCKS = 100  # of text that are counted, and as many that decide the ranks


def zipf(words: int, exponent: float) -> torch.Tensor:
    """Returns the probability of each rank under Zipf's law, (words,) float64, sum 1."""
    logits = -exponent * torch.arange(1, words + 1, dtype=torch.float64).log()
    return logits.softmax(0)


def exponent(counts: Sequence[float] | np.ndarray, first: int = 1) -> float:
    """Returns the exponent of Zipf's law that makes the counts most likely.

    At the maximum the mean of ln r under the law equals the mean of ln r in the text.

    Args:
        counts: how often each rank occurs, (ranks,). Take the ranks from other text than the
            counts: one text for both makes the fit too good (Piantadosi 2014).
        first: the rank of counts[0]; the law is then that of these ranks alone.

    Raises:
        ValueError: all occurrences at one end, or none.

    >>> round(exponent([120, 60, 40, 30]), 6)
    1.0
    """
    from scipy.optimize import brentq  # its import takes a third of a second

    c = np.asarray(counts, dtype=float)
    log_rank = np.log(np.arange(first, first + len(c)))
    seen = c @ log_rank / c.sum()
    if not log_rank[0] < seen < log_rank[-1]:  # nor is NaN, of no occurrences
        raise ValueError(f"expected occurrences of two ranks or more, got {checks.short(c)}")

    def excess(s: float) -> float:
        logits = -s * log_rank
        weights = np.exp(logits - logits.max())
        return float(weights @ log_rank / weights.sum() - seen)

    return float(brentq(excess, -STEEPEST_LAW, STEEPEST_LAW))


def exponent_interval(blocks: np.ndarray, first: int = 1) -> tuple[float, float, float]:
    """Returns the exponent of all blocks together and its 95 % interval: (exponent, low, high).

    Blocks of text are drawn again with replacement, since the tokens of one block are not
    independent of each other. The interval says how far other blocks of these documents would
    move the exponent; other documents may move it farther, and no law need fit.

    Args:
        blocks: how often each rank occurs in each block, (blocks, ranks), at least two blocks.
        first: the rank of the first column.

    Raises:
        ValueError: fewer than two blocks, or counts that `exponent` refuses.
    """
    checks.number("blocks", len(blocks), 2, whole=True)
    count, generator = len(blocks), np.random.default_rng(0)
    weights = generator.multinomial(count, [1 / count] * count, size=RESAMPLES)
    exponents = [exponent(counts, first) for counts in weights @ blocks]
    low, high = np.percentile(exponents, [2.5, 97.5])
    return exponent(blocks.sum(0), first), float(low), float(high)


def ranked_blocks(corpus: Corpus) -> np.ndarray:
    """Returns how often each rank occurs in every second of 200 blocks of text, (100, vocab_size).

    The blocks in between decide the ranks, so that a token does not owe its rank to the same
    chance as its count.
    """
    parts = corpus.train.tensor_split(2 * BLOCKS)
    counts = torch.stack([torch.bincount(p, minlength=corpus.vocab_size) for p in parts])
    order = counts[0::2].sum(0).argsort(descending=True, stable=True)
    return counts[1::2][:, order].numpy()
