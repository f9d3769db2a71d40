"""Checks of lesson 08: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import numbers
from muonlab.theory.theorems import TwoBlock


def e1(answer: Callable) -> None:
    """a and b without the constants of their blocks."""
    cases = [  # the smallest blocks are of two facts; the blocks differ in size
        (TwoBlock(5, 2, a=2.0, b=5.0, c11=0.5, c12=-2.0, c21=3.0, c22=-1.0).dense().float(), 2),
        (TwoBlock(6, 3, a=-3.0, b=1.5, c11=1.25, c12=2.0, c21=-0.5, c22=0.125).dense(), 3),
        (TwoBlock(6, 4, a=7.0, b=0.25, c11=-2.0, c12=1.0, c21=3.0, c22=0.625).dense(), 4),
    ]

    def right(M: Tensor, L: int) -> Tensor:
        return _pair(M[0, 0] - M[0, 1], M[-1, -1] - M[-1, -2])

    def means(M: Tensor, L: int) -> Tensor:
        own, rare = M[:L, :L], M[L:, L:]
        return _pair(own.diagonal().mean() - own.mean(), rare.diagonal().mean() - rare.mean())

    def look(M: Tensor, L: int) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                _pair(M[0, 0], M[L, L]),
                "You read the diagonal itself, which is a + c₁₁ and b + c₂₂: take the constants away.",
            ),
            (right(M, L).flip(0), "a and b are exchanged: a belongs to the first L facts."),
            (
                _pair(M[0, 0] - M[0, -1], M[-1, -1] - M[-1, 0]),
                "Take away the constant of the same block: c₁₁ beside a, c₂₂ beside b. You took those of the same rows.",
            ),
            (
                _pair(M[0, 0] - M[-1, 0], M[-1, -1] - M[0, -1]),
                "Take away the constant of the same block: c₁₁ beside a, c₂₂ beside b. You took those of the same columns.",
            ),
            (
                _pair(M[0, 0] - M[-1, -2], M[-1, -1] - M[0, 1]),
                "The constants are exchanged: c₁₁ belongs to a, c₂₂ to b.",
            ),
            (
                _pair(M[0, 0] - M[0, 1], M[-1, -1] - M[0, 1]),
                "You took c₁₁ away from both. Beside b stands c₂₂, the constant of its own block.",
            ),
            (
                _pair(M[0, 0] - M[0, 1], M[-1, -1] - M[-1, 0]),
                "a is right. Beside b, take c₂₂ from its own block: in your column stands c₂₁.",
            ),
            (
                _pair(M[0, 0] - M[0, 1], M[-1, -1] - M[0, -1]),
                "a is right. Beside b, take c₂₂ from its own block: in your row stands c₁₂.",
            ),
            (
                _pair(M[0, 0] - M[0, 1], M[L, L]),
                "a is right. b still holds the constant of its block, c₂₂: take it away.",
            ),
            (
                _pair(M[0, 0] + M[0, 1], M[-1, -1] + M[-1, -2]),
                "You added the constants; they are in the diagonal already.",
            ),
            (
                _pair(M[0, 1] - M[0, 0], M[-1, -2] - M[-1, -1]),
                "The signs are turned: the diagonal minus the constant.",
            ),
            (
                right(M, L)[[0, 0]],
                "Both numbers are a. b stands in the block of the rare facts, from row L on.",
            ),
            (
                right(M, L)[[1, 1]],
                "Both numbers are b. a stands in the block of the frequent facts, in the rows before L.",
            ),
            (_pair(M[0, 1], M[-1, -2]), "Those are the constants c₁₁ and c₂₂. Take them away from the diagonal."),
            (
                means(M, L),
                "You took away the mean of the block, with the diagonal in it. The constant stands beside the diagonal.",
            ),
            (
                _pair(M.diagonal()[:L].mean() - M.mean(), M.diagonal()[L:].mean() - M.mean()),
                "You took away the mean of the whole matrix. Take the constant of the same block, beside the diagonal.",
            ),
            (
                _pair(M[:L, :L].diagonal().sum(), M[L:, L:].diagonal().sum()),
                "Those are the traces of the blocks. Return a and b, one entry without its constant.",
            ),
            (
                _pair(M[0, 0] - M[0, 1], M[L - 1, L - 1] - M[L - 1, L]),
                "Here your b stands in row L − 1, the last frequent fact. The rare facts begin at row L, counted from 0.",
            ),
            (
                M.diagonal() - M[[0] * L + [-1] * (len(M) - L), [1] * L + [-2] * (len(M) - L)],
                "That is a number for each fact. Return two: a and b.",
            ),
            (right(M, L)[0], "That is a alone. Return two numbers, a and b."),
            (
                _pair(M[0, 0] - M[0, -1], M[-1, -1] - M[-1, -2]),
                "b is right. Beside a, take c₁₁ from its own block: in your row stands c₁₂.",
            ),
            (
                _pair(M[0, 0] - M[-1, 0], M[-1, -1] - M[-1, -2]),
                "b is right. Beside a, take c₁₁ from its own block: in your column stands c₂₁.",
            ),
            (
                _pair(M[0, 0], M[-1, -1] - M[-1, -2]),
                "b is right. a still holds the constant of its block, c₁₁: take it away.",
            ),
            (
                _pair(M[1, 1] - M[1, 2], M[-1, -1] - M[-1, -2]),
                "b is right. With two frequent facts, column 2 is outside their block: take M[0, 1].",
            ),
            (right(M, L).sum(), "That is one number, a + b. Return two numbers, a and b."),
        ]
        return right(M, L), mistakes

    otherwise = (
        "a is a diagonal entry of the first block minus the entry beside it in that block; b the same in the second."
    )
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e2(answer: Callable) -> None:
    """Σ xy / Σ x² of centred x and y."""
    cases = [
        (torch.tensor([4.0, 1.0, 2.0]), torch.tensor([1.0, 5.0, 4.0])),  # not sorted, on no line
        (torch.tensor([2.0, 7.0, 4.5, 5.0, 10.0]), torch.tensor([3.0, 8.0, 7.0, 2.0, 15.0])),
        (torch.tensor([1003, 1001, 1006, 1002]).double(), torch.tensor([7, 14, 1, 10]).double()),
    ]

    def centred(v: Tensor) -> Tensor:
        return v - v.mean()

    def right(x: Tensor, y: Tensor) -> Tensor:
        return centred(x) @ centred(y) / (centred(x) @ centred(x))

    def line(x: Tensor, y: Tensor) -> Tensor:
        return _pair(right(x, y), y.mean() - right(x, y) * x.mean())

    def across(x: Tensor, y: Tensor) -> Tensor:
        """The slope of the line with the smallest distances at right angles to it."""
        step = torch.linalg.svd(torch.stack([centred(x), centred(y)], 1)).Vh[0]
        return step[1] / step[0]

    def pairwise(x: Tensor, y: Tensor) -> Tensor:
        i, j = torch.triu_indices(len(x), len(x), 1)
        return (y[j] - y[i]) / (x[j] - x[i])

    def ends(x: Tensor, y: Tensor) -> Tensor:
        first, last = x.argmin(), x.argmax()
        return (y[last] - y[first]) / (x[last] - x[first])

    def look(x: Tensor, y: Tensor) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                x @ y / (x @ x),
                "Your line goes through the origin. Take the mean away from x and y first.",
            ),
            (
                centred(x) @ y / (x @ x),
                "Above, the mean is taken away; below stand the squares of x as they are. Take it away there as well.",
            ),
            (
                x @ y / (centred(x) @ centred(x)),
                "Above stand x and y as they are. Take the means away there as well.",
            ),
            (
                centred(x) @ centred(y) / (centred(y) @ centred(y)),
                "x and y are exchanged: divide by the squares of x.",
            ),
            (
                centred(y) @ centred(y) / (centred(x) @ centred(y)),
                "You made the horizontal distances small. The vertical ones are asked: Σ xy / Σ x², both centred.",
            ),
            (across(x, y), "You made the distances at right angles to the line small. The vertical ones are asked."),
            (
                y.std() / x.std(),
                "That is the ratio of the spreads. How x and y move together is missing: Σ xy, both centred.",
            ),
            (
                right(x, y).sign() * y.std() / x.std(),
                "That is the ratio of the spreads with the right sign. Multiply it by the correlation, or use Σ xy / Σ x².",
            ),
            (
                (y[-1] - y[0]) / (x[-1] - x[0]),
                "You used the first and the last point alone. The others count too.",
            ),
            (ends(x, y), "You used the points with the smallest and the largest x alone. The others count too."),
            (
                (y.max() - y.min()) / (x.max() - x.min()),
                "You used the ranges of x and y alone. All points count, and y can fall where x grows.",
            ),
            (
                (y.diff() / x.diff()).mean(),
                "This is the mean of the slopes between neighbours, which counts close points too much.",
            ),
            (
                pairwise(x, y).mean(),
                "This is the mean slope over all pairs of points, which counts close points too much.",
            ),
            (
                pairwise(x, y).quantile(0.5),
                "This is the median slope over all pairs of points, not the one with the smallest sum of squares.",
            ),
            (-right(x, y), "The sign is turned round: where y falls while x grows, the slope is negative."),
            (right(x, y).abs(), "The sign is lost: where y falls while x grows, the slope is negative."),
            (
                torch.corrcoef(torch.stack([x, y]))[0, 1],
                "This is the correlation, between -1 and 1. Divide by the squares of x alone.",
            ),
            (
                torch.corrcoef(torch.stack([x, y]))[0, 1] ** 2,
                "This is the share of the variance that the line explains. Return its slope.",
            ),
            (
                right(x, y) * len(x) / (len(x) - 1),
                "One of your two sums is divided by n − 1, the other by n. Use the same above and below.",
            ),
            (
                right(x, y) * (len(x) - 1) / len(x),
                "One of your two sums is divided by n, the other by n − 1. Use the same above and below.",
            ),
            (
                right(x, y) / len(x),
                "Your upper sum is a mean, the lower one a sum. Divide both by n, or none.",
            ),
            (
                right(x, y) * len(x),
                "Your lower sum is a mean, the upper one a sum. Divide both by n, or none.",
            ),
            (centred(x) @ centred(y), "Divide by Σ x², centred: that is how far x itself moves."),
            (
                centred(x) @ centred(y) / (len(x) - 1),
                "That is the covariance. Divide it by the variance of x.",
            ),
            (centred(x) @ centred(y) / len(x), "That is the covariance. Divide it by the variance of x."),
            (
                centred(x) @ centred(y) / (centred(x) @ centred(x)).sqrt(),
                "Divide by Σ x², not by its root.",
            ),
            ((y / x).mean(), "That is the mean of y / x: lines through the origin. Take the means away first."),
            (y.sum() / x.sum(), "That is the mean of y over the mean of x, a line through the origin."),
            (
                (centred(y) / centred(x)).mean(),
                "You averaged the ratios y / x of single points. Sum above and below first, then divide.",
            ),
            (centred(x) * centred(y) / (centred(x) @ centred(x)), "That is a number for each point. Return their sum."),
            (line(x, y)[1], "That is where the line cuts the axis, the intercept. Return its slope."),
            (line(x, y), "You returned the slope and the intercept. Return the slope alone."),
            (line(x, y).flip(0), "You returned the intercept and the slope. Return the slope alone."),
            (
                right(x.log(), y.log()),
                "You took logarithms of x and y. Whether the axes are logarithmic is decided before: use x and y as they are.",
            ),
            (right(x.log(), y), "You took the logarithm of x. Use x and y as they are."),
            (right(x, y.log()), "You took the logarithm of y. Use x and y as they are."),
            (
                right(x.sort().values, y.sort().values),
                "You sorted x and y each for itself, which tears the points apart.",
            ),
            (
                right(torch.arange(len(x)).to(y), y),
                "You took the places 0, 1, 2, … for x. Use the values of x.",
            ),
            (
                _through(x, y, x[0], y[0]),
                "Your line goes through the first point. Take away the means, not the first values.",
            ),
            (_through(x, y, x.median(), y.median()), "Your line goes through the medians. Take away the means."),
            (right(x, y).atan(), "That is the angle of the line. Return its slope."),
            (
                torch.cov(torch.stack([x, y])),
                "That is the whole table of covariances. Divide the one of x and y by the variance of x.",
            ),
        ]
        return right(x, y), mistakes

    otherwise = "Take the means away from x and y; then divide the sum of x · y by the sum of x · x."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def _pair(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a, b])


def _through(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The best slope of a line through the point (a, b)."""
    return (x - a) @ (y - b) / ((x - a) @ (x - a))
