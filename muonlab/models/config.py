"""The shapes that a GPT may have, and the named ones."""

import math
from dataclasses import dataclass

from muonlab import checks

ATTENTIONS = ("multi-head", "latent")


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
    attention: str = "multi-head"  # or "latent", which remembers less of each token
    fused_qkv: bool = False  # multi-head attention: one matrix (3C, C) makes queries, keys, values
    latent: int | None = None  # of latent attention, for keys and values; width/2: arXiv 2508.01261
    rotary: int | None = None  # latent attention: numbers of a head that know positions; half of it
    qk_norm: bool = True  # queries and rotary keys have length by `norm`; False as in DeepSeek-V2
    experts: int = 0  # feed-forward layers to choose from; 0: one dense layer instead
    active_experts: int = 3  # of those, how many a token chooses
    shared_experts: int = 1  # and how many more see every token
    expert_hidden: int | None = None  # width inside each; a token then uses as much as when dense
    balance: float = 0.01  # how fast the choice moves towards experts with few tokens
    inputs: int | None = None  # numbers that describe a token, where it is no id; see `Regressor`

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            default = getattr(GPTConfig, name)
            if isinstance(default, bool):
                checks.choice(name, value, (True, False))
            elif isinstance(default, int) or (default is None and value is not None):
                checks.number(name, value, 0 if name.endswith("experts") else 1, whole=True)
        checks.number("rope_base", self.rope_base, 1)
        checks.number("balance", self.balance, 0)
        checks.choice("attention", self.attention, ATTENTIONS)
        idle = ["fused_qkv"] if self.attention == "latent" else ["latent", "rotary"]
        if not self.experts:
            idle += ["active_experts", "shared_experts", "expert_hidden", "balance"]
        elif not 1 <= self.active_experts <= self.experts:
            raise ValueError(f"active_experts={self.active_experts}, but experts={self.experts}")
        for name in idle:
            if (value := getattr(self, name)) != getattr(GPTConfig, name):
                here = f"attention={self.attention!r}, experts={self.experts}"
                raise ValueError(f"{name}={value} changes nothing with {here}")
        if self.width % (2 * self.heads):  # RoPE turns a head's numbers in pairs
            raise ValueError(f"width must be a multiple of {2 * self.heads}, got {self.width}")
        if self.rotary_width % 2:
            raise ValueError(f"rotary must be even, as RoPE turns pairs; got {self.rotary}")

    @property
    def rotary_width(self) -> int:
        """How many numbers of a query RoPE turns (a head, or p of latent attention)."""
        head = self.width // self.heads
        return head if self.attention == "multi-head" else self.rotary or 2 * math.ceil(head / 4)

    @property
    def expert_width(self) -> int:
        """The width inside an expert (the dense width, shared among a token's experts)."""
        return self.expert_hidden or math.ceil(self.hidden / self._used)

    @property
    def hidden_used(self) -> int:
        """The width that one token uses (of the dense layer, or of all its experts)."""
        return self.expert_width * self._used if self.experts else self.hidden

    @property
    def _used(self) -> int:
        return self.active_experts + self.shared_experts

    @property
    def hidden(self) -> int:
        """Returns the width inside the feed-forward (4C, or 8C/3 for three matrices in all)."""
        return 8 * math.ceil(self.width / 3) if self.gated else 4 * self.width


SIZES: dict[str, GPTConfig] = {
    "tiny": GPTConfig(),
    "wide": GPTConfig(width=192, heads=6),
    "small": GPTConfig(context=256, layers=6, width=384, heads=6),
    "paper": GPTConfig(vocab_size=50304, context=1024, layers=12, width=768, heads=12),
}
"""tiny trains in seconds on a laptop, wide is half as wide again; small has 10.6M numbers in its
matrices; paper has 162M in all, the size of arXiv 2509.26030, section 3."""
