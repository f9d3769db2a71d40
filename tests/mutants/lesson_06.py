"""Typical answers to the exercises of lesson 06: wrong ones to reject, right ones to accept."""

import torch


def fit(counts, first=1):
    logs = torch.arange(first, len(counts) + first).double().log()
    low, high = 0.0, 5.0
    for _ in range(50):
        s = (low + high) / 2
        law = (-s * logs).softmax(0)
        low, high = (s, high) if law @ logs > counts @ logs / counts.sum() else (low, s)
    return s


def fits(blocks, draws, first=1):
    return torch.tensor([fit(blocks[draw].sum(0), first) for draw in draws])


def interval(blocks, draws, low=0.025, high=0.975, first=1):
    drawn = fits(blocks, draws, first).double()
    ends = drawn.quantile(torch.tensor([low, high], dtype=torch.float64))
    return fit(blocks.sum(0), first), *ends.tolist()


def newton(counts):
    """The same root, by Newton's steps."""
    logs, s = torch.arange(1, len(counts) + 1).double().log(), 1.0
    for _ in range(60):
        law = (-s * logs).softmax(0)
        mean = law @ logs
        s += 0.5 * ((mean - counts @ logs / counts.sum()) / (law @ logs**2 - mean**2)).item()
    return s


def most_likely(counts):
    """The exponent on a fine grid with the largest likelihood."""
    logs, grid = torch.arange(1, len(counts) + 1).double().log(), torch.linspace(0, 5, 50_001)
    laws = (-grid.double()[:, None] * logs).log_softmax(1)
    return grid[(laws @ counts).argmax()].item()


def by(one):
    def zipf_exponent(blocks, draws):
        drawn = torch.tensor([one(blocks[draw].sum(0)) for draw in draws]).double()
        low, high = (drawn.quantile(q).item() for q in (0.025, 0.975))
        return one(blocks.sum(0)), low, high

    return zipf_exponent


ANSWERS = {
    "06-e4": {
        "wrong": {
            "the exponent three times": lambda blocks, draws: [fit(blocks.sum(0))] * 3,
            "all draws": lambda blocks, draws: interval(blocks, draws, 0.0, 1.0),
            "ninety per cent": lambda blocks, draws: interval(blocks, draws, 0.05, 0.95),
            "ranks from two": lambda blocks, draws: interval(blocks, draws, first=2),
            "no repeats": lambda blocks, draws: (
                fit(blocks.sum(0)),
                *interval(blocks, [draw.unique() for draw in draws])[1:],
            ),
            "in order": lambda blocks, draws: sorted(interval(blocks, draws)),
        },
        "right": {
            "halving": interval,
            "newton": by(newton),
            "grid": by(most_likely),
        },
    },
    "06-e5": {
        "wrong": {
            "nobody pays": lambda shares, losses, worse: losses + torch.tensor([0.0, 0.0, worse]),
            "as much": lambda shares, losses, worse: losses + torch.tensor([-worse, 0.0, worse]),
            "not divided": lambda shares, losses, worse: (
                losses + torch.tensor([-shares[2] * worse, 0.0, worse])
            ),
            "the middle pays": lambda shares, losses, worse: (
                losses + torch.tensor([0.0, -shares[2] * worse / shares[1], worse])
            ),
            "changes": lambda shares, losses, worse: torch.tensor(
                [-shares[2] * worse / shares[0], 0.0, worse]
            ),
        },
        "right": {
            "sum": lambda shares, losses, worse: (
                losses + torch.tensor([-shares[2] * worse / shares[0], 0.0, worse])
            ),
            "list": lambda shares, losses, worse: [
                (losses[0] - shares[2] * worse / shares[0]).item(),
                losses[1].item(),
                losses[2].item() + worse,
            ],
        },
    },
}
