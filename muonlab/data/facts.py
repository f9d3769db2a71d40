"""Facts about people, a few of whom are asked about often and most of whom hardly ever.

The words, the people and their lives are made by rule: our own version of the task of arXiv
2509.26030, after the biographies of Allen-Zhu & Li (arXiv 2309.14316). As in those, the city where
a person works follows from the employer: each employer has one city.

>>> facts = load_facts("facts-6")
>>> facts.text(facts.train[: facts.starts[1]])
'<fact> In which city was Menmu Sorvoley born ? Talviton .'
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import RandomState  # numpy promises never to change its numbers
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from muonlab import checks
from muonlab.data.task import spelled, with_words
from muonlab.data.windows import chance, token_ids, windows
from muonlab.files import data_beside
from muonlab.models.gpt import GPT, GPTConfig

MOST_GROUPS, STEEPEST = 15, 2  # m and the exponent go up to these
SEPARATOR = "<fact>"  # token 0, begins each pair
_WORDS = data_beside(__file__, "facts.json")
TEMPLATES = _WORDS["templates"]  # the first word of each answer is the one that tells
DATES = {"month": _WORDS["months"], "day": range(1, 29), "year": range(1940, 2000)}
POOLS = _WORDS["pools"]  # of made words: how many, and how they end
ROOT = _WORDS["root"]  # of a made word: two syllables, a letter from each
AT_ONCE = 256  # questions asked in one batch
WORDS_SEED, PEOPLE_SEED, ORDER_SEED = range(3)


class Questions(NamedTuple):
    """Questions without their answers: everyone's first question, then everyone's second, …"""

    prompts: Tensor  # (N, L) int64, filled up on the right with the separator
    last: Tensor  # (N,) int64, where the last token of the prompt stands
    answers: Tensor  # (N,) int64, the first token of the answer
    groups: Tensor  # (N,) int64


@dataclass(frozen=True, eq=False)
class Facts:
    """Question-answer pairs as tokens, each as often as the law says."""

    name: str
    m: int
    train: Tensor  # (tokens,) int32
    starts: Tensor  # (pairs,) int64, where each pair begins in train
    words: tuple[str, ...]  # the word of each token
    people: dict[str, np.ndarray]  # "group", and the token for each {slot}: (people,) each
    pairs: tuple[np.ndarray, ...]  # for each template everyone's pair: (people, length)
    sha256: str  # names the tokens and their words

    def batch(self, step: int, batch: int, context: int, seed: int) -> tuple[Tensor, Tensor]:
        """Returns windows, drawn with replacement, and the same one token on: int64 both.

        Each begins where a pair begins, so that a question that stands alone is nothing new.
        """
        checks.number("context in these facts", context, 1, len(self.train), whole=True)
        fit = int(torch.searchsorted(self.starts, len(self.train) - context))
        chosen = torch.randint(fit, (batch,), generator=chance(seed, step))
        return windows(self.train, self.starts[chosen], context)

    def shape(self, model: GPTConfig) -> GPTConfig:
        """Returns the shape of a model for these words."""
        return with_words(model, len(self.words))

    @torch.no_grad()
    def measure(self, model: GPT, batch: int, context: int, tokens: int) -> dict[str, Any]:
        """Returns how often the likeliest token after a question is the first one of the answer.

        "accuracy" holds a share for each group of people, the best known first; "overall" is the
        mean loss of that token in nats, each group weighing the same. All questions are asked.
        Source: arXiv 2509.26030, section 4.3.
        """
        asked, device = self.questions(), model.head.weight.device
        right, loss = torch.zeros(2, self.m + 1, dtype=torch.float64)
        for rows in torch.arange(len(asked.answers)).split(AT_ONCE):
            logits = model(asked.prompts[rows].to(device)).cpu()  # (N, L, V)
            logits = logits[torch.arange(len(rows)), asked.last[rows]]  # (N, V)
            answers, of = asked.answers[rows], asked.groups[rows]
            right.index_add_(0, of, (logits.argmax(-1) == answers).double())
            loss.index_add_(0, of, F.cross_entropy(logits, answers, reduction="none").double())
        count = torch.bincount(asked.groups, minlength=self.m + 1)
        return {"overall": (loss / count).mean().item(), "accuracy": (right / count).tolist()}

    def questions(self, people_per_group: int = 100) -> Questions:
        """Returns all six questions about the first people of each group, or all where fewer."""
        group = self.people["group"]
        rank = np.arange(len(group)) - np.searchsorted(group, group)  # within the group
        chosen = np.flatnonzero(rank < people_per_group)
        lengths = [template.split().index("?") + 2 for template in TEMPLATES]
        pairs = [torch.from_numpy(table[chosen]).long() for table in self.pairs]
        asked = [pair[:, :n].T for pair, n in zip(pairs, lengths, strict=True)]  # (length, people)
        answers = [pair[:, n] for pair, n in zip(pairs, lengths, strict=True)]
        return Questions(
            prompts=pad_sequence(asked, batch_first=True).mT.flatten(0, 1),
            last=torch.tensor(lengths).repeat_interleave(len(chosen)) - 1,
            answers=torch.cat(answers),
            groups=torch.from_numpy(group[chosen]).repeat(len(TEMPLATES)),
        )

    def text(self, tokens: Tensor | list[int]) -> str:
        """Returns the words of tokens (n,), with blanks between them."""
        return " ".join(self.words[token] for token in token_ids(tokens, len(self.words)))


def people_in_group(g: int) -> int:
    """Returns how many people group g has: 1, 1, 2, 4, 8, … from group 0 on."""
    checks.number("g", g, 0, whole=True)
    return 2 ** max(g - 1, 0)


def selections(m: int, exponent: float = 1.0) -> list[int]:
    """Returns how often each person of group 0, 1, …, m is selected: m + 1 whole numbers.

    A person of group g is selected max(1, round(scale · 2^(−exponent · g))) times; before
    rounding, the total is that of the exponent 1, the law of arXiv 2509.26030: 2^(m − g).

    Raises:
        ValueError: m is not 1 to 15, or the exponent is not 0 to 2.

    >>> selections(4), selections(4, exponent=0), selections(4, exponent=1.5)
    ([16, 8, 4, 2, 1], [3, 3, 3, 3, 3], [22, 8, 3, 1, 1])
    """
    checks.number("m", m, 1, MOST_GROUPS + 1, whole=True)
    if not 0 <= exponent <= STEEPEST:
        raise ValueError(f"the exponent must be in [0, {STEEPEST}], got {exponent}")
    group = np.arange(m + 1)
    share = 2.0 ** (-exponent * group)
    # For each `last` the scale with which the people after group `last` count 1 and the total is
    # kept; the right one is that of the largest group whose people reach 1 themselves.
    people = [people_in_group(g) for g in group.tolist()]
    scale = (m * 2 ** (m - 1) + 2**group) / np.cumsum(people * share)
    scale = scale[scale * share >= 1][-1]
    return [max(1, round(times)) for times in (scale * share).tolist()]


def load_facts(name: str) -> Facts:
    """Returns the facts of a name: "facts-9" for m = 9, "facts-9-zipf1.5" for another exponent.

    The people of one m are the same for every exponent; only how often they come differs. Another
    name raises ValueError, and so does what `selections` refuses.
    """
    match = re.fullmatch(r"facts-([0-9]{1,4})(?:-zipf([0-9](?:\.[0-9]{1,4})?))?", name)
    if not match:
        raise ValueError(f"expected a name like 'facts-9' or 'facts-9-zipf1.5', got {name!r}")
    m, exponent = int(match[1]), float(match[2] or 1)
    times = np.array(selections(m, exponent))
    words, pools = _vocabulary(m)
    people = _people(m, pools)
    pairs = tuple(_pairs(template, people, words) for template in TEMPLATES)
    train, starts = map(torch.from_numpy, _stream(pairs, times[people["group"]]))
    digest = sha256(" ".join(words).encode() + train.numpy().astype("<i4").tobytes()).hexdigest()
    return Facts(spelled(name), m, train, starts, words, people, pairs, digest)


def _vocabulary(m: int) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Returns the word of each token, and the tokens of each pool."""
    roots = ["".join(letters) for letters in product(*ROOT)]
    roots = iter(RandomState(WORDS_SEED).permutation(roots).tolist())
    named = {kind: [str(date) for date in dates] for kind, dates in DATES.items()}
    for kind, (size, end) in POOLS.items():
        made = [next(roots) + end for _ in range(size)]  # all of them: no word depends on m
        made = made if kind == "major" else [word.capitalize() for word in made]
        named[kind] = made[: max(12, 2 ** (m - 2))]
    plain = [word for word in " ".join(TEMPLATES).split() if word[0] != "{"]
    words, pools = list(dict.fromkeys([SEPARATOR, *plain])), {}
    for kind, pool in named.items():
        pools[kind] = np.arange(len(words), len(words) + len(pool))
        words += pool
    return tuple(words), pools


def _people(m: int, pools: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the group of each of 2^m people, and their tokens for each slot of a template."""
    random, count = RandomState(PEOPLE_SEED), 2**m
    full_names = random.permutation(len(pools["first"]) * len(pools["surname"]))[:count]
    first, surname = np.divmod(full_names, len(pools["surname"]))
    employer = random.randint(len(pools["employer"]), size=count)
    offices = random.choice(pools["city"], len(pools["employer"]))
    free = ("month", "day", "year", "university", "major")
    return {kind: random.choice(pools[kind], count) for kind in free} | {
        "group": np.repeat(np.arange(m + 1), [people_in_group(g) for g in range(m + 1)]),
        "first": pools["first"][first],
        "surname": pools["surname"][surname],
        "employer": pools["employer"][employer],
        "work_city": offices[employer],
        "birth_city": random.choice(pools["city"], count),
    }


def _pairs(template: str, people: dict[str, np.ndarray], words: tuple[str, ...]) -> np.ndarray:
    """Returns everyone's question and answer, (people, length) int32."""
    pattern = [SEPARATOR, *template.split()]
    table = np.empty((len(people["group"]), len(pattern)), dtype=np.int32)
    for column, word in enumerate(pattern):
        table[:, column] = people[word[1:-1]] if word[0] == "{" else words.index(word)
    return table


def _stream(pairs: tuple[np.ndarray, ...], times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns each pair of each person as often as `times` says, shuffled, and their starts."""
    selected = np.repeat(np.arange(len(times)), times)
    order = RandomState(ORDER_SEED).permutation(len(pairs) * len(selected))
    person, kind = selected[order // len(pairs)], order % len(pairs)
    length = np.array([table.shape[1] for table in pairs])[kind]
    starts = length.cumsum() - length
    train = np.empty(length.sum(), dtype=np.int32)
    for i, table in enumerate(pairs):
        rows = np.flatnonzero(kind == i)
        train[starts[rows][:, None] + np.arange(table.shape[1])] = table[person[rows]]
    return train, starts
