"""The facts that a memory is to store: how often each is seen, and the vectors it is made of."""

import math

import torch
from torch import Tensor

from muonlab.optim.orthogonalize import polar

VALUE_ANGLES = (3.638, 2.949, 5.218)
KEY_ANGLES = (1.715, 0.876, 3.098)
"""Euler angles (about z, y, z) of the coupled embeddings (arXiv 2509.26030, Appendix D)."""


def two_block(K: int, L: int, alpha: float) -> Tensor:
    """Returns probabilities (K,): the first L facts share alpha, the others share the rest.

    Raises:
        ValueError: unless 0 < L < K and L/K < alpha < 1, so that the first facts are frequent.

    Source: Assumption 5.2.

    >>> two_block(4, 1, 0.7).tolist()[0]
    0.7
    """
    if not (0 < L < K and L / K < alpha < 1):
        raise ValueError(f"expected 0 < L < K and L/K < alpha < 1, got K={K}, L={L}, alpha={alpha}")
    p = torch.full((K,), (1 - alpha) / (K - L), dtype=torch.float64)
    p[:L] = alpha / L
    return p


def power_law(K: int, exponent: float) -> Tensor:
    """Returns probabilities (K,) proportional to rank^(−exponent).

    >>> power_law(2, 1.0).tolist() == [2 / 3, 1 / 3]
    True
    """
    weight = torch.arange(1, K + 1, dtype=torch.float64) ** -exponent
    return weight / weight.sum()


def coupled(K: int, turn: float = 1.0) -> tuple[Tensor, Tensor]:
    """Returns embeddings E, Ẽ (K, K): rotations of three coordinates at a time, K a multiple of 3.

    `turn` is the share of the paper's Euler angles: 0 gives the identity (decoupled), 1 the paper's
    support-coupled construction.

    Source: Appendix D; angles as printed there.
    """
    if K < 3 or K % 3:
        raise ValueError(f"expected K to be a multiple of 3, got {K}: take {max(3, K - K % 3)}")
    eye = torch.eye(K // 3, dtype=torch.float64)
    keys, values = coupled_blocks(turn)
    return torch.kron(eye, keys), torch.kron(eye, values)


def coupled_blocks(turn: float = 1.0) -> tuple[Tensor, Tensor]:
    """Returns the (3, 3) blocks that `coupled` repeats along the diagonals of E and Ẽ."""
    from scipy.spatial.transform import Rotation  # its import takes a third of a second

    angles = turn * torch.tensor([KEY_ANGLES, VALUE_ANGLES], dtype=torch.float64)
    keys, values = torch.from_numpy(Rotation.from_euler("ZYZ", angles).as_matrix())
    return keys, values


def gaussian(d: int, K: int, seed: int = 0) -> Tensor:
    """Returns K random embeddings (d, K) of mean squared length 1: at right angles on average."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(d, K, generator=generator, dtype=torch.float64) / math.sqrt(d)


def rotation(K: int, seed: int = 0) -> Tensor:
    """Returns a random orthogonal matrix (K, K)."""
    return polar(gaussian(K, K, seed))
