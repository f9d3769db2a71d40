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


@pytest.mark.parametrize(("muon", "rate"), [((), 0.002), (("QK", "VO", "FFN"), 0.01)])
def test_matrices_have_averages_factors_and_decay_of_their_own(muon, rate):
    found = groups_of(muon=muon, **OWN)
    for kind, factor in {"q": 0.5, "k": 0.5, "v": 1, "o": 1, "w_in": 2, "w_out": 4}.items():
        [group] = [
            g for name, g in found.items() if name.startswith("blocks.1.") and f".{kind}." in name
        ]
        assert group["lr"] == pytest.approx(rate * factor)
        assert group.get("factor", 1) == factor
        assert group["lr"] * group["weight_decay"] == pytest.approx(0.1 * rate * factor + 1e-4)
        assert muon or group["betas"][0] == 0.7  # Muon reads none
    for end in ("embedding.weight", "head.weight"):
        assert (found[end]["lr"], found[end]["weight_decay"]) == (0.04, 0.1)
        assert found[end]["betas"] == (0.9, 0.95)


def test_one_factor_leaves_the_other_matrices_in_one_group():
    found = groups_of(matrix_lr_factors=(1, 1, 1, 4))
    assert len({id(g) for name, g in found.items() if "blocks" in name}) == 2
    plain = groups_of()
    assert len({id(group) for group in plain.values()}) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix_lr_factors": (1, 2, 3, -1)}, "matrix_lr_factors must be a number >= 0"),
        ({"adamw_matrix_beta1": 1.0}, r"adamw_matrix_beta1 must be a number in \[0, 1\)"),
    ],
)
def test_the_options_of_matrices_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**change)


@pytest.mark.parametrize(
    "name", ["docs-1", "docs-256", "code-x", "docs-", "docs-65537", "docs-1.5"]
)
def test_a_vocabulary_that_cannot_be_is_refused(name):
    for asked in (load_corpus, lambda name: shape_for(name, SIZES["tiny"])):
        with pytest.raises(
            ValueError, match=r"with a vocabulary V of 257 to 65,536 tokens, such as"
        ):
            asked(name)


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
