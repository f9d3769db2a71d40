"""One protocol for what a model is trained on: what the loops, the tables and the estimates ask."""

from dataclasses import replace

import pytest
import torch

from corpus_card import report
from muonlab.data.load import load_corpus, shape_for
from muonlab.models.gpt import SIZES
from muonlab.models.regressor import Regressor, build
from muonlab.training.config import TrainConfig

NAMES = ["facts-4", "facts-9", "regression-2", "regression-32"]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_alone_tells_the_shape(name):
    for base in (SIZES["tiny"], replace(SIZES["tiny"], gated=True)):
        assert shape_for(name, base) == load_corpus(name).shape(base)


@pytest.mark.parametrize(
    ("name", "words", "numbers"),
    [
        ("docs", 4096, 1_638_400),
        ("code", 4096, 1_638_400),
        ("fineweb", 50_304, 13_467_648),
        ("facts-9", 896, 819_200),
        ("regression-4", 1, 590_848),
    ],
)
def test_models_are_as_large_as_their_task_makes_them(name, words, numbers):
    shape = shape_for(name, SIZES["tiny"])
    assert shape.vocab_size == words
    with torch.device("meta"):
        assert sum(p.numel() for p in build(shape).parameters()) == numbers


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_the_shape_learns_from_a_batch_and_can_be_measured(name):
    task = load_corpus(name)
    model = build(task.shape(replace(SIZES["tiny"], layers=1, width=16, heads=2)))
    assert isinstance(model, Regressor) == name.startswith("regression")
    inputs, targets = task.batch(step=0, batch=2, context=16, seed=0)
    assert len(inputs) == len(targets) == 2
    model(inputs, targets).backward()
    assert all(p.grad is not None for p in model.parameters())
    assert torch.is_grad_enabled()
    assert task.measure(model, batch=2, context=16, tokens=64)["overall"] > 0


def test_the_card_is_of_texts_and_says_so():
    with pytest.raises(ValueError, match=r"expected a text, got 'facts-4'.* card"):
        report("facts-4")


@pytest.mark.parametrize("name", ["docs-0512", "docs-512"])
def test_names_that_differ_in_spelling_only_are_one_text(name):
    assert TrainConfig(corpus=name) == TrainConfig(corpus="docs-512")
    assert TrainConfig(corpus="my/texts/") == TrainConfig(corpus="my/texts")
    assert load_corpus("regression-04").name == "regression-4"
    assert load_corpus("facts-03").name == load_corpus("facts-3-zipf1.0").name == "facts-3"


@pytest.mark.parametrize(
    "name", ["docs-4096-zipf1.5", "fineweb-1-zipf2", "regression-4-zipf1", "facts-9-zipf1.000001"]
)
def test_a_law_that_a_text_does_not_have_is_refused_and_never_left_out(name):
    with pytest.raises(ValueError, match=rf"got '{name}'"):
        load_corpus(TrainConfig(corpus=name).corpus)
