"""A GPT of the nanoGPT kind, with every matrix separate and named as in the paper.

q, k, v, o are the attention matrices, w_in, w_out (and w_gate) the feed-forward ones; `attention`
and `feedforward` hold the layers, `config` their sizes. In shapes, B is the batch, T the tokens,
C the width, H the heads, h = C/H the width of a head, V the words.
"""

import math
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from muonlab import checks
from muonlab.models.attention import Attention, Cache, LatentAttention, norm, rope_tables
from muonlab.models.config import ATTENTIONS, SIZES, GPTConfig
from muonlab.models.feedforward import Experts, FeedForward

__all__ = ["ATTENTIONS", "GPT", "SIZES", "GPTConfig"]
COLD = 1e-6  # a temperature by which logits cannot be divided


class Block(nn.Module):
    """Attention, then feed-forward, each adding to the stream x what it computes from norm(x)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        latent = config.attention == "latent"
        self.attention = LatentAttention(config) if latent else Attention(config)
        self.feedforward = Experts(config) if config.experts else FeedForward(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(norm(x), cos, sin)
        return x + self.feedforward(norm(x))

    def decode(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None
    ) -> tuple[Tensor, Cache]:
        y, cache = self.attention.decode(norm(x), cos, sin, cache)
        x = x + y
        return x + self.feedforward(norm(x)), cache


class GPT(nn.Module):
    """The model; its parameters are matrices only, and the head is not tied to the embedding.

    >>> model = GPT(GPTConfig(vocab_size=10, context=8, layers=1, width=8, heads=2))
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 10])
    """

    embedding: nn.Embedding | nn.Linear  # a Linear in `Regressor`, whose tokens are vectors
    cos: Tensor  # (context, h/2)
    sin: Tensor

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)
        cos, sin = rope_tables(config.context, config.rotary_width, config.rope_base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        for name, p in self.named_parameters():
            inputs = self.config.hidden_used if name.endswith(".w_out.weight") else p.shape[-1]
            std = 0.5 / math.sqrt(inputs)  # GPT-2's 0.02 at width 768, and alike at any other
            if name in ("embedding.weight", "head.weight"):
                std = 0.02  # small logits: the loss starts near log V
            elif name.endswith((".o.weight", ".w_out.weight")):
                std /= math.sqrt(2 * self.config.layers)  # each of 2·layers additions to the stream
            nn.init.normal_(p, std=std)

    def count_active(self) -> int:
        """Returns how many numbers of the parameters one token uses: not the experts left out."""
        unused = sum(m.unused for m in self.modules() if isinstance(m, Experts))
        return sum(p.numel() for p in self.parameters()) - unused

    def forward(
        self,
        tokens: Tensor,
        targets: Tensor | None = None,
        reduction: Literal["mean", "none"] = "mean",
    ) -> Tensor:
        """Returns the logits (B, T, V), or the cross-entropy in nats when targets are given.

        Args:
            tokens: (B, T) int64, T at most `config.context`.
            targets: (B, T) int64, the token that follows each.
            reduction: "mean" gives one number, "none" the losses (B, T).

        Raises:
            ValueError: a wrong shape, too many tokens, or an id outside the vocabulary.
        """
        self._check(tokens)
        logits = self.head(self._features(tokens)).float()  # (B, T, V)
        if targets is None:
            return logits
        if targets.shape != tokens.shape:
            raise ValueError(f"expected targets {tuple(tokens.shape)}, got {tuple(targets.shape)}")
        losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)
        return losses.view_as(targets) if reduction == "none" else losses

    def decode(
        self, tokens: Tensor, caches: list[Cache] | None = None
    ) -> tuple[Tensor, list[Cache]]:
        """Returns the logits (B, T, V) of tokens that follow those in the caches, and new caches.

        Args:
            tokens: (B, T) int64, the new ones alone.
            caches: of the tokens before, one a layer; None at the start of a text.

        Raises:
            ValueError: as in `forward`, or more than `config.context` tokens, old and new.
        """
        self._check(tokens)
        x, after = self.embedding(tokens), []
        none: list[Any] = [None] * len(self.blocks)
        layers: Any = zip(self.blocks, caches or none, strict=True)
        for block, cache in layers:
            x, longer = block.decode(x, self.cos, self.sin, cache)
            after.append(longer)
        return self.head(norm(x)).float(), after

    def _features(self, tokens: Tensor) -> Tensor:
        """Returns what the head reads, (B, T, C)."""
        x = self.embedding(tokens)  # (B, T, C)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]  # (T, h/2)
        for block in self.blocks:
            x = block(x, cos, sin)
        return norm(x)

    def _check(self, tokens: Tensor) -> None:
        context, words, shape = self.config.context, self.config.vocab_size, tuple(tokens.shape)
        if len(shape) != 2 or not 1 <= shape[1] <= context:
            raise ValueError(f"expected tokens (B, T), 1 <= T <= context={context}, got {shape}")
        if tokens.device.type == "cpu":  # elsewhere it would stall the device
            lowest, highest = (bound.item() for bound in tokens.aminmax())
            if not 0 <= lowest <= highest < words:
                raise ValueError(f"token ids must be in [0, {words}), got {lowest} to {highest}")

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        n: int,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Returns tokens (B, T + n): the given ones (B, T) and n more, each drawn from the model.

        Up to `config.context` tokens, a step computes the newest alone, by `decode`. Behind that
        the model sees the last `config.context`, and each step computes them all. No cache would
        do: a key in it was made by layers that saw a token which has now gone.

        Args:
            temperature: under 1 favours likely tokens; 0 always takes the likeliest.
            generator: the source of chance; the same state gives the same tokens.
        """
        checks.number("temperature", temperature, 0)
        caches = None
        for _ in range(n):
            if tokens.shape[1] <= self.config.context:
                new = tokens if caches is None else tokens[:, -1:]
                logits, caches = self.decode(new, caches)
            else:
                logits = self(tokens[:, -self.config.context :])
            logits = logits[:, -1]  # (B, V)
            if temperature < COLD:
                chosen = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
            else:
                chances = (logits / temperature).softmax(dim=-1)
                chosen = torch.multinomial(chances, 1, generator=generator)
            tokens = torch.cat((tokens, chosen), dim=1)
        return tokens
