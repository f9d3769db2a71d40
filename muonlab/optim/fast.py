"""Newton-Schulz at the speed of the machine: the function of `orthogonalize`, in another order.

A processor is fast at large products, and slow at small products and at each pass over memory.
So this module

* multiplies a stack of matrices of one shape at once;
* reads the norm off the first Gram matrix A = XXᵀ: ‖X‖_F² = tr A, Schatten-4 is ‖A‖_F^½;
* works on A where X is wide. Each step multiplies X by a polynomial in A, so several steps can be
  gathered into one k×k factor Q, and X is multiplied once: X ← QX. Rounding in A grows from step
  to step, so after a few steps A is made anew from X (see `steps_together`);
* writes into memory that it has used before (`Scratch`).

Source: arXiv 2506.10935, section 3.4 (Schatten-4); Dao-AILab, Gram Newton-Schulz (2026).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from muonlab import checks
from muonlab.machine import work_dtype
from muonlab.optim.coefficients import Schedule, Triple, settling, tolerates
from muonlab.optim.orthogonalize import DTYPES, NORMS, Norm, check_matrix, largest_entry

STACK = 2**23  # entries in one stack in bf16: enough for all cores, and it stays in the cache
STACK_ELSE = 2**21  # in float32, whose products are slower, less is enough
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
        if torch.compiler.is_compiling():
            return torch.empty(shape, dtype=like.dtype, device=like.device)
        key, size = (name, like.dtype, like.device), math.prod(shape)
        if key not in self.blocks or self.blocks[key].numel() < size:
            self.blocks[key] = torch.empty(size, dtype=like.dtype, device=like.device)
        return self.blocks[key][:size].view(shape)

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
    """Returns what `newton_schulz` returns for the same arguments, up to rounding, sooner."""
    check_matrix(G)
    checks.choice("norm", norm, NORMS)
    checks.choice("dtype", dtype, DTYPES)
    triples = settling(coefficients, steps)
    dtype = dtype or work_dtype(G.dtype, G.device, G.numel())
    if G.numel() == 0:
        return G.clone()
    matrices = G.reshape(-1, *G.shape[-2:])
    result, scratch = torch.empty_like(matrices), Scratch()
    count = matrices_at_once(matrices[0].numel(), dtype)
    for some, their_result in zip(matrices.split(count), result.split(count), strict=True):
        some = some if G.dtype == torch.float64 else some.float()
        D = torch.div(some, largest_entry(some), out=scratch.empty("D", some.shape, like=some))
        X = scratch.empty("X", some.shape, like=D.new_empty(0, dtype=dtype)).copy_(D)
        their_result.copy_(iterate(X, triples, norm, scratch))
    return result.view(G.shape)


def entries_at_once(dtype: torch.dtype) -> int:
    """Returns how many entries make a good stack of matrices."""
    return STACK if dtype == torch.bfloat16 else STACK_ELSE


def matrices_at_once(entries: int, dtype: torch.dtype) -> int:
    """Returns how many matrices of so many entries make a good stack."""
    count = max(1, entries_at_once(dtype) // entries)
    if torch.compiler.is_compiling() or count < (threads := torch.get_num_threads()):
        return count
    return count - count % threads  # one too many would keep one core busy and the others idle


def iterate(X: Tensor, triples: Schedule, norm: Norm, scratch: Scratch) -> Tensor:
    """Returns X / ‖X‖ after one Newton-Schulz step for each triple, in X's memory or the scratch's.

    X is (b, m, n) in the precision of the products, float16 excepted, and is overwritten. The
    largest entry of each matrix is 1, which keeps fourth powers within the range of float32.
    """
    k, n = sorted(X.shape[-2:])
    tall = X.size(-2) > k
    Y = scratch.empty("Y", X.shape, X)
    A = scratch.empty("A", (len(X), k, k), X)
    together = steps_together(k, n, X.dtype, triples)
    for first in range(0, max(len(triples), 1), together):
        torch.bmm(X.mT, X, out=A) if tall else torch.bmm(X, X.mT, out=A)
        if first == 0:
            shrink = _inverse_square(A, norm)
            Q = _factor(A.mul_(shrink), triples[:together], scratch).mul_(shrink.sqrt())
        else:
            Q = _factor(A, triples[first : first + together], scratch)
        torch.bmm(X, Q, out=Y) if tall else torch.bmm(Q, X, out=Y)
        X, Y = Y, X
    return X


def steps_together(k: int, n: int, dtype: torch.dtype, triples: Schedule) -> int:
    """Returns how many steps share one Gram matrix of X before it is made anew."""
    if n < GRAM_ASPECT * k:
        return 1
    if dtype == torch.bfloat16:
        return 2 if k >= 32 and tolerates(triples, GRAM_ERROR) else 1
    return 5


def _inverse_square(A: Tensor, norm: Norm) -> Tensor:
    """Returns 1 / ‖X‖² (b, 1, 1) from A = XXᵀ (b, k, k).

    It stays in A's dtype: a bf16 stack times a float32 number is 25 times slower than by a bf16
    one. Rounding it moves all singular values of a matrix by the same 0.2 % at most.
    """
    if norm == "schatten4":
        square = torch.linalg.vector_norm(A, dim=(-2, -1), keepdim=True)
    else:
        square = A.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    return square.clamp(min=torch.finfo(A.dtype).tiny).reciprocal()


def _factor(A: Tensor, triples: Schedule, scratch: Scratch) -> Tensor:
    """Returns the Q (b, k, k) for which QX is X after these steps; A = XXᵀ is overwritten."""
    Q, Z, B = (scratch.empty(name, A.shape, A) for name in "QZB")
    if not triples:
        return Q.copy_(torch.eye(A.size(-1)))
    P = _polynomial(A, *triples[0], out=Q)
    for triple in triples[1:]:
        torch.bmm(P, A, out=B)
        torch.bmm(B, P, out=A)  # the Gram matrix of PX
        P = _polynomial(A, *triple, out=Z)
        torch.bmm(P, Q, out=B)
        Q, B = B, Q
    return Q


def _polynomial(A: Tensor, a: float, b: float, c: float, out: Tensor) -> Tensor:
    """Returns aI + bA + cA². With aI inside, aX needs no pass over X of its own."""
    if c:
        torch.baddbmm(A, A, A, beta=b, alpha=c, out=out)
    else:  # a cubic; torch 2.13 computes bf16 baddbmm wrongly for alpha=0
        torch.mul(A, b, out=out)
    out.diagonal(dim1=-2, dim2=-1).add_(a)
    return out
