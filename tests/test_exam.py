"""The numbers in the answers of book/exam.md, each computed by another way than it is told."""

import math
import re
from collections import Counter

import pytest
import torch

from muonlab import COEFFICIENTS, polar
from muonlab.files import course
from muonlab.statistics import chance_to_see, mean_interval
from muonlab.theory import scalar_map

TEXT = (course() / "book" / "exam.md").read_text(encoding="utf-8")
PARTS = re.findall(
    r"^## (\d+) · lesson (\d\d) · (easy|medium|hard) · (\d) marks(?: · (derivation|code))?\n(.*?)"
    r"<details><summary>Answer (\d+)</summary>\n(.*?)</details>",
    TEXT,
    re.MULTILINE | re.DOTALL,
)


def one_step():
    """The probability of a rare fact, by bisection for the frequent one."""
    low, high = 0.0, 50.0
    for _ in range(80):
        z = (low + high) / 2
        low, high = (z, high) if math.exp(z) / (math.exp(z) + 998) < 0.9 else (low, z)
    return math.exp(low / 16) / (math.exp(low / 16) + 998)


def shards():
    M = torch.randn(512, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return torch.cat([polar(part) for part in M.chunk(4)]), polar(M)


def power():
    torch.manual_seed(0)
    d = 0.04 + 0.025 * torch.randn(20_000, 30, dtype=torch.float64)
    return (d.mean(1) - 2.0452 * d.std(1) / 30**0.5 > 0.04).double().mean().item()


def flop(m, n):
    return 5 * (2 * m * m * n + 2 * m * m * m + 2 * m * m * n)


def effective_rank(values):
    p = torch.tensor(values).square()
    p = p[p > 0] / p.sum()
    return (-(p * p.log()).sum()).exp().item()


lead = mean_interval([0.05, 0.02, 0.04, 0.01])
one = torch.ones(1, dtype=torch.float64)
NUMBERS = {  # question: what is computed, with the digits of the answer
    1: [f"({3 / math.hypot(3, 4):g}, {-4 / math.hypot(3, 4):g})", "(1, -1)"],
    2: [f"{3 + 2 + 0.5:g}", f"{torch.tensor([3.0, 2, 0.5]).norm():.3f}"],
    5: [f"{scalar_map('jordan', steps=1)(one).item():.3f}"],
    6: [f"{scalar_map('cubic', steps=5)(1e-6 * one).item() / 1e-6:.3f}", "a = 3/2", "b = -1/2"],
    7: ["15 in all", f"{flop(128, 512) // 5:,}", f"{flop(128, 512):,}"],
    8: [f"{(scalar_map('quintic', 1)(1.001 * one).item() - 1) / 0.001**3:.1f}"],
    11: [f"{(polar(torch.randn(128, 512)).square().mean().sqrt()):.4f}", f"{0.2 * 512**0.5:.3f}"],
    13: [f"{math.log(512):.3f}", f"{math.log2(512):g} bits"],
    14: [
        f"{lead.mean:.3f}",
        f"[{lead.low:.3f}, {lead.high:.3f}]",
        f"{torch.tensor([5.0, 2, 4, 1]).std() / 100:.5f}",
        f"{lead.high - lead.mean:.4f}",
    ],
    15: [f"{7 / 8 * 1.2:.2f}"],
    18: [f"{(6 + 2) / 2 - (5.9 + 1.9) / 2:.1f}"],
    19: [f"{torch.arange(1.0, n + 1).reciprocal().sum():.3f}" for n in (10, 1000)]
    + [f"{sum(1 / k for k in range(1, 11)) / sum(1 / k for k in range(1, 1001)):.3f}"],
    20: [
        f"{one_step():.5f}",
        f"{math.log(0.9 / 0.1 * 998):.3f}",
        f"{math.log(0.9 / 0.1 * 998) / 16:.3f}",
    ],
    23: [f"{effective_rank([3.0] * 4):.0f} and {effective_rank([3.0, 0, 0, 0]):.0f}"],
    24: [f"{0.1 * 0.5:.2f}"],
    25: [f"{(3.92 - 3.76) / (3.92 - 3.56):.0%}".replace("%", " %")],
    27: [f"{math.sqrt(20 / 45):.3f}", f"{20 / 45:.3f}"],
    28: [f"all {torch.linalg.svdvals(shards()[0]).mean():.0f}"],
    29: [f"{100 * (1 / 0.8 - 1):.0f} %"],
}


def test_there_are_thirty_questions_and_a_third_asks_for_more_than_an_answer():
    assert [int(part[0]) for part in PARTS] == [int(part[6]) for part in PARTS]
    assert [int(part[0]) for part in PARTS] == list(range(1, 31))
    deep = sum(bool(part[4]) for part in PARTS)
    assert deep == 12
    assert set(Counter(part[1] for part in PARTS)) == {f"{n:02d}" for n in range(1, 17)}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_numbers_of_an_answer_are_those_that_are_computed(number):
    answer = PARTS[number - 1][7].replace("{,}", ",").replace("$", "")
    assert [told for told in NUMBERS[number] if told not in answer] == []


def test_what_the_answers_show_without_a_number():
    whole, exact = shards()
    assert torch.allclose(whole.T @ whole, 4 * torch.eye(128, dtype=whole.dtype))
    assert (whole / 2 - exact).norm() > 1  # each has norm 11
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    logits = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
    (-(p * torch.log_softmax(logits, 0).diagonal()).sum()).backward()
    told = (torch.eye(4) - torch.ones(4, 4) / 4).double() @ torch.diag(p)
    assert torch.allclose(-logits.grad, told)
    assert int((torch.linalg.svdvals(told) < 1e-12).sum()) == 1
    assert chance_to_see(0.04, 0.025, 30, by=0.04) == pytest.approx(0.025, abs=0.002)
    assert power() == pytest.approx(0.025, abs=0.004)
    wide, tall = (polar(torch.randn(*shape)) for shape in ((128, 512), (512, 128)))
    assert wide.norm(dim=1).std() < 1e-4 < tall.norm(dim=1).std()
    assert len(COEFFICIENTS["quintic"][0]) == 3


def test_the_answer_in_code_is_muon():
    torch.manual_seed(0)
    W, G, M = torch.randn(3, 4, 6).double()
    expected = 0.95 * M + 0.05 * G
    ahead = polar(0.95 * expected + 0.05 * G)
    moved = W - 0.1 * ahead
    M.lerp_(G, 1 - 0.95)
    W.sub_(0.1 * polar(G.lerp(M, 0.95)))
    assert torch.allclose(M, expected)
    assert torch.allclose(W, moved)
