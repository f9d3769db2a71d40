"""Attention with many heads, and latent attention, which remembers less of each token.

In shapes, B is the batch, T the tokens, C the width, H the heads, h = C/H the width of a head;
in latent attention r is the width of the latent and p the width of the rotary part.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, einsum, nn

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


@dataclass(frozen=True)
class Cache:
    """What a layer remembers of t tokens.

    Plain attention keeps 2C numbers of each. Latent attention keeps r + p, and no head has its own:
    the latents stand for the values, and for all of a key but the part that knows the position.

    Nothing in it changes: more tokens make a new one, so one text can go on in two ways, and
    gradients pass. The price is a copy at each step: in size "small", with 16 texts of 256 tokens,
    a tenth to a quarter of a step of plain attention, and less of latent attention.
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


def new_rows(cos: Tensor, sin: Tensor, cache: Cache | None, x: Tensor) -> tuple[Tensor, Tensor]:
    """Returns those rows (T, …) of the tables that belong to x (B, T, C), after the cache's tokens.

    Raises:
        ValueError: more tokens than the tables have positions.
    """
    past, new = 0 if cache is None else len(cache), x.shape[1]
    if past + new > len(cos):
        raise ValueError(f"at most {len(cos)} tokens fit, got {past} in the cache and {new} new")
    return cos[past : past + new], sin[past : past + new]


class Attention(nn.Module):
    """Causal attention with QK-norm: queries and keys of length √h, so no logit exceeds √h.

    Without `qk_norm` they keep the length that the matrices give them.
    Source: arXiv 2509.26030, Appendix C.1 (there with a gain).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        C, self.heads, self.qk_norm = config.width, config.heads, config.qk_norm
        if config.fused_qkv:
            self.qkv = nn.Linear(C, 3 * C, bias=False)
        else:
            self.q = nn.Linear(C, C, bias=False)
            self.k = nn.Linear(C, C, bias=False)
            self.v = nn.Linear(C, C, bias=False)
        self.o = nn.Linear(C, C, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns (B, T, C) for a sequence x (B, T, C)."""
        q, k, v = self._parts(x, cos, sin)  # (B, H, T, h) each
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, h)
        return self.o(rearrange(y, "B H T h -> B T (H h)"))  # (B, T, C)

    def decode(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Returns what `forward` gives for tokens that follow those in the cache, and a new cache.

        Args:
            x: (B, T, C), the new tokens alone; usually T = 1.
            cos, sin: `rope_tables` for all positions, not for the new ones alone.
            cache: of the tokens before; None at the start.

        Raises:
            ValueError: more tokens than the tables have positions.
        """
        cos, sin = new_rows(cos, sin, cache, x)  # (T, h/2) each
        q, k, v = self._parts(x, cos, sin)  # (B, H, T, h) each
        cache = Cache(k, v) if cache is None else cache.extended(k, v)
        seen = visible(x.shape[1], cache)  # (T, t)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, attn_mask=seen)
        return self.o(rearrange(y, "B H T h -> B T (H h)")), cache

    def _parts(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries and keys, rotated, and values, (B, H, T, h) each."""
        fused = hasattr(self, "qkv")
        parts = self.qkv(x).chunk(3, dim=-1) if fused else (self.q(x), self.k(x), self.v(x))
        q, k, v = (rearrange(part, "B T (H h) -> B H T h", H=self.heads) for part in parts)
        cos, sin = cos.type_as(q), sin.type_as(q)  # float32 tables would undo autocast
        q, k = (norm(part) if self.qk_norm else part for part in (q, k))
        return rotate(q, cos, sin), rotate(k, cos, sin), v


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
    rows of k_up; so it can still grow, with k_up alone. Without `qk_norm`, c alone has length by
    `norm`, as in DeepSeek-V2: `muonlab.models.qk_clip` is for that.

    Source: DeepSeek-V2, arXiv 2405.04434, sections 2.1.2 and 2.1.3, without its query latent.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        C, p = config.width, config.rotary_width
        r = config.latent or C // 2
        self.heads, self.qk_norm = config.heads, config.qk_norm
        self.q = nn.Linear(C, C, bias=False)
        self.q_rope = nn.Linear(C, self.heads * p, bias=False)
        self.kv_down = nn.Linear(C, r, bias=False)
        self.k_rope = nn.Linear(C, p, bias=False)
        self.k_up = nn.Linear(r, C, bias=False)
        self.v_up = nn.Linear(r, C, bias=False)
        self.o = nn.Linear(C, C, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns (B, T, C) for a whole sequence x (B, T, C), by its full keys and values."""
        c, s = self._remembered(x, cos, sin)  # (B, T, r), (B, T, p)
        k = rearrange(self.k_up(c), "B T (H h) -> B H T h", H=self.heads)
        v = rearrange(self.v_up(c), "B T (H h) -> B H T h", H=self.heads)
        k = torch.cat((k, s[:, None].expand(-1, self.heads, -1, -1)), dim=-1)  # (B, H, T, h+p)
        q = torch.cat(self._queries(x, cos, sin), dim=-1)  # (B, H, T, h+p)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, h)
        return self.o(rearrange(y, "B H T h -> B T (H h)"))  # (B, T, C)

    def decode(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Returns what `forward` gives for tokens that follow those in the cache, and a new cache.

        It multiplies by absorbed matrices, see above. Arguments and errors: see `Attention.decode`.
        """
        cos, sin = new_rows(cos, sin, cache, x)  # (T, p/2) each
        c, s = self._remembered(x, cos, sin)
        cache = Cache(s, c) if cache is None else cache.extended(s, c)
        c, s = cache.values, cache.keys  # (B, t, r) and (B, t, p), as one head for all
        q, q_rope = self._queries(x, cos, sin)  # (B, H, T, h), (B, H, T, p)
        W_uk = rearrange(self.k_up.weight, "(H h) r -> H h r", H=self.heads)
        W_uv = rearrange(self.v_up.weight, "(H h) r -> H h r", H=self.heads)
        # einsum lets all heads' queries meet the latents in one product. With @, PyTorch would
        # first copy the latents for every head, H·r numbers a token: three times as slow
        absorbed = einsum("bhti,hir->bhtr", q, W_uk)
        logits = einsum("bhtr,bsr->bhts", absorbed, c) + einsum("bhtp,bsp->bhts", q_rope, s)
        logits = logits / math.sqrt(q.shape[-1] + q_rope.shape[-1])  # (B, H, T, t)
        weights = logits.masked_fill(~visible(x.shape[1], cache), -math.inf).softmax(-1)
        mean = einsum("bhts,bsr->bhtr", weights, c)  # of latents
        y = einsum("bhtr,hir->bhti", mean, W_uv)  # (B, H, T, h)
        return self.o(rearrange(y, "B H T h -> B T (H h)")), cache

    @torch.no_grad()
    def logits(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns what the softmax of `forward` sees, (B, H, T, T); -inf for keys to come."""
        c, s = self._remembered(x, cos, sin)
        q, q_rope = self._queries(x, cos, sin)
        k = rearrange(self.k_up(c), "B T (H h) -> B H T h", H=self.heads)
        logits = (q @ k.mT + q_rope @ s[:, None].mT) / math.sqrt(q.shape[-1] + s.shape[-1])
        ahead = torch.ones_like(logits[0, 0], dtype=torch.bool).triu(1)
        return logits.masked_fill(ahead, -math.inf)

    def _remembered(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the latent (B, T, r) and the shared rotary key (B, T, p)."""
        key = self._sized(self.k_rope(x))
        return norm(self.kv_down(x)), rotate(key, cos.type_as(key), sin.type_as(key))

    def _queries(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the queries' parts, (B, H, T, h) for the latent and (B, H, T, p) rotary."""
        q = self._sized(rearrange(self.q(x), "B T (H h) -> B H T h", H=self.heads))
        q_rope = self._sized(rearrange(self.q_rope(x), "B T (H p) -> B H T p", H=self.heads))
        return q, rotate(q_rope, cos.type_as(q), sin.type_as(q))

    def _sized(self, x: Tensor) -> Tensor:
        return norm(x) if self.qk_norm else x
