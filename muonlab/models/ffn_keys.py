"""The keys and values of a trained model's feed-forward memories, and the angles between them.

A feed-forward layer answers a key h = σ(W_in x) with a value W_out h. Source: arXiv 2509.26030,
Figure 4a.
"""

import torch
from torch import Tensor, nn

from muonlab.machine import in_float64

OUT = ("w_out", "mlp.c_proj", "down_proj", "fc2", "dense_4h_to_h", "fc_out")
"""What the last matrix of a feed-forward layer is called, here and in Hugging Face's models."""


@torch.no_grad()
def keys_and_values(model: nn.Module, tokens: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Returns, for each layer, the keys (N, hidden) and values (N, width) at the last token.

    Args:
        model: a GPT of this package, or a causal model such as Hugging Face's, whose feed-forward
            layers end in a matrix named as in OUT; called as model(tokens).
        tokens: (N, T) int64, one prompt a row.

    Raises:
        ValueError: the model has no such matrix, or applies none: of experts, the shared ones do.
    """
    pairs: list[tuple[Tensor, Tensor]] = []
    matrices = [m for name, m in model.named_modules() if name.endswith(OUT)]
    if not matrices:
        raise ValueError(f"expected a model with a module named like {', '.join(OUT)}; found none")

    def last(x: Tensor) -> Tensor:
        return x.reshape(*tokens.shape, -1)[:, -1].float()  # OPT has all prompts' tokens in a row

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        pairs.append((last(inputs[0]), last(output)))

    hooks = [matrix.register_forward_hook(keep) for matrix in matrices]
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()(tokens)
    finally:
        for module in training:
            module.training = True
        for hook in hooks:
            hook.remove()
    if not pairs:
        raise ValueError("expected a dense feed-forward layer or shared experts, got experts alone")
    return pairs


def pair_angles(vectors: Tensor) -> Tensor:
    """Returns the angle between each two different rows of (N, d), in degrees: (N (N − 1) / 2,).

    Raises:
        ValueError: a row of zeros, which points nowhere, or NaN or Inf.

    >>> pair_angles(torch.eye(3)).tolist()
    [90.0, 90.0, 90.0]
    """
    sizes = vectors.abs().amax(-1)
    if not ((sizes > 0) & (sizes < torch.inf)).all():  # neither does NaN pass
        raise ValueError("expected rows of finite numbers, none of zeros alone")
    unit = torch.nn.functional.normalize(in_float64(vectors), dim=1, eps=1e-300)
    first, second = torch.triu_indices(len(unit), len(unit), offset=1)
    return torch.rad2deg((unit @ unit.mT)[first, second].clamp(-1, 1).acos())
