"""Every parameter goes to one optimizer, and the table says why."""

import pytest
import torch
from torch import nn

from muonlab import Muon, route


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.w_in, self.w_out = nn.Linear(width, 8), nn.Linear(8, width)
        self.norm = nn.LayerNorm(width)


class Model(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(4, 11, bias=False)
        if tied:
            self.head.weight = self.embedding.weight


def rules(routing):
    return {r.name: r.rule for r in routing.routes}


@pytest.mark.parametrize(
    ("muon", "letters"),
    [((), []), (("QK",), "qk"), (("VO",), "vo"), (("QK", "VO"), "qkvo")],
)
def test_the_papers_groups(muon, letters):
    chosen = {name for name, rule in rules(route(Model(), muon)).items() if rule == "muon"}
    assert chosen == {f"blocks.{i}.{letter}.weight" for i in range(2) for letter in letters}


@pytest.mark.parametrize(("entry", "letters"), [("QK.0", "qk"), ("O.0", "o")])
def test_a_group_of_one_block(entry, letters):
    chosen = {name for name, rule in rules(route(Model(), [entry])).items() if rule == "muon"}
    assert chosen == {f"blocks.0.{letter}.weight" for letter in letters}


def test_every_parameter_exactly_once():
    m = Model()
    groups = route(m, muon=("VO", "FFN")).groups()
    seen = [id(p) for group in groups for _, p in group["params"]]
    assert sorted(seen) == sorted(id(p) for p in m.parameters())


def test_ends_and_vectors_go_to_adamw():
    table = rules(route(Model()))
    for name in ("embedding.weight", "head.weight", "blocks.0.norm.weight", "blocks.1.w_in.bias"):
        assert table[name] == "adamw"
    assert table["blocks.1.w_out.weight"] == "muon"


def test_a_head_does_not_slip_in_by_a_groups_pattern():
    m = nn.ModuleDict({"o": nn.Embedding(5, 4), "v": nn.Linear(4, 4)})
    named = nn.ModuleDict({"layer": m})
    table = rules(route(named, muon=("VO",)))
    assert table["layer.o.weight"] == "adamw"
    assert table["layer.v.weight"] == "muon"


def test_tied_weights_count_once_and_stay_with_adamw():
    m = Model(tied=True)
    routing = route(m)
    assert [r.name for r in routing.routes].count("embedding.weight") == 1
    assert "head.weight" not in rules(routing)
    assert rules(routing)["embedding.weight"] == "adamw"
    assert routing.count("muon") + routing.count("adamw") == sum(p.numel() for p in m.parameters())


def test_a_tied_weight_can_be_asked_for_by_either_name():
    for name in ("embedding.weight", "head.weight"):
        assert rules(route(Model(tied=True), muon=[name]))["embedding.weight"] == "muon"


def test_a_pattern_names_single_matrices():
    table = rules(route(Model(), muon=["blocks.1.?.weight"], adamw=["*.norm.weight"]))
    assert table["blocks.1.q.weight"] == "muon"
    assert table["blocks.0.q.weight"] == "adamw"


@pytest.mark.parametrize("name", ["head", "lm_head", "classifier"])
def test_no_wide_pattern_takes_an_embedding_or_a_head(name):
    m = nn.ModuleDict(
        {"wte": nn.Embedding(5, 4), "bag": nn.EmbeddingBag(5, 4), "a": nn.Linear(4, 4)}
    )
    m[name] = nn.Sequential(nn.Linear(4, 5))
    table = rules(route(m, muon=["*.weight"]))
    assert {n for n, rule in table.items() if rule == "muon"} == {"a.weight"}


def test_a_head_of_another_name_does_not_go_unsaid():
    m = nn.ModuleDict(
        {"wte": nn.Embedding(5, 4), "a": nn.Linear(4, 4), "proj_out": nn.Linear(4, 5)}
    )
    reasons = {r.name: r.reason for r in route(m, muon=["*.weight"]).routes}
    assert "if it is the head, name it in adamw" in reasons["proj_out.weight"]
    assert reasons["a.weight"] == "matches *.weight"


def test_the_head_can_be_asked_for_by_name():
    assert rules(route(Model(), muon=["head.weight"]))["head.weight"] == "muon"


def test_frozen_parameters_reach_no_optimizer():
    m = Model()
    m.embedding.weight.requires_grad_(False)
    routing = route(m)
    assert rules(routing)["embedding.weight"] == "frozen"
    names = [name for group in routing.groups() for name, _ in group["params"]]
    assert "embedding.weight" not in names


def test_the_table_has_name_shape_rule_and_reason():
    text = str(route(Model(), muon=("QK",)))
    row = next(line for line in text.splitlines() if line.startswith("head.weight"))
    assert "11×4" in row
    assert "adamw" in row
    assert "the head" in row
    assert "group QK" in text


def test_groups_carry_their_own_rates_into_one_optimizer():
    optimizer = Muon(route(Model()).groups(lr=0.05, adamw_lr=0.001, weight_decay=0.0))
    found = {group["rule"]: (group["lr"], group["eps"]) for group in optimizer.param_groups}
    assert found == {"muon": (0.05, 1e-7), "adamw": (0.001, 1e-8)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"muon": ("VOO",)}, "'VOO' is no group"),
        (
            {"muon": ("QK",), "adamw": ("blocks.0.q.weight",)},
            "'blocks.0.q.weight' is claimed twice",
        ),
        ({"muon": ("*.bias",)}, r"'blocks.0.w_in.bias' of shape \(8,\)"),
        ({"adamw": ("nothing.*",)}, "matches no parameter"),
    ],
)
def test_wrong_calls_name_the_parameter(arguments, message):
    with pytest.raises(ValueError, match=message):
        route(Model(), **arguments)


def test_a_group_that_finds_nothing_says_what_it_looks_for():
    with pytest.raises(ValueError, match=r"group FFN looks for \*.w_in.weight.*this model has q\."):
        route(nn.ModuleDict({"q": nn.Linear(2, 2)}), muon=("FFN",))


def test_a_mistyped_option_is_refused():
    with pytest.raises(ValueError, match="did you mean 'momentum'"):
        route(Model()).groups(momentun=0.5)


def test_the_update_reaches_every_parameter():
    m = Model()
    optimizer = Muon(route(m).groups(lr=0.1, adamw_lr=0.1, weight_decay=0.0))
    before = {name: p.detach().clone() for name, p in m.named_parameters()}
    for p in m.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    assert all(not torch.equal(p, before[name]) for name, p in m.named_parameters())


def test_the_numbers_of_each_rule_are_counted():
    routing = route(Model(), ("QK",))
    assert routing.count("muon") == 2 * 2 * 16  # two blocks, q and k, 4 × 4
    assert routing.count("frozen") == 0
    assert routing.count("adamw") == sum(p.numel() for p in Model().parameters()) - 64
