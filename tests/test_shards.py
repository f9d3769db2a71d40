"""Shards of tokens: read as llm.c writes them, refused when anything is wrong with them."""

import re
import socket
import struct
from unittest.mock import Mock

import huggingface_hub
import numpy as np
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError

from muonlab.data import corpus as corpora
from muonlab.data import shards
from muonlab.data.load import load_corpus


def write_shard(path, tokens, *, magic=20240520, version=1, count=None, tail=b""):
    header = struct.pack("<3i", magic, version, len(tokens) if count is None else count)
    body = struct.pack(f"<{len(tokens)}H", *tokens)
    path.write_bytes(header.ljust(1024, b"\0") + body + tail)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two training shards and a held-out one."""
    place = tmp_path / "shards"
    place.mkdir()
    write_shard(place / "fineweb_train_000002.bin", [50256, 30, 31])
    write_shard(place / "fineweb_train_000001.bin", [50256, 10, 11, 12, 50256, 20, 10])
    write_shard(place / "fineweb_val_000000.bin", [50256, 40, 41, 42, 43])
    return place


# reading one shard


@pytest.mark.parametrize(
    "wrong", [{"magic": 20240521}, {"version": 2}, {"count": 5}, {"count": 0}, {"tail": b"x"}]
)
def test_a_wrong_shard_is_refused(tmp_path, wrong):
    path = write_shard(tmp_path / "a.bin", [1, 2, 3, 4], **wrong)
    with pytest.raises(ValueError, match=r"a\.bin is no whole shard of .* download it again"):
        shards.read_shard(path)


def test_tokens_of_another_tokenizer_are_refused(tmp_path):
    path = write_shard(tmp_path / "a.bin", [1, 50257, 2])
    with pytest.raises(ValueError, match=r"expected tokens below 50,257 in .*, got 50,257"):
        shards.read_shard(path)


# a folder of shards


def test_a_folder_of_shards_becomes_a_corpus(folder):
    found = load_corpus(folder)
    assert found.name == "shards"
    assert found.train.tolist() == [50256, 10, 11, 12, 50256, 20, 10, 50256, 30, 31]
    assert found.held_out.tolist() == [50256, 40, 41, 42, 43]
    assert (found.vocab_size, found.documents, found.characters) == (50257, 4, None)
    inputs, targets = found.batch(0, batch=3, context=4, seed=0)
    assert inputs.dtype == torch.int64
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    assert found.frequency_class().shape == (50257,)


def test_the_hash_names_the_tokens(folder):
    before = load_corpus(folder).sha256
    assert load_corpus(folder).sha256 == before
    write_shard(folder / "fineweb_val_000000.bin", [50256, 40, 41, 42, 44])
    assert load_corpus(folder).sha256 != before


def test_without_a_tokenizer_the_message_says_what_has_one(folder):
    found = load_corpus(folder)
    with pytest.raises(RuntimeError, match=r"no tokenizer.*load_corpus\(\"docs\"\)"):
        found.decode(found.train[:3])


# downloads: huggingface_hub is replaced, so no test needs a network


@pytest.fixture
def hub(folder, monkeypatch):
    """A stand-in for the site: it has the shards of `folder`, and lists what was asked of it."""
    asked = []

    def fetch(repository, name, *, repo_type, revision):
        assert (repository, repo_type) == ("kjj0/fineweb10B-gpt2", "dataset")
        assert re.fullmatch("[0-9a-f]{40}", revision)  # a commit: a branch may move
        asked.append(name)
        return str(folder / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    return asked


@pytest.mark.parametrize(("name", "training", "tokens"), [("fineweb", 1, 7), ("fineweb-2", 2, 10)])
def test_fineweb_is_the_first_training_shards_and_the_held_out_one(hub, name, training, tokens):
    corpus = load_corpus(name)
    assert corpus.name == name
    names = [f"fineweb_train_{number + 1:06}.bin" for number in range(training)]
    assert sorted(hub) == [*names, "fineweb_val_000000.bin"]
    assert (len(corpus.train), len(corpus.held_out)) == (tokens, 5)


def test_a_shard_on_the_machine_needs_no_network(folder, monkeypatch):
    place = folder.parent / "datasets--kjj0--fineweb10B-gpt2" / "snapshots"
    place.mkdir(parents=True)
    folder.rename(place / shards.REVISION)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder.parent))
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("the network was asked"))
    assert len(load_corpus("fineweb").held_out) == 5


@pytest.mark.parametrize(
    "error",
    [LocalEntryNotFoundError("no connection"), TimeoutError("slow"), OSError("No space left")],
    ids=["offline", "slow", "full"],
)
def test_without_a_network_the_message_names_what_needs_none(monkeypatch, error):
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", Mock(side_effect=error))
    message = rf"fineweb_val_000000\.bin .*{error}.*load_corpus\(\"docs\"\)"
    with pytest.raises(OSError, match=message):
        load_corpus("fineweb")


def test_a_corpus_travels_as_shards(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(corpora, "USUAL_WORDS", 300)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("\n\n".join(f"the fact number {i} is a fact" for i in range(400)))
    corpus = load_corpus(texts)
    (tmp_path / "file").touch()
    for place, word in ((tmp_path / "file", "can be written"), ("~/shards", "what ~ is")):
        with pytest.raises((OSError, ValueError), match=word):
            corpus.save(place)
    corpus.save(tmp_path / "shards")
    monkeypatch.chdir(tmp_path / "shards")
    found = load_corpus(".")
    assert found.name == "shards"
    assert torch.equal(found.train, corpus.train)
    assert torch.equal(found.held_out, corpus.held_out)
    assert found.vocab_size == corpus.vocab_size
    assert found.documents == corpus.documents > 1


def test_shards_of_two_vocabularies_are_not_mixed(tmp_path):
    for number, size in enumerate((300, 400)):
        shards.write_shard(np.arange(100), size, tmp_path / f"x_train_{number}.bin")
    with pytest.raises(ValueError, match=r"one vocabulary, got \[300, 400\]"):
        shards.vocabulary(sorted(tmp_path.iterdir()))
