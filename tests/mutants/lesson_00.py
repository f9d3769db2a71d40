"""Typical answers to the exercise of lesson 00: wrong ones to reject, right ones to accept."""

import torch


def values(matrix):
    return torch.linalg.svdvals(matrix)


ANSWERS = {
    "00-e1": {
        "wrong": {
            "upside down": lambda m: values(m)[-1] / values(m)[0],
            "difference": lambda m: values(m)[0] - values(m)[-1],
            "largest only": lambda m: values(m)[0],
            "second": lambda m: values(m)[0] / values(m)[1],
            "entries": lambda m: m.max() / m.min(),
            "squared": lambda m: (values(m)[0] / values(m)[-1]) ** 2,
        },
        "right": {
            "cond": lambda m: torch.linalg.cond(m).item(),
            "max and min": lambda m: values(m).max() / values(m).min(),
        },
    },
}
