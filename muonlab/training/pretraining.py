"""What comes before a fine-tuning: the settings of its pretraining, by `pretrained_by`.

They are the best trials of lesson-04-tuning, which pretrained one model for all seeds, and of
race-1200, with as many models as seeds.
"""

from typing import Any

PRETRAININGS: dict[str, dict[str, Any]] = {
    "lesson-04": {"muon": (), "adamw_lr": 0.04, "adamw_matrix_lr": 0.001, "seed": 0},
    "AdamW": {"muon": (), "adamw_lr": 0.015, "adamw_matrix_lr": 0.00189, "betas": (0.39, 0.99265)},
    "Muon": {"lr": 0.0112, "momentum": 0.745, "adamw_lr": 0.0177, "betas": (0.9488, 0.9073)},
}
PRETRAININGS["AdamW"]["adamw_matrix_beta1"] = 0.9375
