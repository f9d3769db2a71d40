"""Text as tokens: found exactly, the same bytes everywhere, and never half-written."""

import ast
import errno
import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import corpus_card
from muonlab import files
from muonlab.data import corpus, documents, tokenization
from muonlab.data.corpus import Corpus
from muonlab.data.load import load_corpus, shape_for
from muonlab.models.gpt import SIZES


@pytest.fixture(scope="module")
def docs():
    return load_corpus("docs")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder, which load_corpus uses in this test."""
    monkeypatch.setenv("MUONLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(corpus, "USUAL_WORDS", 300)  # enough for texts as small as these
    return tmp_path / "cache"


@pytest.fixture
def texts(tmp_path):
    """A folder of 40 short texts."""
    folder = tmp_path / "letters"
    (folder / "deep").mkdir(parents=True)
    for i in range(40):
        name = f"deep/{i}.txt" if i % 2 else f"{i}.txt"
        (folder / name).write_text(f"Letter {i}. " + "It rains in the hills. " * (i + 1))
    return folder


def made_of(train, held_out=(), vocab_size=10):
    """A corpus of these tokens."""
    train, held_out = (torch.tensor(x, dtype=torch.int32) for x in (train, held_out))
    return Corpus("made", train, held_out, vocab_size, "c0ffee", 1, None, None)


# docs: the same text, found exactly


FEW = ("einops", "jinja2")  # packages, which are read in a second
BUILD = f"""
import sys
from muonlab.data import corpus, documents, load
needed = set(sys.modules)  # by the package itself
folders = [*documents.source_folders()]
documents.source_folders = lambda: [pair for pair in folders if pair[0] in {FEW}]
corpus.USUAL_WORDS = 300
print(load.load_corpus("docs").sha256, *set(sys.modules) - needed)
"""


def test_two_processes_build_the_same_bytes_and_import_no_package_that_they_read(
    own_cache, tmp_path, monkeypatch
):
    other = {"MUONLAB_CACHE": str(tmp_path / "other"), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", BUILD]
    answer = subprocess.run(command, env=os.environ | other, capture_output=True, check=True)
    assert not answer.stderr
    folders = [*documents.source_folders()]
    few = [(name, folder) for name, folder in folders if name in FEW]
    monkeypatch.setattr(documents, "source_folders", lambda: few)
    digest, *imported = answer.stdout.decode().split()
    assert load_corpus("docs").sha256 == digest
    [built], [again] = ([*folder.iterdir()] for folder in (own_cache, tmp_path / "other"))
    assert built.name == again.name
    assert built.read_bytes() == again.read_bytes()
    read = {folder.name for name, folder in folders if name != "python"}
    assert {"torch", "PIL", "mpl_toolkits", "jinja2"} <= read
    assert not read & {name.partition(".")[0] for name in imported}


def test_docs_is_real_and_large_enough_to_train_on(docs):
    assert docs.documents > 15_000
    assert docs.characters > 10_000_000
    assert len(docs.train) > 3_000_000
    assert docs.vocab_size == 4096
    assert docs.shape(SIZES["tiny"]) == shape_for("docs", SIZES["tiny"])
    assert 0.08 < len(docs.held_out) / len(docs.train) < 0.14
    text = docs.decode(docs.train)
    for phrase in ('The "with" statement', "Parameters\n----------", "torch.nn.Linear"):
        assert phrase in text


def test_no_document_is_in_both_halves_or_twice(docs):
    train, held_out = map(documents_of, (docs.train, docs.held_out))
    assert len(train) + len(held_out) == docs.documents
    assert not {x for x in held_out if len(x) > 30} & set(train)
    assert Counter(x for x in train if len(x) > 30).most_common(1)[0][1] == 1


def documents_of(tokens):
    """The tokens of each document; the token that ends one, 0, stands nowhere else."""
    tokens = tokens.numpy()
    return [tuple(x) for x in np.split(tokens, np.flatnonzero(tokens == 0) + 1)[:-1]]


def test_another_version_or_vocabulary_is_another_file(own_cache, monkeypatch):
    monkeypatch.setattr(documents, "documentation", lambda: [f"{i} " * 60 for i in range(30)])
    load_corpus("docs")
    monkeypatch.setattr(corpus, "USUAL_WORDS", 280)
    load_corpus("docs")
    monkeypatch.setattr(documents, "installed", lambda: [("python", "3.99")])
    load_corpus("docs")
    assert len([*own_cache.iterdir()]) == 3


def test_docstrings_agree_with_ast():
    """On one file in eighty: not one docstring missing, hardly anything else taken for one."""
    expected, extra = 0, []
    paths = [p for _, folder in documents.source_folders() for p in documents.python_files(folder)]
    for path in paths[5::80]:
        if path.stem.endswith(("_docs", "newdocs")):
            continue
        want, got = Counter(ast_docstrings(path)), Counter(documents.docstrings(path))
        assert not want - got, path
        expected += want.total()
        extra += (got - want).elements()
    assert expected > 100
    assert len(extra) <= 0.01 * expected, extra  # they come in clusters, such as tables of texts


def ast_docstrings(path):
    """Docstrings in triple quotes, long enough; one in 3,000 that long stands in plain quotes."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node, clean=False)):
            first = lines[node.body[0].lineno - 1][node.body[0].col_offset :]
            text = documents._clean(text)
            if len(text) >= documents.SHORTEST and first.lstrip("rRuU")[:3] in ('"""', "'''"):
                yield text


def test_docstrings_of_a_difficult_file(tmp_path):
    long = "x" * documents.SHORTEST
    path = tmp_path / "hard.py"
    path.write_text(
        f'''# a comment first

"""Module {long}"""
value = """Not a docstring {long}"""

def one(a: int,
        b: str = "):") -> dict:  # a comment behind

    # a comment between
    \'\'\'One {long}\\n\\tescaped "quotes" and """three""".\'\'\'
    return f"""Not one either {long}"""

class Two:
    r"""Two {long} raw \\n \\alpha."""

    async def three(self):
        """Three {long}. def inside():
            \'\'\'not this one {long}\'\'\'
        """

def short():
    """Too short."""
''',
        encoding="utf-8",
    )
    assert documents.docstrings(path) == [
        f"Module {long}",
        f'One {long}\nescaped "quotes" and """three""".',
        f"Two {long} raw \\n \\alpha.",
        f"Three {long}. def inside():\n'''not this one {long}'''",
    ]
    path = tmp_path / "_torch_docs.py"  # of documentation: every long string is some
    path.write_text(f'add_docstr(torch.abs,\n    r"""\nabs {long}\n""".format(**args))\n')
    assert documents.docstrings(path) == [f"abs {long}"]


def test_code_keeps_what_is_not_in_triple_quotes(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""All of it."""\nx = "kept"\n\ndef f():\n    r\'\'\'Does.\n    \'\'\'\n    return x\n'
    )
    assert documents.bare_code(path) == '\nx = "kept"\n\ndef f():\n    \n    return x\n'


def test_a_source_file_in_another_encoding_gives_nothing(tmp_path):
    path = tmp_path / "latin.py"
    path.write_bytes(f'"""Größe {"x" * 100}"""'.encode("latin-1"))
    assert documents.docstrings(path) == []
    assert documents.bare_code(path) == ""


def test_code_has_the_tokens_of_docs_and_none_of_its_text(own_cache, tmp_path, monkeypatch):
    folder = tmp_path / "lib"
    (folder / "tests").mkdir(parents=True)
    for i in range(30):
        source = f'"""Documentation {i}."""\n' + f"value_{i} = {i} * 2\n" * (i + 5)
        (folder / f"m{i:02}.py").write_text(source)
        (folder / "tests" / f"t{i:02}.py").write_text(source.replace("value", "tested"))
    docs = load_corpus(folder_of(tmp_path / "docs", ["value documentation\n" * 9] * 2))
    monkeypatch.setattr(corpus, "load_docs", lambda name: docs)
    monkeypatch.setattr(documents, "source_folders", lambda: iter([("python", folder)]))
    code = load_corpus("code")
    assert code.documents == 30
    assert code.tokenizer.to_str() == docs.tokenizer.to_str()
    text = code.decode(torch.cat((code.train, code.held_out)))
    assert "value_7 = 7 * 2" in text
    assert "Documentation" not in text
    assert "tested" not in text


def folder_of(folder, texts):
    folder.mkdir()
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_text(f"{i} {text}")
    return folder


# splitting


def test_split_follows_the_text_alone():
    texts = [f"document {i}" for i in range(2000)]
    train, held_out = corpus.split(texts)
    assert corpus.split(texts[::-1] + texts[:50]) == (train, held_out)
    assert sorted(train + held_out) == sorted(texts)
    assert 0.08 < len(held_out) / len(texts) < 0.12
    fewer = corpus.split(texts[:1000])
    assert set(fewer[0]) <= set(train)
    assert set(fewer[1]) <= set(held_out)


def test_a_small_text_still_has_both_halves():
    for start, count in product(range(40), (2, 3, 5)):
        assert all(corpus.split(f"document {start + i}" for i in range(count)))
    with pytest.raises(ValueError, match=r"expected 2 different documents.* got 1"):
        corpus.split(["same", "same"])


# tokenizing


@pytest.fixture(scope="module")
def tokenizer():
    return tokenization.train_tokenizer(["def f(x):\n    return x + 1\n" * 20, "Ünï 42 ☃"], 300)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60))
def test_encoding_by_pieces_equals_encoding_whole(tokenizer, text):
    for whole in (text, f" {text}\n\n  {text}\t{tokenization.EOT}x  "):
        tokens = tokenization.encode(tokenizer, [whole]).tolist()
        assert tokens == [*tokenizer.encode(whole).ids, 0]
        assert tokenizer.decode(tokens[:-1], skip_special_tokens=False) == whole


def test_docs_tokens_are_those_of_the_library_and_an_end_of_text_in_it_is_text(docs):
    text = docs.decode(docs.held_out[:50_000]).split(tokenization.EOT)[:-1]
    tokens = [i for document in text for i in [*docs.tokenizer.encode(document).ids, 0]]
    assert tokens == docs.held_out[: len(tokens)].tolist()
    assert 0 not in docs.tokenizer.encode(f"it ends with {tokenization.EOT}").ids


# batches


def test_a_batch_is_a_function_of_seed_and_step():
    made = made_of(range(5000), vocab_size=5000)
    inputs, targets = made.batch(3, 8, 16, seed=1)
    assert inputs.shape == targets.shape == (8, 16)
    assert inputs.dtype == targets.dtype == torch.int64
    assert torch.equal(targets, inputs + 1)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert torch.equal(made.batch(3, 8, 16, seed=1)[0], inputs)
    drawn = [made.batch(step, 8, 16, seed)[0] for step, seed in product(range(6), repeat=2)]
    assert len({tuple(inputs[:, 0].tolist()) for inputs in drawn}) == 36
    assert torch.equal(torch.get_rng_state(), before)  # no chance of anybody else's is taken


def test_batches_reach_the_first_and_the_last_token():
    made = made_of(range(7))
    inputs, targets = made.batch(0, 200, 4, seed=0)
    assert inputs.min() == 0
    assert targets.max() == 6
    assert made.batch(0, 5, 6, seed=0)[1][:, -1].tolist() == [6] * 5


def test_a_context_longer_than_the_text_is_refused():
    made = made_of(range(7), range(5))
    with pytest.raises(ValueError, match=r"context in the training text .*1, 6\], got 7"):
        made.batch(0, 1, 7, seed=0)
    with pytest.raises(ValueError, match=r"context in the held-out text .*1, 4\], got 5"):
        list(made.held_out_batches(1, 5, 100))


def test_held_out_batches_predict_each_token_once_up_to_as_many_as_asked_for():
    for size in (50, 56):  # a window without its last target is left out
        made = made_of(range(9), range(size))
        batches = list(made.held_out_batches(batch=3, context=7, tokens=10_000))
        assert [inputs.shape for inputs, _ in batches] == [(3, 7), (3, 7), (1, 7)]
        assert torch.cat([inputs.flatten() for inputs, _ in batches]).tolist() == [*range(49)]
        assert all(torch.equal(targets, inputs + 1) for inputs, targets in batches)
        assert sum(targets.numel() for _, targets in made.held_out_batches(3, 7, 28)) == 28


def test_frequency_classes_by_hand():
    # 40 % + 20 % reach half; 20 % + 10 % reach nine tenths; the rest, and what never occurs
    made = made_of([3] * 40 + [1] * 20 + [4] * 20 + [0] * 10 + [2] * 6 + [5] * 4, vocab_size=7)
    assert made.frequency_class().tolist() == [1, 0, 2, 0, 1, 2, 2]


# a folder of text files


def test_a_folder_becomes_a_corpus_without_what_is_hidden_or_no_text(own_cache, texts):
    written = {path.read_text().strip() for path in texts.rglob("*.txt")}
    (texts / ".git").mkdir()
    (texts / ".git" / "note.txt").write_text("hidden")
    (texts / "picture.png").write_bytes(b"\x89PNG")
    os.mkfifo(texts / "pipe.txt")
    letters = load_corpus(str(texts))
    assert letters.name == "letters"
    assert letters.documents == 40
    both = letters.decode(letters.train) + letters.decode(letters.held_out)
    assert set(both.split(tokenization.EOT)[:-1]) == written
    assert letters.characters == sum(map(len, written))
    assert letters.vocab_size <= 300


def test_a_folder_is_read_again_when_its_text_changes_but_not_for_its_line_ends(own_cache, texts):
    before = load_corpus(texts)
    changed = texts / "0.txt"
    stamp, text = changed.stat(), changed.read_text()
    changed.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")  # and a byte order mark
    assert load_corpus(texts).sha256 == before.sha256
    changed.write_text(text.replace("rains", "snows"))
    os.utime(changed, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert load_corpus(texts).sha256 != before.sha256


def test_one_long_file_is_cut_at_blank_lines(own_cache, tmp_path):
    (tmp_path / "novel").mkdir()
    paragraphs = [f"Paragraph {i}. " + "It goes on. " * 30 for i in range(60)]
    (tmp_path / "novel" / "novel.md").write_text("\n\n".join(paragraphs))
    assert load_corpus(tmp_path / "novel").documents == 6


def test_an_unreadable_folder_is_named(own_cache, texts, monkeypatch):
    refused = PermissionError(errno.EACCES, "Permission denied", str(texts))
    monkeypatch.setattr(os, "scandir", Mock(side_effect=refused))
    with pytest.raises(PermissionError, match=r"Permission denied.*letters"):
        documents.passages(texts)


# the cache: whole, or not there


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c[:-5] + bytes([c[-5] ^ 1]) + c[-4:],
        lambda c: c.replace(b'"documents": 40', b'"documents": 41'),
        lambda c: c[:-100],
        lambda c: b"",
        lambda c: b"PK" + c,
    ],
    ids=["bit", "header", "cut", "empty", "other"],
)
def test_a_broken_cache_is_named_and_built_again(own_cache, texts, damage):
    before = load_corpus(texts)
    (path,) = own_cache.iterdir()
    good = path.read_bytes()
    path.write_bytes(damage(good))
    with pytest.warns(UserWarning, match=rf"{path.name} should .* built again") as caught:
        after = load_corpus(texts)
    assert caught[0].filename == __file__
    assert after.sha256 == before.sha256
    assert path.read_bytes() == good


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("owner", "call", "outcome", "words"),
    [
        (os, "fsync", [FULL], "No space left.*make room"),
        (os, "replace", [FULL], "No space left.*make room"),
        (os, "fsync", [KeyboardInterrupt], None),
        (Path, "read_bytes", [b"rot"], "reads back otherwise"),
    ],
)
def test_a_write_that_fails_leaves_nothing(own_cache, monkeypatch, owner, call, outcome, words):
    monkeypatch.setattr(owner, call, Mock(side_effect=outcome))
    with pytest.raises((OSError, KeyboardInterrupt), match=words):
        files.load_or_build("some.corpus", lambda: b"new")
    assert not [*own_cache.iterdir()]


def test_a_cache_file_that_cannot_be_read_is_named(own_cache, monkeypatch):
    files.load_or_build("some.corpus", lambda: b"good")
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=refused))
    with pytest.raises(PermissionError, match="Permission denied"):
        files.load_or_build("some.corpus", lambda: pytest.fail("built over it"))


def test_two_that_build_at_once_do_not_disturb_each_other_and_a_third_reads(own_cache):
    both_building = threading.Barrier(2, timeout=300)
    content = bytes(range(256)) * 400  # with line ends in it

    def build():
        both_building.wait()
        return content

    with ThreadPoolExecutor(2) as threads:
        loads = [threads.submit(files.load_or_build, "some.corpus", build) for _ in range(2)]
    third = files.load_or_build("some.corpus", lambda: pytest.fail("built again"))
    assert third == (content, sha256(content).hexdigest())
    assert [load.result() for load in loads] == [third] * 2
    assert [path.name for path in own_cache.iterdir()] == ["some.corpus"]


# the card


def test_the_card_tells_the_counts_that_are_measured(docs):
    card = (Path(__file__).parents[1] / "data" / "corpus-card.md").read_text("utf-8")
    if docs.sha256 not in card:
        pytest.skip("the card was measured with other versions of the packages")
    for line in corpus_card.counts_of(docs).splitlines()[:8]:
        assert line in card
