"""Decoding with a cache: the tokens and logits of the whole text, and no more memory or work."""

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from muonlab import GPT, GPTConfig

CONFIG = GPTConfig(vocab_size=50, context=16, layers=2, width=32, heads=4)
KINDS = ["multi-head", "latent"]
SHAPES = [{}, {"experts": 5}, {"gated": True}]


def build(**changes):
    torch.manual_seed(0)
    return GPT(replace(CONFIG, **changes)).double().eval()


def prompts(batch=16, length=5):
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(1))


def uncached(model, tokens, n, temperature, generator):
    """The definition: each token from the whole text before it, as far as the model can see."""
    for _ in range(n):
        logits = model(tokens[:, -16:])[:, -1]
        if temperature:
            chances = torch.softmax(logits / temperature, dim=-1)
            chosen = torch.multinomial(chances, 1, generator=generator)
        else:
            chosen = logits.argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, chosen), dim=1)
    return tokens


@pytest.mark.parametrize("attention", KINDS)
@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("temperature", [0, 1.5])
def test_generated_tokens_are_those_of_the_whole_text(attention, changes, temperature):
    model = build(attention=attention, **changes)
    model.head.weight.data *= 50  # opinions, so that the tokens are not all by chance
    drawn = [
        f(prompts(), 15, temperature, torch.Generator().manual_seed(2))
        for f in (model.generate, lambda *options: uncached(model, *options))
    ]
    assert torch.equal(*drawn)  # the last four of them behind the context of 16
    assert len(drawn[0][:, 5:].unique()) > 10


@pytest.mark.parametrize("length", [16, 17, 30])
def test_a_prompt_may_fill_the_context_or_be_longer(length):
    model, tokens = build(), prompts(2, length)
    assert torch.equal(model.generate(tokens, 2, 0), uncached(model, tokens, 2, 0, None))


@pytest.mark.parametrize("attention", KINDS)
@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("pieces", [1, [12, 1, 1, 1, 1], [5, 11]])
def test_the_logits_are_those_of_the_whole_text(attention, changes, pieces):
    model, tokens, exact = build(attention=attention, **changes), prompts(16, 16), []
    # forward gives float32; the hook sees the float64 before
    model.head.register_forward_hook(lambda module, inputs, output: exact.append(output))
    whole, caches, parts = model(tokens), None, []
    for some in tokens.split(pieces, dim=1):
        logits, caches = model.decode(some, caches)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert (torch.cat(exact[1:], dim=1) - exact[0]).abs().max() < 1e-12


@pytest.mark.parametrize("attention", KINDS)
def test_the_caches_hold_what_the_layers_say(attention):
    model = build(attention=attention)
    numbers = {"multi-head": 2 * 32, "latent": 16 + 4}[attention]
    caches = None
    for tokens in prompts(16, 9).split([7, 1, 1], dim=1):
        _, caches = model.decode(tokens, caches)
    assert [len(cache) for cache in caches] == [9, 9]
    kept = [t.untyped_storage().nbytes() for cache in caches for t in (cache.keys, cache.values)]
    assert sum(kept) == 16 * 9 * 2 * numbers * 8


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest new tensor has."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        old = {a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor)}
        if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in old:
            self.numbers = max(self.numbers, out.numel())
        return out


@pytest.mark.parametrize(("attention", "work"), [("multi-head", 2 * 32), ("latent", 4 * (32 + 4))])
def test_an_old_token_costs_its_products_and_no_copy_for_each_head(attention, work):
    model, tokens, counted = build(attention=attention), prompts(16, 16), []
    for past in (14, 15):
        _, caches = model.decode(tokens[:, :past])
        with FlopCounterMode(display=False) as flops, sdpa_kernel(SDPBackend.MATH):
            model.decode(tokens[:, past : past + 1], caches)
        counted.append(flops.get_total_flops())
    # two operations a product; 2C products in plain attention, H (2r + p) in latent attention
    assert counted[1] - counted[0] == 2 * 16 * 2 * work
    with Largest() as largest, torch.no_grad():
        model.decode(tokens[:, 15:], caches)
    memory = max(t.numel() for t in vars(caches[0]).values()) / 15 * 16
    assert largest.numbers == memory  # the longer cache, and nothing that is larger


def test_one_text_can_go_on_in_two_ways():
    model, tokens = build(), prompts(3, 10)
    _, caches = model.decode(tokens[:, :8])
    for last in (tokens[:, 8:], tokens[:, 8:].flip(1)):
        expected = model(torch.cat((tokens[:, :8], last), dim=1))[:, 8:]
        torch.testing.assert_close(model.decode(last, caches)[0], expected)
    assert len(caches[0]) == 8


@pytest.mark.parametrize("attention", KINDS)
def test_generation_computes_one_token_a_step_as_long_as_all_fit(attention):
    model, seen = build(attention=attention), []
    model.embedding.register_forward_hook(lambda m, inputs, out: seen.append(inputs[0].shape[1]))
    model.generate(prompts(2, 12), 7, temperature=0)
    assert seen == [12, 1, 1, 1, 1, 16, 16]


@pytest.mark.parametrize("attention", KINDS)
def test_more_than_the_context_is_refused_with_what_to_do(attention):
    model, tokens = build(attention=attention), prompts(2, 12)
    _, caches = model.decode(tokens)
    with pytest.raises(ValueError, match=r"at most 16 tokens.* got 12 in the cache and 5 new"):
        model.decode(tokens[:, :5], caches)
    with pytest.raises(ValueError, match=r"in \[0, 50\), got 50 to 50"):
        model.decode(torch.tensor([[50]]))
