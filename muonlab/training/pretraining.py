"""What comes before a fine-tuning run: a run of AdamW on docs, tuned as in lesson 04."""

from muonlab.training.config import TrainConfig

TEXTS = ("docs", "code")  # these have the same tokens
BATCH = 16  # sequences
RATES = {"adamw_lr": 0.04, "adamw_matrix_lr": 0.001}  # the best trial of lesson-04-tuning
KEPT = ("size", "gated", "attention", "experts", "context", "precision", "device")


def first_run(config: TrainConfig) -> TrainConfig:
    """Returns the run of AdamW whose weights a config with `pretraining` starts from.

    Its seed is 0 whatever the config's: one model is fine-tuned many times, as in practice.

    Raises:
        ValueError: the run itself is on a corpus with other tokens.
    """
    if config.corpus not in TEXTS:
        raise ValueError(
            f"pretraining={config.pretraining} is done on docs, so corpus must be "
            f"{' or '.join(TEXTS)}, which have its tokens; got {config.corpus!r}: choose one of "
            "them, or set pretraining to 0"
        )
    kept = {name: getattr(config, name) for name in KEPT}
    return TrainConfig(muon=(), steps=config.pretraining, batch=BATCH, **RATES, **kept)
