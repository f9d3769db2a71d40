"""The learning rate of a step, as a fraction of what the config says."""


def factor(step: int, steps: int, warmup: float, decay: float) -> float:
    """Returns what all learning rates are multiplied by: up, level, down to 0, all linear.

    Args:
        step: from 0.
        steps: of the whole run.
        warmup, decay: the fractions of the steps that go up and down.

    >>> [factor(step, 8, warmup=0.25, decay=0.5) for step in range(9)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    rising = (step + 1) / max(1, round(warmup * steps))
    falling = (steps - step) / max(1, round(decay * steps))
    return min(1.0, rising, falling)
