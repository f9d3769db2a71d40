"""Check of lesson 00: what is wrong with an answer, said so that it can be mended."""

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare, rough
from muonlab.classroom.kinds import float_array

FLAT = torch.outer(torch.tensor([0.3, -0.7, 0.2]), torch.tensor([1.1, 0.4, -0.9, 0.6]))  # of rank one


def e2(answer: Answer) -> None:
    """The polar factor: the same directions, each as long as 1."""
    cases = [(rough(1, 2, 3),), (rough(2, 4, 3),), (rough(5, 3, 3),), (FLAT,), (torch.zeros(2, 3),)]
    compare(answer, cases, _polar, returns=float_array, otherwise=_lengths, by_hand=True)


def _polar(G: Tensor) -> Look:
    G = G.double()
    U, S, Vh = torch.linalg.svd(G, full_matrices=False)
    kept = 1e-6 * S[0] < S
    U, S, Vh, few = U[:, kept], S[kept], Vh[kept], int(kept.sum())
    best, longest = U @ Vh, S.max() if few else torch.nan
    square = G.shape[0] == G.shape[1] and few == len(G)
    return best, [
        (G, "This is G itself: U diag(σ) Vᵀ. Leave σ out."),
        (-best, "This points against G. The step has the directions of G: no minus."),
        (best.T, "This is the transpose: the result has the shape of G. It is U Vᵀ, in this order."),
        (G / longest, "You divided by the longest direction. The short ones stay short; each is to be 1."),
        (G / G.norm(), "You divided G by its Frobenius norm. The lengths stay unequal; each is to be 1."),
        (G / S.sum(), "You divided by the sum of the lengths. They stay unequal; each is to be 1."),
        (U[:, :1] @ Vh[:1] if few > 1 else torch.nan, "You kept only the longest direction. Keep all that are there."),
        (U[:, 1:] @ Vh[1:], "You left out the longest direction."),
        (U[:, :-1] @ Vh[:-1] if few > 1 else torch.nan, "You left out the shortest direction, which is there."),
        (U @ Vh.T if square else torch.nan, "svd returns Vᵀ, already transposed. You transposed it again."),
        (U / S @ Vh, "You divided by the lengths, so that yours are 1/σ. Leave σ out."),
        (U / S.square() @ Vh, "You divided by σ², so that yours are 1/σ². Leave σ out."),
        (U * S.sqrt() @ Vh, "You took the roots of the lengths. Each is to be 1."),
        (best / few**0.5 if few else torch.nan, "You gave the result the Frobenius norm 1. Each direction is to be 1."),
        (G.sign(), "This is the sign of each number. Muon works on directions, not on numbers."),
        (2 * best, "The directions are right, but each is as long as 2."),
    ]


def _lengths(came: Tensor, G: Tensor) -> str:
    if not came.isfinite().all():
        return "Your result holds NaN or infinity. Do not divide by a length that may be 0."
    rank = int(torch.linalg.matrix_rank(G))
    here = torch.linalg.svdvals(came)
    count = int((here > 1e-3).sum())
    if count > rank:
        return (
            f"G has {rank} direction{'' if rank == 1 else 's'}, your result {count}. Leave out those whose length "
            "is below a millionth of the longest: they are rounding."
        )
    return f"The lengths of your directions are {', '.join(f'{x:.3g}' for x in here)}; each is to be 1."
