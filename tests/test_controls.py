"""The controls against torch's own optimizers, and against what their names promise."""

import copy
import math
from dataclasses import replace

import pytest
import scipy
import torch
from torch import nn

from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim.muon import Muon
from muonlab.optim.rules import ADAM, RULES, Controlled, Rule, adam, random_spectrum
from muonlab.records.record import contestant
from muonlab.sweeps.engines import run_once as engine_run
from muonlab.training.build import build_optimizer
from muonlab.training.config import TrainConfig
from muonlab.training.own_rule import own_rule

OPTIONS = {"lr": 0.1, "weight_decay": 0.0, "momentum": 0.9, "betas": (0.9, 0.95)}


def parameters(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(s, generator=generator, dtype=torch.float64)) for s in shapes]


def steps(optimizer, params, count=4):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        optimizer.step()


@pytest.mark.parametrize(
    ("control", "theirs"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        ("noise-free", lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.9, 0.95))),
    ],
)
def test_the_directions_are_those_of_torch(monkeypatch, control, theirs):
    monkeypatch.setitem(RULES, "noise-free", Rule("Adam", frozenset({"betas"}), adam, ADAM))
    ours, other = parameters((3, 4), (5, 2)), parameters((3, 4), (5, 2))
    steps(Controlled([{"params": ours, **OPTIONS}], RULES[control]), ours)
    steps(theirs(other), other)
    torch.testing.assert_close(ours, other, rtol=1e-7, atol=1e-7)


def test_flat_adam_has_a_flat_spectrum_of_muons_size():
    ours, muons = parameters((6, 9)), parameters((6, 9))
    before = ours[0].detach().clone()
    options = OPTIONS | {"adjust_lr_fn": "match_rms_adamw"}
    steps(Controlled([{"params": ours, **options}], RULES["flat_adam"]), ours, 1)
    options.pop("betas")  # which Muon does not read
    steps(Muon([{"params": muons, **options}]), muons, 1)
    flat = torch.linalg.svdvals(ours[0] - before)
    muon = torch.linalg.svdvals(muons[0] - before)
    assert flat.max() / flat.min() < 1.9  # five steps of Jordan: 0.68 to 1.2
    torch.testing.assert_close(flat.norm(), muon.norm(), rtol=0.15, atol=0)


@pytest.mark.parametrize(("rule", "cosine"), [("noisy_adam", 0.7), ("fixed_noise", 1)])
def test_fresh_noise_has_nothing_in_common_from_step_to_step_and_fixed_noise_all(rule, cosine):
    def noise(count):
        params, plain = parameters((16, 16)), parameters((16, 16))
        steps(Controlled([{"params": params, **OPTIONS}], RULES[rule]), params, count)
        steps(torch.optim.Adam(plain, lr=OPTIONS["lr"], betas=OPTIONS["betas"]), plain, count)
        return (params[0] - plain[0]).detach().flatten()

    # of the first step with the sum of three: 1/√3 and more, since later steps are shorter
    assert torch.cosine_similarity(noise(1), noise(3), dim=0) == pytest.approx(cosine, abs=0.15)


@pytest.mark.parametrize("rule", ["noisy_adam", "fixed_noise"])
def test_noise_is_as_long_as_asked_and_orthogonal(rule):
    before = [torch.zeros(6, 6, dtype=torch.float64)]
    (plain, G), *_ = moved(rule, before, noise=0.0)
    torch.testing.assert_close(plain.abs(), torch.ones_like(plain), atol=1e-4, rtol=0)  # Adam's
    assert torch.equal(plain.sign(), -G.sign())
    added = [moved(rule, before, noise=share)[0][0] - plain for share in (0.25, 4.0)]
    for share, noise in zip((0.25, 4.0), added, strict=True):
        assert (noise.norm() / plain.norm()).item() == pytest.approx(share, rel=1e-4)
        spread = torch.linalg.svdvals(noise)
        assert spread.max() / spread.min() < 2  # as even as five Newton-Schulz steps make it


def moved(control, before, **options):
    """Returns what one step of rate 1 adds to the matrices, and the gradients it had."""
    params = [nn.Parameter(p.clone()) for p in before]
    settings = OPTIONS | {"lr": 1.0, "nesterov": False} | options
    steps(Controlled([{"params": params, **settings}], RULES[control]), params, 1)
    return [(p.detach() - old, p.grad) for p, old in zip(params, before, strict=True)]


def test_the_signs_are_those_of_the_momentum_at_muons_size():
    [(move, gradient)] = moved("sign", [torch.zeros(6, 9, dtype=torch.float64)])
    assert torch.equal(move, -0.2 * gradient.sign())


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
def test_a_random_spectrum_keeps_the_singular_vectors_and_muons_size(shape):
    [(move, gradient)] = moved("random_spectrum", [torch.zeros(shape, dtype=torch.float64)])
    U, _, Vh = torch.linalg.svd(gradient, full_matrices=False)
    core = -U.T @ move @ Vh.T  # diagonal if the vectors are the momentum's
    values = core.diagonal()
    torch.testing.assert_close(core, values.diag(), rtol=0, atol=1e-9)
    torch.testing.assert_close(U @ core @ Vh, -move, rtol=0, atol=1e-9)
    assert (values > 0).all()
    assert values.max() / values.min() > 1.5  # neither Muon's flat one …
    assert (values.diff() > 0).any()  # … nor in the order of the gradient's own
    assert move.norm().item() == pytest.approx(0.2 * math.sqrt(54))


def test_random_values_are_uniform_and_new_for_each_matrix_and_step():
    G = torch.randn(200, 200, generator=torch.Generator().manual_seed(3))
    group = {"momentum": 0.0, "nesterov": False}
    drawn = []
    for number, step in ((0, 0), (0, 1), (1, 0)):
        state = {"number": number, "step": step, "momentum_buffer": torch.zeros_like(G)}
        values = torch.linalg.svdvals(random_spectrum(G, state, group))
        drawn.append(values / values.square().mean().sqrt() / math.sqrt(3))  # of U(0, 1): 1/√3
    for values in drawn:
        assert scipy.stats.kstest(values.numpy(), "uniform").pvalue > 0.001
    assert not torch.allclose(drawn[0], drawn[1])
    assert not torch.allclose(drawn[0], drawn[2])


CONTROLS = [name for name, rule in RULES.items() if rule.direction]


@pytest.mark.parametrize("rule", CONTROLS)
def test_a_config_builds_its_control_and_leaves_the_rest_to_adamw(rule):
    model = GPT(GPTConfig(vocab_size=64, context=8, layers=1, width=16, heads=2))
    optimizer = build_optimizer(TrainConfig(muon=("VO",), rule=rule), model)
    model(torch.zeros(1, 8, dtype=torch.long), torch.zeros(1, 8, dtype=torch.long)).backward()
    optimizer.step()
    assert isinstance(optimizer, Controlled)
    assert [len(group["params"]) for group in optimizer.param_groups] == [2, 6]
    assert "exp_avg" in optimizer.state[model.embedding.weight]


def plain(W, gradient, M, lr, momentum, weight_decay):
    M.mul_(momentum).add_(gradient)
    W.mul_(1 - lr * weight_decay).sub_(lr * M)


def test_a_step_of_your_own_is_a_rule_with_a_name_of_its_text():
    rule = own_rule(plain)
    assert rule.startswith("own-plain-")
    assert own_rule(plain) == rule
    config = TrainConfig(rule=rule, lr=0.01, momentum=0.9, muon=("VO",))
    assert contestant(vars(config)) == f"{rule.removeprefix('own-')}(VO)"
    weights = []
    for named in (config, replace(config, rule="sgd")):
        torch.manual_seed(1)
        model = GPT(GPTConfig(vocab_size=32, context=8, layers=1, width=8, heads=2))
        optimizer = build_optimizer(named, model)
        for _ in range(3):
            for p in model.parameters():
                p.grad = torch.randn(p.shape)
            optimizer.step()
        weights.append([*model.parameters()])
    torch.testing.assert_close(*weights)


def test_a_rule_that_this_process_does_not_know_makes_no_record():
    config = TrainConfig(corpus="facts-3", rule="own-plain-0000", steps=1)
    with pytest.raises(ValueError, match="is not known here: call own_rule"):
        engine_run(config, lambda name: pytest.fail("no text is needed"))


def test_an_own_step_reads_neither_newton_schulz_nor_nesterov():
    config = TrainConfig(rule="own-plain-0000", nesterov=False, ns_steps=4, momentum=0.8)
    assert config.told_idle().endswith("nesterov, ns_steps")


@pytest.mark.parametrize("rule", [*CONTROLS, own_rule(plain)])
def test_a_copy_and_a_saved_state_go_on_as_the_control_itself_does(rule):
    def make(w, b):
        groups = [{"params": [w]}, {"params": [b], "rule": "adamw"}]
        return RULES[rule].own(groups) if RULES[rule].own else Controlled(groups, RULES[rule])

    ends = []
    for go_on in ("itself", "copied", "loaded"):
        params = parameters((4, 6), (4,))
        optimizer = make(*params)
        steps(optimizer, params, 2)
        if go_on == "copied":
            params, optimizer = copy.deepcopy((params, optimizer))
        elif go_on == "loaded":
            saved = optimizer.state_dict()
            optimizer = make(*params)
            optimizer.load_state_dict(saved)
        steps(optimizer, params, 2)
        ends.append([p.detach() for p in params])
    assert all(torch.equal(p, q) for end in ends[1:] for p, q in zip(ends[0], end, strict=True))


def test_a_control_refuses_what_is_no_single_matrix():
    for p in parameters((4, 3, 3, 3), (4, 3, 5)):
        with pytest.raises(ValueError, match="whole matrices, no parts: 'w'"):
            Controlled([("w", p)], RULES["flat_adam"])
