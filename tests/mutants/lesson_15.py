"""Typical answers to the exercises of lesson 15: wrong ones to reject, right ones to accept."""

import numpy


def ends(runs):
    few, many = min(runs), max(runs)
    return few, many, runs[few], runs[many]


def on_the_line(runs, n):
    few, many, high, low = ends(runs)
    return high + (n - few) / (many - few) * (low - high)


def by_numpy(runs, steps, longer):
    at = sorted(runs)
    return numpy.interp(steps / longer, at, [runs[n] for n in at])


def by_weights(runs, steps, longer):
    few, many, high, low = ends(runs)
    n = steps / longer
    return ((many - n) * high + (n - few) * low) / (many - few)


def muon(shapes):
    return sum(5 * (4 * k**2 * M + 2 * k**3) for k, M in map(sorted, shapes))


def tokens(shapes, numbers, share):
    return muon(shapes) / (6 * numbers * share)


ANSWERS = {
    "15-e3": {
        "wrong": {
            "as many steps": lambda runs, steps, longer: on_the_line(runs, steps),
            "multiplied": lambda runs, steps, longer: on_the_line(runs, steps * longer),
            "percents": lambda runs, steps, longer: on_the_line(runs, steps * (2 - longer)),
            "steps": lambda runs, steps, longer: steps / longer,
            "swapped": lambda runs, steps, longer: (
                sum(runs.values()) - on_the_line(runs, steps / longer)
            ),
            "rounded down": lambda runs, steps, longer: on_the_line(runs, steps // longer),
            "tens": lambda runs, steps, longer: on_the_line(runs, round(steps / longer, -1)),
            "mean": lambda runs, steps, longer: sum(runs.values()) / 2,
            "longer run": lambda runs, steps, longer: min(runs.values()),
            "shorter run": lambda runs, steps, longer: max(runs.values()),
            "part": lambda runs, steps, longer: (
                (steps / longer - min(runs)) / (max(runs) - min(runs))
            ),
            "logarithm": lambda runs, steps, longer: numpy.interp(
                numpy.log(steps / longer),
                numpy.log(sorted(runs)),
                [runs[n] for n in sorted(runs)],
            ),
        },
        "right": {
            "line": lambda runs, steps, longer: on_the_line(runs, steps / longer),
            "NumPy": by_numpy,
            "weights": by_weights,
        },
    },
    "15-e4": {
        "wrong": {
            "one step": lambda shapes, numbers, share: tokens(shapes, numbers, share) / 5,
            "larger side": lambda shapes, numbers, share: (
                sum(5 * (4 * max(s) ** 2 * min(s) + 2 * max(s) ** 3) for s in shapes)
                / (6 * numbers * share)
            ),
            "no six": lambda shapes, numbers, share: 6 * tokens(shapes, numbers, share),
            "times the share": lambda shapes, numbers, share: (
                tokens(shapes, numbers, share) * share**2
            ),
            "no share": lambda shapes, numbers, share: tokens(shapes, numbers, 1),
            "upside down": lambda shapes, numbers, share: 1 / tokens(shapes, numbers, share),
            "last alone": lambda shapes, numbers, share: tokens(shapes[-1:], numbers, share),
            "of both": lambda shapes, numbers, share: tokens(shapes, numbers, share) * (1 - share),
            "operations": lambda shapes, numbers, share: muon(shapes),
        },
        "right": {
            "direct": lambda shapes, numbers, share: tokens(shapes, numbers, share),
            "NumPy": lambda shapes, numbers, share: numpy.float64(tokens(shapes, numbers, share)),
        },
    },
}
