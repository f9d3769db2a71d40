"""Answers to the exercises of lesson 04, as students write them: right ones and wrong ones."""

import bisect
import math
import statistics

import numpy as np
import torch
from scipy import stats

from muonlab.experiments import paired_interval


def walk(steps, losses, goal):
    for i in range(len(steps)):
        if losses[i] <= goal:
            return steps[i]


def else_none_too_early(steps, losses, goal):
    for step, loss in zip(steps, losses, strict=True):
        if loss <= goal:
            return step
        else:
            return None


def last_one(steps, losses, goal):
    found = None
    for step, loss in zip(steps, losses, strict=True):
        if loss <= goal:
            found = step
    return found


def while_loop(steps, losses, goal):
    i = 0
    while i < len(losses) and losses[i] > goal:
        i += 1
    return steps[i] if i < len(losses) else None


def endless(steps, losses, goal):
    i = 0
    while True:
        if losses[min(i, len(losses) - 1)] <= goal:
            return steps[i]
        i += 1


def off_the_end(steps, losses, goal):
    i = 0
    while losses[i] > goal:
        i += 1
    return steps[i]


def by_numpy(steps, losses, goal):
    hit = np.flatnonzero(np.array(losses) <= goal)
    return np.array(steps)[hit[0]] if len(hit) else None


def by_argmax(steps, losses, goal):
    hit = torch.tensor(losses) <= goal
    return steps[hit.int().argmax()]


def sorted_search(steps, losses, goal):
    place = bisect.bisect_left([-loss for loss in losses], -goal)
    return steps[place] if place < len(steps) else None


def lowest(steps, losses, goal):
    best = min(losses)
    return steps[losses.index(best)] if best <= goal else None


def both(half):
    return lambda a, b: ((a - b).mean() - half(a - b), (a - b).mean() + half(a - b))


def with_statistics(a, b):
    d = [x - y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    half = 2.776 * statistics.stdev(d) / math.sqrt(len(d))
    return statistics.mean(d) - half, statistics.mean(d) + half


def with_population(a, b):
    d = [x - y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    half = 2.776 * statistics.pstdev(d) / math.sqrt(len(d))
    return statistics.mean(d) - half, statistics.mean(d) + half


def with_scipy(a, b):
    d = (a - b).numpy()
    return stats.t.interval(0.95, 4, loc=d.mean(), scale=stats.sem(d))


def scipy_of_the_test(a, b):
    found = stats.ttest_rel(a.numpy(), b.numpy()).confidence_interval()
    return [found.low, found.high]


def scipy_unpaired(a, b):
    found = stats.ttest_ind(a.numpy(), b.numpy()).confidence_interval()
    return found.low, found.high


def dictionary(losses, tokens, classes):
    found = {0: [], 1: [], 2: []}
    for loss, token in zip(losses, tokens, strict=True):
        found[classes[token].item()].append(loss.item())
    return [sum(found[k]) / len(found[k]) for k in range(3)]


def dictionary_itself(losses, tokens, classes):
    return dict(enumerate(dictionary(losses, tokens, classes)))


def masks(losses, tokens, classes):
    mine = classes[tokens]
    head, middle, tail = mine == 0, mine == 1, mine == 2
    return losses[head].mean(), losses[middle].mean(), losses[tail].mean()


def products(losses, tokens, classes):
    one_hot = torch.nn.functional.one_hot(classes[tokens].long(), 3).to(losses.dtype)
    return losses @ one_hot / one_hot.sum(0)


def products_without_the_counts(losses, tokens, classes):
    one_hot = torch.nn.functional.one_hot(classes[tokens].long(), 3).to(losses.dtype)
    return (losses[:, None] * one_hot).mean(0)


def per_word(losses, tokens, classes):
    means = torch.stack([losses[tokens == t].mean() for t in range(len(classes))])
    return [means[classes == k].nanmean() for k in range(3)]


def scatter(losses, tokens, classes):
    sums = torch.zeros(3).scatter_add(0, classes[tokens].long(), losses)
    return sums / torch.bincount(classes[tokens].long(), minlength=3)


def from_the_end(steps, losses, goal):
    place = len(losses) - np.searchsorted(losses[::-1], goal, side="right")
    return steps[place] if place < len(steps) else None


ANSWERS = {
    "04-e1": {
        "right": {
            "walk": walk,
            "while": while_loop,
            "numpy": by_numpy,
            "next": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b <= goal), None
            ),
            "list": lambda s, v, goal: (
                [a for a, b in zip(s, v, strict=True) if b <= goal] + [None]
            )[0],
            "tensor": lambda s, v, goal: (
                torch.tensor(s)[torch.tensor(v) <= goal][0] if min(v) <= goal else None
            ),
            "float": lambda s, v, goal: next(
                (float(a) for a, b in zip(s, v, strict=True) if b <= goal), None
            ),
        },
        "wrong": {
            "else": else_none_too_early,
            "last": last_one,
            "endless": endless,
            "off the end": off_the_end,
            "argmax": by_argmax,
            "sorted": sorted_search,
            "from the end": from_the_end,
            "end decides": lambda s, v, goal: walk(s, v, goal) if v[-1] <= goal else None,
            "lowest": lowest,
            "strict": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b < goal), None
            ),
            "place": lambda s, v, goal: next((i for i, b in enumerate(v) if b <= goal), None),
            "loss": lambda s, v, goal: next((b for b in v if b <= goal), None),
            "pair": lambda s, v, goal: next(
                ((a, b) for a, b in zip(s, v, strict=True) if b <= goal), None
            ),
            "-1": lambda s, v, goal: next((a for a, b in zip(s, v, strict=True) if b <= goal), -1),
            "zero": lambda s, v, goal: next((a for a, b in zip(s, v, strict=True) if b <= goal), 0),
            "last step": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b <= goal), s[-1]
            ),
            "nan": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b <= goal), math.nan
            ),
            "no default": lambda s, v, goal: next(
                a for a, b in zip(s, v, strict=True) if b <= goal
            ),
            "all": lambda s, v, goal: [a for a, b in zip(s, v, strict=True) if b <= goal],
            "above": lambda s, v, goal: next(
                (a for a, b in zip(s, v, strict=True) if b >= goal), None
            ),
            "equal": lambda s, v, goal: s[v.index(goal)] if goal in v else None,
            "nearest": lambda s, v, goal: min(
                zip(s, v, strict=True), key=lambda p: abs(p[1] - goal)
            )[0],
            "sorts": lambda s, v, goal: next(
                (a for b, a in sorted(zip(v, s, strict=True), reverse=True) if b <= goal), None
            ),
        },
    },
    "04-e2": {
        "right": {
            "plain": both(lambda d: 2.776 * d.std() / 5**0.5),
            "statistics": with_statistics,
            "scipy": with_scipy,
            "test": scipy_of_the_test,
            "numpy": both(lambda d: 2.776 * np.std(d.numpy(), ddof=1) / np.sqrt(5)),
            "var": both(lambda d: 2.776 * (d.var() / 5).sqrt()),
            "tensor": lambda a, b: (
                (a - b).mean() + torch.tensor([-1, 1]) * 2.776 * (a - b).std() / 5**0.5
            ),
        },
        "wrong": {
            "population": with_population,
            "unpaired": scipy_unpaired,
            "package": lambda a, b: paired_interval(a.tolist(), b.tolist())[1:],
            "package whole": lambda a, b: paired_interval(a.tolist(), b.tolist()),
            "normal": both(lambda d: 1.96 * d.std() / 5**0.5),
            "2": both(lambda d: 2 * d.std() / 5**0.5),
            "no t": both(lambda d: d.std() / 5**0.5),
            "no root": both(lambda d: 2.776 * d.std() / 5),
            "no n": both(lambda d: 2.776 * d.std()),
            "root of 4": both(lambda d: 2.776 * d.std() / 4**0.5),
            "root of 10": both(lambda d: 2.776 * d.std() / 10**0.5),
            "var": both(lambda d: 2.776 * d.var() / 5**0.5),
            "std of two": lambda a, b: (
                (a - b).mean() - 2.776 * (a.std() + b.std()) / 5**0.5,
                (a - b).mean() + 2.776 * (a.std() + b.std()) / 5**0.5,
            ),
            "turned": lambda a, b: both(lambda d: 2.776 * d.std() / 5**0.5)(b, a),
            "high, low": lambda a, b: both(lambda d: -2.776 * d.std() / 5**0.5)(a, b),
            "half": lambda a, b: ((a - b).mean(), 2.776 * (a - b).std() / 5**0.5),
            "mean": lambda a, b: (a - b).mean(),
            "sum": lambda a, b: (
                (a - b).sum() - 2.776 * (a - b).std() / 5**0.5,
                (a - b).sum() + 2.776 * (a - b).std() / 5**0.5,
            ),
            "sizes": lambda a, b: both(lambda d: 2.776 * d.std() / 5**0.5)(
                (a - b).abs(), torch.zeros(5)
            ),
            "range": lambda a, b: ((a - b).min(), (a - b).max()),
            "percentiles": lambda a, b: (a - b).quantile(torch.tensor([0.025, 0.975])),
            "t for ten": both(lambda d: 2.262 * d.std() / 5**0.5),
        },
    },
    "04-e3": {
        "right": {
            "dictionary": dictionary,
            "masks": masks,
            "products": products,
            "scatter": scatter,
            "numpy": lambda v, t, c: [
                np.mean(v.numpy()[c.numpy()[t.numpy()] == k]) for k in range(3)
            ],
            "masked sum": lambda v, t, c: [
                (v * (c[t] == k)).sum() / (c[t] == k).sum() for k in (0, 1, 2)
            ],
            "array": lambda v, t, c: np.array(dictionary(v, t, c)),
        },
        "wrong": {
            "dictionary itself": dictionary_itself,
            "no counts": products_without_the_counts,
            "per word": per_word,
            "sums": lambda v, t, c: [v[c[t] == k].sum() for k in range(3)],
            "1 to 3": lambda v, t, c: [v[c[t] == k].mean() for k in (1, 2, 3)],
            "two classes": lambda v, t, c: [v[c[t] == k].mean() for k in range(2)],
            "tail first": lambda v, t, c: [v[c[t] == k].mean() for k in (2, 1, 0)],
            "classes as mask": lambda v, t, c: [v[c == k].mean() for k in range(3)],
            "tokens as mask": lambda v, t, c: [v[t == k].mean() for k in range(3)],
            "losses by class": lambda v, t, c: [v[c[k]].mean() for k in range(3)],
            "median": lambda v, t, c: [v[c[t] == k].median() for k in range(3)],
            "one number": lambda v, t, c: v.mean(),
            "max": lambda v, t, c: [v[c[t] == k].max() for k in range(3)],
            "all": lambda v, t, c: [v[c[t] == k].sum() / len(v) for k in range(3)],
            "vocabulary": lambda v, t, c: [v[c[t] == k].sum() / (c == k).sum() for k in range(3)],
            "lists": lambda v, t, c: [v[c[t] == k].tolist() for k in range(3)],
            "counts": lambda v, t, c: [(c[t] == k).sum() for k in range(3)],
            "tokens of classes": lambda v, t, c: [v[t[c] == k].mean() for k in range(3)],
            "rounded": lambda v, t, c: [round(v[c[t] == k].mean().item()) for k in range(3)],
            "text": lambda v, t, c: [f"{v[c[t] == k].mean():.3f}" for k in range(3)],
        },
    },
}
