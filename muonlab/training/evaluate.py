"""What a model knows: loss by kind of token, answers by kind of person, errors by examples."""

from typing import Any

import torch

from muonlab.data.corpus import Corpus
from muonlab.data.facts import Facts
from muonlab.data.regression import Regression
from muonlab.models.gpt import GPT
from muonlab.training.build import Task
from muonlab.training.config import TrainConfig

CLASSES = ("head", "middle", "tail")  # of tokens, by how often they occur; Corpus.frequency_class
AT_ONCE = 256  # questions asked in one batch


def evaluate(model: GPT, corpus: Task, config: TrainConfig) -> dict[str, Any]:
    """Returns `held_out_loss`, `first_token_accuracy` of biographies, or `squared_error`."""
    if isinstance(corpus, Facts):
        return first_token_accuracy(model, corpus)
    if isinstance(corpus, Regression):
        return squared_error(model, corpus, config)
    return held_out_loss(model, corpus, config)


def held_out_loss(model: GPT, corpus: Corpus, config: TrainConfig) -> dict[str, Any]:
    """Returns the mean loss in nats a token: "overall", and for each of CLASSES.

    The class is that of the token to be predicted; None where the text has none of it.
    """
    device = next(model.parameters()).device
    of_token = corpus.frequency_class().to(device).long()  # (V,)
    total = torch.zeros(len(CLASSES), dtype=torch.float64)
    count = torch.zeros(len(CLASSES), dtype=torch.float64)
    windows = corpus.held_out_batches(config.batch, config.context, config.eval_tokens)
    for inputs, targets in windows:
        targets = targets.to(device)
        losses = model(inputs.to(device), targets, reduction="none")  # (B, T)
        of = of_token[targets].flatten().cpu()  # (B·T,)
        total.index_add_(0, of, losses.flatten().double().cpu())
        count += torch.bincount(of, minlength=len(CLASSES))
    means = [t / n if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]
    overall = (total.sum() / count.sum()).item()
    return {"overall": overall, **dict(zip(CLASSES, means, strict=True))}


def first_token_accuracy(model: GPT, facts: Facts) -> dict[str, Any]:
    """Returns how often the likeliest token after a question is the first one of the answer.

    "accuracy" holds a share for each group of people, the best known first; "overall" is the mean
    loss of that token in nats, each group weighing the same.
    Source: arXiv 2509.26030, section 4.3.
    """
    device = next(model.parameters()).device
    asked = facts.questions()
    groups = facts.m + 1
    right = torch.zeros(groups, dtype=torch.float64)
    loss = torch.zeros(groups, dtype=torch.float64)
    for some in torch.arange(len(asked.answers)).split(AT_ONCE):
        logits = model(asked.prompts[some].to(device)).cpu()  # (N, L, V)
        logits = logits[torch.arange(len(some)), asked.last[some]]  # (N, V)
        answers, of = asked.answers[some], asked.groups[some]
        right.index_add_(0, of, (logits.argmax(-1) == answers).double())
        losses = torch.nn.functional.cross_entropy(logits, answers, reduction="none")
        loss.index_add_(0, of, losses.double())
    count = torch.bincount(asked.groups, minlength=groups)
    return {"overall": (loss / count).mean().item(), "accuracy": (right / count).tolist()}


def squared_error(model: GPT, task: Regression, config: TrainConfig) -> dict[str, Any]:
    """Returns the mean squared error of y, where the guess 0 has error 1.

    "errors" holds it after 0, 1, 2, … examples, "overall" their mean.
    """
    device = next(model.parameters()).device
    prompts = task.held_out_batches(config.batch, config.context, config.eval_tokens)
    losses = [model(x.to(device), y.to(device), reduction="none").cpu() for x, y in prompts]
    errors = torch.cat(losses).double().mean(0)  # (T/2,)
    return {"overall": errors.mean().item(), "errors": errors.tolist()}
