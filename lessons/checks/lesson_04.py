"""Checks of lesson 04: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare
from muonlab.classroom.kinds import float_array

T = 2.262  # Student's t of 95 % for ten seeds


def e1(answer: Answer) -> None:
    """Counts of the pairs and k borrowed tokens, over the number of tokens after a and k."""
    cases = [
        (torch.tensor([0, 1, 0, 2, 0, 3, 1]), torch.tensor([1, 0, 2, 0, 1, 1, 3]), 0, _shares(4, 3, 2, 1), 2),
        (
            torch.tensor([3, 1, 1, 2, 1, 0, 1, 1]),
            torch.tensor([1, 1, 2, 1, 0, 1, 1, 4]),
            1,
            _shares(2, 1, 3, 1, 1),
            5.0,
        ),
        (torch.tensor([0, 1, 0]), torch.tensor([1, 0, 1]), 2, _shares(5, 3, 2), 4),  # a was never read
        (torch.tensor([4, 0, 4, 1, 4]), torch.tensor([0, 4, 1, 4, 0]), 4, _shares(1, 2, 2, 1, 4), 0.5),
    ]
    otherwise = "Count the tokens that came after a, add k · f, and divide by their number + k."
    compare(answer, cases, _pairs, returns=float_array, otherwise=otherwise)


def _shares(*counts: float) -> Tensor:
    return torch.tensor(counts) / sum(counts)


def _pairs(read: Tensor, came: Tensor, a: int, f: Tensor, k: float) -> Look:
    size, f = len(f), f.double()
    after, before = came[read == a], read[came == a]
    n, back = torch.bincount(after, minlength=size).double(), torch.bincount(before, minlength=size).double()
    n_a, at_least_one, borrowed = len(after), max(1, len(after)), n + k * f
    right = borrowed / (n_a + k)
    few = n / at_least_one
    whole = "You divided by the number of all tokens. Only those that came after a count: divide by n_a + k."
    ones = "You added k to each pair. The k tokens are shared out by frequency: k · f."
    return right, [
        ((back + k * f) / (len(before) + k), "You counted the tokens before a. Count those that came after it."),
        ((back + k * f) / (n_a + k), "You counted the tokens before a. Count those that came after it."),
        (few, "The k borrowed tokens are missing: a pair that was never read gets probability 0."),
        (n / (n_a + k), "k stands in the denominator only. Add k · f to the counts."),
        (
            borrowed / at_least_one,
            "k stands in the numerator only. It must stand below as well, or the sum is not 1.",
        ),
        (borrowed, "These are counts, with the borrowed ones. Divide them by n_a + k."),
        (n, "These are counts. Add k · f, and divide by n_a + k."),
        (borrowed / len(read), whole),
        (borrowed / (len(read) + k), whole),
        ((n + k) / (n_a + k * size), ones),
        ((n + k) / (n_a + k), ones),
        ((n + 1) / (n_a + size), "You added one to each pair. Add k · f."),
        ((n + f) / (n_a + 1), "You added f once. Add it k times: k · f."),
        ((n + f) / (n_a + k), "You added f once. Add it k times: k · f."),
        (f, "This is the share of each token, whatever came before. Use the tokens that came after a."),
        (f * n, "You multiplied counts and shares. Add k · f to the counts."),
        (-right.log(), "This is the loss. Return the probability."),
        (right.log(), "This is the logarithm. Return the probability."),
        ((few + k * f) / (1 + k), "You mixed shares. Add k · f to the counts, then divide once by n_a + k."),
        (
            (few + f) / 2,
            "You took the mean of two shares. The more often a was read, the less the borrowed tokens weigh.",
        ),
        (
            (n + k * f) / (torch.bincount(read, minlength=size) + k),
            "You divided by how often each b was read. Divide by how often a was: one number.",
        ),
        (
            (n + k * f) / (torch.bincount(came, minlength=size) + k),
            "You divided by how often each b came. Divide by how often a was read: one number.",
        ),
    ]


def e2(answer: Answer) -> None:
    """Mean difference ± 2.262 · standard error of the paired differences, ten seeds."""
    cases = [
        (
            torch.tensor([5.0, 5.5, 4.0, 5.2, 6.1, 5.3, 4.4, 5.8, 5.1, 4.9]),
            torch.tensor([4.8, 5.1, 4.2, 4.0, 5.2, 5.0, 4.7, 4.9, 5.3, 4.1]),
        ),
        (
            torch.tensor([0.3, 0.1, 0.8, -0.4, 0.2, 0.6, -0.1, 0.5, 0.0, 0.7]),
            torch.tensor([0.9, 1.4, 0.5, 2.6, 0.7, 1.1, 0.2, 1.9, 1.0, 0.4]),
        ),
    ]
    otherwise = "Take the ten differences. The interval is their mean ± 2.262 · sd / √10, sd with n − 1."
    compare(answer, cases, _interval, returns=float_array, within=4e-4, otherwise=otherwise, by_hand=True)


def _interval(a: Tensor, b: Tensor) -> Look:
    a, b = a.double(), b.double()
    d, both = a - b, torch.cat([a, b])
    mean, sd, root = d.mean(), d.std(), math.sqrt(10)
    half = T * sd / root
    small = d.std(correction=0)

    def ends(width: Tensor, middle: Tensor = mean) -> Tensor:
        return torch.stack([middle - width, middle + width])

    pair = "You used the spread of the two groups. Pair first: take the difference of each seed, and its spread."
    n_minus_1 = "You divided by n in the spread; from a sample divide by n − 1, as torch.std does."
    return ends(half), [
        (ends(half, -mean), "The sign is reversed: the question asks for a − b."),
        (ends(half).flip(0), "The two ends have changed places: the lower one comes first."),
        (ends(half, -mean).flip(0), "The sign is reversed, a − b is asked for; and the lower end comes first."),
        (ends(T * sd), "The spread is not divided by √n: the error of a mean is sd / √n."),
        (ends(sd / root), "Student's t is missing: this is one standard error on each side. Multiply by 2.262."),
        (ends(sd), "This is one standard deviation on each side. The error of a mean is sd / √n, times t = 2.262."),
        (ends(2 * sd / root), "You used 2, a rule of thumb for many seeds. With ten, t = 2.262."),
        (ends(1.96 * sd / root), "You used 1.96, which is for many seeds. With ten, t = 2.262."),
        (
            ends(2.228 * sd / root),
            "You used 2.228, the t for eleven seeds. Ten seeds leave 9 degrees of freedom: 2.262.",
        ),
        (ends(2.776 * sd / root), "You used 2.776, the t for five seeds. With ten, t = 2.262."),
        (ends(1.833 * sd / root), "You used 1.833, which leaves 5 % on each side. At 95 % it is t = 2.262."),
        (ends(T * sd / 3), "You divided by √(n − 1). The n − 1 stands in sd already: divide by √10."),
        (ends(T * sd / 20**0.5), "You divided by √20. There are ten differences: √10."),
        (ends(T * sd / 10), "You divided by n. The error of a mean is sd / √n: one root of 10."),
        (ends(T * sd**2 / root), "You used the variance. Take its root, the standard deviation."),
        (ends((T * sd**2 / root).sqrt()), "You took the root of the whole width. Only n stands under a root."),
        (ends(T * small / root), n_minus_1),
        (ends(half / 2), "This is half as wide as it should be: t · sd / √n on each side of the mean."),
        (ends(2 * half), "This is twice as wide as it should be: t · sd / √n on each side of the mean."),
        (ends(T * ((a.var() + b.var()) / 10).sqrt()), pair),
        (ends(2.101 * ((a.var() + b.var()) / 10).sqrt()), pair),
        (ends(T * (a.std() + b.std()) / root), "You added the spreads of a and b. Take the spread of the differences."),
        (ends(T * (a.std() - b.std()) / root), "You subtracted two spreads. Take the spread of the differences."),
        (
            ends(T * both.std() / root),
            "You used the spread of all twenty losses. Take the spread of the ten differences.",
        ),
        (ends(T * a.std() / root), "You used the spread of a alone. Take the spread of the differences."),
        (ends(T * b.std() / root), "You used the spread of b alone. Take the spread of the differences."),
        (ends(half, d.median()), "The middle is the median of the differences. Take their mean."),
        (ends(T * d.abs().std() / root, d.abs().mean()), "You took the sizes of the differences. Keep their signs."),
        (ends(half, d.sum()), "The middle is the sum of the differences. Take their mean."),
        (ends(T * a.std() / root, a.mean()), "This is the interval of a alone. Take the differences a − b first."),
        (ends(half, torch.zeros_like(mean)), "The interval lies around 0. It lies around the mean difference."),
        (torch.stack([mean, half]), "These are the mean and the half width. Return the two ends."),
        (torch.stack([mean, ends(half)[1]]), "The lower end is the mean. Go down by t · sd / √n as well."),
        (
            torch.stack([d.min(), d.max()]),
            "These are the smallest and the largest difference, a range, no interval of the mean.",
        ),
        (mean, "This is the mean alone. Return the two ends of the interval."),
        (half, "This is the half width alone. Return the two ends of the interval."),
    ]
