"""Muon against torch.optim.Muon and torch.optim.AdamW, and against every public defect we know."""

import copy
import inspect
import math

import pytest
import torch
from test_muon_step import draw
from test_normuon import one_step
from torch import nn

from muonlab import Muon, NorMuon, newton_schulz, polar, route
from muonlab.optim.lr_scale import lr_scale

SHAPES = [(1, 1), (4, 4), (3, 11), (17, 5), (32, 64), (64, 32), (1, 9), (9, 1)]


def parameters(shapes=SHAPES, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(s, generator=generator).to(dtype)) for s in shapes]


def run(optimizer, params, steps, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)
        optimizer.step()
    return [p.detach().clone() for p in params]


OPTIONS = [
    {},
    {"nesterov": False, "momentum": 0.8},
    {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.3},
    {"adjust_lr_fn": "original", "ns_steps": 3, "lr": 0.02},
    {"ns_coefficients": (2.0, -1.5, 0.5), "weight_decay": 0.0},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_twenty_steps_equal_torch_in_float32(monkeypatch, options):
    """torch.optim.Muon casts with Tensor.bfloat16(); here that method gives a float32 copy."""
    ours, theirs = parameters(), parameters()
    result = run(Muon(ours, ns_dtype=torch.float32, **options), ours, 20)
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    expected = run(torch.optim.Muon(theirs, **options), theirs, 20)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


def test_twenty_steps_equal_torch_within_bf16():
    ours, theirs = parameters(), parameters()
    start = [p.detach().clone() for p in ours]
    result = run(Muon(ours, ns_dtype=torch.bfloat16), ours, 20)
    expected = run(torch.optim.Muon(theirs), theirs, 20)
    for mine, reference, p in zip(result, expected, start, strict=True):
        assert (mine - reference).norm() < 0.03 * (reference - p).norm()


def test_the_arguments_their_order_and_their_defaults_are_torchs():
    theirs = inspect.signature(torch.optim.Muon).parameters
    ours = inspect.signature(Muon).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    assert [ours[name].default for name in theirs] == [p.default for p in theirs.values()]


@pytest.mark.parametrize("own", [{}, {"betas": (0.8, 0.99)}, {"eps": 0.1}])
def test_adamw_groups_equal_torch_adamw(own):
    ours, theirs = parameters([(5,), (3, 4)]), parameters([(5,), (3, 4)])
    options = {"lr": 3e-3, "weight_decay": 0.1}
    result = run(Muon([{"params": ours, "rule": "adamw", **options, **own}]), ours, 50)
    options |= {"betas": (0.9, 0.95), "eps": 1e-8, **own}
    expected = run(torch.optim.AdamW(theirs, **options), theirs, 50)
    torch.testing.assert_close(result, expected)


SCHEDULERS = {
    "LambdaLR": {"lr_lambda": lambda step: 0.9**step},
    "MultiplicativeLR": {"lr_lambda": lambda step: 0.9},
    "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [2, 4]},
    "ConstantLR": {},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 4},
    "PolynomialLR": {},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "CyclicLR": {"base_lr": 1e-3, "max_lr": 0.01, "step_size_up": 2},
    "OneCycleLR": {"max_lr": 0.01, "total_steps": 10},
    "ReduceLROnPlateau": {"patience": 0},
    "SequentialLR": None,
    "ChainedScheduler": None,
}


def scheduled(name, optimizer):
    """A scheduler of torch; what is made of two has the one that turns momenta first."""
    known = torch.optim.lr_scheduler
    if SCHEDULERS[name] is not None:
        return getattr(known, name)(optimizer, **SCHEDULERS[name])
    parts = [scheduled(part, optimizer) for part in ("OneCycleLR", "ExponentialLR")]
    return getattr(known, name)(*((optimizer, parts, [3]) if "Seq" in name else (parts,)))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_each_scheduler_of_torch_does_what_it_does_to_torchs_own(name, monkeypatch):
    """One optimizer, with a group by each rule, beside torch's two, each with its scheduler."""
    shapes, adamw = [(4, 3), (3, 4)], {"lr": 3e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}
    ours, theirs = parameters(shapes), parameters(shapes)
    groups = [{"params": ours[:1]}, {"params": ours[1:], "rule": "adamw", **adamw}]
    optimizers = [Muon(groups, ns_dtype=torch.float32)]
    optimizers += [torch.optim.Muon(theirs[:1]), torch.optim.AdamW(theirs[1:], **adamw)]
    schedulers = [scheduled(name, optimizer) for optimizer in optimizers]
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    for step in range(8):
        for p, q in zip(ours, theirs, strict=True):
            p.grad, q.grad = draw(p.shape, step), draw(p.shape, step)
        for optimizer, scheduler in zip(optimizers, schedulers, strict=True):
            optimizer.step()
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_no_scheduler_of_torch_is_forgotten():
    assert {*torch.optim.lr_scheduler.__all__} - {"LRScheduler"} == SCHEDULERS.keys()


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(7, 6), nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 7))


def routed(m):
    return Muon(route(m, muon=["1.weight", "3.weight"]).groups(0.02, 3e-3))


def train(m, optimizer, steps, first=0):
    losses = []
    for step in range(first, first + steps):
        tokens = torch.randint(7, (16,), generator=torch.Generator().manual_seed(step))
        loss = nn.functional.cross_entropy(m(tokens), (tokens * 3 + 1) % 7)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def trained(steps):
    """A model after so many steps, its optimizer, and the losses."""
    m = model()
    optimizer = routed(m)
    return m, optimizer, train(m, optimizer, steps)


def test_resuming_is_bit_exact(tmp_path):
    whole, _, unbroken = trained(20)
    begun, optimizer, _ = trained(9)
    torch.save((begun.state_dict(), optimizer.state_dict()), tmp_path / "at-9")
    resumed, optimizer, _ = trained(0)
    for part, state in zip((resumed, optimizer), torch.load(tmp_path / "at-9"), strict=True):
        part.load_state_dict(state)
    assert train(resumed, optimizer, 11, first=9) == unbroken[9:]
    torch.testing.assert_close(resumed.state_dict(), whole.state_dict(), rtol=0, atol=0)


def test_a_copy_trains_on_alone_and_alike():
    m, optimizer, _ = trained(3)
    twin, its_optimizer = copy.deepcopy((m, optimizer))
    before = copy.deepcopy(m.state_dict())
    ahead = train(twin, its_optimizer, 3, first=3)
    torch.testing.assert_close(m.state_dict(), before, rtol=0, atol=0)
    assert train(m, optimizer, 3, first=3) == ahead


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("rule", ["muon", "adamw"])
def test_a_rate_may_be_a_tensor_of_one_number(make, rule):
    ends = []
    for lr in (torch.tensor(0.1), torch.tensor([0.1])):
        params = parameters([(3, 4), (2, 3, 4)])
        ends.append(run(make([{"params": params, "rule": rule}], lr), params, 2))
    torch.testing.assert_close(*ends, rtol=0, atol=0)


def test_a_closure_is_called_with_gradients():
    [p] = parameters([(3, 3)])
    optimizer = Muon([p])

    def closure():
        optimizer.zero_grad()
        loss = p.square().sum()
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert optimizer.step(closure) < first


# Defects of public implementations (each was seen in one of them)


def test_bf16_momentum_is_not_normalized_away():
    """torch.optim.Muon 2.13 divides the momentum itself: grad.bfloat16() is no copy of bf16."""
    [p] = parameters([(32, 32)], torch.bfloat16)
    p.grad = draw((32, 32), 1).bfloat16()
    optimizer = Muon([p], nesterov=False, momentum=0.0)
    optimizer.step()
    torch.testing.assert_close(optimizer.state[p]["momentum_buffer"], p.grad)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e20])
def test_the_update_ignores_the_scale_of_the_gradient(scale):
    G = draw((16, 24), 1)
    plain, scaled = (one_step(Muon, x * G, ns_dtype=torch.float32) for x in (1.0, scale))
    torch.testing.assert_close(scaled, plain, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nesterov": False},
        {"ns_coefficients": "exact"},
        {"adjust_lr_fn": "update_rms"},
        {"rule": "adamw"},
    ],
)
def test_the_gradient_is_never_changed(options, dtype):
    [p] = parameters([(6, 4)], dtype)
    p.grad = torch.randn(6, 4).to(dtype)
    before = p.grad.clone()
    Muon([{"params": [p], **options}]).step()
    assert torch.equal(p.grad, before)


def test_a_convolution_is_scaled_by_its_flattened_matrix():
    G = draw((64, 3, 3, 3), 1)
    update = one_step(Muon, G, momentum=0.0, ns_dtype=torch.float32)
    expected = math.sqrt(64 / 27) * newton_schulz(G.flatten(1), dtype=torch.float32)
    torch.testing.assert_close(update.flatten(1), expected, rtol=1e-4, atol=1e-5)


def test_the_learning_rate_scales_are_not_swapped():
    assert lr_scale(None, 256, 1024) == lr_scale("original", 256, 1024) == 1.0
    assert lr_scale("original", 1024, 256) == 2.0
    assert lr_scale("match_rms_adamw", 256, 1024) == pytest.approx(6.4)
    assert lr_scale("match_rms_adamw", 1024, 256) == pytest.approx(6.4)
    assert lr_scale("spectral", 256, 1024) == 0.5
    assert lr_scale("spectral", 1024, 256) == 2.0


@pytest.mark.parametrize(
    ("name", "coefficients"),
    [("match_rms_adamw", "exact")]
    + [("update_rms", known) for known in ("exact", "jordan", "polar_express")],
)
def test_entries_have_rms_one_fifth_and_of_update_rms_whatever_newton_schulz_left(
    name, coefficients
):
    options = {"ns_coefficients": coefficients, "adjust_lr_fn": name}
    update = one_step(Muon, draw((24, 48), 1), **options)
    assert update.square().mean().sqrt() == pytest.approx(0.2, rel=1e-4)


def test_update_rms_of_a_zero_gradient_is_zero():
    assert not one_step(Muon, torch.zeros(4, 6), adjust_lr_fn="update_rms").any()


def test_exact_is_computed_in_float64_whatever_the_parameters_are():
    values = torch.logspace(0, -10, 6)  # in float32 the smallest would drown in rounding
    G = torch.linalg.qr(draw((6, 6), 1)).Q @ torch.diag(values)
    update = one_step(Muon, G, nesterov=False, ns_coefficients="exact")
    torch.testing.assert_close(update.double(), polar(G.double()), atol=1e-6, rtol=0)


def refused(m, optimizer, message):
    """Sees that a step is refused with these words, and changes neither model nor state."""
    before = copy.deepcopy((m.state_dict(), optimizer.state_dict()["state"]))
    with pytest.raises(ValueError, match=message):
        optimizer.step()
    after = m.state_dict(), optimizer.state_dict()["state"]
    torch.testing.assert_close(after, before, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_one_bad_entry_spoils_nothing(bad):
    m, optimizer, _ = trained(2)  # its gradients stay
    m[3].bias.grad[2] = bad
    refused(m, optimizer, r"'3.bias' holds NaN or Inf")


def test_a_parameter_without_gradient_is_skipped_and_saved_and_loaded_too():
    used, idle = parameters([(4, 4), (4, 4)])
    before = idle.detach().clone()
    used.grad = torch.ones(4, 4)
    optimizer = Muon([used, idle])
    optimizer.step()
    assert torch.equal(idle, before)
    assert idle not in optimizer.state
    others = parameters([(4, 4), (4, 4)])
    other = Muon(others)
    other.load_state_dict(optimizer.state_dict())
    run(other, others, 1)


def test_conv1d_kernels_are_flattened_as_other_convolutions_are():
    """(out, in, k) has three axes, as a stack of experts has; the module tells them apart."""
    layers = nn.Sequential(nn.Conv1d(6, 4, 3, bias=False), nn.ConvTranspose1d(4, 6, 3, bias=False))
    routing = route(layers, muon=["*.weight"])
    assert routing.routes[0].reason.endswith("a kernel, taken as a matrix of 4×18")
    for p in layers.parameters():
        p.grad = draw(p.shape, 1)
    options = {"lr": 1.0, "ns_coefficients": "exact", "weight_decay": 0.0}
    for make in (Muon, NorMuon):
        before = [p.detach().clone() for p in layers.parameters()]
        make(routing.groups(**options)).step()
        for p, old in zip(layers.parameters(), before, strict=True):
            values = torch.linalg.svdvals((old - p.detach()).flatten(1))
            if make is Muon:
                torch.testing.assert_close(values, torch.ones(4))  # a wide matrix: its scale is 1
            else:
                assert (values / values.mean() - 1).abs().max() < 0.2


# Bad input


def test_a_group_keeps_the_keys_of_others():
    optimizer = Muon([{"params": parameters(), "rate": "lr", "initial_lr": 0.1}])
    assert optimizer.param_groups[0]["rate"] == "lr"


def test_vectors_are_refused_by_name():
    head = nn.Linear(4, 3)
    message = r"parameter 'bias' has shape \(3,\): muonlab.route gives it"
    with pytest.raises(ValueError, match=message):
        Muon(head.named_parameters())
    with pytest.raises(ValueError, match="group 0, number 1"):
        Muon(head.parameters())


@pytest.mark.parametrize(
    ("number", "key", "value"),
    [
        (0, "rule", "sgd"),
        (0, "lr", math.nan),
        (0, "weight_decay", 60.0),  # times lr more than 1
        (0, "ns_coefficients", (100.0, 100.0, 100.0)),
        (1, "betas", (0.9, 1.5)),
        (1, "eps", 0),
    ],
)
def test_an_option_spoiled_later_changes_nothing(number, key, value):
    """What other values are refused, as at the start, is in bad_input.txt."""
    m, optimizer, _ = trained(2)  # its gradients stay for the step that is refused
    optimizer.param_groups[number][key] = value
    refused(m, optimizer, key.removeprefix("ns_"))


@pytest.mark.parametrize("name", ["0.weight", "1.weight", "3.bias"])
def test_a_parameter_that_begins_with_nan_is_named_and_nothing_changes(name):
    m = model()
    dict(m.named_parameters())[name].data.view(-1)[0] = math.nan
    for p in m.parameters():
        p.grad = torch.ones_like(p)
    refused(m, routed(m), f"^parameter '{name}' holds NaN or Inf: nothing was upd")


def test_an_empty_matrix_is_skipped():
    assert one_step(Muon, torch.zeros(4, 0)).shape == (4, 0)


def test_groups_that_are_all_empty_have_nothing_to_step():
    Muon([{"params": []}, {"params": [], "rule": "adamw"}]).step()


@pytest.mark.parametrize("rule", ["muon", "adamw"])
def test_a_sparse_gradient_is_refused_by_name(rule):
    layer = nn.Embedding(5, 3, sparse=True)
    layer(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match=r"of 'words''s gradient must be .*strided; got .*sparse"):
        Muon([{"params": [("words", layer.weight)], "rule": rule}]).step()


def test_a_state_of_torch_muon_can_be_loaded():
    theirs, ours = parameters(), parameters()
    reference = torch.optim.Muon(theirs, lr=0.02)
    run(reference, theirs, 5)
    optimizer = Muon(ours)
    optimizer.load_state_dict(reference.state_dict())
    loaded, momenta = (o.state_dict()["state"] for o in (optimizer, reference))
    torch.testing.assert_close(loaded, momenta)
    run(optimizer, ours, 1)
    assert optimizer.param_groups[0]["lr"] == 0.02


def test_a_state_is_for_parameters_without_names_too_and_for_no_others():
    named, bare = (parameters([(3, 4)]) for _ in range(2))
    optimizer = Muon([("w", named[0])])
    run(optimizer, named, 1)
    fresh = Muon(bare)
    fresh.load_state_dict(optimizer.state_dict())
    with pytest.raises(ValueError, match=r"expected param_names=\['v'\] in group 0"):
        Muon([("v", bare[0])]).load_state_dict(optimizer.state_dict())
    m = model()
    saved = routed(m).state_dict()
    saved["param_groups"] = saved["param_groups"][::-1]
    with pytest.raises(ValueError, match=r"expected rule='muon' in group 0 .* got 'adamw'"):
        routed(m).load_state_dict(saved)


def test_an_unknown_rule_is_refused_and_leaves_the_optimizer_whole():
    optimizer = Muon(parameters([(2, 2)]))
    with pytest.raises(ValueError, match="rule must be one of"):
        optimizer.add_param_group({"params": parameters([(3, 3)]), "rule": "sgd"})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("key", [{"use_muon": False}, {"algorithm": "adamw"}, {"kind": "AdamW"}])
def test_a_group_of_another_library_is_stepped_by_the_rule_that_its_key_names(key):
    ours, theirs = parameters([(10, 4)]), parameters([(10, 4)])
    options = {"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-10}
    result = run(Muon([{"params": ours, **options, **key}]), ours, 3)
    expected = run(torch.optim.AdamW(theirs, weight_decay=0.1, **options), theirs, 3)
    torch.testing.assert_close(result, expected)
