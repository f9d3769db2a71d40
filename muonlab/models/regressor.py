"""The GPT's blocks between other ends: tokens are vectors of numbers, and so is what it predicts.

Source: Garg et al., arXiv 2208.01066, section 3.
"""

from dataclasses import replace
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from muonlab.models.gpt import GPT, GPTConfig


class Regressor(GPT):
    """Predicts a number at every other token, from the first on; the matrices are the GPT's."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(replace(config, vocab_size=1))  # one number comes out of the head
        inputs = config.inputs or 0
        self.embedding = nn.Linear(inputs, config.width, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.5 / inputs**0.5)

    def forward(
        self,
        tokens: Tensor,
        targets: Tensor | None = None,
        reduction: Literal["mean", "none"] = "mean",
    ) -> Tensor:
        """Returns predictions (B, T/2), or the squared errors when targets (B, T/2) are given.

        Args:
            tokens: (B, T, inputs), T even and at most `config.context`.
            reduction: "mean" gives one number, "none" all (B, T/2).
        """
        predicted = self.head(self._features(tokens)[:, ::2]).float()[..., 0]  # (B, T/2)
        return predicted if targets is None else F.mse_loss(predicted, targets, reduction=reduction)


def build(config: GPTConfig) -> GPT:
    """Returns an untrained model: a `Regressor` where tokens are vectors, else a GPT."""
    return GPT(config) if config.inputs is None else Regressor(config)
