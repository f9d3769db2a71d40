"""Checks of lesson 10: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import numbers


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
                "argmax without a dimension counts through all questions. Take it over the last one, for each question.",
            ),
            (right[groups], "That is a number for each question. Go through the groups once each: groups.unique()."),
            (
                right[groups.unique_consecutive()],
                "The questions are not sorted by group, so unique_consecutive finds a group again and again. Take unique.",
            ),
        ]
        return right, mistakes

    otherwise = "For each question take the scores at its own `last`, and ask whether the largest is the answer's; then the mean of each group."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e2(answer: Callable) -> None:
    """Pairs for each group: people, times selections of each, times six questions."""

    def look(m: int) -> tuple[list[int], Mistakes]:
        groups = range(m + 1)
        people = [1] + [2 ** (g - 1) for g in range(1, m + 1)]
        chosen = [2 ** (m - g) for g in groups]
        right = [6 * n * s for n, s in zip(people, chosen, strict=True)]
        mistakes = [
            (
                [n // 6 for n in right],
                "Six questions are asked each time a person is chosen. You counted one.",
            ),
            (
                [6 * s for s in chosen],
                "These are the pairs about one person. A group has several: multiply by its people.",
            ),
            (chosen, "That is how often one person is chosen. Multiply by the people, and by six questions."),
            (people, "These are the people. Multiply by how often each is chosen, and by six questions."),
            (
                [6 * n for n in people],
                "Every person counts once there. Multiply by how often a person is chosen.",
            ),
            (
                [right[0] // 2, *right[1:]],
                "Group 0 came out half as large: the rule 2^(g − 1) begins with group 1; group 0 has 1 person.",
            ),
            (
                [0, *right[1:]],
                "Group 0 came out empty: the rule 2^(g − 1) begins with group 1; group 0 has 1 person.",
            ),
            (
                [6 * 2**m] * (m + 1),
                "You gave group g as many as 2^g people. It has 2^(g − 1), and group 0 has 1.",
            ),
            (
                [6 * n * s for n, s in zip(people, reversed(chosen), strict=True)],
                "The selections are reversed: group 0 is chosen 2^m times, group m once.",
            ),
            (
                [6 * n * (m - g) for g, n in enumerate(people)],
                "A person is chosen 2 to the power m − g times, not m − g times.",
            ),
            (
                [6 * n * 2 * (m - g) for g, n in enumerate(people)],
                "A person is chosen 2 to the power m − g times, not 2 (m − g) times.",
            ),
            (
                [6 * n * 2 ** max(m - g - 1, 0) for g, n in enumerate(people)],
                "A person of group g is chosen 2^(m − g) times. Your power is one too small.",
            ),
            (
                [6 * n * 2 ** (m - g + 1) for g, n in enumerate(people)],
                "A person of group g is chosen 2^(m − g) times. Your power is one too large.",
            ),
            (
                [6 * (n + s) for n, s in zip(people, chosen, strict=True)],
                "You added people and selections. Each person is chosen that often: multiply.",
            ),
            (
                [6 + n * s for n, s in zip(people, chosen, strict=True)],
                "You added six. Each selection brings six questions: multiply.",
            ),
            (
                [sum(right[: g + 1]) for g in groups],
                "These are sums over the groups so far. Return each group's own number.",
            ),
            (right[::-1], "The list is in reversed order. Group 0 comes first."),
            (right[:-1], f"The last group is missing: there are m + 1 groups, 0 to m. {_RANGE}"),
            (right[1:], "Group 0 is missing: there are m + 1 groups, 0 to m."),
            ([*right, right[-1]], "There is one group too many: there are m + 1 groups, 0 to m."),
            (sum(right), "That is the whole text. Return a list, one number a group."),
            ([n / sum(right) for n in right], "Those are shares of the text. Return how many pairs."),
            (
                torch.tensor(right).short(),
                "Your integers have 16 bits, which end at 32,767. Use Python's own, or torch.int64.",
            ),
            (
                [6 * n * 2.0 ** (g - m) for g, n in enumerate(people)],
                "The power is m − g, not g − m: group 0 is chosen most often.",
            ),
            (
                [6 * n * (m - g) ** 2 for g, n in enumerate(people)],
                "A person is chosen 2 to the power m − g times, not (m − g) squared.",
            ),
            (right[:1], "That is group 0 alone. Does your return stand inside the loop?"),
            (
                [12 * 2**m] * (m + 1),
                "Both numbers are too large there: group g has 2^(g − 1) people, each chosen 2^(m − g) times.",
            ),
            (6 * 2**m, "That is one number. Return a list, one number a group."),
        ]
        return right, mistakes

    otherwise = (
        "Group g has 2^(g − 1) people, group 0 has one; each is chosen 2^(m − g) times, with six questions a time."
    )
    compare(answer, [(2,), (3,), (9,), (15,)], look, returns=numbers, within=1e-12, otherwise=otherwise)


def e3(answer: Callable) -> None:
    """The share of Muon's lead that the mixture keeps: a ratio of mean leads, for each group."""
    few = (
        [[0.2, 0.1, 0.5], [0.4, 0.2, 0.3]],
        [[0.6, 0.1, 0.9], [0.5, 0.0, 0.8]],
        [[0.8, 0.3, 0.7], [0.5, 0.5, 0.6]],
    )
    more = (
        [[0.2, 0.4], [0.4, 0.45], [0.3, 0.2], [0.1, 0.6]],  # Muon is behind in group 1
        [[0.7, 0.2], [0.6, 0.25], [0.35, 0.16], [0.2, 0.1]],
        [[0.8, 0.3], [0.6, 0.4], [0.7, 0.15], [0.6, 0.5]],
    )
    cases = [tuple(map(torch.tensor, few)), tuple(torch.tensor(v).double() for v in more)]

    def look(a: Tensor, x: Tensor, m: Tensor) -> tuple[Tensor, Mistakes]:
        kept, lead = (x - a).mean(0), (m - a).mean(0)
        right, seeds = kept / lead, len(a)
        mistakes = [
            (
                ((x - a) / (m - a)).mean(0),
                "That is the mean of each seed's ratio. A seed with a small lead then rules: divide the means.",
            ),
            (
                ((x - a) / (m - a)).quantile(0.5, dim=0),
                "That is the median of each seed's ratio. Divide the mean leads.",
            ),
            (
                (x - a).quantile(0.5, dim=0) / (m - a).quantile(0.5, dim=0),
                "You took medians over the seeds. The mean lead is asked.",
            ),
            (
                (x - a) / (m - a),
                "The seeds are still apart: average over them, the first dimension, before you divide.",
            ),
            (
                (x - a).mean(1) / (m - a).mean(1),
                "You averaged over the groups. Average over the seeds, the first dimension.",
            ),
            (
                (x - a).mean() / (m - a).mean(),
                "That is one number for all groups. Average over the seeds alone, the first dimension.",
            ),
            (right.mean(), "You averaged over the groups as well. Return a share for each."),
            (right[None], "The seeds' dimension is still there, with size 1. Leave out keepdim."),
            (1 - right, "That is the share that is lost. The share that is kept starts from AdamW."),
            (kept / m.mean(0), "You divided by Muon's accuracy. Divide by its lead: Muon minus AdamW."),
            (
                kept / a.mean(0),
                "You divided by AdamW's accuracy. Divide by Muon's lead: Muon minus AdamW.",
            ),
            (
                kept / x.mean(0),
                "You divided by the mixture's accuracy. Divide by Muon's lead: Muon minus AdamW.",
            ),
            (x.mean(0) / lead, "AdamW's accuracy is no gain: subtract it from the mixture's as well."),
            (
                x.mean(0) / m.mean(0),
                "These are ratios of accuracies. Subtract AdamW's from both first.",
            ),
            (kept, "That is the mixture's own lead. Divide it by Muon's lead."),
            (lead, "That is Muon's lead. It belongs below; above, the mixture's."),
            (kept - lead, "You subtracted the leads. A share is their ratio."),
            (lead / kept, "The ratio is upside down: Muon's lead belongs below."),
            (-right, "The sign is turned in one of the two leads: AdamW's accuracy is subtracted in both."),
            (right.abs(), "A mixture below AdamW keeps less than nothing: do not take the absolute value."),
            (
                right.clamp(0, 1),
                "You cut the shares at 0 and 1. A mixture can be below AdamW, or above Muon.",
            ),
            (right.clamp(min=0), "You cut the shares at 0. A mixture can be below AdamW."),
            (right.clamp(max=1), "You cut the shares at 1. A mixture can be above Muon."),
            (right * seeds, "You divided a sum over the seeds by a mean. Take the mean, or the sum, of both."),
            (right / seeds, "You divided a mean over the seeds by a sum. Take the mean, or the sum, of both."),
            (
                kept / (m - x).mean(0),
                "You divided by what the mixture lacks. Divide by Muon's lead over AdamW.",
            ),
            (
                right / right.sum(),
                "You made the groups sum to 1. Each group has a share of its own, kept over lead.",
            ),
            (kept / lead.sum(), "You divided by the lead of all groups. Each group has its own below."),
            (((x - a)[0]) / (m - a)[0], "You used the first seed alone. Average over all of them."),
            (((x - a)[-1]) / (m - a)[-1], "You used the last seed alone. Average over all of them."),
            (
                (x.amax(0) - a.amax(0)) / (m.amax(0) - a.amax(0)),
                "You took the best seed of each. The mean lead is asked.",
            ),
            (100 * right, "These are percent. Return shares, where 1 is Muon's whole lead."),
            (_lower(x - a) / _lower(m - a), "You took the median over the seeds. The mean lead is asked."),
            (
                (x / a).mean(0) / (m / a).mean(0),
                "You divided by AdamW's accuracies. A lead is a difference: subtract them.",
            ),
            (
                x.mean(0) - a.mean(0) / m.mean(0) - a.mean(0),
                "Brackets are missing: (mixture − AdamW) / (Muon − AdamW), each a mean.",
            ),
            (kept / lead.abs(), "Where Muon is behind AdamW, its lead is negative: do not take the absolute value."),
        ]
        return right, mistakes

    otherwise = "In each group: the mean of mixture − adamw over the seeds, over the mean of muon − adamw."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


_RANGE = "range(m) ends with m − 1."


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


def _lower(values: Tensor) -> Tensor:
    """The median over the first dimension as torch takes it: one of the values."""
    return values.median(0).values
