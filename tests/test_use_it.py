"""The page "Use it in your code": each of its snippets runs, and the first beats a tuned AdamW."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from muonlab.data import load_corpus
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim.muon import Muon
from muonlab.studies.comparisons import GPU, LENGTHS
from muonlab.studies.races import RACE
from muonlab.sweeps.study import HERE
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run
from printing.answer import rates

PAGE = (Path(__file__).parents[1] / "book" / "use-it.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FIRST, ENCODER, FUSED, LLAMA, CNN, TORCH, AROUND = SNIPPETS


def run(snippet, **names):
    names = {"torch": torch} | names
    exec(snippet, names)
    return names


def stepped(names, model, loss):
    before = [p.detach().clone() for p in model.parameters()]
    loss().backward()
    names["optimizer"].step()
    assert all(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def tiny():
    torch.manual_seed(0)
    return GPT(GPTConfig(vocab_size=64, context=8, layers=2, width=16, heads=2))


def gpt_loss(model):
    tokens = torch.randint(64, (32, 9), generator=torch.Generator().manual_seed(1))
    return model(tokens[:, :-1], tokens[:, 1:])


def test_the_first_lines_step_every_parameter_and_the_last_ones_go_with_them():
    model = tiny()
    names = run(FIRST, model=model)
    assert all("blocks." in name for name in names["hidden"])
    stepped(names, model, lambda: gpt_loss(model))
    run(AROUND, optimizer=names["optimizer"])


def groups_of(hidden, model):
    imports, after = FIRST.splitlines()[0], FIRST[FIRST.index("groups") :]
    return run(f"{imports}\n{after}", model=model, hidden=hidden)


def test_torchs_transformer():
    names = run(ENCODER)
    encoder = names["encoder"]
    assert len(names["hidden"]) == 8, "of each layer in_proj, out_proj, linear1, linear2"
    stepped(
        groups_of(names["hidden"], encoder),
        encoder,
        lambda: encoder(torch.randn(5, 2, 64)).pow(3).sum(),
    )


def test_queries_keys_and_values_apart():
    given = run(ENCODER)
    names = run(f"from muonlab import route\n{FUSED}", **given)
    optimizer = Muon(names["groups"])
    parts = [(group["split"], len(group["params"])) for group in optimizer.param_groups]
    assert parts[0][0] is None
    assert parts[1] == ((64, 64, 64), 2)
    assert parts[-1] == ((64, 16, 16), 1)
    encoder = given["encoder"]
    names["large"].weight.grad = torch.ones(96, 64)
    stepped(
        {"optimizer": optimizer},
        encoder,
        lambda: encoder(torch.randn(5, 2, 64)).pow(3).sum(),
    )


def test_a_model_of_hugging_face():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=16,
    )  # fmt: skip
    llama = transformers.LlamaForCausalLM(config)
    hidden = run(LLAMA, llama=llama)["hidden"]
    assert len(hidden) == 2 * 7
    tokens = torch.arange(8)[None]
    stepped(groups_of(hidden, llama), llama, lambda: llama(tokens, labels=tokens).loss)


def test_a_convolutional_net():
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
    cnn = nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 16, 5))
    groups = run(f"from muonlab import route\n{CNN}", cnn=cnn)["groups"]
    assert [len(group["params"]) for group in groups] == [1, 5]
    stepped({"optimizer": Muon(groups)}, cnn, lambda: cnn(torch.randn(4, 3, 8, 8)).pow(2).sum())


def test_torchs_own_muon_takes_the_same_step():
    ours, theirs = tiny(), tiny()
    names = run(FIRST, model=ours)
    both = run(TORCH, model=theirs, hidden=names["hidden"])
    for model in (ours, theirs):
        gpt_loss(model).backward()
    names["optimizer"].step()
    both["muon"].step()
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        if name in names["hidden"]:
            torch.testing.assert_close(a, b, atol=2e-4, rtol=0)  # bf16 on one side


@pytest.mark.slow
def test_the_first_lines_beat_a_tuned_adamw_in_the_race_of_150_steps():
    adamw = RACE[150].best(HERE)[0]
    tuned = next(r for r in LENGTHS[0].runs if not r.config["muon"] and r.config["seed"] == 1)
    assert TrainConfig(**tuned.config).adamw_matrix_lr == adamw.adamw_matrix_lr
    corpus = load_corpus("docs-512")
    config = replace(adamw, seed=1, device="cpu")
    race = Run(config, corpus)
    names = run(FIRST, model=race.model)
    optimizer, peaks = names["optimizer"], [g["lr"] for g in names["groups"]]
    assert build_model(config, corpus).config == race.model.config
    for step in range(config.steps):
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * config.rate(step)
        race.model(*corpus.batch(step, config.batch, config.context, config.seed)).backward()
        optimizer.step()
        optimizer.zero_grad()
    ends = race.evaluate()
    for part in ("overall", "tail"):
        assert ends[part] < tuned.held_out[-1][part] - 0.02


def test_the_rates_of_the_table_are_3_to_11_times_adamws():
    ratios = []
    for race in (GPU, *LENGTHS[:2], LENGTHS[3]):
        assert rates(race.phase).startswith(race.question)
        adamw, muon = rates(race.phase).split(" | ")[1:3]
        ratios.append(float(muon) / float(adamw))
    assert 3 <= min(ratios) < 4
    assert 10 < max(ratios) < 11.5
