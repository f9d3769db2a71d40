"""The schedule of a run: what its learning rates are multiplied by, step by step."""


def factor(step: int, steps: int, warmup: float, decay: float) -> float:
    """Returns the factor in [0, 1] of a step: up, level, down to 0 after the last, all linear.

    Args:
        warmup, decay: fractions of the steps; the first at the start, the second at the end.

    >>> [factor(step, steps=8, warmup=0.25, decay=0.5) for step in range(9)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    if not (warmup >= 0 and decay >= 0 and warmup + decay <= 1):
        raise ValueError(f"{warmup=} and {decay=} must be fractions of the steps, of a sum up to 1")
    rising = (step + 1) / max(1, round(warmup * steps))
    falling = (steps - step) / max(1, round(decay * steps))
    return min(1.0, rising, falling)
