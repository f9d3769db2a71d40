"""What attention remembers of the tokens so far, so that a new one need not look at their text."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Cache:
    """What a layer remembers of t tokens.

    Plain attention keeps 2C numbers of each. Latent attention keeps r + p, and no head has its own:
    the latents stand for the values, and for all of a key but the part that knows the position.

    Nothing in it changes: more tokens make a new one, so one text can go on in two ways, and
    gradients pass. So each step copies what it remembers. In size "small", with 16 texts of 256
    tokens, that was a tenth to a quarter of a step of plain attention and less of latent attention.
    Memory laid out beforehand would save it, but it has to know who may still write where.
    """

    keys: Tensor  # (B, H, t, h), rotated; in latent attention (B, t, p), the shared rotary key
    values: Tensor  # (B, H, t, h); in latent attention (B, t, r), the latents

    def __len__(self) -> int:
        """The number of tokens t."""
        return self.keys.shape[-2]

    def extended(self, keys: Tensor, values: Tensor) -> "Cache":
        """Returns a cache with more tokens behind."""
        return Cache(torch.cat((self.keys, keys), -2), torch.cat((self.values, values), -2))

    @property
    def nbytes(self) -> int:
        """The memory it holds."""
        return sum(t.untyped_storage().nbytes() for t in (self.keys, self.values))


def visible(new: int, cache: Cache) -> Tensor:
    """Returns which of the t tokens in a cache the last T = `new` of them see, (T, t) of bools."""
    t = len(cache)
    return torch.ones(new, t, dtype=torch.bool, device=cache.keys.device).tril(t - new)
