"""Checks of lesson 07: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import numbers
from muonlab.theory.memory import two_block


def e1(answer: Callable) -> None:
    """log((K - 1)(1 - ε)/ε) divided by the largest frequency."""
    cases = [
        (torch.tensor([0.2, 0.5, 0.3]), 0.1),
        (torch.tensor([0.5, 0.125, 0.25, 0.0625, 0.0625]), 0.25),
        (torch.tensor([0.25, 0.125, 0.625]), 0.02),
        (two_block(30, 6, 0.8).flip(0), 0.02),
    ]

    def grown(p: Tensor, epsilon: float) -> float:
        return (len(p) - 1) * _odds(epsilon)

    def right(p: Tensor, epsilon: float) -> float:
        return math.log(grown(p, epsilon)) / p.max().item()

    def look(p: Tensor, e: float) -> tuple[float, Mistakes]:
        mistakes = [
            (
                math.log(_odds(e)) / p.max(),
                "The factor K − 1 is missing: there are K − 1 wrong answers.",
            ),
            (
                math.log(len(p) * _odds(e)) / p.max(),
                "You counted K wrong answers; one of the K is right.",
            ),
            (
                math.log(grown(p, e)) / p.min(),
                "You divided by the smallest frequency. The best fact is the most frequent one.",
            ),
            (
                math.log(grown(p, e)) / p[0],
                "You divided by the first frequency. They come in any order: take the largest.",
            ),
            (
                math.log(grown(p, e)) / p[-1],
                "You divided by the last frequency. They come in any order: take the largest.",
            ),
            (
                math.log(grown(p, e)) / p.argmax(),
                "You divided by the place of the largest frequency. Take the frequency itself: max, not argmax.",
            ),
            (
                math.log(grown(p, e)) / p.mean(),
                "You divided by the mean frequency. The best fact is the most frequent one.",
            ),
            (
                math.log(grown(p, e)) / p,
                "That is a step size for each fact. The best fact, the most frequent one, decides: return its number.",
            ),
            (
                math.log((len(p) - 1) / _odds(e)) / p.max(),
                "The odds are upside down: at probability 1 − ε they are (1 − ε)/ε.",
            ),
            (
                math.log(_odds(e) / (len(p) - 1)) / p.max(),
                "Multiply the odds by K − 1: they are exp(η p) / (K − 1), so exp(η p) is larger than they are.",
            ),
            (
                math.log(grown(p, e)) * p.max(),
                "You multiplied by the frequency. A more frequent fact needs a smaller step.",
            ),
            (math.log(grown(p, e)), "Divide by the largest frequency: you solved for η p, not for η."),
            (
                math.log((len(p) - 1) * (1 - e)) / p.max(),
                "1 − ε is a probability, not odds: divide it by ε.",
            ),
            (
                math.log((len(p) - 1) / e) / p.max(),
                "The odds are (1 − ε)/ε, not 1/ε: how much likelier the right answer is than all the wrong ones.",
            ),
            (
                grown(p, e) / p.max(),
                "The logarithm is missing: solve exp(η p) = (K − 1)(1 − ε)/ε.",
            ),
            (
                (len(p) - 1) * math.log(_odds(e)) / p.max(),
                "K − 1 belongs inside the logarithm: solve exp(η p) = (K − 1)(1 − ε)/ε.",
            ),
            (
                math.log(grown(p, e) / p.max()),
                "Divide by the frequency after the logarithm: η p is the exponent.",
            ),
            (
                -right(p, e),
                "The sign is reversed: exp(η p) is larger than 1, so the step size is positive.",
            ),
            (
                right(p, e) / (1 - 1 / len(p)),
                "The right logit grows by η p (1 − 1/K), but every other falls by η p/K: their distance is η p.",
            ),
            *_bases(right(p, e)),
            (
                math.log(len(p) - 1) + math.log(_odds(e)) / p.max(),
                "Divide the whole logarithm by the frequency, ln(K − 1) too.",
            ),
            (math.log((len(p) + 1) * _odds(e)) / p.max(), "You counted K + 1 wrong answers; there are K − 1."),
            (math.log(1 / e) / p.max(), "K − 1 is missing, and the odds are (1 − ε)/ε, not 1/ε."),
            (
                math.log(grown(p, e)) / p.median(),
                "You divided by the median frequency. The best fact is the most frequent one.",
            ),
            (math.log(grown(p, e)) / p[1:].max(), "You left out the first frequency: it may be the largest."),
            (math.log(grown(p, e)) / p[:-1].max(), "You left out the last frequency: it may be the largest."),
        ]
        return right(p, e), mistakes

    otherwise = "Solve exp(η p) = (K − 1)(1 − ε)/ε for η, with the largest frequency for p."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e2(answer: Callable) -> None:
    """odds/(1 + odds), with odds = ((K - 1)(1 - ε)/ε)^r / (K - 1)."""
    cases = [(5, 0.5, 0.1), (999, 0.0625, 0.1), (30, 0.25, 0.02), (9, 0.75, 0.4)]

    def grown(K: int, r: float, epsilon: float) -> float:
        return ((K - 1) * _odds(epsilon)) ** r

    def odds(K: int, r: float, epsilon: float) -> float:
        return grown(K, r, epsilon) / (K - 1)

    def right(K: int, r: float, epsilon: float) -> float:
        return _probability(odds(K, r, epsilon))

    def look(K: int, r: float, e: float) -> tuple[float, Mistakes]:
        mistakes = [
            (odds(K, r, e), "These are the odds. The probability is odds / (1 + odds)."),
            (
                math.log(odds(K, r, e)),
                "That is the logarithm of the odds. The probability is odds / (1 + odds).",
            ),
            (
                _probability(grown(K, r, e)),
                "You forgot to divide by the K − 1 wrong answers.",
            ),
            (
                grown(K, r, e),
                "That is exp(η r p). Divide by the K − 1 wrong answers for the odds, then turn odds into a probability.",
            ),
            (
                grown(K, r, e) / K,
                "You divided by K. The probability is grown / (grown + K − 1), with grown = exp(η r p).",
            ),
            (1 - e, "The power r is missing: this is the best fact, at 1 − ε."),
            (
                _probability(((K - 1) * _odds(e)) ** (1 / r) / (K - 1)),
                "The power must be r, not 1/r: a rare fact moves more slowly.",
            ),
            (
                _probability(_odds(e) ** r / (K - 1)),
                "The power r takes in K − 1 too: exp(η p_max) = (K − 1)(1 − ε)/ε.",
            ),
            (
                _probability(_odds(e) ** r),
                "You took the power r of the odds. It is the power of exp(η p_max) = (K − 1)(1 − ε)/ε; then divide by K − 1.",
            ),
            (_probability(r * _odds(e)), "r multiplies the exponent, so it is a power. You multiplied by it."),
            (r * (1 - e), "r multiplies the exponent, so it is a power. You multiplied the probability by it."),
            ((1 - e) ** r, "The power r belongs to exp(η p_max), not to the probability."),
            (
                e**-r * K ** (r - 1),
                "That is the order of magnitude in the theorem. Here the exact value is asked.",
            ),
            (
                _probability((K * _odds(e)) ** r / K),
                "You counted K wrong answers; one of the K is right.",
            ),
            (
                _probability(grown(K, r, e) / K),
                "Below, you counted K wrong answers; one of the K is right.",
            ),
            (
                _probability((K * _odds(e)) ** r / (K - 1)),
                "In the power, you counted K wrong answers; one of the K is right.",
            ),
            (
                _probability(((K - 1) / _odds(e)) ** r / (K - 1)),
                "The odds of the best fact are upside down: at probability 1 − ε they are (1 − ε)/ε.",
            ),
            (
                _probability(((K - 1) * (1 - e)) ** r / (K - 1)),
                "1 − ε is a probability, not odds: divide it by ε.",
            ),
            (
                _probability(((K - 1) / e) ** r / (K - 1)),
                "The odds of the best fact are (1 − ε)/ε, not 1/ε.",
            ),
            (
                1 - right(K, r, e),
                "That is the probability of all the wrong answers together, 1/(1 + odds). The right one has odds/(1 + odds).",
            ),
            (
                odds(K, r, e) / (1 - odds(K, r, e)),
                "From odds to a probability: odds / (1 + odds). You wrote 1 − odds.",
            ),
            (
                100 * right(K, r, e),
                "These are percent. A probability lies between 0 and 1.",
            ),
            (2 * odds(K, r, e), "Put the sum in brackets: odds / (1 + odds)."),
            (_probability(grown(K, r, e) / K - 1), "Put K − 1 in brackets: you divided by K, and subtracted 1."),
            (
                _probability(((K - 1) * _odds(e)) ** (r - 1)),
                "Only K − 1 gets the power r − 1, by the division. (1 − ε)/ε keeps the power r.",
            ),
            (
                _probability(((K - 1) * _odds(e)) ** (r / (K - 1))),
                "You divided the exponent by K − 1. Divide the power by it: the odds are (…)^r / (K − 1).",
            ),
            (e, "That is what the best fact misses. The rare fact has less than 1 − ε: put η into its odds."),
            ((1 - e) / (K - 1), "The power r is missing. The odds are ((K − 1)(1 − ε)/ε)^r / (K − 1)."),
        ]
        return right(K, r, e), mistakes

    otherwise = (
        "The odds are exp(r · η p_max) / (K − 1), where exp(η p_max) = (K − 1)(1 − ε)/ε; then odds / (1 + odds)."
    )
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e3(answer: Callable) -> None:
    """The diagonal minus the largest other entry of each column."""
    small = [[4.0, 1.0, -3.0], [2.0, 0.0, -2.0], [-1.0, 3.0, -6.0]]
    low = [[-2000.0, -5000.0, -1500.0], [-3000.0, -1200.0, -4000.0], [-2500.0, -6000.0, -1800.0]]
    cases = [
        (torch.tensor(small),),
        (torch.tensor([[-1.0, -7.0], [-3.0, -5.0]]),),
        (torch.tensor(low),),
        (rough(0, 6, 6),),
    ]

    def rivals(M: Tensor, value: float = -torch.inf) -> Tensor:
        return M.clone().fill_diagonal_(value)

    def right(M: Tensor) -> Tensor:
        return M.diagonal() - rivals(M).amax(0)

    def ordered(M: Tensor) -> Tensor:
        return M.sort(dim=0, descending=True).values

    def reshaped(M: Tensor) -> Tensor:
        return M[~torch.eye(len(M), dtype=torch.bool)].reshape(len(M) - 1, len(M))

    def look(M: Tensor) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                M.diagonal() - rivals(M).amax(1),
                "You took the maximum of each row. Column k holds the answers to key k: use dim=0.",
            ),
            (
                M.diagonal() - M.amax(0),
                "The right answer is among those you took the maximum of. Leave the diagonal out.",
            ),
            (
                M.diagonal() - M.amax(1),
                "You took the maximum of each row, with the right answer in it. Leave the diagonal out and use dim=0.",
            ),
            (-right(M), "The sign is turned: right logit minus wrong logit."),
            (right(M).abs(), "A margin is negative where a wrong logit is larger: do not take the absolute value."),
            (
                right(M).clamp(min=0),
                "You cut the margins at 0. A margin is negative where a wrong logit is larger.",
            ),
            (
                ordered(M)[0] - ordered(M)[1],
                "That is the largest minus the second largest of each column, whichever is right. The right one is on the diagonal.",
            ),
            (
                M.diagonal() - ordered(M)[1],
                "You subtracted the second largest of each column. Where a wrong logit is the largest, it is the competitor.",
            ),
            (
                M.diagonal() - (M.sum(0) - M.diagonal()) / (len(M) - 1),
                "You subtracted the mean of the wrong logits. The largest one is the competitor.",
            ),
            (
                M.diagonal() - M.mean(0),
                "You subtracted the mean of the column. The largest wrong logit is the competitor.",
            ),
            (
                M.diagonal() - rivals(M, torch.inf).amin(0),
                "You subtracted the smallest wrong logit. The largest one is the competitor.",
            ),
            (
                M.diagonal() - (M.sum(0) - M.diagonal()),
                "You subtracted the sum of the wrong logits. The largest one is the competitor.",
            ),
            (
                M.diagonal() - rivals(M, 0).amax(0),
                "You set the diagonal to 0, which wins when all wrong logits are negative. Use -torch.inf.",
            ),
            *(
                (
                    M.diagonal() - rivals(M, floor).amax(0),
                    f"You put {floor:,} on the diagonal, which wins when all wrong logits are lower still. Use -torch.inf.",
                )
                for floor in (-1, -10, -100, -1000)
            ),
            (
                M.diagonal() - rivals(M, 0).abs().amax(0),
                "You compared with the largest size. A very negative logit is no competitor.",
            ),
            (
                M.diagonal() - rivals(M).max(),
                "You subtracted one number from all: the largest wrong logit of the matrix. Each column has its own.",
            ),
            (
                M.diagonal() - reshaped(M).amax(0),
                "Your reshape mixes the columns: without its diagonal, M is read row by row. Take the transpose first.",
            ),
            (right(M).min(), "That is one number, the smallest margin. Return the margin of each fact."),
            (right(M).mean(), "That is one number, the mean margin. Return the margin of each fact."),
            (rivals(M).amax(0), "Those are the largest wrong logits. Subtract them from the right ones."),
            (
                M.softmax(0).diagonal() - rivals(M.softmax(0), 0).amax(0),
                "You took probabilities. A margin is a difference of logits, the entries of M themselves.",
            ),
            (
                torch.full((len(M),), -torch.inf),
                "Every margin is −∞ there, from the −∞ on the diagonal. Read the right logits from M itself, and take no absolute value.",
            ),
            (
                M.diagonal() - rivals(M).argmax(0),
                "You subtracted the place of the largest wrong logit. Take its value: amax, or .values.",
            ),
            (M.diagonal() / rivals(M).amax(0), "You divided. A margin is a difference: right logit minus wrong logit."),
            (
                M.diagonal() - (M.sum(0) - M.diagonal()) / len(M),
                "You subtracted the sum of the wrong logits, divided by K. The largest one is the competitor.",
            ),
            (M - rivals(M).amax(0), "You subtracted from the whole matrix. The right logits are its diagonal."),
            (right(M).sort().values, "You sorted the margins. The margin of fact k stands at place k."),
        ]
        return right(M), mistakes

    otherwise = "Entry k is M[k, k] minus the largest of the other entries of column k."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def _odds(epsilon: float) -> float:
    return (1 - epsilon) / epsilon


def _probability(odds: float) -> float:
    return odds / (1 + odds)


def _bases(right: float) -> Mistakes:
    natural = "The probabilities are made with exp, so take the natural one, math.log."
    return [
        (right / math.log(2), f"You took the logarithm to base 2. {natural}"),
        (right / math.log(10), f"You took the logarithm to base 10. {natural}"),
    ]
