"""Checks of lesson 07: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import WITHOUT_SVD, Answer, Look, Mistakes, compare, rough
from muonlab.classroom.kinds import number_or_array
from muonlab.optim.orthogonalize import polar


def e2(answer: Answer) -> None:
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
    compare(answer, cases, look, returns=number_or_array, otherwise=otherwise)


def e4(answer: Answer) -> None:
    """The chain rule, fact by fact: values (I - answers) diag(p) Eᵀ."""
    shapes = ((2, 3, 4), (3, 2, 3), (3, 3, 3))
    often = ([0.4, 0.1, 0.3, 0.2], [0.2, 0.7, 0.1], [0.5, 0.2, 0.3])
    cases = [
        (rough(n, d_o, d_s), rough(n + 9, d_s, K), rough(n + 5, d_o, K), torch.tensor(p))
        for n, ((d_o, d_s, K), p) in enumerate(zip(shapes, often, strict=True))
    ]
    otherwise = (
        "Fact k adds p_k values (e_k − q) E_kᵀ, with q = softmax(valuesᵀ W E_k) and e_k column k of the identity."
    )
    compare(answer, cases, _gradient, returns=number_or_array, otherwise=otherwise, by_hand=("backward", "grad"))


def _gradient(W: Tensor, E: Tensor, values: Tensor, p: Tensor) -> Look:
    W, E, values, p = (part.double() for part in (W, E, values, p))
    K, logits = len(p), values.T @ W @ E
    eye, q = torch.eye(K).double(), logits.softmax(0)
    S = eye - q
    with torch.enable_grad():
        free = W.clone().requires_grad_()
        lowered = (p * (values.T @ free @ E).log_softmax(0).diagonal()).sum()
        right = torch.autograd.grad(lowered, free)[0]
    lost = "Each fact counts with its frequency: multiply column k by p[k]."
    square = values.shape == E.shape
    return right, [
        (-right, "This is the gradient itself. Turn the sign: −log q falls in the other direction."),
        (values @ S @ E.T, lost),
        (-values @ S @ E.T, f"This is the gradient, not minus it. {lost}"),
        (values @ S @ E.T / K, f"You took the mean over the facts. {lost}"),
        (right / K, "You divided by K too. The frequencies are weights already: they sum to 1."),
        (
            values @ (p[:, None] * S) @ E.T,
            "p weights the columns, one a key. You multiplied the rows: leave out the [:, None].",
        ),
        (
            values @ ((eye - logits.softmax(1)) * p) @ E.T,
            "Column k holds the answers to key k: take the softmax with dim=0.",
        ),
        (
            values @ ((eye - logits.T.softmax(0)) * p) @ E.T,
            "Your logits are transposed: column k of valuesᵀ W E belongs to key k.",
        ),
        (-values @ (q * p) @ E.T, "The right answer is missing: the derivative is q − e_k, not q."),
        (values @ (q * p) @ E.T, "The right answer is missing: minus the derivative is e_k − q."),
        ((values * p) @ E.T, "The answers q are missing: minus the derivative is e_k − q."),
        (values @ E.T, "These are the facts, stored. Subtract the answers q, and weight with p."),
        (
            values @ ((eye - 1 / K) * p) @ E.T,
            "This holds at W = 0 only. Elsewhere the answers are softmax(valuesᵀ W E).",
        ),
        (
            values @ ((eye - logits) * p) @ E.T,
            "You subtracted the logits. Make probabilities of them: softmax with dim=0.",
        ),
        (
            values @ ((eye - logits.log_softmax(0)) * p) @ E.T,
            "You subtracted log-probabilities. The derivative holds the probabilities.",
        ),
        (right.T, "This is transposed: (d_s, d_o). The value stands on the left."),
        (
            S * p,
            "This is the derivative in the logits. Go on to W: multiply by values on the left and Eᵀ on the right.",
        ),
        (values @ (S * p), "The keys are missing: multiply by Eᵀ on the right."),
        (values @ (S * p).T @ E.T, "The middle matrix is transposed: its columns belong to the keys."),
        (
            values @ (S * p * q.diagonal()) @ E.T,
            "You differentiated q_k. The loss has −log q_k, whose derivative is not multiplied by q_k.",
        ),
        (values @ (S * p**2) @ E.T, "The frequency is in it twice."),
        (
            values @ (S * p) @ E if square else math.nan,
            "Transpose E at the end: each fact adds an outer product with its key.",
        ),
        (-lowered.item(), "This is the loss, one number. Its derivative in W is a matrix."),
    ]


def e5(answer: Answer) -> None:
    """The identity on what sums to 0 in each block, and the core divided by its length."""
    cases = [(_bracket(K, L, a), L) for K, L, a in ((4, 2, 0.375), (5, 1, 0.5), (6, 2, 0.3125), (6, 4, 0.2))]
    compare(answer, cases, _polar, returns=number_or_array, otherwise=_which_part, by_hand=WITHOUT_SVD)


def _bracket(K: int, L: int, a: float) -> Tensor:
    p = torch.full((K,), (1 - a * L) / (K - L))
    p[:L] = a
    return p.diag() - p / K


def _ones(K: int, L: int) -> Tensor:
    U = torch.zeros(K, 2).double()
    U[:L, 0], U[L:, 1] = L**-0.5, (K - L) ** -0.5
    return U


def _polar(M: Tensor, L: int) -> Look:
    left, _, across = torch.linalg.svd(M)
    right, whole, M = polar(M), left @ across, M.double()  # with the rounding of single precision
    K, eye = len(M), torch.eye(len(M)).double()
    U, plain = _ones(K, L), (_ones(K, L) > 0).double()
    core, flat, raw = U.T @ M @ U, eye - U @ U.T, plain.T @ M @ plain
    lifted = U @ (core / core.norm()) @ U.T
    swapped = _ones(K, K - L)
    inner = swapped.T @ M @ swapped
    return right, [
        (eye, "This is the identity. It is right where the sum in each block is 0; u1 and u2 are mapped by the core."),
        (flat, "The core is missing: add U (C/‖C‖) Uᵀ."),
        (lifted, "This is the core alone. Add I − UUᵀ, which keeps each vector whose sum is 0 in each block."),
        (
            flat + U @ core @ U.T,
            "The core keeps its length. Divide it by its Frobenius norm: its one singular value becomes 1.",
        ),
        (eye + lifted, "You added the core to the whole identity. Take u1 and u2 out of it first: I − UUᵀ."),
        (
            M - U @ core @ U.T + lifted,
            "a and b still stand there. The polar factor sets them to 1: I − UUᵀ in their place.",
        ),
        (flat - lifted, "The core has the wrong sign: it is added."),
        (right.T, "This is transposed. Is your core UᵀMU, and not its transpose?"),
        (
            flat + U @ (core / core.trace()) @ U.T,
            "You divided the core by its trace. A rank-one matrix is divided by its Frobenius norm.",
        ),
        (
            flat + U @ (core / core.abs().max()) @ U.T,
            "You divided the core by its largest entry. Take its Frobenius norm.",
        ),
        (
            flat + U @ (core / core.abs().sum()) @ U.T,
            "You divided the core by the sum of its sizes. Take its Frobenius norm.",
        ),
        (
            flat + U @ (core / core.square().sum()) @ U.T,
            "You divided by the square of the norm. Take the root of the sum of squares.",
        ),
        (
            flat + U @ U.T @ M @ U @ U.T / M.norm(),
            "You divided the core by the norm of M. Take the norm of the core itself.",
        ),
        (flat + U @ core.sign() @ U.T, "You took the signs of the core. Divide it by its Frobenius norm."),
        (
            flat + U @ (core / core.norm(dim=0)) @ U.T,
            "You gave each column of the core the length 1. Divide the whole core by one number.",
        ),
        (flat + core.norm() * U @ core @ U.T, "You multiplied by the norm. Divide."),
        (
            eye - plain @ plain.T + plain @ (raw / raw.norm()) @ plain.T,
            "u1 and u2 need the length 1: divide the ones by √L and √(K − L).",
        ),
        (
            flat + plain @ (core / core.norm()) @ plain.T,
            "The core is spread with ones. Use U again, whose columns have the length 1.",
        ),
        (
            eye - swapped @ swapped.T + swapped @ (inner / inner.norm()) @ swapped.T,
            "You swapped the blocks: the first L facts are frequent.",
        ),
        (eye - 1 / K, "That is I − J/K, one block. There are two, each with its own vector of ones."),
        (
            M / M.norm(),
            "This is M divided by its norm. The polar factor sets every singular value to 1, and leaves 0 at 0.",
        ),
        (
            M / torch.linalg.matrix_norm(M, 2),
            "This is M divided by its largest singular value. The polar factor sets each of them to 1.",
        ),
        (M.sign(), "These are the signs: SignGD with the identity. The polar factor sets the singular values to 1."),
        (M, "This is M. Its polar factor has the singular values 1, and one 0."),
        (core / core.norm(), "This is the core, (2, 2). Spread it again: U (C/‖C‖) Uᵀ, and add I − UUᵀ."),
        (whole, "You set the singular value 0 to 1 as well. A polar factor leaves it at 0."),
    ]


def _which_part(came: Tensor, M: Tensor, L: int) -> str:
    """Which of the two parts is wrong: each is tried on vectors of its own."""
    K = len(M)
    U, right = _ones(K, L), polar(M).double()
    flat = torch.eye(K).double() - U @ U.T
    if not torch.allclose(came @ flat, flat, atol=1e-4):
        return "Try a vector that is 0 outside one block, with sum 0: it must be mapped to itself. The part I − UUᵀ does that."
    if not torch.allclose(U.T @ came @ U, U.T @ right @ U, atol=1e-4):
        return "The part I − UUᵀ is right. On u1 and u2 the result must be the core divided by its Frobenius norm."
    return "On u1 and u2 something is added that is neither u1 nor u2: spread the core with U on both sides."


def _odds(epsilon: float) -> float:
    return (1 - epsilon) / epsilon


def _probability(odds: float) -> float:
    return odds / (1 + odds)
