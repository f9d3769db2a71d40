"""Answers to the exercises of lesson 05, as students write them: right ones and wrong ones."""

import numpy as np
import torch

from muonlab.theory import recall, store


def loop(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1]):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def overwrites(keys, values):
    for i in range(keys.shape[1]):
        W = torch.outer(values[:, i], keys[:, i])
    return W


def one_too_few(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1] - 1):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def rows_for_columns(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[1]):
        W += torch.outer(values[i], keys[i])
    return W


def first_size(keys, values):
    W = torch.zeros(values.shape[0], keys.shape[0])
    for i in range(keys.shape[0]):
        W += torch.outer(values[:, i], keys[:, i])
    return W


def four_loops(keys, values):
    W = [[0.0] * keys.shape[0] for _ in range(values.shape[0])]
    for o in range(values.shape[0]):
        for s in range(keys.shape[0]):
            for i in range(keys.shape[1]):
                W[o][s] += (values[o, i] * keys[s, i]).item()
    return W


def compare_one_by_one(W, key, values):
    answer, best, place = W @ key, -float("inf"), None
    for i in range(values.shape[1]):
        score = torch.dot(values[:, i], answer)
        if score > best:
            best, place = score, i
    return place


def starts_from_zero(W, key, values):
    answer, best, place = W @ key, 0.0, None
    for i in range(values.shape[1]):
        score = torch.dot(values[:, i], answer)
        if score > best:
            best, place = score, i
    return place


def starts_from_place_zero(W, key, values):
    answer, best, place = W @ key, 0.0, 0
    for i in range(values.shape[1]):
        score = torch.dot(values[:, i], answer)
        if score > best:
            best, place = score, i
    return place


def never_updates_best(W, key, values):
    answer, best, place = W @ key, -float("inf"), None
    for i in range(values.shape[1]):
        if torch.dot(values[:, i], answer) > best:
            place = i
    return place


ANSWERS = {
    "05-e1": {
        "right": {
            "loop": loop,
            "lists": four_loops,
            "matmul": lambda keys, values: torch.matmul(values, keys.t()),
            "numpy": lambda keys, values: values.numpy() @ keys.numpy().T,
            "einsum": lambda keys, values: torch.einsum("ik,jk->ij", values, keys),
            "stack": lambda keys, values: (values[:, None, :] * keys[None, :, :]).sum(-1),
            "float64": lambda keys, values: values.double() @ keys.double().T,
            "transposed": lambda keys, values: (keys @ values.T).T,
            "bmm": lambda keys, values: torch.bmm(values.T[:, :, None], keys.T[:, None, :]).sum(0),
        },
        "wrong": {
            "package": store,
            "overwrites": overwrites,
            "one too few": one_too_few,
            "rows": rows_for_columns,
            "first size": first_size,
            "turned": lambda keys, values: keys @ values.T,
            "T first": lambda keys, values: values.T @ keys,
            "plain": lambda keys, values: values @ keys,
            "entries": lambda keys, values: values * keys,
            "mean": lambda keys, values: values @ keys.T / keys.shape[1],
            "first": lambda keys, values: torch.outer(values[:, 0], keys[:, 0]),
            "not summed": lambda keys, values: torch.einsum("ok,sk->kos", values, keys),
            "not summed, list": lambda keys, values: [
                torch.outer(v, k) for v, k in zip(values.T, keys.T, strict=True)
            ],
            "number": lambda keys, values: (values @ keys.T).sum(),
            "pseudoinverse": lambda keys, values: values @ torch.linalg.pinv(keys),
            "sum first": lambda keys, values: torch.outer(values.sum(1), keys.sum(1)),
            "unit keys": lambda keys, values: values @ (keys / keys.norm(dim=0)).T,
            "inner": lambda keys, values: torch.inner(keys, values),
            "keys twice": lambda keys, values: keys @ keys.T,
            "concatenated": lambda keys, values: torch.cat([values, keys]),
            "flat outer": lambda keys, values: torch.outer(values.flatten(), keys.flatten()),
        },
    },
    "05-e2": {
        "right": {
            "one by one": compare_one_by_one,
            "numpy": lambda W, key, values: np.argmax(values.numpy().T @ W.numpy() @ key.numpy()),
            "tensor": lambda W, key, values: (values.T @ W @ key).argmax(),
            "sorted": lambda W, key, values: (
                (W @ key @ values).sort(descending=True).indices[0].item()
            ),
            "topk": lambda W, key, values: (W @ key @ values).topk(1).indices,
            "softmax": lambda W, key, values: (W @ key @ values).softmax(0).argmax().item(),
            "list": lambda W, key, values: (p := (W @ key @ values).tolist()).index(max(p)),
        },
        "wrong": {
            "starts from zero": starts_from_zero,
            "place zero": starts_from_place_zero,
            "never updates": never_updates_best,
            "row": lambda W, key, values: (W @ key).argmax().item(),
            "smallest": lambda W, key, values: (values.T @ W @ key).argmin().item(),
            "size": lambda W, key, values: (values.T @ W @ key).abs().argmax().item(),
            "nearest": lambda W, key, values: (values.T - W @ key).square().sum(1).argmin().item(),
            "cosine": lambda W, key, values: (
                torch.cosine_similarity(values, (W @ key)[:, None], dim=0).argmax().item()
            ),
            "values": lambda W, key, values: values[:, (values.T @ W @ key).argmax()],
            "scores": lambda W, key, values: values.T @ W @ key,
            "score": lambda W, key, values: (values.T @ W @ key).max().item(),
            "pair": lambda W, key, values: (values.T @ W @ key).max(0),
            "from 1": lambda W, key, values: (values.T @ W @ key).argmax().item() + 1,
            "not transposed": lambda W, key, values: (values @ (W @ key)).argmax().item(),
            "W transposed": lambda W, key, values: (values.T @ (W.T @ key)).argmax().item(),
            "no W": lambda W, key, values: (values.T @ key).argmax().item(),
            "key first": lambda W, key, values: (key @ W @ values).argmax().item(),
            "package": lambda W, key, values: recall(W, key[:, None], values)[0],
            "answer": lambda W, key, values: W @ key,
            "longest": lambda W, key, values: values.norm(dim=0).argmax().item(),
            "as text": lambda W, key, values: str((values.T @ W @ key).argmax().item()),
            "as float": lambda W, key, values: (values.T @ W @ key).argmax() / 1.5,
        },
    },
}
