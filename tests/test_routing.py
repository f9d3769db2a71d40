"""Every parameter goes to one optimizer, and the table says why."""

import pytest
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
    ("muon", "blocks", "letters"),
    [
        ((), "01", ""),
        (("QK",), "01", "qk"),
        (("QK", "VO"), "01", "qkvo"),
        (("QK.0",), "0", "qk"),
        (("O.0",), "0", "o"),
    ],
)
def test_the_papers_groups_and_those_of_one_block(muon, blocks, letters):
    chosen = {name for name, rule in rules(route(Model(), muon)).items() if rule == "muon"}
    assert chosen == {f"blocks.{i}.{letter}.weight" for i in blocks for letter in letters}


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


def test_tied_weights_count_once_and_stay_with_adamw():
    m = Model(tied=True)
    routing = route(m)
    assert [r.name for r in routing.routes].count("embedding.weight") == 1
    assert "head.weight" not in rules(routing)
    assert rules(routing)["embedding.weight"] == "adamw"
    assert routing.count("muon") + routing.count("adamw") == sum(p.numel() for p in m.parameters())


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["embedding.weight", "head.weight"])
def test_an_end_can_be_asked_for_by_name_and_a_tied_one_by_either(name, tied):
    table = rules(route(Model(tied), muon=[name]))
    assert table["embedding.weight" if tied else name] == "muon"


def test_a_name_counts_behind_a_wide_pattern_too_and_vectors_need_theirs():
    table = rules(route(Model(), muon=["*weight", "*bias", "head.weight"]))
    assert [table[name] for name in ("head.weight", "embedding.weight")] == ["muon", "adamw"]
    assert [table[f"blocks.0.{name}"] for name in ("norm.weight", "w_in.bias")] == ["adamw"] * 2
    assert rules(route(Model(), muon=["blocks.0.w_in.bias"]))["blocks.0.w_in.bias"] == "muon"


def test_a_pattern_names_single_matrices():
    table = rules(route(Model(), muon=["blocks.1.?.weight"], adamw=["*.norm.weight"]))
    assert table["blocks.1.q.weight"] == "muon"
    assert table["blocks.0.q.weight"] == "adamw"


@pytest.mark.parametrize("name", ["head", "lm_head", "classifier"])
def test_no_wide_pattern_takes_an_embedding_or_a_head(name):
    m = nn.ModuleDict({"bag": nn.EmbeddingBag(5, 4), "o": nn.Embedding(5, 4), "v": nn.Linear(4, 4)})
    m[name] = nn.Sequential(nn.Linear(4, 5))
    for muon in (["*.weight"], ["VO"]):  # nor does a group's pattern
        table = rules(route(nn.ModuleDict({"layer": m}), muon))
        assert {n for n, rule in table.items() if rule == "muon"} == {"layer.v.weight"}


def test_a_head_of_another_name_does_not_go_unsaid():
    m = nn.ModuleDict({"wte": nn.Embedding(5, 4), "a": nn.Linear(4, 4)})
    m["proj_out"] = nn.Linear(4, 5)
    reasons = {r.name: r.reason for r in route(m, muon=["*.weight"]).routes}
    assert "if it is the head, name it in adamw" in reasons["proj_out.weight"]
    assert reasons["a.weight"] == "matches *.weight"


def test_frozen_parameters_reach_no_optimizer():
    m = Model()
    m.embedding.weight.requires_grad_(False)
    routing = route(m)
    assert rules(routing)["embedding.weight"] == "frozen"
    names = [name for group in routing.groups() for name, _ in group["params"]]
    assert "embedding.weight" not in names


def test_the_table_has_name_shape_rule_and_reason():
    lines = str(route(Model(), muon=("QK",))).splitlines()
    row = next(line for line in lines if line.startswith("head.weight"))
    assert all(part in row for part in ("11×4", "adamw", "the head"))


def test_groups_carry_their_own_rates_into_one_optimizer():
    optimizer = Muon(route(Model()).groups(lr=0.05, adamw_lr=0.001, weight_decay=0.0))
    found = {group["rule"]: (group["lr"], group["eps"]) for group in optimizer.param_groups}
    assert found == {"muon": (0.05, 1e-7), "adamw": (0.001, 1e-8)}
