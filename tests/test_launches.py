"""How many kernels a step launches, and how often the host waits for the device: counted on a CPU.

Stacks are as large as a GPU takes, and products in bf16, as there.
"""

import json
import re
from functools import partial

import pytest
import torch
from torch import nn

from muonlab import Muon, NorMuon
from muonlab.benchmark.launches import launches
from muonlab.files import course
from muonlab.optim import stacks
from muonlab.records.store import RESULTS
from printing import launches as figure
from printing.book import fill

SHAPES = [(1, 1)] * 4 + [(4, 1), (1, 4)]  # of a layer's matrices, in widths
READS = {"_local_scalar_dense", "is_nonzero", "equal", "nonzero"}  # the host waits for these

RECORD = json.loads((RESULTS / "launches.json").read_text("utf-8"))
BUDGETS = {  # kernels a step: (layers, width) → of each optimizer
    (6, 384): {"Muon": 60, "update_rms": 66, "NorMuon": 80},
    (12, 768): {"Muon": 80, "update_rms": 86, "NorMuon": 106},
    (16, 2048): {"Muon": 300, "update_rms": 300, "NorMuon": 400},
}
OURS = partial(Muon, ns_dtype=torch.bfloat16)
OPTIMIZERS = {
    "Muon": OURS,
    "update_rms": partial(OURS, adjust_lr_fn="update_rms"),
    "NorMuon": partial(NorMuon, ns_dtype=torch.bfloat16),
}


def matrices(layers, width):
    params = [
        nn.Parameter(torch.randn(m * width, n * width, generator=torch.Generator().manual_seed(i)))
        for i in range(layers)
        for m, n in SHAPES
    ]
    for p in params:
        p.grad = torch.ones_like(p)
    return params


def counted(optimizer):
    """Returns the calls of a step that is not the first, and how often the host waits in it."""
    optimizer.step()
    counts = launches(optimizer.step)
    return counts, sum(count for name, count in counts.calls.items() if name in READS)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("size", BUDGETS)
def test_a_step_launches_no_more_kernels_than_its_budget(monkeypatch, as_on_a_gpu, size, name):
    # eighths of the width, and of memory: the count is the same
    monkeypatch.setattr("muonlab.optim.stacks.GPU_BYTES", stacks.GPU_BYTES // 64)
    counts, _ = counted(OPTIMIZERS[name](matrices(size[0], size[1] // 8)))
    assert counts.kernels <= BUDGETS[size][name]
    [*_, now] = [row for row in RECORD["counts"] if row["set"].endswith(f"{size[0]} x {size[1]}")]
    if (counted_as := f"muonlab {name}") in now:
        assert counts.kernels == now[counted_as], "count again: data/results/launches.json"


@pytest.mark.parametrize("make", [OURS, OPTIMIZERS["NorMuon"]])
def test_the_host_waits_once_a_step_and_never_if_it_is_to_be_captured(make):
    vector, experts = nn.Parameter(torch.ones(5)), nn.Parameter(torch.randn(3, 8, 5))
    vector.grad, experts.grad = torch.ones(5), torch.randn(3, 8, 5)
    experts.grad[1] = 0
    for others in ([], [vector]):
        for capturable, reads in ((False, 1), (True, 0)):
            groups = [{"params": matrices(1, 16)}]
            groups += [{"params": [p], "rule": "adamw"} for p in others]
            assert counted(make(groups, capturable=capturable))[1] == reads
    assert counted(make([experts], capturable=True, adjust_lr_fn="update_rms"))[1] == 0


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("options", [{}, {"adjust_lr_fn": "update_rms"}, {"ns_norm": "schatten4"}])
@pytest.mark.parametrize("lr", [0.05, torch.tensor(0.05)])
def test_few_launches_make_the_step_of_many(request, make, options, lr):
    """Together, turned, and normalized in float64, matrices go where they go one by one."""
    shapes = [(8, 8), (8, 40), (40, 8), (8, 8), (40, 8), (3, 8, 5), (8, 2, 2, 2), (5, 5)]
    results = []
    for gpu in (False, True):
        if gpu:
            request.getfixturevalue("as_on_a_gpu")
        torch.manual_seed(0)
        params = [nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
        optimizer = make(params, lr=lr, **options)
        for _ in range(3):
            for p in params:
                p.grad = torch.randn_like(p)
            params[5].grad[1] = 0
            optimizer.step()
        results.append([p.detach() for p in params])
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-11)


def test_a_gpu_takes_a_stack_of_each_shape_at_once_and_no_more_than_fits(monkeypatch, as_on_a_gpu):
    monkeypatch.setattr("muonlab.optim.stacks.GPU_BYTES", 14 * 2 * 128)  # two of 16×8
    shapes = [(16, 8), (8, 8), (16, 8), (5, 8), (8, 16), (8, 8), (16, 8), (2, 8, 8)]
    group = {"kernels": False, "ns_coefficients": "jordan", "ns_dtype": torch.bfloat16}
    params = [torch.empty(shape) for shape in shapes]
    params[-1].grad = torch.ones(2, 8, 8)
    taken = stacks.as_stacks(params, group)
    found = [[[tuple(p.shape) for p in stack] for stack in s.by_stack(s.params)] for s in taken]
    first = [[(8, 8)] * 2, [(16, 8)] * 2, [(8, 16)]]
    assert found == [first, [[(16, 8)]], [[(5, 8)]], [[(2, 8, 8)]]]


@pytest.mark.parametrize(("make", "lr"), [(NorMuon, torch.tensor(0.05)), (Muon, 0.05)])
@pytest.mark.slow
def test_a_step_of_few_launches_compiles_as_one_graph(as_on_a_gpu, make, lr):
    shapes = [(8, 8), (8, 32), (32, 8), (3, 8, 5)]
    pairs = []
    for _ in range(2):
        torch.manual_seed(0)
        pairs.append([nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in shapes])
        for p in pairs[-1]:
            p.grad = p.detach().sin()
    eager, compiled = (make(params, lr=lr) for params in pairs)
    torch.compiler.reset()  # it takes the step up to eight times in a process
    step = torch.compile(compiled.step, fullgraph=True, backend="aot_eager")
    for _ in range(3):
        eager.step()
        step()
    torch.testing.assert_close(*pairs)


# The picture of a step, on the page about speed

TIMED = json.loads((RESULTS / "gpu-h200.json").read_text("utf-8"))


def test_the_picture_divides_the_step_as_it_was_timed():
    step = TIMED["optimizer_step"][1]
    square, wide = (
        next(row for row in TIMED["newton_schulz"] if row["shape"] == [768, n]) for n in (768, 3072)
    )
    parts = figure.times()
    assert [*parts] == ["torch.optim.Muon", "muonlab, timed"]  # nothing else has a time
    for (floor, beyond, rest), name in zip(
        parts.values(), ("torch.optim.Muon", "muonlab"), strict=True
    ):
        whole = step["torch.optim.Muon" if name != "muonlab" else "muonlab Muon"]
        assert floor == step["floor at peak"]
        assert floor + beyond == pytest.approx(48 / 12 * square[name] + 24 / 12 * wide[name])
        assert floor + beyond + rest == pytest.approx(whole)
        assert min(beyond, rest) > 0


def test_the_picture_counts_the_code_that_was_timed_and_that_of_today():
    old, *_, new = [row for row in RECORD["counts"] if row["set"] == figure.SET]
    assert old["code"] == TIMED["provenance"]["code"]
    assert figure.kernels() == {
        "torch.optim.Muon": old["torch.optim.Muon"],
        "muonlab, timed": old["muonlab Muon"],
        "muonlab, now": new["muonlab Muon"],
    }


def test_the_page_on_speed_shows_the_picture_and_says_what_it_shows():
    page = (course() / "book" / "speed.md").read_text("utf-8")
    counts = figure.kernels()
    now, before = counts["muonlab, now"], counts["muonlab, timed"]
    assert f"today {now} times, where it once asked {before} times" in page
    shown = fill(page)
    assert shown.count("<svg") == 1
    drawn = re.findall(r">([^<>]+)</text>", shown)
    for words in ("not timed yet", "products, at the card's speed", f"{before}", f"{now}"):
        assert words in [text.strip() for text in drawn]
    said = figure.launch_words()
    assert said in shown
    floor, *_ = parts = figure.times()["muonlab, timed"]
    memory = float(re.search(r"memory ([\d.]+) ms", said)[1])
    assert memory == pytest.approx(20 * 84.93 / TIMED["peak"]["copy GB/s"], abs=0.05)
    assert (floor + memory) / sum(parts) == pytest.approx(0.1, abs=0.02)
    assert "Products and memory explain a tenth of the time" in page
    assert f"{sum(parts):.1f} ms on an NVIDIA H200" in said
