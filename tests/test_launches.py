"""How many kernels a step launches, and how often the host waits for the device: counted on a CPU.

Stacks are as large as a GPU takes, and products in bf16, as there.
"""

import pytest
import torch
from torch import nn

from muonlab import Muon, NorMuon
from muonlab.benchmark.launches import launches
from muonlab.optim import fast, update

SHAPES = [(1, 1)] * 4 + [(4, 1), (1, 4)]  # of a layer's matrices, in widths
READS = {"_local_scalar_dense", "is_nonzero", "equal", "nonzero"}  # the host waits for these

BUDGETS = {  # kernels a step: (layers, width) → of each optimizer; None is printed alone
    (6, 384): {"Muon": 60, "update_rms": 66, "NorMuon": 80, "torch.optim.Muon": None},
    (12, 768): {"Muon": 80, "update_rms": 86, "NorMuon": 106, "torch.optim.Muon": None},
    (16, 2048): {"Muon": 300, "update_rms": 300, "NorMuon": 400, "torch.optim.Muon": None},
}
OPTIMIZERS = {
    "Muon": lambda params, **options: Muon(params, ns_dtype=torch.bfloat16, **options),
    "update_rms": lambda params: Muon(params, ns_dtype=torch.bfloat16, adjust_lr_fn="update_rms"),
    "NorMuon": lambda params, **options: NorMuon(params, ns_dtype=torch.bfloat16, **options),
    "torch.optim.Muon": torch.optim.Muon,
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
    """Returns the calls of a step that is not the first."""
    optimizer.step()
    return launches(optimizer.step)


def waits(optimizer):
    """Returns how often the host waits for the device in a step."""
    return sum(count for name, count in counted(optimizer).calls.items() if name in READS)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    for name in ("fast", "update"):
        monkeypatch.setattr(f"muonlab.optim.{name}.launches_cost", lambda device: True)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("size", BUDGETS)
def test_a_step_launches_no_more_kernels_than_its_budget(monkeypatch, as_on_a_gpu, size, name):
    # eighths of the width, and of memory: the count is the same
    monkeypatch.setattr("muonlab.optim.fast.GPU_BYTES", fast.GPU_BYTES // 64)
    counts = counted(OPTIMIZERS[name](matrices(size[0], size[1] // 8)))
    budget, calls = BUDGETS[size][name], counts.calls.total()
    print(f"{size[0]} × {size[1]} {name}: {counts.kernels} kernels, {calls} calls, of {budget}")
    assert budget is None or counts.kernels <= budget


@pytest.mark.parametrize("name", ["Muon", "NorMuon"])
@pytest.mark.parametrize("rest", [False, True])
def test_the_host_waits_once_a_step_and_never_if_it_is_to_be_captured(name, rest):
    for capturable, reads in ((False, 1), (True, 0)):
        groups = [{"params": matrices(1, 16)}]
        if rest:
            groups.append({"params": [nn.Parameter(torch.ones(5))], "rule": "adamw"})
            groups[1]["params"][0].grad = torch.ones(5)
        assert waits(OPTIMIZERS[name](groups, capturable=capturable)) == reads


def test_experts_and_update_rms_read_nothing_either():
    p = nn.Parameter(torch.randn(3, 8, 5))
    p.grad = torch.randn(3, 8, 5)
    p.grad[1] = 0
    for make in (Muon, NorMuon):
        optimizer = make([p], capturable=True, adjust_lr_fn="update_rms")
        assert waits(optimizer) == 0


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("options", [{}, {"adjust_lr_fn": "update_rms"}, {"ns_norm": "schatten4"}])
@pytest.mark.parametrize("lr", [0.05, torch.tensor(0.05)])
def test_few_launches_make_the_step_of_many(monkeypatch, make, options, lr):
    """Together, turned, and normalized in float64, matrices go where they go one by one."""
    shapes = [(8, 8), (8, 40), (40, 8), (8, 8), (40, 8), (3, 8, 5), (8, 2, 2, 2), (5, 5)]
    results = []
    for gpu in (False, True):
        if gpu:
            for name in ("fast", "update"):
                monkeypatch.setattr(f"muonlab.optim.{name}.launches_cost", lambda device: True)
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
    monkeypatch.setattr("muonlab.optim.fast.GPU_BYTES", 14 * 2 * 128)  # two of 16×8
    shapes = [(16, 8), (8, 8), (16, 8), (5, 8), (8, 16), (8, 8), (16, 8), (2, 8, 8)]
    group = {"kernels": False, "ns_coefficients": "jordan", "ns_dtype": torch.bfloat16}
    taken = update.as_stacks([torch.empty(shape) for shape in shapes], group)
    found = [[[tuple(p.shape) for p in stack] for stack in stacks] for stacks, _ in taken]
    first = [[(8, 8)] * 2, [(16, 8)] * 2, [(8, 16)]]
    assert found == [first, [[(16, 8)]], [[(5, 8)]], [[(2, 8, 8)]]]


@pytest.mark.parametrize(
    ("make", "lr"),
    [
        (NorMuon, torch.tensor(0.05)),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((NorMuon, 0.05), (Muon, 0.05))),
    ],
)
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
