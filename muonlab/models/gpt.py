"""A GPT of the nanoGPT kind, with every matrix separate and named as in the paper.

q, k, v, o are the attention matrices, w_in, w_out (and w_gate) the feed-forward ones. In shapes,
B is the batch, T the tokens, C the width, H the heads, h = C/H the width of a head, V the words.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class GPTConfig:
    """The shape of a model; `SIZES` holds the named ones."""

    vocab_size: int = 4096  # token ids are 0 … vocab_size - 1
    context: int = 64  # the most tokens the model sees at once
    layers: int = 3  # blocks of attention and feed-forward
    width: int = 128  # numbers that describe one token between blocks
    heads: int = 4  # attention heads; width / heads must be even, for RoPE
    gated: bool = False  # feed-forward w_out(σ(w_in x) ⊙ w_gate x) instead of w_out(σ(w_in x))
    rope_base: float = 10_000.0  # the slowest rotation turns once in about 2π · base tokens

    def __post_init__(self) -> None:
        for name in ("vocab_size", "context", "layers", "width", "heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.width % (2 * self.heads):
            raise ValueError(
                f"width must be a multiple of 2·heads, got width={self.width} and "
                f"heads={self.heads}: RoPE turns the numbers of each head in pairs"
            )

    @property
    def hidden(self) -> int:
        """Returns the width inside the feed-forward (4C, or 8C/3 for three matrices in all)."""
        return 8 * math.ceil(self.width / 3) if self.gated else 4 * self.width


SIZES: dict[str, GPTConfig] = {
    "tiny": GPTConfig(),
    "small": GPTConfig(context=256, layers=6, width=384, heads=6),
    "paper": GPTConfig(vocab_size=50304, context=1024, layers=12, width=768, heads=12),
}
"""tiny trains in seconds on a laptop; small has 10.6M numbers in its matrices; paper has 162M in
all, the size of arXiv 2509.26030, section 3."""


def norm(x: Tensor) -> Tensor:
    """Returns x (..., n) with every row scaled to root mean square 1.

    It has no gain: the matrix that follows can learn one, and the model then holds nothing but
    matrices, so that "Muon or AdamW" is one question with one answer for each of them.
    """
    return F.rms_norm(x, x.shape[-1:])


def rope_tables(context: int, width: int, base: float) -> tuple[Tensor, Tensor]:
    """Returns cosines and sines (context, width/2) of position × frequency.

    Source: Su et al., arXiv 2104.09864, section 3.2.2.
    """
    frequency = base ** (-torch.arange(0, width, 2) / width)  # (width/2,)
    angle = torch.outer(torch.arange(context), frequency)  # (context, width/2)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Returns x (B, H, T, h) with number i turned against number i + h/2 by its position's angle.

    Two rotated vectors then meet in a product that knows only the distance between them.
    """
    first, second = x.chunk(2, dim=-1)  # (B, H, T, h/2) each
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Attention(nn.Module):
    """Causal attention with QK-norm: queries and keys of length √h, so no logit exceeds √h.

    Source: arXiv 2509.26030, Appendix C.1 (there with a gain).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        for name in "qkvo":
            self.add_module(name, nn.Linear(config.width, config.width, bias=False))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (self._split(matrix(x)) for matrix in (self.q, self.k, self.v))  # (B, H, T, h)
        cos, sin = cos.type_as(q), sin.type_as(q)  # float32 tables would undo autocast
        q, k = rotate(norm(q), cos, sin), rotate(norm(k), cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, h)
        return self.o(y.transpose(1, 2).flatten(2))  # (B, T, C)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, C) -> (B, H, T, h)


class FeedForward(nn.Module):
    """w_out(σ(w_in x)), or w_out(σ(w_in x) ⊙ w_gate x) when gated; σ is GELU in both."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.w_in = nn.Linear(config.width, config.hidden, bias=False)
        self.w_gate = nn.Linear(config.width, config.hidden, bias=False) if config.gated else None
        self.w_out = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = F.gelu(self.w_in(x))  # (B, T, hidden)
        if self.w_gate is not None:
            h = h * self.w_gate(x)
        return self.w_out(h)  # (B, T, C)


class Block(nn.Module):
    """Attention, then feed-forward, each adding to the stream x what it computes from norm(x)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.feedforward = FeedForward(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(norm(x), cos, sin)
        return x + self.feedforward(norm(x))


class GPT(nn.Module):
    """The model; its parameters are matrices only, and the head is not tied to the embedding.

    >>> model = GPT(GPTConfig(vocab_size=10, context=8, layers=1, width=8, heads=2))
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)
        cos, sin = rope_tables(config.context, config.width // config.heads, config.rope_base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        for name, p in self.named_parameters():
            std = 0.5 / math.sqrt(p.shape[1])  # GPT-2's 0.02 at width 768, and alike at any other
            if name in ("embedding.weight", "head.weight"):
                std = 0.02  # small logits: the loss starts near log V
            elif name.endswith((".o.weight", ".w_out.weight")):
                std /= math.sqrt(2 * self.config.layers)  # each of 2·layers additions to the stream
            nn.init.normal_(p, std=std)

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
        x = self.embedding(tokens)  # (B, T, C)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]  # (T, h/2)
        for block in self.blocks:
            x = block(x, cos, sin)
        logits = self.head(norm(x)).float()  # (B, T, V)
        if targets is None:
            return logits
        self._check(targets)
        losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)
        return losses.view_as(targets) if reduction == "none" else losses

    def _check(self, tokens: Tensor) -> None:
        if tokens.ndim != 2 or not 1 <= tokens.shape[1] <= self.config.context:
            raise ValueError(
                f"expected tokens (B, T) with 1 <= T <= context={self.config.context}, got shape "
                f"{tuple(tokens.shape)}: cut the text, or build the model with a longer context"
            )
        if tokens.device.type == "cpu" and tokens.numel():  # elsewhere it would stall the device
            lowest, highest = (bound.item() for bound in tokens.aminmax())
            if lowest < 0 or highest >= self.config.vocab_size:
                raise ValueError(
                    f"token ids must be in [0, {self.config.vocab_size}), got {lowest} to "
                    f"{highest}: was the text encoded with another tokenizer?"
                )

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        n: int,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Returns tokens (B, T + n): the given ones (B, T) and n more, each drawn from the model.

        Args:
            temperature: under 1 favours likely tokens; 0 always takes the likeliest.
            generator: the source of chance; the same state gives the same tokens.
        """
        if n < 0 or not 0 <= temperature < math.inf:
            raise ValueError(
                f"expected n >= 0 and a finite temperature >= 0, got n={n}, temperature="
                f"{temperature}"
            )
        for _ in range(n):
            logits = self(tokens[:, -self.config.context :])[:, -1]  # (B, V)
            if temperature == 0:
                chosen = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
            else:
                chances = (logits / temperature).softmax(dim=-1)
                chosen = torch.multinomial(chances, 1, generator=generator)
            tokens = torch.cat((tokens, chosen), dim=1)
        return tokens
