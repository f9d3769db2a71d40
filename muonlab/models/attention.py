"""Attention with many heads, and latent attention, which remembers less of each token.

In shapes, B is the batch, T the tokens, C the width, H the heads, h = C/H the width of a head;
in latent attention r is the width of the latent and p the width of the rotary part.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, einsum, nn

from muonlab.models.caches import Cache, KeyValueCache, LatentCache, visible
from muonlab.models.config import GPTConfig


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
    """Returns x (..., T, h) with number i turned against number i + h/2 by its position's angle.

    Two rotated vectors then meet in a product that knows only the distance between them.
    """
    first, second = x.chunk(2, dim=-1)  # (..., T, h/2) each
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def new_rows(cos: Tensor, sin: Tensor, cache: Cache | None, x: Tensor) -> tuple[Tensor, Tensor]:
    """Returns those rows (T, …) of the tables that belong to x (B, T, C), after the cache's tokens.

    Raises:
        ValueError: more tokens than the tables have positions.
    """
    past, new = 0 if cache is None else len(cache), x.shape[1]
    if past + new > len(cos):
        raise ValueError(
            f"expected at most {len(cos)} tokens, one a row of the tables, got {past} in the "
            f"cache and {new} new: start again with fewer, or make longer rope_tables"
        )
    return cos[past : past + new], sin[past : past + new]


class Attention(nn.Module):
    """Causal attention with QK-norm: queries and keys of length √h, so no logit exceeds √h.

    Source: arXiv 2509.26030, Appendix C.1 (there with a gain).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        for name in "qkvo":
            self.add_module(name, nn.Linear(config.width, config.width, bias=False))

    @property
    def cache_numbers(self) -> int:
        """How many numbers the cache keeps of each token (a key and a value, 2C)."""
        return self.k.out_features + self.v.out_features

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns (B, T, C) for a sequence x (B, T, C)."""
        q, k, v = self._parts(x, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, h)
        return self.o(join(y))  # (B, T, C)

    def decode(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: KeyValueCache | None = None
    ) -> tuple[Tensor, KeyValueCache]:
        """Returns what `forward` gives for tokens that follow those in the cache, and a new cache.

        Args:
            x: (B, T, C), the new tokens alone; usually T = 1.
            cos, sin: `rope_tables` for all positions, not for the new ones alone.
            cache: of the tokens before; None at the start.

        Raises:
            ValueError: more tokens than the tables have positions.
        """
        cos, sin = new_rows(cos, sin, cache, x)
        q, k, v = self._parts(x, cos, sin)
        cache = KeyValueCache(k, v) if cache is None else cache.extended(k, v)
        seen = visible(x.shape[1], cache)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, attn_mask=seen)
        return self.o(join(y)), cache

    def _parts(self, x: Tensor, cos: Tensor, sin: Tensor) -> list[Tensor]:
        """Returns queries and keys, rotated, and values, (B, H, T, h) each."""
        q, k, v = (split(matrix(x), self.heads) for matrix in (self.q, self.k, self.v))
        cos, sin = cos.type_as(q), sin.type_as(q)  # float32 tables would undo autocast
        return [rotate(norm(q), cos, sin), rotate(norm(k), cos, sin), v]


def split(x: Tensor, heads: int) -> Tensor:
    """Returns x (B, T, H·h) as (B, H, T, h)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    """Returns x (B, H, T, h) as (B, T, H·h)."""
    return x.transpose(1, 2).flatten(2)


class LatentAttention(nn.Module):
    """Causal attention whose keys and values are made from one latent of r numbers a token.

    For a token x::

        c = norm(kv_down x)                                  the latent, for keys and values
        s = RoPE(norm(k_rope x))                             a key of p numbers, for all heads
        query of a head = [norm(q x), RoPE(norm(q_rope x))]  its h numbers, and its p
        key of a head   = [k_up c, s]
        value of a head = v_up c

    A cache needs c and s alone: r + p numbers a token instead of 2C. And `decode` never makes the
    keys and values that c stands for. It absorbs the two up-projections: (q x)·(k_up c) =
    (k_upᵀ q x)·c, so k_up meets the one new query instead of every old token; and v_up meets the
    one weighted mean of latents. What is left is attention with a single key for all heads. It
    reads r + p numbers of each old token instead of 2C, but multiplies H (2r + p) times, not 2C.

    Why two parts: a rotation between k_upᵀ and q would depend on the position, and nothing could
    be absorbed. So position has a part of its own, small enough to be kept as it is.

    Why QK-norm is not whole here: the norm of k_up c would have to be known for every head and
    token, which only the full key tells (arXiv 2507.20534, section 2.1). All else has length by
    `norm`: queries, s, and c. A logit is at most (√(h r) ‖k_up‖₂ + p) / √(h+p), with one head's
    rows of k_up; so it can still grow, with k_up alone.

    Source: DeepSeek-V2, arXiv 2405.04434, sections 2.1.2 and 2.1.3, without its query latent.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        C, r, p = config.width, config.latent_width, config.rotary_width
        for name, inputs, outputs in (
            ("q", C, C),
            ("q_rope", C, config.heads * p),
            ("kv_down", C, r),
            ("k_rope", C, p),
            ("k_up", r, C),
            ("v_up", r, C),
            ("o", C, C),
        ):
            self.add_module(name, nn.Linear(inputs, outputs, bias=False))

    @property
    def cache_numbers(self) -> int:
        """How many numbers the cache keeps of each token (r + p)."""
        return self.kv_down.out_features + self.k_rope.out_features

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns (B, T, C) for a whole sequence x (B, T, C), by its full keys and values."""
        c, s = self._remembered(x, cos, sin)
        k, v = split(self.k_up(c), self.heads), split(self.v_up(c), self.heads)  # (B, H, T, h)
        s = s[:, None].expand(-1, self.heads, -1, -1)  # (B, H, T, p)
        q = torch.cat(self._queries(x, cos, sin), dim=-1)  # (B, H, T, h+p)
        y = F.scaled_dot_product_attention(q, torch.cat((k, s), -1), v, is_causal=True)
        return self.o(join(y))

    def decode(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: LatentCache | None = None
    ) -> tuple[Tensor, LatentCache]:
        """Returns what `forward` gives for tokens that follow those in the cache, and a new cache.

        It multiplies by absorbed matrices, see above. Arguments and errors: see `Attention.decode`.
        """
        cos, sin = new_rows(cos, sin, cache, x)
        c, s = self._remembered(x, cos, sin)
        cache = LatentCache(c, s) if cache is None else cache.extended(c, s)
        c, s = cache.latents, cache.keys  # (B, t, r) and (B, t, p), as one head for all
        q, q_rope = self._queries(x, cos, sin)  # (B, H, T, h), (B, H, T, p)
        W_uk, W_uv = (m.weight.unflatten(0, (self.heads, -1)) for m in (self.k_up, self.v_up))
        # einsum lets all heads' queries meet the latents in one product. With @, PyTorch would
        # first copy the latents for every head, H·r numbers a token: three times as slow
        absorbed = einsum("bhti,hir->bhtr", q, W_uk)
        logits = einsum("bhtr,bsr->bhts", absorbed, c) + einsum("bhtp,bsp->bhts", q_rope, s)
        logits = logits / math.sqrt(q.shape[-1] + q_rope.shape[-1])  # (B, H, T, t)
        weights = logits.masked_fill(~visible(x.shape[1], cache), -math.inf).softmax(-1)
        mean = einsum("bhts,bsr->bhtr", weights, c)  # of latents
        return self.o(join(einsum("bhtr,hir->bhti", mean, W_uv))), cache

    def _remembered(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the latent (B, T, r) and the shared rotary key (B, T, p)."""
        key = norm(self.k_rope(x))
        return norm(self.kv_down(x)), rotate(key, cos.type_as(key), sin.type_as(key))

    def _queries(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the queries' parts, (B, H, T, h) for the latent and (B, H, T, p) rotary."""
        q, q_rope = (norm(split(matrix(x), self.heads)) for matrix in (self.q, self.q_rope))
        return q, rotate(q_rope, cos.type_as(q), sin.type_as(q))
