"""The GPT's blocks between other ends: tokens are vectors of numbers, and so is what it predicts.

Source: Garg et al., arXiv 2208.01066, section 3.
"""

from dataclasses import replace
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from muonlab import checks
from muonlab.models.gpt import GPT, GPTConfig


class Regressor(GPT):
    """Predicts a number at every other token, from the first on; the matrices are the GPT's."""

    def __init__(self, config: GPTConfig) -> None:
        if config.inputs is None:
            raise ValueError("expected a shape with inputs, the numbers of a token; got None")
        super().__init__(replace(config, vocab_size=1))  # one number comes out of the head
        self.embedding = nn.Linear(config.inputs, config.width, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.5 / config.inputs**0.5)

    def forward(
        self,
        tokens: Tensor,
        targets: Tensor | None = None,
        reduction: Literal["mean", "none"] = "mean",
    ) -> Tensor:
        """Returns predictions (B, T/2), or the squared errors when targets (B, T/2) are given.

        Args:
            tokens: (B, T, inputs), T even and at most `config.context`; else ValueError.
            reduction: "mean" gives one number, "none" all (B, T/2).
        """
        checks.choice("reduction", reduction, ("mean", "none"))
        predicted = self.head(self._features(tokens)[:, ::2]).float()[..., 0]  # (B, T/2)
        if targets is not None and targets.shape != predicted.shape:
            shape, came = tuple(predicted.shape), checks.told(targets)
            raise ValueError(f"expected targets (B, T/2) = {shape}, got {came}")
        return predicted if targets is None else F.mse_loss(predicted, targets, reduction=reduction)

    def generate(self, *tokens: Any, **options: Any) -> Tensor:
        """Raises TypeError: what comes out are numbers, and no tokens to go on from."""
        raise TypeError("a Regressor predicts numbers and generates no tokens; call it instead")

    def _check(self, tokens: Tensor) -> None:
        checks.kind("tokens (B, T, inputs) as a tensor", tokens, Tensor)
        if tokens.dtype != (dtype := self.embedding.weight.dtype):
            raise ValueError(f"expected tokens of {dtype}, got {tokens.dtype}")
        inputs, context = self.config.inputs, self.config.context
        whole = tokens.ndim == 3 and len(tokens) and tokens.shape[2] == inputs
        if not whole or tokens.shape[1] not in range(2, context + 1, 2):
            message = f"expected tokens (B, T, {inputs}) with an even T of 2 to {context}"
            then = "cut the prompt, or load the task of this dimension"
            raise ValueError(f"{message}, got shape {tuple(tokens.shape)}: {then}")


def build(config: GPTConfig) -> GPT:
    """Returns an untrained model: a `Regressor` where tokens are vectors, else a GPT."""
    checks.kind("a GPTConfig", config, GPTConfig)
    return GPT(config) if config.inputs is None else Regressor(config)
