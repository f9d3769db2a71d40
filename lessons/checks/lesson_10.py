"""Checks of lesson 10: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Wrong, call, expect, rounded

QUESTIONS = 6  # asked about each person, each time the person is chosen


def e1(answer: Callable) -> None:
    """First-token accuracy: the likeliest token where the answer begins, a share for each group."""
    logits = torch.randn(9, 4, 7, generator=torch.Generator().manual_seed(3))
    last = torch.tensor([2, 3, 1, 2, 0, 2, 1, 2, 0])
    groups = torch.tensor([0, 0, 1, 1, 1, 2, 2, 2, 2])
    rows = torch.arange(9)
    answers = logits[rows, last].argmax(-1)
    answers[[1, 3, 4, 8]] = (answers[[1, 3, 4, 8]] + 1) % 7  # four that the model misses
    answers[1], answers[4] = logits[1, last[1] - 1].argmax(), logits[4, -1].argmax()
    came = call(answer, logits, last, answers, groups, shape=(3,)).double()
    right = (logits[rows, last].argmax(-1) == answers).double()
    count = torch.bincount(groups).double()
    expected = _sums(right, groups) / count
    p = logits[rows, last].double().softmax(-1)[rows, answers]
    mistakes = [
        (
            _hits(logits, torch.full((9,), 3), answers, groups) / count,
            "You looked at the last column. Each question ends elsewhere: take the logits at `last`.",
        ),
        (
            _hits(logits, (last - 1).clamp(min=0), answers, groups) / count,
            "You looked one token too early. The logits at `last` are already about the next token.",
        ),
        (
            _hits(logits, (last + 1).clamp(max=3), answers, groups) / count,
            "You looked one token too late. The logits at `last` are already about the next token.",
        ),
        (
            _sums(p, groups) / count,
            "That is the answer's probability. Count 1 where it is the likeliest token, else 0.",
        ),
        (_sums(right, groups) / 9, "You divided by all questions. Divide by the questions about each group."),
        (_sums(right, groups), "These are counts. Divide each by the number of questions about its group."),
        (right.mean().expand(3), "All groups have the same number there: the mean over all hides the rare ones."),
    ]
    otherwise = f"Expected {rounded(expected)} for the three groups, got {rounded(came)}."
    expect(came, expected, mistakes, otherwise, within=1e-5)


def e2(answer: Callable) -> None:
    """Pairs for each group: people, times selections of each, times six questions."""
    for m in (3, 9):
        _one_law(call(answer, m), m)


def _one_law(came: object, m: int) -> None:
    if not isinstance(came, list | tuple | Tensor):
        raise Wrong(f"Expected a list, one number a group; your function returned {came!r}.")
    numbers = [float(n) for n in came]
    if len(numbers) != m + 1:
        raise Wrong(f"m = {m} has the {m + 1} groups 0 to {m}; your list has {len(numbers)}.")
    people = [1.0] + [2.0 ** (g - 1) for g in range(1, m + 1)]
    chosen = [2.0 ** (m - g) for g in range(m + 1)]
    expected = [QUESTIONS * n * s for n, s in zip(people, chosen, strict=True)]
    mistakes = [
        ([n / QUESTIONS for n in expected], "Six questions are asked each time a person is chosen. You counted one."),
        (
            [QUESTIONS * s for s in chosen],
            "These are the pairs about one person. A group has several: multiply by its people.",
        ),
        ([QUESTIONS * n for n in people], "Every person counts once there. Multiply by how often a person is chosen."),
        (
            [expected[0] / 2, *expected[1:]],
            "Group 0 came out half as large: the rule 2^(g − 1) begins with group 1; group 0 has 1 person.",
        ),
        (
            [QUESTIONS * n * s for n, s in zip(people, reversed(chosen), strict=True)],
            "The selections are reversed: group 0 is chosen 2^m times, group m once.",
        ),
        (
            torch.tensor(expected).cumsum(0).tolist(),
            "These are sums over the groups so far. Return each group's own number.",
        ),
    ]
    expect(numbers, expected, mistakes, f"For m = {m} expected {expected}, got {numbers}.", within=0)


def e3(answer: Callable) -> None:
    """The share of Muon's lead that the mixture keeps: a ratio of mean leads, for each group."""
    adamw = torch.tensor([[0.20, 0.10], [0.40, 0.05], [0.30, 0.12]], dtype=torch.float64)
    muon = torch.tensor([[0.80, 0.30], [0.60, 0.40], [0.70, 0.15]], dtype=torch.float64)
    mixed = torch.tensor([[0.70, 0.20], [0.60, 0.25], [0.35, 0.16]], dtype=torch.float64)
    came = call(answer, adamw, mixed, muon)
    if not isinstance(came, Tensor) or tuple(came.shape) != (2,):
        shape = tuple(came.shape) if isinstance(came, Tensor) else type(came).__name__
        if shape == (3, 2):
            raise Wrong("The seeds are still apart: average over them, the first dimension.")
        if shape == (3,):
            raise Wrong("You averaged over the groups. Average over the seeds, the first dimension.")
        raise Wrong(f"Expected a share for each of the 2 groups, shape (2,), got {shape}.")
    came = came.double()
    kept, lead = (mixed - adamw).mean(0), (muon - adamw).mean(0)
    expected = kept / lead
    mistakes = [
        (
            ((mixed - adamw) / (muon - adamw)).mean(0),
            "That is the mean of each seed's ratio. A seed with a small lead then rules: divide the means.",
        ),
        (1 - expected, "That is the share that is lost. The share that is kept starts from AdamW."),
        (kept / muon.mean(0), "You divided by Muon's accuracy. Divide by its lead: Muon minus AdamW."),
        (mixed.mean(0) / lead, "AdamW's accuracy is no gain: subtract it from the mixture's as well."),
        (mixed.mean(0) / muon.mean(0), "These are ratios of accuracies. Subtract AdamW's from both first."),
        (kept, "That is the mixture's own lead. Divide it by Muon's lead."),
        (lead / kept, "The ratio is upside down: Muon's lead belongs below."),
    ]
    otherwise = f"Expected {rounded(expected)} for the two groups, got {rounded(came)}."
    expect(came, expected, mistakes, otherwise, within=1e-5)


def _hits(logits: Tensor, at: Tensor, answers: Tensor, groups: Tensor) -> Tensor:
    rows = torch.arange(len(at))
    return _sums((logits[rows, at].argmax(-1) == answers).double(), groups)


def _sums(values: Tensor, groups: Tensor) -> Tensor:
    return torch.zeros(3, dtype=torch.float64).index_add_(0, groups, values.double())
