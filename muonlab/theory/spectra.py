"""How evenly a matrix treats its directions: numbers made from its singular values.

With σ_1 ≥ … ≥ σ_k the non-zero singular values, q_i = σ_i² / Σ σ_j² is the share of direction i in
the matrix's energy. A matrix is isotropic when all shares are equal.
Source: arXiv 2509.26030, section 4.2, where four are called H_norm, eRank, TopE and Q75/25.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from muonlab.machine import in_float64

TOP = 10  # as in the paper


class Isotropy(NamedTuple):
    """The paper's four numbers of one matrix."""

    entropy: float  # of the shares, divided by its largest value: 1 is isotropic
    effective_rank: float  # how many equal directions have the same entropy: k is isotropic
    top_energy: float  # the share of the TOP largest directions: small is isotropic
    quartile_ratio: float  # upper quartile of σ² over the lower one: 1 is isotropic


def isotropy(W: Tensor) -> Isotropy:
    """Returns the four numbers of a matrix W (m, n).

    Raises:
        ValueError: W is no matrix, or holds NaN, Inf or nothing but zeros.

    >>> isotropy(torch.eye(20)).top_energy
    0.5
    """
    m, n = W.shape
    W = in_float64(W)
    largest = W.abs().max()
    if not 0 < largest < torch.inf:
        raise ValueError("expected finite entries, not all of them 0: such a matrix has no shares")
    W = W / largest  # squares of very small numbers would be 0
    gram = W @ W.mT if m <= n else W.mT @ W
    squares = torch.linalg.eigvalsh(gram).flip(0)  # in a fifth of the time of an SVD
    known = squares > len(squares) * torch.finfo(W.dtype).eps * squares[0]  # not only rounding
    squares = squares[known] * largest**2
    q = squares / squares.sum()
    H = -(q * q.log()).sum()  # nats
    largest = q.new_tensor(len(q)).log()
    low, high = torch.quantile(squares, squares.new_tensor([0.25, 0.75]))
    even = H / largest if len(q) > 1 else torch.zeros(())  # one direction: as uneven as it gets
    return Isotropy(*(number.item() for number in (even, H.exp(), q[:TOP].sum(), high / low)))


def layer_spectra(named: Iterable[tuple[str, Tensor]]) -> dict[str, list[list[float]]]:
    """Returns for each kind of matrix, such as "q" or "shared.w_in", four numbers a layer.

    `named` is what `blocks.named_parameters()` gives: 0.feedforward.shared.w_in.weight, and so on.
    Of a stack (e, m, n), such as the experts' "w_in", the four are means over its e matrices.
    """
    spectra: dict[str, list[list[float]]] = {}
    for name, p in named:
        matrices = p.detach().reshape(-1, *p.shape[-2:])
        four = torch.tensor([isotropy(W) for W in matrices], dtype=torch.float64).mean(0)
        spectra.setdefault(".".join(name.split(".")[2:-1]), []).append(four.tolist())
    return spectra
