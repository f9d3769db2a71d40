"""Writes a lesson that is green and says nothing yet: `python book/_ext/stub.py 17-weight-decay`.

Its files are those that a lesson needs; nothing that exists is overwritten.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TEXT = '''\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Does a lesson begin with its question?

Yes. The first paragraph is its answer, in at most sixty words and with at most one number.

```{code-cell} ipython3
# figure: the answer, seen
import torch

from muonlab import newton_schulz
from muonlab.classroom import spectra, start

lesson = start("NN")
torch.manual_seed(0)
G = torch.randn(48, 32)
values = {"before": G / G.norm(), "after": newton_schulz(G)}
values = {name: torch.linalg.svdvals(M.float()) for name, M in values.items()}
lesson.show(spectra(values), alt="After five steps the singular values lie near 1.")
```

> **You will be able to**
> 1. say what this lesson answers.
>
> Read 5 min · do 5 min · needs lesson 02 · no GPU, no network

## The way to it

One new idea: its knob, a question, then something to build with it.

```{code-cell} ipython3
:tags: [explorer]

# explorer: the polynomial
lesson.explore("polynomial", steps=1, axis="logarithmic")
```

```{code-cell} ipython3
:tags: [prediction]

# prediction NN-p1
lesson.predict("NN-p1", "Where do the singular values end?", ["near 0", "near 1"])
```

```{code-cell} ipython3
# the values after five steps
lesson.reveal("NN-p1", 1, because="Each step brings them nearer.")
```

**Exercise NN-e1** · 5 minutes · easy

```{code-cell} ipython3
:tags: [exercise]

def shares(values: torch.Tensor) -> torch.Tensor:
    """Each value's share of their sum. values: (n,), above 0. Returns (n,)."""
    ...  # your code


lesson.check("NN-e1", shares)
```

<details><summary>Hint 1</summary>

Divide by the sum.

</details>

<details><summary>Solution NN-e1</summary>

```python
def shares(values: torch.Tensor) -> torch.Tensor:
    """Each value's share of their sum. values: (n,), above 0. Returns (n,)."""
    return values / values.sum()
```

</details>

```{code-cell} ipython3
:tags: [claim, nbval-check-output]

# claim: how near to 1 the values end
lesson.claim("NN-c1", (values["after"] - 1).abs().max())
```

## Limits

- **One matrix.** What it shows of others is not known.

## Quiz

```{code-cell} ipython3
:tags: [quiz]

# the quiz
lesson.quiz()
```

## Recap

The answer again, in three sentences.

```{code-cell} ipython3
# recap: the claims of this lesson
lesson.recap()
```
'''

CLAIMS = """\
[NN-c1]
sentence = "After five steps each singular value of this matrix lies near 1."
unit = "away from 1, at most"
at_most = 0.5
"""

QUESTION = """\
[[question]]
text = "Question %d: what does Newton-Schulz bring near 1?"
right = "The singular values"
because = "So the figure shows."
[[question.wrong]]
option = "The entries"
misconception = "An orthogonal matrix has entries near 1"
because = "Its rows and columns have length 1, and many entries."
section = "The way to it"
[[question.wrong]]
option = "The norm"
misconception = "Orthogonalizing is dividing by the norm"
because = "Dividing by the norm leaves the values as uneven as they were."
section = "The way to it"
"""

CHECKS = '''\
"""Checks of lesson NN: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import array


def e1(answer: Callable) -> None:
    """Each value over their sum."""
    cases = [(torch.tensor([1.0, 3.0]),), (torch.tensor([0.5, 0.25, 4.0]),)]
    compare(answer, cases, _shares, returns=array, within=1e-5, otherwise="Divide by the sum.")


def _shares(values: torch.Tensor) -> tuple[torch.Tensor, Mistakes]:
    return values / values.sum(), [
        (values / values.max(), "That is each value over the largest. Divide by their sum."),
        (values / values.norm(), "That is each value over their length. Divide by their sum."),
        (values.sum() / values, "That is the sum over each value: upside down."),
    ]
'''

MUTANTS = '''\
"""Typical answers to the exercises of lesson NN: wrong ones to reject, right ones to accept."""

import torch

ANSWERS = {
    "NN-e1": {
        "wrong": {
            "of the largest": lambda values: values / values.max(),
            "of the length": lambda values: values / values.norm(),
            "upside down": lambda values: values.sum() / values,
        },
        "generic": {"all equal": lambda values: torch.full_like(values, 1 / len(values))},
        "right": {
            "divided": lambda values: values / values.sum(),
            "python's sum": lambda values: values / sum(values),
        },
    },
}
'''

VARIANTS = """\
# Variants of the exercises of lesson NN; muonlab/teaching/variants.py says how to read them.

["NN-e1"]
draw.whole = [2, 5, 10, 100]
text = '''
Each value's part of their sum, where the whole counts @whole.
'''
code = '''
def parts(values: torch.Tensor) -> torch.Tensor:
    \"""Each value's part of @whole. values: (n,), above 0. Returns (n,), which sums to @whole.\"""
    # solution
    return @whole * values / values.sum()
'''
convert = '''
asks = lambda f: lambda values: f(values) / @whole
gives = lambda g: lambda values: g(values) * @whole
'''
"""


def write(name: str) -> list[Path]:
    """Writes the files of lesson `name`, such as 17-weight-decay; returns their paths.

    Raises:
        ValueError: if the name is no number and words, or a file of this lesson exists.
    """
    if not re.fullmatch(r"\d\d(-[a-z0-9]+)+", name):
        raise ValueError(f"expected a number and words, such as 17-weight-decay; got {name!r}")
    number = name[:2]
    files = {
        f"lessons/text/{name}.md": TEXT,
        f"lessons/claims/{number}.toml": CLAIMS,
        f"lessons/quizzes/{number}.toml": "\n".join(QUESTION % n for n in range(1, 5)),
        f"lessons/checks/lesson_{number}.py": CHECKS,
        f"lessons/variants/{number}.toml": VARIANTS,
        f"tests/mutants/lesson_{number}.py": MUTANTS,
    }
    paths = {ROOT / path: text.replace("NN", number) for path, text in files.items()}
    taken = [path.name for path in paths if path.exists()] + [
        path.name for path in (ROOT / "lessons/text").glob(f"{number}-*.md")
    ]
    if taken:
        raise ValueError(f"lesson {number} exists: {', '.join(sorted(set(taken)))}")
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return [*paths, _listed(name)]


def _listed(name: str) -> Path:
    """Adds the lesson to the book's contents, after the last one."""
    contents = ROOT / "book/_toc.yml"
    text = contents.read_text(encoding="utf-8")
    last = list(re.finditer(r"      - file: lessons/\d\d-.*\n        title: .*\n", text))[-1]
    title = f"{name[:2]} {name[3:].replace('-', ' ').capitalize()}"
    entry = f'      - file: lessons/{name}\n        title: "{title}"\n'
    contents.write_text(text[: last.end()] + entry + text[last.end() :], encoding="utf-8")
    return contents


if __name__ == "__main__":
    try:
        for path in write(*sys.argv[1:2] or [""]):
            print(path.relative_to(ROOT))
    except ValueError as error:
        sys.exit(str(error))
