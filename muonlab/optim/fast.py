"""Newton-Schulz at the speed of the machine: the function of `orthogonalize`, in another order.

A processor is fast at large products, and slow at small products, at each pass over memory and, on
a GPU, at each launch. So this module

* multiplies a stack of matrices of one shape at once, and what is done to k×k matrices is done for
  all stacks whose short side is k;
* works on A = XXᵀ where X is wide. Each step multiplies X by a polynomial in A, so several steps
  can be gathered into one k×k factor Q, and X is multiplied once: X ← QX. Rounding in A grows from
  step to step, so after a few steps A is made anew from X (see `steps_together`);
* writes into memory that it has used before (`Scratch`).

Source: arXiv 2506.10935, section 3.4 (Schatten-4); Dao-AILab, Gram Newton-Schulz (2026).
"""

import math
from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

from muonlab.machine import work_dtype
from muonlab.optim.coefficients import Schedule, Triple, settling, tolerates
from muonlab.optim.orthogonalize import Norm, largest_entry
from muonlab.optim.stacks import launches_cost, matrices_at_once

GRAM_ASPECT = 2  # from n = 2k on, products of k×k matrices cost less than those with X
GRAM_ERROR = 0.04  # what two steps on a bf16 Gram matrix may add to a singular value from k = 32 on


class Scratch:
    """Memory for intermediate results that is kept and used again.

    Freed blocks of megabytes go back to the system, and each page of a new one costs a fault.
    """

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    def empty(self, name: str, shape: Sequence[int], like: Tensor) -> Tensor:
        """Returns a tensor of that shape, with like's dtype and device; what it holds is chance.

        The next call with this name returns the same memory, unless torch.compile plans it.
        """
        return self.cut(name, [shape], like)[0]

    def cut(self, name: str, shapes: Sequence[Sequence[int]], like: Tensor) -> list[Tensor]:
        """Returns tensors of those shapes in one such block."""
        sizes = [math.prod(shape) for shape in shapes]
        key = name, like.dtype, like.device
        blocks = {} if torch.compiler.is_compiling() else self.blocks
        if key not in blocks or blocks[key].numel() < sum(sizes):
            blocks[key] = torch.empty(sum(sizes), dtype=like.dtype, device=like.device)
        parts = blocks[key][: sum(sizes)].split_with_sizes(sizes)
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    @property
    def nbytes(self) -> int:
        """The memory it holds."""
        return sum(block.nbytes for block in self.blocks.values())


def fast_newton_schulz(
    G: Tensor,
    steps: int = 5,
    coefficients: str | Triple | Schedule = "jordan",
    *,
    norm: Norm = "frobenius",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Returns what `newton_schulz` returns for the same arguments, up to rounding, sooner.

    It does not look at G, `norm` and `dtype`, as `Muon` and `newton_schulz` do. No gradient passes.
    """
    triples = settling(coefficients, steps)
    dtype = dtype or work_dtype(G.dtype, G.device, G.numel())
    if G.numel() == 0:
        return G.clone()
    matrices = G.detach().reshape(-1, *G.shape[-2:])
    result, scratch = torch.empty_like(matrices), Scratch()
    count = matrices_at_once(matrices[0].numel(), dtype, G.device)
    precise = torch.promote_types(G.dtype, torch.float32)
    for part, its_result in zip(matrices.split(count), result.split(count), strict=True):
        D = scratch.empty("D", part.shape, like=G.new_empty(0, dtype=precise)).copy_(part)
        its_result.copy_(orthogonalized([D], dtype, triples, norm, scratch)[0])
    return result.view(G.shape)


def orthogonalized(
    Ds: list[Tensor], dtype: torch.dtype, triples: Schedule, norm: Norm, scratch: Scratch
) -> list[Tensor]:
    """Returns stacks D (b, m, n), as in `iterate`, orthogonalized, in the scratch."""
    Xs = scratch.cut("X", [D.shape for D in Ds], like=Ds[0].new_empty(0, dtype=dtype))
    for D, size, X in zip(Ds, _sizes(Ds), Xs, strict=True):
        torch.div(D, size, out=X)
    return iterate(Xs, triples, norm, scratch)


def _sizes(Ds: list[Tensor]) -> Sequence[Tensor]:
    """Returns what divides D (b, m, n), (b, 1, 1): a Frobenius norm, or on a CPU a largest entry.

    Squares of 1e30 do not fit in float32. A GPU takes them in float64 as it reads, all matrices in
    one launch; a CPU would copy D for that. Above 0 even for zeros.
    """
    if not launches_cost(Ds[0].device):
        return [largest_entry(D) for D in Ds]
    norms = torch.stack(torch._foreach_norm([*chain(*Ds)], 2, torch.float64))
    precise = torch.promote_types(Ds[0].dtype, torch.float32)
    norms = norms.to(precise).clamp_(min=torch.finfo(precise).tiny)[:, None, None]
    return norms.split_with_sizes([len(D) for D in Ds])


def iterate(Xs: list[Tensor], triples: Schedule, norm: Norm, scratch: Scratch) -> list[Tensor]:
    """Returns X after one Newton-Schulz step for each triple, in X's memory or the scratch's.

    Xs are stacks (b, m, n) of one short side k, the widest last, in the precision of the products,
    float16 excepted, divided by their `_sizes`, which keeps fourth powers in float32's range.
    """
    k, counts, triples = min(Xs[0].shape[1:]), [len(X) for X in Xs], triples or ((1.0, 0.0, 0.0),)
    together = [steps_together(k, max(X.shape[1:]), X.dtype, triples) for X in Xs]
    most = together[-1]
    begin = together.index(most)  # stacks before it have A made anew at each step
    start, end = sum(counts[:begin]), sum(counts)
    A, P, Z = (scratch.empty(name, (end, k, k), Xs[0]) for name in "APZ")
    gathered = (end - start) * (most > 1), k, k
    Q, B, C = P[start:], *(scratch.empty(name, gathered, Xs[0]) for name in "BC")
    As, Xs, Ys = A.split_with_sizes(counts), [*Xs], scratch.cut("Y", [X.shape for X in Xs], Xs[0])
    factors: Sequence[Tensor] = ()
    for step, triple in enumerate(triples):
        for X, gram, steps in zip(Xs, As, together, strict=True):
            if step % steps == 0:
                torch.bmm(*((X.mT, X) if X.size(1) > k else (X, X.mT)), out=gram)
        if step % most:  # the Gram matrices of PX
            torch.bmm(P[start:], A[start:], out=B)
            torch.bmm(B, P[start:], out=A[start:])
        if step == 0 and (norm == "schatten4" or not launches_cost(A.device)):
            shrink = _inverse_square(A, norm)
            A.mul_(shrink)
            factors = shrink.sqrt().split_with_sizes(counts)
        _polynomial(A, *triple, out=Z)
        Q = torch.bmm(Z[start:], Q, out=B) if step % most else Z[start:]
        B, C = C, B
        Qs = [*Z.split_with_sizes(counts)[:begin], *Q.split_with_sizes(counts[begin:])]
        for i, X in enumerate(Xs):
            if step + 1 == len(triples) or (step + 1) % together[i] == 0:
                if factors and step < together[i]:
                    Qs[i].mul_(factors[i])
                Q_and_X = (X, Qs[i]) if X.size(1) > k else (Qs[i], X)
                Xs[i], Ys[i] = torch.bmm(*Q_and_X, out=Ys[i]), X
        P, Z = Z, P
    return Xs


def steps_together(k: int, n: int, dtype: torch.dtype, triples: Schedule) -> int:
    """Returns how many steps share one Gram matrix of X before it is made anew."""
    if n < GRAM_ASPECT * k:
        return 1
    if dtype == torch.bfloat16:
        return 2 if k >= 32 and tolerates(triples, GRAM_ERROR) else 1
    return 5


def _inverse_square(A: Tensor, norm: Norm) -> Tensor:
    """Returns 1 / ‖X‖² (b, 1, 1) from A = XXᵀ (b, k, k): ‖X‖_F² = tr A, Schatten-4 is ‖A‖_F^½.

    It stays in A's dtype: a bf16 stack times a float32 number is 25 times slower than by a bf16
    one. Rounding it moves all singular values of a matrix by the same 0.2 % at most.
    """
    if norm == "schatten4":
        square = torch.linalg.vector_norm(A, dim=(-2, -1), keepdim=True)
    else:
        square = A.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    return square.clamp(min=torch.finfo(A.dtype).tiny).reciprocal()


def _polynomial(A: Tensor, a: float, b: float, c: float, out: Tensor) -> Tensor:
    """Returns aI + bA + cA². With aI inside, aX needs no pass over X of its own."""
    if c:
        torch.baddbmm(A, A, A, beta=b, alpha=c, out=out)
    else:  # a cubic; torch 2.13 computes bf16 baddbmm wrongly for alpha=0
        torch.mul(A, b, out=out)
    out.diagonal(dim1=-2, dim2=-1).add_(a)
    return out
