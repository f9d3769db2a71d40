"""The fast path against the step as it is written: many shapes, alone and together, a few steps."""

import pytest
import torch
from torch import nn

from muonlab import Muon, lr_scale
from muonlab.optim.muon_step import muon_step

SHAPES = [(8, 8), (8, 8), (8, 32), (32, 8), (8, 32), (24, 8), (1, 9), (9, 1), (17, 5), (40, 40)]
STEPS = 4
OF_NEWTON_SCHULZ = ("steps", "coefficients", "norm")  # a group's options have a prefix


def draw(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_the_formulas(shape, seed, name, **options):
    """Returns a matrix after a few steps, or a stack whose matrices are stepped one by one."""
    m, n = shape[-2:]
    stack = []
    for i in range(shape[0] if len(shape) == 3 else 1):
        own = (lambda t, i=i: t[i]) if len(shape) == 3 else (lambda t: t)
        W = own(draw(shape, seed))
        M = torch.zeros_like(W)
        for step in range(STEPS):
            G = own(draw(shape, 1000 * (step + 1) + seed))
            W, M = muon_step(
                W, G, M, scale=lr_scale(name, m, n), dtype=torch.float32, lr=0.05, **options
            )
        stack.append(W)
    return torch.stack(stack) if len(shape) == 3 else stack[0]


@pytest.fixture(params=["as on a CPU", "as on a GPU"])
def device(request):
    if request.param == "as on a GPU":
        request.getfixturevalue("as_on_a_gpu")


@pytest.mark.parametrize("name", ["original", "match_rms_adamw", "spectral"])
@pytest.mark.parametrize(
    "options",
    [
        {"nesterov": False, "momentum": 0.5},
        {"weight_decay": 0.0, "steps": 3},
        {"coefficients": "polar_express", "norm": "schatten4"},
        {"coefficients": "four", "steps": 4, "norm": "schatten4"},
    ],
)
@pytest.mark.parametrize("shapes", [SHAPES, [(3, 8, 5), (3, 8, 5), (2, 5, 8), (8, 5)]])
def test_the_optimizer_does_what_the_formulas_say(device, shapes, options, name):
    params = [nn.Parameter(draw(shape, seed)) for seed, shape in enumerate(shapes)]
    own = {("ns_" if k in OF_NEWTON_SCHULZ else "") + k: value for k, value in options.items()}
    optimizer = Muon(params, lr=0.05, adjust_lr_fn=name, ns_dtype=torch.float32, **own)
    for step in range(STEPS):
        for seed, p in enumerate(params):
            p.grad = draw(p.shape, 1000 * (step + 1) + seed)
        optimizer.step()
    for seed, (shape, p) in enumerate(zip(shapes, params, strict=True)):
        expected = by_the_formulas(shape, seed, name, **options)
        torch.testing.assert_close(p.detach(), expected, rtol=1e-4, atol=2e-5)


def test_nothing_given_is_changed():
    given = [draw((6, 9), seed) for seed in range(3)]
    before = [t.clone() for t in given]
    muon_step(*given)
    assert all(map(torch.equal, given, before))
