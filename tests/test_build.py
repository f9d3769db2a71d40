"""What a run is made of: do matrices get the averages, factors and decay that a config names?"""

import pytest

from muonlab.data.load import load_corpus, shape_for
from muonlab.models.gpt import GPT, SIZES
from muonlab.training.build import build_optimizer
from muonlab.training.config import TrainConfig

OWN = {
    "adamw_matrix_lr": 0.002,
    "adamw_matrix_beta1": 0.7,
    "matrix_lr_factors": (0.5, 1, 2, 4),
    "matrix_decay": 1e-4,
}


def groups_of(**changes):
    """The group of each parameter, by name."""
    model = GPT(SIZES["tiny"])
    names = {p: name for name, p in model.named_parameters()}
    config = TrainConfig(lr=0.01, adamw_lr=0.04, weight_decay=0.1, **changes)
    groups = build_optimizer(config, model).param_groups
    return {names[p]: group for group in groups for p in group["params"]}


FACTORS = {  # of each kind of matrix: its group, and what its rate is multiplied by
    "attention.q": ("QK", 0.5),
    "attention.k": ("QK", 0.5),
    "attention.v": ("VO", 1),
    "attention.o": ("VO", 1),
    "feedforward.w_in": ("FFN", 2),
    "feedforward.w_out": ("FFN", 4),
}


@pytest.mark.parametrize("muon", [(), ("VO",), ("QK", "VO", "FFN")])
def test_matrices_have_rates_averages_factors_and_decay_of_their_own(muon):
    groups = groups_of(muon=muon, **OWN)
    for kind, (name, factor) in FACTORS.items():
        group = groups[f"blocks.1.{kind}.weight"]
        field, rate = ("lr", 0.01) if name in muon else ("adamw_matrix_lr", 0.002)
        assert (group["rate"], group["lr"]) == (field, pytest.approx(rate * factor))
        assert group.get("factor", 1) == factor
        assert group["lr"] * group["weight_decay"] == pytest.approx(0.1 * rate * factor + 1e-4)
        assert name in muon or group["betas"][0] == 0.7  # Muon reads none
    for end in ("embedding.weight", "head.weight"):
        group = groups[end]
        assert (group["rate"], group["lr"], group["weight_decay"]) == ("adamw_lr", 0.04, 0.1)
        assert group["betas"] == (0.9, 0.95)


def test_one_factor_leaves_the_other_matrices_in_one_group():
    for factors, number in (((1, 1, 1, 4), 2), ((1, 1, 1, 1), 1)):
        groups = groups_of(matrix_lr_factors=factors)
        assert len({id(g) for name, g in groups.items() if "blocks" in name}) == number


def test_matrices_whose_rate_is_0_have_no_decay_of_their_own():
    groups = groups_of(matrix_lr_factors=(0, 1, 1, 1), matrix_decay=1e-4)
    resting, moving = (groups[f"blocks.1.attention.{kind}.weight"] for kind in "qo")
    assert (resting["lr"], resting["weight_decay"]) == (0, 0.1)
    assert moving["weight_decay"] == pytest.approx(0.1 + 1e-4 / 0.01)


def test_a_vocabulary_of_its_own_gives_the_same_text_in_other_tokens():
    small, usual = load_corpus("docs-512"), load_corpus("docs")
    assert small.vocab_size == small.shape(SIZES["tiny"]).vocab_size == 512
    assert shape_for("docs-512", SIZES["tiny"]).vocab_size == 512
    assert small.name == "docs-512"
    assert small.sha256 != usual.sha256
    assert (small.characters, small.documents) == (usual.characters, usual.documents)
    assert len(small.train) > len(usual.train)
    text = small.decode(small.held_out[:400])
    assert usual.decode(usual.held_out[:400]).startswith(text[:100])
