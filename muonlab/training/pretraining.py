"""What comes before a fine-tuning: the run whose weights it starts from."""

from typing import Any

from muonlab.training.config import SHAPE, TrainConfig

# The settings of that run, by `pretrained_by`: the best trials of lesson-04-tuning, which
# pretrained one model for all seeds, and of race-1200, with as many models as seeds.
SETTINGS: dict[str, dict[str, Any]] = {
    "lesson-04": {"muon": (), "adamw_lr": 0.04, "adamw_matrix_lr": 0.001, "seed": 0},
    "AdamW": {"muon": (), "adamw_lr": 0.015, "adamw_matrix_lr": 0.00189, "betas": (0.39, 0.99265)},
    "Muon": {"lr": 0.0112, "momentum": 0.745, "adamw_lr": 0.0177, "betas": (0.9488, 0.9073)},
}
SETTINGS["AdamW"]["adamw_matrix_beta1"] = 0.9375
CARRIED = ("size", *SHAPE, "context", "precision", "device", "seed")  # a fine-tuning's, too


def first_run(config: TrainConfig) -> TrainConfig:
    """Returns the run on docs whose weights a config with `pretraining` starts from."""
    _, *vocabulary = config.corpus.split("-")
    kept = {name: getattr(config, name) for name in CARRIED} | SETTINGS[config.pretrained_by]
    if config.fused_qkv:
        kept.setdefault("muon", ("QKV", "O", "FFN"))
    text = "-".join(["docs", *vocabulary])
    return TrainConfig(corpus=text, steps=config.pretraining, batch=16, **kept)
