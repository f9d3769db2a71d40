"""QK-Clip: after a step, heads whose logits have grown too large get smaller queries and keys.

Source: Kimi Team, arXiv 2507.20534, section 2.1 and Algorithm 1.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from muonlab import checks
from muonlab.models.attention import LatentAttention


def clip_factors(logits: Tensor, tau: float) -> Tensor:
    """Returns each head's largest logit S, and what its rows of three matrices are multiplied by.

    Where S > tau all of the head's logits must shrink by γ = tau/S: W_q and W_uk meet in a product
    and take √γ each; W_qr meets the rotary key, which all heads share, and takes γ.

    Args:
        logits: (B, H, T, T), of query t and key u; those with u > t are not used.
        tau: above 0; a head with S <= tau keeps its matrices.

    Returns:
        S, and the factors of W_q, of W_uk and of W_qr, (4, H).
    """
    ahead = torch.ones_like(logits[0, 0], dtype=torch.bool).triu(1)
    largest = logits.masked_fill(ahead, -math.inf).amax((0, 2, 3))
    gamma = torch.where(largest > tau, tau / largest, 1.0)
    return torch.stack([largest, gamma.sqrt(), gamma.sqrt(), gamma])


class QKClip:
    """Watches the logits of all latent attention in a model, and clips heads that pass tau.

    The optimizer's averages stay as they are.

    Ours, not the paper's: S is from a product of queries and keys that is computed once more, from
    the last forward pass alone (of a batch in pieces, the last piece), and from this process's
    texts alone: with several processes, copies of the model drift apart.

    Args:
        model: with latent attention and without QK-norm, which would undo what is done to q.
        tau: heads whose largest logit passes it are clipped, after the step that used it; inf
            watches, and clips nothing. The paper's model has 100.
        rule: what `clip_factors` does: logits (B, H, T, T) and tau to S and factors, (4, H).

    Raises:
        ValueError: another kind of model.
    """

    def __init__(
        self,
        model: nn.Module,
        tau: float = math.inf,
        rule: Callable[[Tensor, float], Tensor] = clip_factors,
    ) -> None:
        if tau != math.inf:
            checks.number("tau", tau, 0, above=True)
        self.layers = [m for m in model.modules() if isinstance(m, LatentAttention)]
        if not self.layers or any(layer.qk_norm for layer in self.layers):
            raise ValueError("expected a model of attention='latent' and qk_norm=False")
        self.tau, self.rule = tau, rule
        shape = len(self.layers), 4, self.layers[0].heads
        self.rows = torch.ones(shape, device=self.layers[0].q.weight.device)
        for rows, layer in zip(self.rows, self.layers, strict=True):
            layer.register_forward_pre_hook(partial(self._watch, rows))

    @torch.no_grad()
    def step(self) -> Tensor:
        """Clips, after the optimizer's step; returns the largest logits before it, (layers, H)."""
        for (_, *factors), layer in zip(self.rows, self.layers, strict=True):
            for matrix, by_head in zip((layer.q, layer.k_up, layer.q_rope), factors, strict=True):
                matrix.weight.unflatten(0, (layer.heads, -1)).mul_(by_head[:, None, None])
        return self.rows[:, 0].clone()

    def _watch(self, rows: Tensor, layer: LatentAttention, inputs: tuple[Tensor, ...]) -> None:
        rows.copy_(torch.as_tensor(self.rule(layer.logits(*inputs), self.tau)))
