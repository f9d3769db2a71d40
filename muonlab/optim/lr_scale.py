"""How far a step goes: Muon's learning rate by the shape of a matrix."""

import math
from typing import Literal

from muonlab import checks

LRScale = Literal["original", "match_rms_adamw", "spectral", "update_rms"]


def lr_scale(name: LRScale | None, rows: int, columns: int) -> float:
    """Returns the factor by which Muon's learning rate is multiplied for a rows×columns matrix.

    =============== ============================ ================================== ==========
    name            factor                       the update then has                source
    =============== ============================ ================================== ==========
    original, None  √max(1, rows/columns)        spectral norm 1, more if tall      Jordan 2024
    match_rms_adamw 0.2 √max(rows, columns)      entries of RMS 0.2, like AdamW's   2502.16982
    spectral        √(rows/columns)              outputs of RMS 1 for inputs of 1   2310.17813
    update_rms      0.2 √(rows·columns) / ‖O‖_F  entries of RMS 0.2 exactly         2510.05491
    =============== ============================ ================================== ==========

    The last divides by the norm of the update O itself; `lr_scale` then gives the numerator.
    To keep the same step under another name, multiply lr by old factor / new factor.

    >>> lr_scale("match_rms_adamw", 256, 1024)
    6.4
    """
    factors = {
        "original": math.sqrt(max(1.0, rows / columns)),
        "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
        "spectral": math.sqrt(rows / columns),
        "update_rms": 0.2 * math.sqrt(rows * columns),
    }
    checks.choice("adjust_lr_fn", name, (None, *factors))
    return factors[name or "original"]
