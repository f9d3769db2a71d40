"""Keys and values of feed-forward layers: ours, and Hugging Face's built offline."""

import math
from dataclasses import replace

import pytest
import torch

from muonlab.models.ffn_keys import keys_and_values, pair_angles
from muonlab.models.gpt import GPT, GPTConfig

SHAPE = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def test_a_key_times_the_matrix_is_its_value():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=50, context=8, layers=3, width=16, heads=2))
    found = keys_and_values(model, torch.randint(50, (5, 8)))
    assert len(found) == 3
    for (keys, values), block in zip(found, model.blocks, strict=True):
        assert keys.shape == (5, 64)
        torch.testing.assert_close(values, block.feedforward.w_out(keys))
    assert model.training


def test_any_causal_model_of_hugging_face_is_accepted():
    import transformers  # slow to load, so here

    torch.manual_seed(0)
    for config in (
        transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2),
        transformers.LlamaConfig(**SHAPE, intermediate_size=64),
        transformers.GPTNeoXConfig(**SHAPE, intermediate_size=64),
        transformers.OPTConfig(**SHAPE, ffn_dim=64, word_embed_proj_dim=16),
    ):
        model = transformers.AutoModelForCausalLM.from_config(config)
        pairs = keys_and_values(model, torch.randint(50, (4, 6)))
        assert [(k.shape, v.shape) for k, v in pairs] == [((4, 64), (4, 16))] * 2


def test_the_angles_of_known_vectors():
    found = pair_angles(torch.tensor([[1.0, 0], [0, 2], [-3, 0]]))
    assert found.tolist() == pytest.approx([90, 180, 90])
    assert pair_angles(torch.tensor([[1.0, 0], [1, math.sqrt(3)]])).item() == pytest.approx(60)


def test_angles_do_not_hang_on_the_lengths_and_inf_has_none():
    assert pair_angles(torch.ones(2, 3) * 1e-20).item() == pytest.approx(0, abs=1e-5)
    with pytest.raises(ValueError, match="rows of finite numbers"):
        pair_angles(torch.tensor([[math.inf, 0.0], [0.0, 1.0]]))


def test_experts_alone_are_refused_and_each_part_keeps_its_mode():
    shape = GPTConfig(vocab_size=50, context=8, layers=2, width=16, heads=2, experts=4)
    model, tokens = GPT(shape), torch.randint(50, (5, 8))
    model.blocks[0].eval()
    assert len(keys_and_values(model, tokens)) == 2  # of the shared ones
    assert [block.training for block in model.blocks] == [False, True]
    with pytest.raises(ValueError, match="got experts alone"):
        keys_and_values(GPT(replace(shape, shared_experts=0)), tokens)
