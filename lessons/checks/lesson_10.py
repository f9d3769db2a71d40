"""Checks of lesson 10: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import number_or_array


def e1(answer: Callable) -> None:
    """First-token accuracy: the likeliest token where the answer begins, a share for each group."""
    few = torch.tensor([[[0, 2], [3, 1]], [[1, 0], [2, 5]], [[4, 1], [0, 2]]])  # (3 questions, 2, 2)
    more = torch.tensor(
        [
            [[5, 0, 2], [2, 4, 0], [1, 0, 3]],
            [[1, 2, 0], [3, 4, 2], [2, 5, 0]],
            [[0, 5, 4], [2, 3, 5], [0, 5, 4]],
            [[2, 5, 0], [0, 5, 3], [0, 3, 2]],
        ]
    )
    cases = [
        (few.float(), torch.tensor([0, 1, 1]), torch.tensor([1, 0, 1]), torch.tensor([1, 0, 1])),
        (
            more.float(),
            torch.tensor([2, 2, 0, 1]),
            torch.tensor([2, 2, 1, 0]),
            torch.tensor([2, 0, 1, 1]),
        ),
        _questions(),
    ]

    def look(z: Tensor, last: Tensor, answers: Tensor, groups: Tensor) -> tuple[Tensor, Mistakes]:
        N, L, _ = z.shape
        rows, end, count = torch.arange(N), torch.full((N,), L - 1), torch.bincount(groups)

        def hits(at: Tensor) -> Tensor:
            return (z[rows, at].argmax(-1) == answers).double()

        def means(values: Tensor, of: Tensor | None = None) -> Tensor:
            return _sums(values, groups) / (count if of is None else of)

        correct, p = hits(last), z[rows, last].double().softmax(-1)
        right = means(correct)
        of_rank = (z[rows, last] > z[rows, last, answers][:, None]).sum(1)
        mistakes = [
            (
                means(hits(end)),
                "You looked at the last column. Each question ends elsewhere: take the logits at `last`.",
            ),
            (
                means(hits(torch.zeros_like(last))),
                "You looked at the first column. Each question ends elsewhere: take the logits at `last`.",
            ),
            *(
                (
                    means(hits(at)),
                    "You looked one token too early. The logits at `last` are already about the next token.",
                )
                for at in ((last - 1).clamp(min=0), last - 1)
            ),
            *(
                (
                    means(hits(at)),
                    "You looked one token too late. The logits at `last` are already about the next token.",
                )
                for at in ((last + 1).clamp(max=L - 1), (last + 1) % L)
            ),
            (
                means((z.mean(1).argmax(-1) == answers).double()),
                "You averaged the logits over all places. Take those at `last` alone.",
            ),
            (
                means((z.argmax(-1) == answers[:, None]).any(1).double()),
                "You accepted the answer at any place. Only the logits at `last` are about it.",
            ),
            (
                means((z.argmax(-1) == answers[:, None]).double().mean(1)),
                "You averaged over all places. Only the logits at `last` are about the answer.",
            ),
            (
                means((z[rows, last].argmin(-1) == answers).double()),
                "You took the least likely token. The likeliest has the largest logit: argmax.",
            ),
            (
                means((of_rank < 2).double()),
                "You counted the answer when it is one of the two likeliest. First-token accuracy takes the likeliest alone.",
            ),
            (
                means(p[rows, answers]),
                "That is the answer's probability. Count 1 where it is the likeliest token, else 0.",
            ),
            (
                means((p[rows, answers] > 0.5).double()),
                "You asked for a probability above one half. The likeliest token counts, also with less.",
            ),
            (
                means(z[rows, last, answers].double()),
                "That is the answer's mean logit. Count 1 where it is the likeliest token, else 0.",
            ),
            (
                means(p.amax(1)),
                "That is the probability of the likeliest token. Count 1 where that token is the answer, else 0.",
            ),
            (
                _sums(correct, groups) / N,
                "You divided by all questions. Divide by the questions about each group.",
            ),
            (
                _sums(correct, groups),
                "These are counts. Divide each by the number of questions about its group.",
            ),
            (
                _sums(correct, groups) / correct.sum(),
                "You divided by all right answers. Divide by the questions about each group.",
            ),
            (
                correct.mean().expand(len(count)),
                "All groups have the same number there: the mean over all hides the rare ones.",
            ),
            (correct.mean(), "That is one number for all. Return the accuracy of each group."),
            (right.mean(), "You averaged over the groups as well. Return the accuracy of each."),
            (correct, "That says which answers are right. Return the mean for each group."),
            (1 - right, "That is the share of wrong answers. Return the share of right ones."),
            (100 * right, "These are percent. Return shares between 0 and 1."),
            (
                right[list(dict.fromkeys(groups.tolist()))],
                "The groups stand in the order in which they come first. Group 0 comes first, whatever the order of the questions.",
            ),
            (right.flip(0), "The groups are in reversed order. Group 0 comes first."),
            (right[:-1], "The last group is missing: range(groups.max()) ends before it."),
            (right[1:], "Group 0 is missing: return the accuracy of every group."),
            (
                means((z[:, last].argmax(-1) == answers).double().mean(1)),
                "logits[:, last] takes all those places for every question. Pair them: logits[torch.arange(N), last].",
            ),
            (
                means((z[rows, last].argmax() == answers).double()),
                "You count no answer as right. Compare `argmax(-1)`, an index for each question, with the answers.",
            ),
            (right[groups], "That is a number for each question. Go through the groups once each: groups.unique()."),
            (
                right[groups.unique_consecutive()],
                "The questions are not sorted by group, so unique_consecutive finds a group again and again. Take unique.",
            ),
        ]
        return right, mistakes

    otherwise = "For each question take the scores at its own `last`, and ask whether the largest is the answer's; then the mean of each group."
    compare(answer, cases, look, returns=number_or_array, otherwise=otherwise)


def e4(answer: Callable) -> None:
    """How many times as often one must see a fact as the other, to know half of such facts."""
    seen = [2.0**n for n in range(9, -1, -1)]
    few = [300.0, 100.0, 20.0, 7.0, 2.0]
    tables = (
        (
            seen,
            [1.0, 1.0, 1.0, 0.98, 0.9, 0.62, 0.34, 0.15, 0.1, 0.05],
            [1.0, 1.0, 1.0, 1.0, 0.99, 0.95, 0.8, 0.57, 0.2, 0.1],
        ),
        (few, [0.9, 0.45, 0.2, 0.1, 0.05], [1.0, 0.8, 0.65, 0.4, 0.1]),
        ([64.0, 30.0, 16.0, 9.0], [0.95, 0.7, 0.5, 0.2], [0.9, 0.6, 0.3, 0.1]),
    )
    cases = [tuple(torch.tensor(row, dtype=torch.float64) for row in table) for table in tables]
    otherwise = (
        "Find where each curve is at one half, on a line in log2(seen) between two groups. "
        "Then 2 to the power of a's place minus b's."
    )
    compare(answer, cases, _exchange, returns=number_or_array, otherwise=otherwise)


def _exchange(seen: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Mistakes]:
    of_a, of_b = _half(seen.log2(), a), _half(seen.log2(), b)
    right = 2 ** (of_a - of_b)
    above, below = ([_nearest(seen, v, n) for v in (a, b)] for n in (0, 1))
    mistakes = [
        (1 / right, "The ratio is upside down: how often a must see it goes above. Or the difference lost its sign."),
        (of_a - of_b, "That counts doublings. As a ratio it is 2 to that power."),
        ((of_a - of_b).exp(), "The places are in log2, so take 2 to the power of their difference, not e."),
        (2**of_a - 2**of_b, "That is a difference of counts. Return their ratio."),
        (_half(seen, a) / _half(seen, b), "You took a line in the count itself. Take it in log2 of the count."),
        (above[0] / above[1], "You took the last group at or above one half. Find the place between two groups."),
        (below[0] / below[1], "You took the first group below one half. Find the place between two groups."),
        (2**of_a, "That is how often a must see it. Divide by how often b must."),
        (2**of_b, "That is how often b must see it. It belongs below; above, how often a must."),
        (of_a / of_b, "That is the ratio of the logarithms. Return the ratio of the counts."),
        (
            2 ** (_half(seen.log2(), a, turned=True) - _half(seen.log2(), b, turned=True)),
            "Your part of the way is measured from the rarer group. It goes from i to i + 1.",
        ),
        ((b - a).mean(), "That is the mean gap in accuracy, up and down. Compare the counts, along the other axis."),
        (b.mean() / a.mean(), "That compares accuracies. Compare how often each must see a fact."),
    ]
    return right, mistakes


def _half(places: Tensor, accuracy: Tensor, turned: bool = False) -> Tensor:
    """Where a falling accuracy is at one half, on a line between two places, or the wrong way."""
    last = int((accuracy >= 0.5).sum()) - 1
    if not 0 <= last < len(accuracy) - 1:
        return torch.tensor(torch.nan)
    part = (accuracy[last] - 0.5) / (accuracy[last] - accuracy[last + 1])
    return places[last] + (1 - part if turned else part) * (places[last + 1] - places[last])


def _nearest(seen: Tensor, accuracy: Tensor, further: int) -> Tensor:
    return seen[int((accuracy >= 0.5).sum()) - 1 + further]


def _questions() -> tuple[Tensor, ...]:
    """Eleven questions whose answers tell each way to read the logits from every other."""
    logits = torch.randn(11, 4, 7, generator=torch.Generator().manual_seed(3))
    last = torch.tensor([2, 3, 1, 2, 0, 2, 1, 2, 0, 1, 3])
    groups = torch.tensor([1, 2, 0, 1, 1, 2, 3, 2, 2, 0, 3])
    answers = logits[torch.arange(11), last].argmax(-1)
    answers[[3, 8, 10]] = (answers[[3, 8, 10]] + 1) % 7  # missed
    answers[1], answers[4] = logits[1, last[1] - 1].argmax(), logits[4, -1].argmax()
    return logits, last, answers, groups


def _sums(values: Tensor, groups: Tensor) -> Tensor:
    sums = torch.zeros(int(groups.max()) + 1, dtype=torch.float64)
    return sums.index_add_(0, groups, values.double())
