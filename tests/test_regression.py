"""In-context regression: the prompts are what they say, and the oracle is that of least squares."""

from dataclasses import replace

import pytest
import torch

from muonlab.data.load import load_corpus
from muonlab.data.regression import Regression
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.models.regressor import Regressor
from muonlab.records.table import runs_table
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run, load_model, train

SMALL = GPTConfig(context=64, layers=1, width=16, heads=2, inputs=5)
CONFIG = TrainConfig(
    corpus="regression-2", steps=6, batch=4, context=8, eval_every=3, eval_tokens=64, device="cpu"
)


@pytest.fixture
def small_model(monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", replace(SMALL, inputs=None))


def test_a_token_is_a_question_or_an_example_of_one_linear_function():
    tokens, labels = Regression(3).batch(step=5, batch=4, context=10, seed=1)
    questions, examples = tokens[:, ::2], tokens[:, 1::2]
    assert torch.equal(questions[..., :3], examples[..., :3])
    assert torch.equal(examples[..., 3], labels)
    assert (questions[..., 3:] == torch.tensor([0.0, 1.0, 0.0])).all()
    assert (examples[..., 4:] == torch.tensor([0.0, 1.0])).all()
    w = torch.linalg.lstsq(examples[..., :3], labels[..., None]).solution  # 5 equations for 3
    torch.testing.assert_close((examples[..., :3] @ w)[..., 0], labels, rtol=1e-4, atol=1e-4)
    assert (w[0] - w[1]).norm() > 0.1  # another function in each prompt


def test_least_squares_leave_what_the_card_says():
    task = Regression(4)
    tokens, labels = task.batch(step=0, batch=20_000, context=12, seed=0)
    x, y = tokens[:, 1::2, :4].double(), labels.double()
    for examples in range(6):
        w = torch.linalg.pinv(x[:, :examples]) @ y[:, :examples, None]  # the shortest that fits
        error = (x[:, examples, None] @ w).flatten() - y[:, examples]
        assert error.square().mean().item() == pytest.approx(max(0, 1 - examples / 4), abs=0.05)


def test_a_measurement_asks_prompts_that_no_run_trains_on_and_always_the_same():
    model, asked = Regressor(SMALL), []
    model.register_forward_pre_hook(lambda module, inputs: asked.append(inputs[0]))
    for _ in range(2):
        Regression(2).measure(model, batch=2, context=4, tokens=24)
    assert len(asked) == 2 * 3
    assert all(map(torch.equal, asked[:3], asked[3:]))
    drawn = [Regression(2).batch(step, 2, 4, seed)[0] for step in range(3) for seed in range(3)]
    prompts = asked[:3] + drawn
    assert len({tuple(tokens.flatten().tolist()) for tokens in prompts}) == len(prompts)


def test_the_model_sees_the_past_alone():
    torch.manual_seed(0)
    model = Regressor(SMALL)
    tokens = torch.randn(2, 8, 5)
    changed = tokens.clone()
    changed[:, 4] += 1.0
    with torch.no_grad():
        before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert ((before - after)[:, 2:].abs() > 1e-7).all()


def test_the_loss_is_the_squared_error():
    model = Regressor(SMALL)
    tokens, labels = Regression(2).batch(0, 3, 8, 0)
    with torch.no_grad():
        square = (model(tokens) - labels) ** 2
        torch.testing.assert_close(model(tokens, labels), square.mean())
        torch.testing.assert_close(model(tokens, labels, reduction="none"), square)


def test_a_model_that_says_nothing_has_error_one_after_any_number_of_examples():
    model = Regressor(SMALL)
    torch.nn.init.zeros_(model.head.weight)
    with torch.no_grad():
        found = Regression(2).measure(model, batch=1000, context=8, tokens=160_000)
    assert found["errors"] == pytest.approx([1.0] * 4, abs=0.05)
    assert found["overall"] == pytest.approx(sum(found["errors"]) / 4)


@pytest.mark.parametrize("muon", [("QK",), ()])
def test_a_run_learns_resumes_to_the_bit_and_gives_its_model_back(small_model, tmp_path, muon):
    config = replace(CONFIG, muon=muon)
    whole = train(config, progress=False)
    assert "errors 0  errors 1  errors 2  errors 3" in runs_table([whole])
    run = Run(config, load_corpus(config.corpus))
    for _ in range(3):
        run.train_step()
    run.evaluate()
    run.save(tmp_path / "half")
    resumed = train(config, checkpoint=tmp_path / "half", progress=False)
    assert resumed.train_loss == whole.train_loss
    with torch.no_grad():
        found = Regression(2).measure(load_model(tmp_path / "half"), 4, 8, 64)
    assert found["errors"] == resumed.held_out[-1]["errors"]


def test_training_beats_the_guess_of_zero(small_model):
    config = replace(CONFIG, steps=120, batch=32, eval_every=120, eval_tokens=4096, adamw_lr=0.01)
    last = train(config, progress=False).held_out[-1]
    assert last["errors"][-1] < 0.8 < last["errors"][0]
