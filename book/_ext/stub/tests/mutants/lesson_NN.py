"""Typical answers to the exercises of lesson NN: wrong ones to reject, right ones to accept."""

import torch

ANSWERS = {
    "NN-e1": {
        "wrong": {
            "of the largest": lambda values: values / values.max(),
            "of the length": lambda values: values / values.norm(),
            "upside down": lambda values: values.sum() / values,
        },
        "generic": {"all equal": lambda values: torch.full_like(values, 1 / len(values))},
        "right": {
            "divided": lambda values: values / values.sum(),
            "python's sum": lambda values: values / sum(values),
        },
    },
}
