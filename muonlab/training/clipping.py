"""Gradient clipping, of whole weights and of sharded ones."""

import torch
from torch import nn

from muonlab.distributed.sharded import whole
from muonlab.machine import in_float64
from muonlab.optim.dtensors import own


def clip_gradients(model: nn.Module, largest: float) -> None:
    """Scales all gradients down together, if their norm is larger; NaN and Inf are left as found.

    What that does to Muon stands at `TrainConfig`.
    """
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norm = in_float64(whole(nn.utils.get_total_norm(gradients)))
    too_large = norm.isfinite() & (norm > largest)  # decided there: the host does not wait
    share = torch.where(too_large, largest / norm, 1.0)
    for gradient in gradients:
        own(gradient).mul_(share)
