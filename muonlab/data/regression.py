"""In-context linear regression: a new function in every sequence, so nothing can be memorized.

A prompt is x₁, (x₁, y₁), x₂, (x₂, y₂), … with y = w·x. The w is drawn for that prompt alone; to
predict the y of the last x, a model must find w in the pairs before it.

Source: Garg et al., arXiv 2208.01066, section 2; there a token holds x or y, and w has variance 1.
That it holds the pair, as in von Oswald et al., arXiv 2212.07677, section 3, makes the task
learnable in a minute. That w has variance 1/d gives y variance 1 in any dimension.

>>> inputs, labels = load_regression("regression-4").batch(step=0, batch=2, context=6, seed=0)
>>> inputs.shape, labels.shape
(torch.Size([2, 6, 7]), torch.Size([2, 3]))
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor

from muonlab.data.task import number_in
from muonlab.data.windows import chance
from muonlab.models.gpt import GPT, GPTConfig

MOST_DIMENSIONS = 32  # half as many as the pairs of the longest prompt that is usual here
MEASURED_SEED = -1  # the seed of prompts that no run trains on: a run's own is at least 0
BESIDE_X = 3  # numbers of a token beside x: y, and two that say whether y is asked for or given


@dataclass(frozen=True)
class Regression:
    """Prompts of pairs (x, y) in one dimension."""

    dimension: int

    @property
    def name(self) -> str:
        """The name that `load_regression` takes."""
        return f"regression-{self.dimension}"

    @property
    def sha256(self) -> str:
        """What names the task (its numbers follow from this, from a seed and from a step)."""
        return sha256(f"x, y = w.x; {self.name}".encode()).hexdigest()

    def batch(self, step: int, batch: int, context: int, seed: int) -> tuple[Tensor, Tensor]:
        """Returns tokens (batch, context, d + 3) and the labels y (batch, context / 2), float32.

        Each x comes twice: as (x, 0, 1, 0), a question, then as (x, y, 0, 1), an example. All
        follow from `seed` and `step` alone. A context of half a pair raises ValueError.
        """
        if context < 2 or context % 2:  # a question and its answer take one each
            raise ValueError(f"expected a context of 2, 4, 6, … tokens, got {context}")
        generator = chance(seed, step)
        x = torch.randn(batch, context // 2, self.dimension, generator=generator)
        w = torch.randn(batch, self.dimension, 1, generator=generator) / self.dimension**0.5
        y = x @ w  # (B, n, 1)
        tokens = torch.zeros(batch, context, self.dimension + BESIDE_X)
        tokens[:, 0::2, :-BESIDE_X], tokens[:, 0::2, -2] = x, 1.0
        tokens[:, 1::2, :-BESIDE_X], tokens[:, 1::2, -1] = x, 1.0
        tokens[:, 1::2, -BESIDE_X] = y[..., 0]
        return tokens, y[..., 0]

    def shape(self, model: GPTConfig) -> GPTConfig:
        """Returns the shape of a model for these tokens, which are no words."""
        return replace(model, vocab_size=1, inputs=self.dimension + BESIDE_X)

    def measure(self, model: GPT, batch: int, context: int, tokens: int) -> dict[str, Any]:
        """Returns the mean squared error of y, where the guess 0 has error 1.

        "errors" holds it after 0, 1, 2, … examples, "overall" their mean.
        """
        device, count = model.head.weight.device, max(1, tokens // (batch * context))
        prompts = (self.batch(number, batch, context, MEASURED_SEED) for number in range(count))
        losses = [model(x.to(device), y.to(device), reduction="none").cpu() for x, y in prompts]
        errors = torch.cat(losses).double().mean(0)  # (T/2,)
        return {"overall": errors.mean().item(), "errors": errors.tolist()}


def load_regression(name: str) -> Regression:
    """Returns the task of a name: "regression-4" has x of four numbers; else raises ValueError."""
    return Regression(number_in(name, 1, MOST_DIMENSIONS))
