"""Experts: equal to a loop over tokens, balanced, and stepped by Muon as matrices of their own."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from muonlab import GPT, GPTConfig, Muon, NorMuon, route

CONFIG = GPTConfig(vocab_size=50, context=16, layers=2, width=16, heads=2, experts=8)
SHAPES = [
    {},
    {"gated": True},
    {"active_experts": 1, "shared_experts": 0},
    {"active_experts": 8, "shared_experts": 2, "expert_hidden": 5},
]


def build(seed=0, **changes):
    torch.manual_seed(seed)
    layer = GPT(replace(CONFIG, **changes)).blocks[0].feedforward
    nn.init.normal_(layer.router.weight)  # opinions, so that the gates differ
    return layer.double().eval()


def inputs(seed=1, batch=3, length=7):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, length, 16, generator=generator, dtype=torch.float64)


def token_by_token(layer, x):
    """The definition, without sorting and without products of many tokens."""

    def expert(i, t):
        h = F.gelu(layer.w_in.weight[i] @ t)
        return layer.w_out.weight[i] @ (h * (layer.w_gate.weight[i] @ t) if layer.w_gate else h)

    def one(t):
        scores = torch.sigmoid(layer.router.weight @ t)
        chosen = sorted(range(len(scores)), key=lambda i: -(scores[i] + layer.bias[i]))[: layer.k]
        y = sum(2 * scores[i] * expert(i, t) for i in chosen)
        return y + layer.shared(t) if layer.shared else y

    return torch.stack([one(t) for t in x.flatten(0, 1)]).view_as(x)


def worst(a, b):
    return (a - b).abs().max().item()


@pytest.mark.parametrize("changes", SHAPES)
def test_the_layer_and_its_gradients_equal_a_loop_over_tokens(changes):
    layer, x = build(**changes), inputs().requires_grad_()
    layer.bias.copy_(0.3 * torch.randn(8))
    results = []
    for function in (layer, lambda x: token_by_token(layer, x)):
        y = function(x)
        gradients = torch.autograd.grad(y.sin().sum(), (x, *layer.parameters()))
        results.append((y, *gradients))
    for fast, slow in zip(*results, strict=True):
        assert worst(fast, slow) < 1e-12


def test_the_gradients_are_the_same_bits_again_however_threads_take_turns():
    threads, layer = torch.get_num_threads(), build(width=128, experts=16).float()
    x = torch.randn(16, 64, 128, requires_grad=True)
    torch.set_num_threads(2)
    try:
        first, *others = (torch.autograd.grad(layer(x).sin().sum(), x)[0] for _ in range(10))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(first, other) for other in others)


def test_every_token_reaches_its_experts_even_when_all_choose_the_same():
    layer, x = build(), inputs()
    layer.bias[[1, 4, 6]] = 10.0
    assert worst(layer(x), token_by_token(layer, x)) < 1e-12
    assert layer.load.tolist() == [0, 21, 0, 0, 21, 0, 21, 0]


def test_fewer_tokens_than_experts_leave_some_without():
    layer, x = build(active_experts=2).train(), inputs(batch=1, length=2)
    y = layer(x)
    assert layer.load.sum() == 4
    assert (layer.load == 0).sum() >= 4
    assert torch.equal(layer.bias, torch.where(layer.load > 0.5, -0.01, 0.01))  # the mean is 0.5
    layer.bias.zero_()
    assert worst(y, token_by_token(layer, x)) < 1e-12
    y.square().sum().backward()
    used = layer.w_out.weight.grad.flatten(1).abs().amax(1) > 0
    assert torch.equal(used, layer.load > 0)


@pytest.mark.parametrize("k", [1, 3])
def test_the_bias_moves_the_load_towards_even(k):
    layer = build(active_experts=k, shared_experts=0, balance=0.002).train()
    layer.router.weight.data *= 0.1
    layer.router.weight.data[0] += 0.1  # inputs have a mean here, and one expert likes it
    x = inputs(batch=16, length=16) + 0.5

    def excess():
        layer(x)
        return (layer.load.max() / layer.load.double().mean()).item()

    before = excess()
    for _ in range(400):
        excess()
    assert before > 1.8
    assert excess() < 1.2
    assert (layer.load > 0).all()


def test_the_bias_rests_in_evaluation_and_is_part_of_the_state():
    layer, x = build(), inputs()
    layer(x)
    with torch.no_grad():
        layer.train()(x)
    assert not layer.bias.any()
    layer(x)
    assert layer.bias.abs().max() == pytest.approx(0.01)
    assert "bias" in layer.state_dict()
    assert "bias" not in dict(layer.named_parameters())


@pytest.mark.parametrize("gated", [False, True])
def test_a_token_uses_as_much_as_the_dense_model_has_plus_the_router(gated):
    dense = GPT(replace(CONFIG, experts=0, gated=gated))
    for experts in (4, 8, 32):
        model = GPT(replace(CONFIG, experts=experts, gated=gated))
        router = 2 * experts * 16  # layers, rows, columns
        assert model.count_active() == dense.count_active() + router
        one = (3 if gated else 2) * 16 * model.config.expert_width
        total = sum(p.numel() for p in model.parameters())
        assert total - model.count_active() == 2 * (experts - 3) * one
    assert dense.count_active() == sum(p.numel() for p in dense.parameters())


def test_the_layer_starts_as_large_as_the_dense_one():
    x, sizes = torch.randn(512, 64), []
    for experts in (0, 16):
        torch.manual_seed(0)
        layer = GPT(replace(CONFIG, width=64, experts=experts)).blocks[0].feedforward
        sizes.append(layer(x).square().mean().sqrt().item())
    assert sizes[1] == pytest.approx(sizes[0], rel=0.3)


# Under Muon


def test_the_routing_gives_stacks_to_muon_and_the_router_to_adamw():
    routing = route(GPT(replace(CONFIG, gated=True)))
    routes = {r.name.removeprefix("blocks.0.feedforward."): r for r in routing.routes}
    for name in ("w_in", "w_gate", "w_out"):
        assert routes[f"{name}.weight"].rule == routes[f"shared.{name}.weight"].rule == "muon"
        assert "a stack of 8 matrices, each" in routes[f"{name}.weight"].reason
    assert routes["router.weight"].rule == "adamw"
    assert "a router" in str(routing)


def test_the_router_goes_to_muon_only_by_its_name():
    model, name = GPT(CONFIG), "blocks.0.feedforward.router.weight"
    for muon, rule in ((["*.weight"], "adamw"), ([name], "muon")):
        assert {r.name: r.rule for r in route(model, muon).routes}[name] == rule


def stack(seed=0, shape=(5, 6, 9)):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator)


WAYS = [(Muon, {"adjust_lr_fn": name}) for name in (None, "match_rms_adamw", "update_rms")]
WAYS += [(NorMuon, {"scale": name}) for name in ("paper", "released")]


@pytest.mark.parametrize("options", [{}, {"ns_coefficients": "exact"}, {"nesterov": False}])
@pytest.mark.parametrize(("make", "scale"), WAYS)
def test_idle_experts_of_a_stack_equal_matrices_without_gradient(make, scale, options):
    together = nn.Parameter(stack())
    apart = [nn.Parameter(matrix.clone()) for matrix in stack()]
    options = {"lr": 0.1, "ns_dtype": torch.float32, **scale, **options}
    both = make([together], **options), make(apart, **options)
    for step, idle in enumerate([(), (1, 3), (1,), (0, 1, 2, 3, 4), (4,)]):
        G = stack(step + 10)
        G[:, 0, 0] = 0.0  # of an expert that has seen tokens, too
        G[list(idle)] = 0.0
        together.grad = G
        for i, p in enumerate(apart):
            p.grad = None if i in idle else G[i].clone()
        before = together.detach().clone()
        for optimizer in both:
            optimizer.step()
        assert torch.equal(together[list(idle)], before[list(idle)])
        torch.testing.assert_close(together.detach(), torch.stack([p.detach() for p in apart]))
    for name, kept in both[0].state[together].items():  # momentum; and NorMuon's mean squares
        torch.testing.assert_close(kept, torch.stack([both[1].state[p][name] for p in apart]))


def test_an_idle_single_matrix_moves_on_as_in_torch():
    steps = []
    for make in (Muon, torch.optim.Muon):
        p = nn.Parameter(stack()[0])
        optimizer = make([p], weight_decay=0.0)
        for G in (stack(1)[0], torch.zeros(6, 9)):
            before = p.detach().clone()
            p.grad = G
            optimizer.step()
        steps.append(before - p.detach())
    assert steps[1].norm() > 1e-3
    assert (steps[0] - steps[1]).norm() < 0.05 * steps[1].norm()
