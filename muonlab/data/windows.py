"""Where a batch comes from: draws that follow from a seed and a step, and windows of a text."""

from hashlib import blake2b

import torch
from torch import Tensor

from muonlab import checks


def chance(seed: int, step: int) -> torch.Generator:
    """Returns a generator that starts alike for the same seed and step, and else differently."""
    mixed = blake2b(f"{seed} {step}".encode(), digest_size=4).digest()  # all that torch takes in
    return torch.Generator().manual_seed(int.from_bytes(mixed, "big"))


def token_ids(tokens: Tensor | list[int], words: int) -> list[int]:
    """Returns tokens (n,) in a list; one that is not among so many words raises ValueError."""
    ids = checks.several("tokens (n,)", tokens.tolist() if isinstance(tokens, Tensor) else tokens)
    for token in {*ids} if isinstance(tokens, Tensor) and tokens.dim() == 1 else ids:
        checks.number("a token", token, 0, words, whole=True)
    return ids


def windows(tokens: Tensor, start: Tensor, context: int) -> tuple[Tensor, Tensor]:
    """Returns the windows that begin at `start` (B,), and the same one token on: (B, T) each."""
    start = start.to(tokens.device, non_blocking=True)
    places = start[:, None] + torch.arange(context + 1, device=tokens.device)
    window = tokens[places].long()  # (B, T + 1)
    return window[:, :-1].contiguous(), window[:, 1:].contiguous()
