"""Typical answers to the exercises of lesson 13: wrong ones to reject, right ones to accept."""

import numpy
import torch

from muonlab import newton_schulz, polar


def used(G):
    return (G != 0).flatten(1).any(1)[:, None, None]


def flat(M):
    return polar(M.flatten(0, 1)).view_as(M)


def turned(M):
    return polar(M.permute(1, 0, 2)).permute(1, 0, 2)


def unit(M):
    return M / M.norm(dim=(1, 2), keepdim=True)


def one_by_one(M, G):
    found = [polar(m) if g.any() else torch.zeros_like(m) for m, g in zip(M, G, strict=True)]
    return torch.stack(found)


def key_by_key(q, W, c):
    found = torch.zeros(len(c))
    for i, latent in enumerate(c):
        key = W @ latent
        found[i] = q @ key
    return found


def weighted_rows(q, W, c):
    return torch.stack([(q * (W * latent).sum(1)).sum() for latent in c])


def token_by_token(q, W, c):
    absorbed = sum(q[i] * W[i] for i in range(len(q)))
    return [float(latent @ absorbed) for latent in c]


def filled_in(M, G):
    found = torch.zeros_like(M)
    for i in range(M.shape[0]):
        if torch.count_nonzero(G[i]):
            U, _, Vh = numpy.linalg.svd(M[i].numpy(), full_matrices=False)
            found[i] = torch.from_numpy(U @ Vh)
    return found


def gain(loss):
    return loss[:, 0] - loss[:, 1]


def in_nested_loops(loss):
    multi_head, latent = loss.tolist()
    return [(a - m) - (x - y) for a, m, x, y in zip(*latent, *multi_head, strict=True)]


ANSWERS = {
    "13-e1": {
        "wrong": {
            "keys first": lambda q, W, c: (c @ W.T) @ q,
            "softmax": lambda q, W, c: (c @ (W.T @ q)).softmax(0),
            "scaled": lambda q, W, c: c @ (W.T @ q) / len(q) ** 0.5,
            "minus": lambda q, W, c: -(c @ (q @ W)),
            "query scaled": lambda q, W, c: c @ (W.T @ (q / q.square().mean().sqrt())),
            "result scaled": lambda q, W, c: (
                c @ (W.T @ q / (W.T @ q).square().mean().add(1e-12).sqrt())
            ),
            "latents alone": lambda q, W, c: c.sum(1),
            "key by key": key_by_key,
            "by the root of r": lambda q, W, c: c @ (q @ W) / c.size(1) ** 0.5,
            "latents scaled": lambda q, W, c: (
                torch.nn.functional.rms_norm(c, (c.size(1),)) @ (q @ W)
            ),
            "absorbed": lambda q, W, c: q @ W,
            "the keys": lambda q, W, c: c @ W.T,
            "sums of keys": lambda q, W, c: (c @ W.T).sum(1),
            "sizes": lambda q, W, c: (c @ (q @ W)).abs(),
            "sum": lambda q, W, c: (c @ (q @ W)).sum(),
            "a row": lambda q, W, c: (q @ W)[None] @ c.T,
            "a column": lambda q, W, c: c @ (q @ W)[:, None],
            "squeezed": lambda q, W, c: (c @ (q @ W)[:, None]).squeeze(),
            "in place": lambda q, W, c: c.mul_(q @ W).sum(1),
        },
        "generic": {
            "reversed": lambda q, W, c: (c @ (q @ W)).flip(0).cumsum(0),
            "squares": lambda q, W, c: c.square() @ (q @ W),
        },
        "right": {
            "row": lambda q, W, c: c @ (q @ W),
            "column": lambda q, W, c: c @ (W.T @ q),
            "einsum": lambda q, W, c: torch.einsum("tr,r->t", c, torch.einsum("h,hr->r", q, W)),
            "sums": lambda q, W, c: (c * (q[:, None] * W).sum(0)).sum(1),
            "token by token": token_by_token,
            "multi_dot": lambda q, W, c: torch.linalg.multi_dot((q, W, c.T)),
            "matrices": lambda q, W, c: (q[None, :] @ W @ c.T)[0],
            "NumPy": lambda q, W, c: c.numpy() @ (q.numpy() @ W.numpy()),
            "tuple": lambda q, W, c: tuple((c @ (W.T @ q)).tolist()),
        },
    },
    "13-e2": {
        "wrong": {
            "idle moves": lambda M, G: polar(M),
            "flat": lambda M, G: flat(M),
            "flat, masked": lambda M, G: flat(M) * used(G),
            "axes": lambda M, G: turned(M),
            "axes, masked": lambda M, G: turned(M) * used(G),
            "gradient": lambda M, G: polar(G),
            "not orthogonal": lambda M, G: M * used(G),
            "entries": lambda M, G: polar(M) * (G != 0),
            "rows": lambda M, G: polar(M) * (G != 0).any(2, keepdim=True),
            "the others rest": lambda M, G: polar(M) * ~used(G),
            "unit norm": lambda M, G: unit(M) * used(G),
            "sign": lambda M, G: -polar(M) * used(G),
            "the gradient": lambda M, G: G,
            "momentum masked": lambda M, G: polar(M * (G != 0)),
            "by the gradient": lambda M, G: polar(M) * G,
            "the momentum": lambda M, G: M,
            "columns": lambda M, G: polar(M) * (G != 0).any(1, keepdim=True),
            "all entries": lambda M, G: polar(M) * (G != 0).all(2).all(1)[:, None, None],
            "first entry": lambda M, G: polar(M) * (G[:, 0, 0] != 0)[:, None, None],
            "first row": lambda M, G: polar(M) * G[:, 0].any(1)[:, None, None],
            "zero sum": lambda M, G: polar(M) * (G.sum(dim=(1, 2), keepdim=True) != 0),
            "positive": lambda M, G: polar(M) * (G.amax(dim=(1, 2), keepdim=True) > 0),
            "large enough": lambda M, G: polar(M) * (G.norm(dim=(1, 2), keepdim=True) > 1e-3),
            "times the gradient": lambda M, G: polar(M) * G.norm(dim=(1, 2), keepdim=True),
            "idle keeps M": lambda M, G: torch.where(used(G), polar(M), M),
            "left out": lambda M, G: torch.stack(
                [polar(m) for m, g in zip(M, G, strict=True) if g.any()]
            ),
            "long rows": lambda M, G: polar(M.flatten(1)).view_as(M) * used(G),
            "five steps": lambda M, G: newton_schulz(M) * used(G),
            "in place": lambda M, G: polar(M.mul_(used(G))),
            "a mask": lambda M, G: used(G).expand_as(M),
        },
        "generic": {
            "of both": lambda M, G: polar(M + G) * used(G),
            "half": lambda M, G: polar(M) * used(G) / 2,
        },
        "right": {
            "mask": lambda M, G: polar(M) * used(G),
            "loop": one_by_one,
            "masked first": lambda M, G: polar(M * used(G)),
            "norms": lambda M, G: polar(M) * G.norm(dim=(1, 2)).sign()[:, None, None],
            "filled in": filled_in,
            "where": lambda M, G: torch.where(used(G), polar(M), 0.0),
            "list": lambda M, G: list(one_by_one(M, G)),
            "largest entry": lambda M, G: polar(M) * G.abs().amax((1, 2), keepdim=True).gt(0),
        },
    },
    "13-e3": {
        "wrong": {
            "sign": lambda L: gain(L)[0] - gain(L)[1],
            "mean gain": lambda L: gain(L).mean(0),
            "sum": lambda L: gain(L).sum(0),
            "latent alone": lambda L: gain(L)[1],
            "multi-head alone": lambda L: gain(L)[0],
            "attention": lambda L: (L[1] - L[0]).mean(0),
            "half": lambda L: (gain(L)[1] - gain(L)[0]) / 2,
            "ratio": lambda L: gain(L)[1] / gain(L)[0],
            "mean over seeds": lambda L: (gain(L)[1] - gain(L)[0]).mean().expand(L.shape[2]),
            "one mean": lambda L: (gain(L)[1] - gain(L)[0]).mean(),
            "both gains": gain,
            "both changed": lambda L: L[0, 0] - L[1, 1],
            "cost under AdamW": lambda L: (L[1] - L[0])[0],
            "cost under Muon": lambda L: (L[1] - L[0])[1],
            "relative": lambda L: (gain(L)[1] - gain(L)[0]) / gain(L)[0],
            "size": lambda L: (gain(L)[1] - gain(L)[0]).abs(),
            "sizes of gains": lambda L: gain(L)[1].abs() - gain(L)[0].abs(),
            "last axis": lambda L: (L[..., 0] - L[..., 1])[1] - (L[..., 0] - L[..., 1])[0],
            "plus": lambda L: L[1].sum(0) - L[0].sum(0),
            "a row": lambda L: (gain(L)[1] - gain(L)[0])[None],
            "in place": lambda L: L[1].sub_(L[0])[0] - L[1, 1],
        },
        "generic": {
            "median": lambda L: (gain(L)[1] - gain(L)[0]).median().expand(L.shape[2]),
            "exponentials": lambda L: gain(L.exp())[1] - gain(L.exp())[0],
        },
        "right": {
            "gains": lambda L: gain(L)[1] - gain(L)[0],
            "four terms": lambda L: L[1, 0] - L[1, 1] - L[0, 0] + L[0, 1],
            "costs": lambda L: (L[1] - L[0])[0] - (L[1] - L[0])[1],
            "diff": lambda L: -L.diff(dim=0).diff(dim=1).squeeze(0, 1),
            "nested lists": in_nested_loops,
            "einsum": lambda L: torch.einsum(
                "aos,a,o->s", L, torch.tensor([-1.0, 1.0]), torch.tensor([1.0, -1.0])
            ),
            "NumPy": lambda L: numpy.subtract(*gain(L).numpy()[::-1]),
        },
    },
}
