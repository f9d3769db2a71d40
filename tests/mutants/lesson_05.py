"""Typical answers to the exercises of lesson 05: wrong ones to reject, right ones to accept."""

import torch

ANSWERS = {
    "05-e1": {
        "wrong": {
            "turned round": lambda keys, values: keys @ values.T,
            "first fact": lambda keys, values: torch.outer(values[:, 0], keys[:, 0]),
            "mean": lambda keys, values: values @ keys.T / keys.size(1),
            "columns compared": lambda keys, values: values.T @ keys,
            "twice": lambda keys, values: 2 * values @ keys.T,
        },
        "right": {
            "sum of outers": lambda keys, values: sum(
                torch.outer(v, k) for k, v in zip(keys.T, values.T, strict=True)
            ),
            "einsum": lambda keys, values: torch.einsum("ok,sk->os", values, keys),
        },
    },
    "05-e2": {
        "wrong": {
            "smallest": lambda W, key, values: (values.T @ (W @ key)).argmin().item(),
            "row of the answer": lambda W, key, values: (W @ key).argmax().item(),
            "nearest": lambda W, key, values: (
                (values - (W @ key)[:, None]).norm(dim=0).argmin().item()
            ),
            "longest value": lambda W, key, values: values.norm(dim=0).argmax().item(),
        },
        "right": {
            "scores": lambda W, key, values: max(
                range(values.size(1)), key=lambda i: (values[:, i] @ W @ key).item()
            ),
            "tensor": lambda W, key, values: torch.argmax(key @ W.T @ values),
        },
    },
}
