"""The fast path is the readable one: same function, another order of operations."""

import copy
from itertools import product

import pytest
import torch
from fitting import cosine, fit_schedule
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim.lr_scheduler import LinearLR

from muonlab import Muon, NorMuon, newton_schulz
from muonlab.files import course
from muonlab.optim.coefficients import COEFFICIENTS, FOUR_STEPS, POLAR_EXPRESS_SAFE, tolerates
from muonlab.optim.fast import fast_newton_schulz
from muonlab.optim.orthogonalize import NORMS, unit_norm
from muonlab.optim.stacks import STACK, STACK_ELSE, as_stacks
from muonlab.records.runs import by_contestant
from muonlab.statistics import paired_interval
from muonlab.sweeps.results import recorded
from muonlab.theory import scalar_map

WORST = {
    "cubic": 1.0,
    "quintic": 1.0,
    "jordan": 1.2024,
    "polar_express": 1.141,
    "polar_express_safe": 1.125,
    "four": 1.0364,
}
"""The largest value of five steps on [0, 1] (the first test below computes them again)."""


PAGE = (course() / "book" / "speed.md").read_text("utf-8").split("## Four steps")[1]


def random(shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_the_bounds_used_below_are_those_of_the_curves(name):
    image = scalar_map(name, 5)(torch.linspace(0, 1, 200_001, dtype=torch.float64))
    assert image.max() <= WORST[name] + 1e-4


@st.composite
def stacks(draw):
    """A stack of matrices of any shape, rank and scale, perhaps transposed, strided or zero."""
    m, n, b = (draw(st.integers(1, most)) for most in (40, 90, 4))
    rank, seed = draw(st.integers(1, 40)), draw(st.integers(0, 1000))
    G = random((b, m, rank), seed) @ random((b, rank, n), seed + 1)
    if draw(st.booleans()):
        G[draw(st.integers(0, b - 1))] = 0
    layout = draw(st.sampled_from(["plain", "transposed", "every second row", "one matrix"]))
    if layout == "every second row":
        G = G.repeat_interleave(2, dim=-2)[:, ::2]
    if layout == "one matrix":
        G = G[0]
    return (G.mT if layout == "transposed" else G) * 10.0 ** draw(st.integers(-30, 30))


@given(
    G=stacks(),
    coefficients=st.sampled_from(sorted(COEFFICIENTS)),
    steps=st.integers(0, 9),
    norm=st.sampled_from(NORMS),
)
@settings(max_examples=60, deadline=None)
def test_fast_is_readable_in_float64(G, coefficients, steps, norm):
    """Nine digits agree: what is left between the two is rounding, not mathematics."""
    expected = newton_schulz(G, steps, coefficients, norm=norm)
    actual = fast_newton_schulz(G, steps, coefficients, norm=norm)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


def test_many_steps_make_the_gram_matrix_anew_before_its_rounding_grows():
    low_rank = random((32, 4)) @ random((4, 128), 1) + 1e-3 * random((32, 128), 2)
    for coefficients in ("jordan", "polar_express"):
        expected = newton_schulz(low_rank, 10, coefficients)
        actual = fast_newton_schulz(low_rank, 10, coefficients, dtype=torch.float32)
        torch.testing.assert_close(actual, expected, rtol=0, atol=0.01)


@given(G=stacks(), coefficients=st.sampled_from(sorted(COEFFICIENTS)), norm=st.sampled_from(NORMS))
@settings(max_examples=50, deadline=None)
def test_fast_is_readable_in_float32(G, coefficients, norm):
    """The worst case is a matrix of low rank, whose rounding noise the first steps amplify."""
    options = {"coefficients": coefficients, "norm": norm, "dtype": torch.float32}
    options["steps"] = 4 if coefficients == "four" else 5  # it is made for four, see below
    expected, actual = newton_schulz(G, **options), fast_newton_schulz(G, **options)
    difference = torch.linalg.matrix_norm(actual - expected, ord=2)
    assert difference.max() < 0.04


@given(G=stacks(), coefficients=st.sampled_from(sorted(COEFFICIENTS)), norm=st.sampled_from(NORMS))
@settings(max_examples=50, deadline=None)
def test_fast_stays_in_the_band_in_bf16(G, coefficients, norm):
    """bf16 keeps 8 bits: two results may differ by as much as the band of the curve is wide."""
    options = {"coefficients": coefficients, "norm": norm, "dtype": torch.bfloat16}
    X = fast_newton_schulz(G, **options)
    assert torch.linalg.matrix_norm(X, ord=2).max() < WORST[coefficients] + 0.05


def awkward_spectra(k, count):
    """Singular values (6 · count, k) of many kinds: a schedule made for [0, 1] meets all of it."""
    generator = torch.Generator().manual_seed(0)

    def uniform(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    few = torch.full((count, k), 1e-3, dtype=torch.float64)
    few[:, :3] = 0.3 + uniform(count, 3)
    index = torch.arange(1, k + 1, dtype=torch.float64)
    return torch.cat(
        [
            10 ** (-4.5 * uniform(count, k) * uniform(count, 1)),
            index ** (-2 * uniform(count, 1)),
            uniform(count, k),
            1 / (1 + 20 * uniform(count, 1) * uniform(count, k)),
            few,
            torch.randn(count, k, generator=generator, dtype=torch.float64).abs(),
        ]
    )


@pytest.mark.parametrize(("shape", "count"), [((16, 64), 60), ((96, 40), 20)])
def test_bf16_survives_awkward_spectra(shape, count):
    """Polar Express on bf16 Gram matrices, good on Gaussians, ends at 1e6 for some of these."""
    rows, columns = shape
    sigma = awkward_spectra(min(shape), count)
    U = torch.linalg.qr(random((len(sigma), rows, min(shape)), 1)).Q
    V = torch.linalg.qr(random((len(sigma), columns, min(shape)), 2)).Q
    G, exact = (U * sigma.unsqueeze(1)) @ V.mT, (U @ V.mT).flatten(1)
    for name, norm in product(COEFFICIENTS, NORMS):
        options = {"coefficients": name, "norm": norm, "dtype": torch.bfloat16}
        results = [function(G, **options) for function in (newton_schulz, fast_newton_schulz)]
        assert torch.linalg.matrix_norm(results[1], ord=2).max() < WORST[name] + 0.03, options
        readable, fast = (torch.cosine_similarity(X.flatten(1), exact) for X in results)
        assert (readable - fast).max() < 0.03, options
        assert (readable - fast).mean() < 0.002, options


def test_schatten4_is_a_bound_and_a_closer_one():
    G = random((5, 20, 50))
    sigma = torch.linalg.svdvals(G)
    frobenius, schatten = (torch.linalg.svdvals(unit_norm(G, norm)) for norm in NORMS)
    fourth = sigma.pow(4).sum(-1, keepdim=True).pow(0.25)
    torch.testing.assert_close(schatten, sigma / fourth)
    assert (frobenius[:, 0] < schatten[:, 0]).all()
    assert (schatten[:, 0] <= 1).all()


def test_a_long_stack_is_taken_in_parts(monkeypatch):
    monkeypatch.setattr("muonlab.optim.stacks.STACK_ELSE", 100)
    G = random((2, 5, 6, 8))
    torch.testing.assert_close(fast_newton_schulz(G), newton_schulz(G))


def test_a_parameter_is_orthogonalized_as_the_numbers_it_holds():
    G = random((6, 8))
    assert torch.equal(fast_newton_schulz(torch.nn.Parameter(G)), fast_newton_schulz(G))


# The optimizer on top of it


GROUP = {"kernels": False, "ns_coefficients": "jordan", "ns_dtype": None}


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, STACK), (None, STACK_ELSE)])
def test_a_stack_is_no_larger_than_the_cache(dtype, most):
    large = [torch.empty(1, most // 8 + 1, device="meta") for _ in range(9)]
    sizes = [
        size for stacks in as_stacks(large, GROUP | {"ns_dtype": dtype}) for size in stacks.sizes
    ]
    assert sum(sizes) == 9
    assert all(size * large[0].numel() <= most for size in sizes)
    huge = [torch.empty(1, 2 * most, device="meta") for _ in range(2)]
    taken = as_stacks(huge, GROUP | {"ns_dtype": dtype})
    assert [stacks.sizes for stacks in taken] == [[1], [1]]


def test_a_convolution_in_channels_last_is_stepped_too():
    p = nn.Parameter(random((8, 3, 2, 2)).contiguous(memory_format=torch.channels_last))
    q = nn.Parameter(p.detach().contiguous())
    for kernel in (p, q):
        kernel.grad = random((8, 3, 2, 2), 1)
        Muon([kernel], lr=0.1).step()
    torch.testing.assert_close(p.detach().contiguous(), q.detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_step_needs_less_extra_memory_than_three_momenta(dtype):
    """The momentum of one shape of a 6×384 GPT, six matrices, is 14 MB."""
    shape, layers = (1536, 384), 6
    params = [nn.Parameter(torch.zeros(s)) for s in (shape, shape[::-1]) for _ in range(layers)]
    for p in params:
        p.grad = torch.ones_like(p)
    optimizer = Muon(params, ns_steps=1, ns_dtype=dtype)
    optimizer.step()
    assert 0 < optimizer.scratch.nbytes < 3 * layers * 1536 * 384 * 4


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # torch sees no step
@pytest.mark.parametrize(
    ("make", "number"),
    [(Muon, torch.tensor), pytest.param(NorMuon, float, marks=pytest.mark.slow)],
)
def test_the_step_compiles_as_one_graph(make, number):
    """On a GPU, torch.compile removes the launches; here only the capture is tested.

    It chooses the precision of a large stack, and follows a schedule that is built after it.
    """
    shapes = [(8, 8), (8, 8), (3, 8, 5), (24, 8), (5,)]
    params = [nn.Parameter(random(s, i)) for i, s in enumerate(shapes)]
    params.append(nn.Parameter(random((256, 256)).float()))
    others = copy.deepcopy(params)

    def optimizer(params):
        *matrices, fused, vector, large = params
        groups = [{"params": matrices}, {"params": [fused], "heads": 3}, {"params": [large]}]
        return make([*groups, {"params": [vector], "rule": "adamw"}], lr=number(0.05))

    eager, compiled = optimizer(params), optimizer(others)
    torch.compiler.reset()  # it takes the step up to eight times in a process
    step = torch.compile(compiled.step, fullgraph=True, backend="eager")
    turned = [eager, compiled] if make is Muon else []  # a number, turned, compiles it again
    schedules = [LinearLR(optimizer, 1.0, 0.1, 3) for optimizer in turned]
    for _ in range(3 if turned else 1):  # the third has no momentum to make
        for p in (*params, *others):
            p.grad = p.detach().sin()
        params[2].grad[1] = others[2].grad[1] = 0  # an expert that is idle
        eager.step()
        step()
        for schedule in schedules:
            schedule.step()
    torch.testing.assert_close(others, params)
    assert not turned or compiled.param_groups[0]["lr"] == pytest.approx(0.005)


# four steps instead of five


@pytest.fixture(scope="module")
def matrices():
    """Log-spaced singular values, Gaussians, low rank with three sizes of noise: each as an SVD."""

    def low_rank(rank, noise, seed):
        left, right = random((384, rank), seed), random((rank, 1536), seed + 1)
        return left @ right / rank**0.5 + noise * random((384, 1536), seed + 2)

    U, V = (torch.linalg.qr(random((n, 384), n))[0] for n in (384, 1536))
    spaced = torch.logspace(0, -3, 384, dtype=torch.float64)
    others = {
        "Gaussian": random((384, 1536), 1),
        "Gaussian, square": random((768, 768), 2),
        "rank 38, noise 0.05": low_rank(38, 0.05, 3),
        "rank 64, noise 0.03": low_rank(64, 0.03, 6),
        "rank 38, noise 0.01": low_rank(38, 0.01, 9),
    }
    svd = {name: torch.linalg.svd(G, full_matrices=False) for name, G in others.items()}
    return {"singular values 1 … 0.001, log-spaced": (U, spaced, V.T), **svd}


def test_four_steps_come_nearer_to_the_factor_than_jordans_five(matrices):
    for name, (U, S, Vh) in matrices.items():
        G, factor = ((U * S) @ Vh).float(), (U @ Vh).float().flatten()
        for dtype in (torch.float32, torch.bfloat16):
            X, Y = (
                fast_newton_schulz(G, *schedule, norm=norm, dtype=dtype).flatten()
                for *schedule, norm in ((4, "four", "schatten4"), (5, "jordan", "frobenius"))
            )
            four, five = (torch.cosine_similarity(x, factor, 0).item() for x in (X, Y))
            assert four > five + 0.003, name
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
        cells = [float(cell) for cell in row.split("|")[2:-1]]
        assert (cells[0], cells[3]) == pytest.approx((five, four), abs=0.0015)  # in bf16
    assert tolerates(FOUR_STEPS[:4], 0.04)


def test_the_four_triples_are_where_the_fit_ends(matrices):
    values = [S for _, S, _ in matrices.values()]
    least = [cosine(scalar_map("jordan", 5)(s / s.norm())) for s in values]
    spectra = [s / s.pow(4).sum() ** 0.25 for s in values]

    def lead(schedule):
        ends = [cosine(scalar_map(schedule, 4)(s)) for s in spectra]
        return min(end - c for end, c in zip(ends, least, strict=True)).item()

    begun = lead(POLAR_EXPRESS_SAFE[:4])
    assert begun < -0.02
    fitted = fit_schedule(POLAR_EXPRESS_SAFE[:4], spectra, least, 100)
    assert lead(fitted) > begun + 0.012
    ends = torch.cat([scalar_map(fitted, 4)(s) for s in spectra])
    assert (ends.sum() / ends.square().sum()).item() == pytest.approx(1)  # no factor is better
    assert lead(fit_schedule(FOUR_STEPS[:4], spectra, least, 50)) < lead(FOUR_STEPS) + 0.001
    assert lead(FOUR_STEPS) > 0.004


def test_the_page_says_what_four_steps_cost_in_training():
    ends = by_contestant(recorded("four"), lambda config: config["ns_coefficients"])
    more = paired_interval(ends["four"], ends["jordan"])
    assert f"{more.mean:.3f} nats [{more.low:.3f}, {more.high:.3f}]" in PAGE
    assert more.n == 10
    assert {run.config["steps"] for run in recorded("four")} == {1200}
