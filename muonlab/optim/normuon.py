"""NorMuon: Muon whose rows take steps of equal size, by a running mean square of each row.

Orthogonalization evens out the singular values, not the rows. With O from Muon (`optim`), m×n:

    v ← β₂ v + (1 − β₂) mean over columns of O²     a number a row
    Ô = O / (√v + ε)                                row by row
    W ← (1 − lr λ) W − lr s Ô                       s gives Ô a norm again, by one of SCALES

Source: Li et al., arXiv 2510.05491, Algorithm 1.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from muonlab import checks
from muonlab.optim.dtensors import own
from muonlab.optim.lr_scale import LRScale, lr_scale
from muonlab.optim.muon import Muon
from muonlab.optim.stacks import Group, Stacks, is_stack, views

SCALES = ("paper", "released")
ROWS = "row_mean_square"


class NorMuon(Muon):
    """NorMuon for matrices, and AdamW for the rest, with Muon's arguments and three more.

    The paper and the authors' code give Ô = O / (√v + ε) its norm in different ways:

    ========== ============================ ====================================================
    scale      factor s of Ô                so the update, divided by lr, has
    ========== ============================ ====================================================
    paper      0.2 √(mn) / ‖Ô‖_F            entries of RMS 0.2, whatever O was
    released   √max(1, m/n) ‖O‖_F / ‖Ô‖_F   the norm of O, as if the rows had not been changed
    ========== ============================ ====================================================

    Both divide by ‖Ô‖_F, so a constant factor in v has no effect: v needs no bias correction. They
    differ by a factor that depends on the shape, and by the norm of O, which Newton-Schulz leaves
    to chance.

    Args:
        params, lr, weight_decay, momentum, nesterov, ns_…: as in Muon. Algorithm 1 looks not ahead
            (nesterov=False); the released code does.
        adjust_lr_fn: for scale="released", in place of its √max(1, m/n); "paper" ignores it.
        scale: "paper" or "released".
        beta2: β₂ in [0, 1), the memory of v; 0 makes every row of every update equally long.
        row_eps: ε. A row of zeros stays zero.

    The state of an m×n matrix is the momentum, mn numbers, and v, m numbers in at least float32.

    >>> p = torch.nn.Parameter(torch.eye(3, 2))
    >>> p.grad = torch.tensor([[3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> NorMuon([p], lr=1.0, weight_decay=0.0, ns_coefficients="exact").step()
    >>> (torch.eye(3, 2) - p).norm(dim=1).mul(100).round().tolist()  # √2 · 0.2 each
    [28.0, 28.0, 28.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        scale: str = "paper",
        beta2: float = 0.95,
        row_eps: float = 1e-8,
        **options: Any,
    ) -> None:
        options["own"] = {"scale": scale, "beta2": beta2, "row_eps": row_eps}
        super().__init__(params, lr, **options)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state that this class or Muon saved, for the same parameters."""
        super().load_state_dict(state_dict)
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        for number, p in zip(numbers, params, strict=True):
            saved = state_dict["state"].get(number, {}).get(ROWS)
            if saved is not None:  # torch has rounded it to the precision of p
                self.state[p][ROWS] = saved.detach().clone().to(p.device)

    def state_of(self, p: Tensor, group: Group) -> dict[str, Any]:
        """Returns what is kept about p, of that group; before the first step it is zeros."""
        state = super().state_of(p, group)
        if group["rule"] == "muon" and ROWS not in state:  # a state of Muon's has none
            column = p.detach().flatten(1 + is_stack(p, group["kernels"]))[..., 0]
            precise = torch.promote_types(p.dtype, torch.float32)
            state[ROWS] = torch.zeros_like(column, dtype=precise)
        return state

    def rescale(self, Os: list[Tensor], stacks: Stacks, group: Group) -> None:
        """Makes updates of stacks O (b, e, m or fewer, n) in place; the v of all rows move on.

        ‖O‖ and ‖Ô‖ follow from the lengths of the rows.
        """
        kept = [own(self.state_of(p, group)[ROWS]) for p in stacks.params]
        lengths = [torch.linalg.vector_norm(X, dim=-1, dtype=kept[0].dtype) for X in Os]
        columns, pace = [float(n) for _, n in stacks.matrices], 1 - group["beta2"]
        squares = torch._foreach_div(torch._foreach_mul(lengths, lengths), columns)
        # the v of an expert without tokens would fade
        paces = [pace * share.squeeze(-1).to(kept[0].dtype) for share in stacks.moving]
        torch._foreach_lerp_(kept, views(squares, kept), paces or pace)
        roots = [
            torch.stack(v).view_as(r) for v, r in zip(stacks.by_stack(kept), lengths, strict=True)
        ]
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, group["row_eps"])
        after = _norms(torch._foreach_div(lengths, roots), stacks)  # ‖Ô‖
        torch._foreach_clamp_min_(after, 1e-6)  # O may be zero, else ‖Ô‖ is far above
        divisors = torch._foreach_mul(roots, after)
        paper = group["scale"] == "paper" or group["adjust_lr_fn"] == "update_rms"
        name: LRScale | None = "update_rms" if paper else group["adjust_lr_fn"]
        sizes: Any = [-group["lr"] * lr_scale(name, *shape) for shape in stacks.matrices]
        if not paper:
            sizes = torch._foreach_mul(_norms(lengths, stacks), sizes)  # ‖O‖
        divisors = torch._foreach_div(divisors, sizes)
        torch._foreach_div_(Os, [divisor.unsqueeze(-1) for divisor in divisors])

    def _check_group(self, number: int) -> None:
        super()._check_group(number)
        group = self.param_groups[number]
        checks.choice("scale", group["scale"], SCALES)
        checks.number("beta2", group["beta2"], 0, 1)
        checks.number("row_eps", group["row_eps"], 0, 1, above=True)  # a row of zeros divides by it


def _norms(lengths: Sequence[Tensor], stacks: Stacks) -> list[Tensor]:
    """Returns the norms (b, e, 1) of matrices, from the lengths of rows (b, e, m) kept here."""
    return stacks.over_rows([torch.linalg.vector_norm(x, dim=-1, keepdim=True) for x in lengths])
