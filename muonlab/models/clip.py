"""QK-Clip: after a step, heads whose logits have grown too large get smaller queries and keys.

Source: Kimi Team, arXiv 2507.20534, section 2.1 and Algorithm 1.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from muonlab import checks
from muonlab.models.attention import LatentAttention


class QKClip:
    """Watches the logits of all latent attention in a model, and clips heads that pass tau.

    A head whose largest logit S in the last forward pass is above tau gets its logits multiplied
    by γ = tau/S: its rows of `q` and of `k_up` take √γ each, its rows of `q_rope` take γ, and the
    rotary key, which all heads share, stays. The optimizer's averages stay as they are.

    Ours, not the paper's: S is from a product of queries and keys that is computed once more, and
    from this process's texts alone: with several processes, copies of the model drift apart.

    Args:
        model: with latent attention and without QK-norm, which would undo what is done to q.
        tau: heads whose largest logit passes it are clipped, after the step that used it; inf
            watches, and clips nothing. The paper's model has 100.

    Raises:
        ValueError: another kind of model, or a tau that is not above 0.
    """

    def __init__(self, model: nn.Module, tau: float = math.inf) -> None:
        checks.kind("a model, a torch module", model, nn.Module)
        self.layers = [m for m in model.modules() if isinstance(m, LatentAttention)]
        if not self.layers or any(layer.qk_norm for layer in self.layers):
            fitting = "GPTConfig(attention='latent', qk_norm=False)"
            raise ValueError(f"expected latent attention without QK-norm: build it with {fitting}")
        if tau != math.inf:
            checks.number("tau", tau, 0, above=True)
        self.tau = tau
        shape = len(self.layers), self.layers[0].heads
        self.largest = torch.zeros(shape, device=self.layers[0].q.weight.device)  # (layers, H)
        for row, layer in zip(self.largest, self.layers, strict=True):
            layer.register_forward_pre_hook(_watch(row))

    @torch.no_grad()
    def step(self) -> Tensor:
        """Clips, after the optimizer's step; returns the largest logits before it, (layers, H)."""
        for largest, layer in zip(self.largest, self.layers, strict=True):
            gamma = torch.where(largest > self.tau, self.tau / largest, 1.0)[:, None, None]
            layer.q.weight.unflatten(0, (layer.heads, -1)).mul_(gamma.sqrt())  # (H, h, C)
            layer.k_up.weight.unflatten(0, (layer.heads, -1)).mul_(gamma.sqrt())  # (H, h, r)
            layer.q_rope.weight.unflatten(0, (layer.heads, -1)).mul_(gamma)  # (H, p, C)
        return self.largest.clone()


def _watch(row: Tensor) -> Callable[[LatentAttention, tuple[Tensor, Tensor, Tensor]], None]:
    def look(layer: LatentAttention, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
        row.copy_(layer.logits(*inputs).amax((0, 2, 3)))

    return look
