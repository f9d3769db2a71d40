"""A fused matrix taken apart: each part is stepped as a matrix of its own, by no more launches."""

import pytest
import torch
from test_muon_step import STEPS, device, draw
from test_sharded import one_process, sharded_linear
from torch import nn

from muonlab import GPT, GPTConfig, Muon, NorMuon, route
from muonlab.benchmark.launches import launches
from muonlab.optim.fused import at_once
from muonlab.optim.rules import RULES, Controlled

device = device  # the fixture of test_muon_step
WIDTH, ROWS = 8, (8, 4, 12)
WAYS = {"uneven": ({"split": ROWS}, ROWS), "heads": ({"heads": 3}, (8, 8, 8))}


def steps(optimizer, params):
    """Takes a few steps; the gradients of params, one under another, are always the same."""
    for step in range(STEPS):
        gradient = draw((sum(map(len, params)), *params[0].shape[1:]), step)
        for p, part in zip(params, gradient.split([*map(len, params)]), strict=True):
            p.grad = part.to(p.dtype)
        optimizer.step()
    return torch.cat([p.detach() for p in params])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({"adjust_lr_fn": "update_rms", "ns_norm": "schatten4"}, torch.float32),
        ({"lr": torch.tensor(0.1), "nesterov": False}, torch.float64),
        ({"capturable": True}, torch.bfloat16),
        ({"ns_coefficients": "exact", "adjust_lr_fn": "match_rms_adamw"}, torch.float32),
    ],
)
def test_a_split_matrix_has_the_bits_of_matrices_apart(device, make, way, options, dtype):
    group, rows = WAYS[way]
    start = draw((24, WIDTH), 99).to(dtype)
    fused, whole = (nn.Parameter(start.clone()) for _ in range(2))
    apart = [nn.Parameter(part.clone()) for part in start.split(rows)]
    one, several = make([{"params": [fused], **group}], **options), make(apart, **options)
    assert torch.equal(steps(one, [fused]), steps(several, apart))
    assert not torch.equal(fused, start)
    assert not torch.equal(steps(make([whole], **options), [whole]), fused)
    for key, kept in one.state_dict()["state"][0].items():  # one state for the whole matrix
        assert torch.equal(kept, torch.cat([several.state[part][key] for part in apart]))
    assert one.parts == {}, "the gradients are not kept"


def test_a_kernel_is_split_along_its_channels():
    start = draw((12, 4, 3, 3), 0)
    fused, apart = nn.Parameter(start), [nn.Parameter(part.clone()) for part in start.chunk(3)]
    one = Muon([{"params": [fused], "heads": 3}])
    assert torch.equal(steps(one, [fused]), steps(Muon(apart), apart))


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("heads", [3, 12])
def test_no_kernel_is_launched_that_matrices_apart_do_not_launch(as_on_a_gpu, make, heads):
    layers = [nn.Parameter(draw((48, 16), seed)) for seed in range(6)]
    apart = [nn.Parameter(part.clone()) for p in layers for part in p.detach().chunk(heads)]
    others = [[nn.Parameter(draw((16, 16), seed)) for seed in range(6)] for _ in range(2)]
    for p in [*layers, *apart, *others[0], *others[1]]:
        p.grad = torch.ones_like(p)
    options = {"ns_dtype": torch.bfloat16}
    split = make([{"params": layers, "heads": heads}, {"params": others[0]}], **options)
    equal = make([*apart, *others[1]], **options)
    for optimizer in (split, equal):
        optimizer.step()  # the first one makes the momenta
    assert launches(split.step).kernels == launches(equal.step).kernels


@pytest.mark.parametrize(
    ("change", "joined"),
    [({}, True), ({"lr": 0.1}, False), ({"kernels": True}, False), ({"rule": "adamw"}, False)],
)
def test_parts_join_a_group_with_equal_options_alone(change, joined):
    p, q = nn.Parameter(draw((24, WIDTH), 0)), nn.Parameter(draw((8, WIDTH), 1))
    groups = [{"params": [p], "heads": 3}, {"params": [q]} | change]
    optimizer = Muon(groups, lr=torch.tensor(0.02))
    for t in (p, q):
        t.grad = torch.ones_like(t)
    optimizer.step()
    sizes = sorted(len(group["params"]) for group in at_once(optimizer))
    assert sizes == ([4] if joined else [1, 3])


@pytest.mark.parametrize("before", [True, False])
def test_a_checkpoint_of_whole_matrices_goes_on_split(before):
    start = draw((24, WIDTH), 99)
    whole, fused = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    old = Muon([("qkv", whole)])
    steps(old, [whole])
    saved = old.state_dict()
    for key in ("split", "heads") if before else ():
        del saved["param_groups"][0][key]
    split = Muon([{"params": [("qkv", fused)], "heads": 3}])
    split.load_state_dict(saved)
    assert split.param_groups[0]["heads"] == 3
    assert torch.equal(split.state[fused]["momentum_buffer"], old.state[whole]["momentum_buffer"])
    steps(split, [fused])


def test_a_model_with_one_matrix_trains_as_one_with_three():
    shape = {"vocab_size": 11, "context": 8, "layers": 2, "width": 16, "heads": 2}
    apart, fused = (GPT(GPTConfig(fused_qkv=one, **shape)).double() for one in (False, True))
    weights = apart.state_dict()
    for i in range(2):
        at = f"blocks.{i}.attention"
        three = [weights.pop(f"{at}.{kind}.weight") for kind in "qkv"]
        weights[f"{at}.qkv.weight"] = torch.cat(three)
    fused.load_state_dict(weights)
    kinds = (("QK", "VO", "FFN"), "whole"), (("QKV", "O", "FFN"), "split")
    tokens = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(0))
    losses = []
    for model, (muon, how) in zip((apart, fused), kinds, strict=True):
        optimizer = Muon(route(model, muon, fused=how).groups(0.02, 3e-3))
        for _ in range(5):
            loss = model(tokens[:, :-1], tokens[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


# The routing table


def encoder():
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(16, 4, dim_feedforward=8)


PATTERNS = ("*_proj*weight", "linear?.weight")


@pytest.mark.parametrize(
    ("fused", "split", "says"),
    [
        ("whole", None, "as one matrix; fused='split' takes them apart"),
        ("split", (16,) * 3, "each orthogonalized alone"),
        ("heads", (4,) * 12, "of each head, orthogonalized alone"),
    ],
)
def test_the_table_says_how_queries_keys_and_values_are_taken(fused, split, says):
    ours = GPT(GPTConfig(vocab_size=7, layers=1, width=16, heads=4, fused_qkv=True))
    for model, muon, name in (
        (encoder(), PATTERNS, "self_attn.in_proj_weight"),
        (ours, ("QKV", "O"), "blocks.0.attention.qkv.weight"),
    ):
        routing = route(model, muon=muon, fused=fused)
        assert [r.name for r in routing.routes if says in r.reason] == [name]
        optimizer = Muon(routing.groups())
        splits = {n: g["split"] for g in optimizer.param_groups for n in g["param_names"]}
        assert splits == {n: split if n == name else None for n, _ in model.named_parameters()}
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step()


def test_the_heads_of_torchs_attention_are_the_rows_that_the_table_takes():
    """A head that no output reads has no gradient: its rows alone stay."""
    layer = nn.MultiheadAttention(16, 4, bias=False)
    with torch.no_grad():
        layer.out_proj.weight[:, 4:8] = 0
    x = torch.randn(5, 2, 16, generator=torch.Generator().manual_seed(0))
    layer(x, x, x)[0].square().sum().backward()
    idle = layer.in_proj_weight.grad.eq(0).all(1)
    [split] = [r.split for r in route(layer, ["in_proj_weight"], fused="heads").routes if r.split]
    assert [part.all().item() for part in idle.split(split)] == [i % 4 == 1 for i in range(12)]
    assert idle.sum() == 12


def test_attention_with_other_widths_has_no_fused_matrix():
    layer = nn.MultiheadAttention(16, 4, kdim=8, vdim=8)
    assert not any("queries" in r.reason for r in route(layer, ["?_proj_weight"]).routes)


def test_nothing_to_split_is_refused():
    for muon in (("linear1.weight",), ()):
        with pytest.raises(ValueError, match="fused='heads' finds no in_proj_weight"):
            route(encoder(), muon, fused="heads")
    with pytest.raises(ValueError, match="fused must be one of whole, split, heads; got 'qkv'"):
        route(encoder(), PATTERNS, fused="qkv")


# Bad input


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"split": (8, 8)}, r"a split of this sum; got split=\(8, 8\)"),
        ({"split": (32, -8)}, r"a split of this sum; got split=\(32, -8\)"),
        ({"heads": 5}, r"matrix of 24 rows, .*heads=5 for 'qkv' \(24, 8\)"),
        ({"heads": 2.9}, r"heads must be a whole number >= 1 and finite, got 2.9"),
        ({"heads": 3, "split": (8, 8, 8)}, "heads that divide a whole matrix of 24 .* heads=3"),
        ({"rule": "adamw", "split": (8, 16)}, "split is an option of rule='muon'"),
        ({"rule": "muon", "fused": True}, "fused is an option of rule='adamw'"),
    ],
)
def test_parts_that_make_no_sense_are_refused_by_name(group, message):
    p = nn.Parameter(draw((24, WIDTH), 0))
    with pytest.raises(ValueError, match=message):
        Muon([{"params": [("qkv", p)], **group}])
    if "rule" in group:
        return
    optimizer, before = Muon([("qkv", p)]), p.detach().clone()
    p.grad = torch.ones_like(p)
    optimizer.param_groups[0] |= {"betas": (0.9, 0.95), **group}
    with pytest.raises(ValueError, match=message):
        optimizer.step()
    assert torch.equal(p, before)


def test_stacks_shards_and_rules_for_whole_matrices_are_not_split():
    stack = nn.Parameter(draw((3, 8, 5), 0))
    with pytest.raises(ValueError, match=r"a whole matrix .* 'w' \(3, 8, 5\)"):
        Muon([{"params": [("w", stack)], "heads": 3}])
    Muon([{"params": [("w", stack)], "heads": 3, "kernels": True}])
    one = [{"params": [("w", nn.Parameter(draw((6, 4), 0)))], "heads": 2}]
    with pytest.raises(ValueError, match="Controlled steps whole matrices, no parts: 'w'"):
        Controlled(one, RULES["sgd"])

    def shard():
        params = [*sharded_linear().named_parameters()]
        for make in (Muon, NorMuon):
            with pytest.raises(ValueError, match=r"a whole matrix .*'0.weight'"):
                make([{"params": params, "heads": 2}])

    one_process(shard)
