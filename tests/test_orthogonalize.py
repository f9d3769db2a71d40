"""Newton-Schulz and the polar factor against SVDs, closed forms and published numbers."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from muonlab import machine, newton_schulz, polar
from muonlab.machine import fast_bf16, work_dtype
from muonlab.optim.coefficients import COEFFICIENTS, POLAR_EXPRESS, schedule, tolerates
from muonlab.optim.fast import fast_newton_schulz
from muonlab.theory import derive_schedule, minimax_quintic, scalar_map

SHAPES = [(1, 1), (1, 7), (7, 1), (5, 5), (12, 30), (30, 12), (3, 8, 5), (2, 3, 4, 6)]


def random(shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def with_spectrum(sigma, rows, columns):
    U = torch.linalg.qr(random((rows, rows), 1)).Q[:, : len(sigma)]
    V = torch.linalg.qr(random((columns, columns), 2)).Q[:, : len(sigma)]
    return U @ torch.diag(sigma) @ V.T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_acts_on_the_singular_values_alone(shape, name):
    G = random(shape)
    U, S, Vh = torch.linalg.svd(G, full_matrices=False)
    unit = S / S.norm(dim=-1, keepdim=True)
    expected = (U * scalar_map(name, 5)(unit).unsqueeze(-2)) @ Vh
    torch.testing.assert_close(newton_schulz(G, 5, name), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_polar_is_the_nearest_orthogonal_matrix(shape):
    G = random(shape)
    P = polar(G)
    short = P if P.size(-2) <= P.size(-1) else P.mT
    identity = torch.eye(short.size(-2), dtype=P.dtype).expand_as(short @ short.mT)
    torch.testing.assert_close(short @ short.mT, identity)
    H = P.mT @ G  # G = P H with H symmetric and positive semidefinite defines the polar factor
    torch.testing.assert_close(H, H.mT)
    assert torch.linalg.eigvalsh(H).min() > -1e-10


def test_polar_drops_the_directions_that_are_not_there():
    sigma = torch.tensor([5.0, 1.0], dtype=torch.float64)
    G = with_spectrum(sigma, 6, 9).float()  # float32 rounding adds noise of 1e-7
    kept = torch.linalg.svdvals(polar(G))
    torch.testing.assert_close(kept, torch.tensor([1.0, 1, 0, 0, 0, 0]), rtol=0, atol=1e-5)


def test_polar_needs_no_good_conditioning():
    # an eigendecomposition of a float32 Gram matrix fails here: 1e-5 squared is below rounding
    sigma = torch.logspace(0, -5, 16, dtype=torch.float64)
    kept = torch.linalg.svdvals(polar(with_spectrum(sigma, 16, 32)))
    torch.testing.assert_close(kept, torch.ones(16, dtype=torch.float64))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
@pytest.mark.parametrize("function", [polar, newton_schulz, fast_newton_schulz])
def test_the_scale_of_the_input_does_not_matter(function, scale):
    G = random((24, 40), dtype=torch.float32)
    torch.testing.assert_close(function(G * scale), function(G), rtol=0, atol=0.01)
    assert torch.linalg.matrix_norm(function(G * scale).double(), ord=2) > 0.9


@pytest.mark.parametrize("function", [polar, newton_schulz, fast_newton_schulz])
def test_zero_stays_zero_even_inside_a_stack(function):
    G = torch.stack([torch.zeros(4, 6), random((4, 6), dtype=torch.float32)])
    X = function(G)
    assert X[0].count_nonzero() == 0
    assert X[1].isfinite().all()
    assert X[1].norm() > 1


@pytest.mark.parametrize("function", [polar, newton_schulz, fast_newton_schulz])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 3, 4)])
def test_empty_matrices_pass_through(function, shape):
    assert function(torch.empty(shape)).shape == shape


@pytest.mark.parametrize("function", [polar, newton_schulz, fast_newton_schulz])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_input_is_untouched_and_dtype_kept(function, dtype):
    for G in (random((8, 5)).to(dtype), random((5, 8)).to(dtype).T):  # a transposed view too
        before = G.clone()
        X = function(G)
        assert torch.equal(G, before)
        assert X.dtype == dtype
        assert X.shape == G.shape


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("error", [0.0, 0.01, 0.02, 0.04, 0.06, 0.1])
def test_what_a_schedule_tolerates_is_what_a_dense_grid_shows(name, error):
    values = torch.linspace(0, 1, 5001, dtype=torch.float64)
    triples = schedule(name, 5)
    for a, b, c in triples:
        values = torch.linspace(0, values.max().item() * (1 + error), 5001, dtype=torch.float64)
        values = (values * (a + b * values**2 + c * values**4)).abs()
    assert tolerates(triples, error) == (values.max() < 2).item()
    assert not tolerates([(6.0, -6.0, 0.0)], 0.0)  # a cubic: 2.31 at the root of 1/3, 0 at 1


def test_a_schedule_repeats_its_last_triple():
    assert schedule((1, 2, 3), 2) == ((1, 2, 3), (1, 2, 3))
    assert schedule([(1, 2, 3), (4, 5, 6)], 3) == ((1, 2, 3), (4, 5, 6), (4, 5, 6))
    assert schedule("polar_express", 3) == POLAR_EXPRESS[:3]


def test_the_singular_values_five_jordan_steps_leave():
    """muon.md 0.9: the often copied "uniform in 0.5 to 1.5" does not hold."""
    image = scalar_map("jordan", 5)(torch.linspace(0.002, 1, 100_001, dtype=torch.float64))
    stated = re.findall(r"\d\.\d{2,3}", newton_schulz.__doc__)[:3]
    assert stated == [f"{image.min():.2f}", f"{image.max():.2f}", "0.002"]
    assert 0.68 < image.min() < 0.69
    assert 1.20 < image.max() < 1.21


def test_derived_schedule_is_the_published_one():
    derived = torch.tensor(derive_schedule(1e-3, 7), dtype=torch.float64)
    published = torch.tensor(POLAR_EXPRESS[:7], dtype=torch.float64)
    torch.testing.assert_close(derived[:6], published[:6], rtol=1e-9, atol=0)
    # the last has no margin, so it ends at the classical quintic
    torch.testing.assert_close(
        derived[6], torch.tensor([1.875, -1.25, 0.375]).double(), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("interval", [(0.3, 1.0), (0.05, 1.2), (0.8, 1.1), (1.99999, 2.00001)])
def test_minimax_beats_every_nearby_quintic(interval):
    x = torch.linspace(*interval, 20_001, dtype=torch.float64)

    def largest_error(a, b, c):
        return (1 - (a * x + b * x**3 + c * x**5)).abs().max().item()

    triple, error = minimax_quintic(*interval)
    assert largest_error(*triple) == pytest.approx(error, rel=1e-4, abs=1e-12)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        nudge = 1e-3 * torch.randn(3, generator=generator, dtype=torch.float64)
        assert largest_error(*(torch.tensor(triple, dtype=torch.float64) + nudge)) > error


def test_where_the_four_points_meet_the_error_is_that_of_the_classical_quintic():
    (a, b, c), error = minimax_quintic(0.99991, 1)
    x = 0.99991
    assert 1 - (a * x + b * x**3 + c * x**5) == pytest.approx(error, rel=0.01, abs=0)


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    exponent=st.integers(-30, 30),
    rank=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_never_overshoots_whatever_the_matrix(rows, columns, exponent, rank, seed):
    left, right = random((rows, rank), seed), random((rank, columns), seed + 1)
    G = ((left @ right) * 10.0**exponent).float()
    X = newton_schulz(G, dtype=torch.float32)
    assert X.isfinite().all()
    assert torch.linalg.matrix_norm(X.double(), ord=2) < 1.2024 + 1e-3


def test_bf16_costs_little_accuracy():
    G = random((64, 128), dtype=torch.float32)
    half, full = (newton_schulz(G, dtype=d) for d in (torch.bfloat16, torch.float32))
    cosine = torch.nn.functional.cosine_similarity(half.flatten(), full.flatten(), dim=0)
    assert cosine > 0.999


def test_the_work_dtype_follows_the_hardware():
    cpu, large = torch.device("cpu"), torch.bfloat16 if fast_bf16() else torch.float32
    assert work_dtype(torch.float64, cpu, 2**20) == torch.float64
    assert work_dtype(torch.float32, cpu, 3 * 128 * 512) == large
    assert work_dtype(torch.float32, cpu, 12 * 128 * 128) == large
    assert work_dtype(torch.float32, cpu, 128 * 128) == torch.float32  # bf16 takes longer there
    assert not fast_bf16("meta")


@pytest.mark.parametrize(
    ("unit", "name", "fast"),
    [
        ("amx_bf16", "Intel(R) Xeon(R) Processor", True),
        ("avx512_bf16", "AMD EPYC 9R14", True),
        ("avx512_bf16", "Intel(R) Xeon(R) Processor", False),  # its AMX is hidden
        ("avx2", "AMD Ryzen 7 5800X", False),  # it emulates bf16
    ],
)
def test_what_a_cpu_is_decides_on_bf16_and_no_clock(monkeypatch, unit, name, fast):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {unit: True})
    monkeypatch.setattr(machine, "device_name", lambda: name)
    assert machine.cpu_bf16() is fast


@pytest.mark.parametrize("lower", [0.3, 0.9, 0.999])
def test_a_derived_schedule_may_have_more_steps_than_it_needs(lower):
    image = scalar_map(derive_schedule(lower, 10), 10)(torch.tensor([lower, 1.0]).double())
    torch.testing.assert_close(image, torch.ones(2, dtype=torch.float64))


def test_polar_takes_the_largest_float64():
    G = random((4, 6))
    torch.testing.assert_close(polar(G * 1e307), polar(G))
