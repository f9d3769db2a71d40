"""Checkpoints: whole after any kill, refused when damaged, and never a way to run code."""

import hashlib
import io
import json
import multiprocessing
import os
import pickle
import pkgutil
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from muonlab import files
from muonlab.training import checkpoints
from muonlab.training.run import Run, load_model, train
from tests.test_train import CONFIG, Cycle, make_small, small_model

small_model = small_model  # the fixture of test_train


def numbers(value):
    """Returns tensors of several kinds, all filled with the value."""
    kinds = {"matrix": (20, 3), "vector": (5,), "scalar": (), "none": (0, 3)}
    found = {name: torch.full(shape, float(value)) for name, shape in kinds.items()}
    return found | {"whole": torch.tensor(value), "coarse": torch.ones(2).bfloat16() * value}


def loaded(folder):
    """Returns the one value that the tensors of a checkpoint have."""
    found = numbers(0)
    checkpoints.load(found, folder)
    values = {value for t in found.values() for value in t.flatten().tolist()}
    assert len(values) == 1
    return values.pop()


@pytest.fixture
def saved(tmp_path):
    """A folder with a checkpoint."""
    checkpoints.save(numbers(1), {"step": 1}, tmp_path / "run")
    return tmp_path / "run"


def is_alone(folder):
    """Returns whether the folder holds one index, one folder of data, and nothing else."""
    data = checkpoints.read_index(folder)["data"]
    return {file.name for file in folder.iterdir()} == {checkpoints.INDEX, data}


def data_files(folder):
    return sorted((folder / checkpoints.read_index(folder)["data"]).iterdir())


def test_what_is_saved_comes_back_to_the_bit(tmp_path):
    folder, saved = tmp_path / "new" / "run", numbers(7) | {"random": torch.randn(30, 7)}
    rest = {"losses": [0.1, 1e-300, 1 / 3], "nothing": None, "name": "ä"}
    checkpoints.save(saved, rest, folder)
    filled = {name: torch.zeros_like(t) for name, t in saved.items()}
    checkpoints.load(filled, folder)
    assert all(torch.equal(filled[name], t) for name, t in saved.items())
    assert rest.items() <= checkpoints.read_index(folder).items()
    assert is_alone(folder)


# --- kills, and what they leave ------------------------------------------------------------------

STAGES = [
    ("torch.distributed.checkpoint:HuggingFaceStorageWriter", "write_data"),
    ("os", "fsync"),
    ("muonlab.training.checkpoints", "checksum"),
    ("os", "replace"),
    ("muonlab.training.checkpoints", "_tidy"),
    ("shutil", "rmtree"),
]


def save_and_die(folder, place, name):
    kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    setattr(pkgutil.resolve_name(place), name, kill)
    checkpoints.save(numbers(2), {"step": 2}, folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("place", "name"), STAGES)
def test_a_kill_leaves_the_old_checkpoint_or_the_new_one(saved, place, name):
    clean = multiprocessing.get_context("forkserver")  # a copy of ours might wait for our threads
    clean.set_forkserver_preload(["torch.distributed.checkpoint", "tests.test_checkpoints"])
    process = clean.Process(target=save_and_die, args=(saved, place, name))
    process.start()
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    step = checkpoints.read_index(saved)["step"]
    assert step == (2 if name in ("_tidy", "rmtree") else 1)
    assert loaded(saved) == step
    assert not is_alone(saved) or name == "write_data"
    for part in saved.glob(f"*{files.ENDING}"):
        os.utime(part, (0, 0))  # ten minutes later
    checkpoints.save(numbers(3), {"step": 3}, saved)
    assert loaded(saved) == 3
    assert is_alone(saved)  # what the killed one left is gone


@pytest.mark.parametrize(("place", "name"), STAGES[:4])
def test_a_save_that_fails_leaves_the_old_checkpoint_alone(saved, monkeypatch, place, name):
    fail = Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr(pkgutil.resolve_name(place), name, fail)
        with pytest.raises(OSError, match="No space left on device"):
            checkpoints.save(numbers(2), {"step": 2}, saved)
    assert checkpoints.read_index(saved)["step"] == loaded(saved) == 1
    assert is_alone(saved)


def test_only_what_checkpoints_made_is_removed(saved):
    for name in ("data-mine", "notes", "data-0123abcd"):
        (saved / name).mkdir()
    checkpoints.save(numbers(2), {"step": 2}, saved)
    ours = {checkpoints.INDEX, checkpoints.read_index(saved)["data"]}
    assert {file.name for file in saved.iterdir()} == {"data-mine", "notes"} | ours


# --- damage --------------------------------------------------------------------------------------


DEEP = b"[" * 100_000


def test_a_change_of_any_kind_is_refused_and_nothing_is_loaded(saved):
    for file in (saved / checkpoints.INDEX, *data_files(saved)):
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        for damaged in (content[: len(content) // 2], content[:-1], b"", b"[]", DEEP, flipped):
            file.write_bytes(damaged)
            found = numbers(0)
            with pytest.raises(ValueError, match=r"run.* (is no whole|cannot be).*: delete it to"):
                checkpoints.load(found, saved)
            assert all(torch.equal(found[name], t) for name, t in numbers(0).items())
            assert file.read_bytes() == damaged  # kept, somebody may mend it
        file.write_bytes(content)
    assert loaded(saved) == 1


def test_missing_and_foreign_files_are_named(saved):
    [file] = data_files(saved)
    moved = file.rename(file.with_name("other.safetensors"))
    with pytest.raises(ValueError, match=r"other\.safetensors is changed or missing"):
        loaded(saved)
    moved.unlink()
    with pytest.raises(ValueError, match=rf"{file.name} is changed or missing"):
        loaded(saved)


def test_tensors_of_another_model_are_refused_by_name_and_nothing_is_loaded(saved):
    for other, what in (({"matrix": (21, 3)}, "for matrix"), ({"rows": (2,)}, "state_dict: rows")):
        found = numbers(0) | {name: torch.zeros(shape) for name, shape in other.items()}
        with pytest.raises(ValueError, match=what):
            checkpoints.load(found, saved)
        assert not any(t.any() for t in found.values())


# --- strangers -----------------------------------------------------------------------------------


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("code-ran",)


def bombs():
    torch.save(Bomb(), archive := io.BytesIO())
    return pickle.dumps(Bomb()), archive.getvalue()


def forge(folder, file, content):
    """Puts the content in a file of a checkpoint, and makes all checksums fit."""
    file.write_bytes(content)
    rewrite(folder, lambda index: index["checksums"].update({file.name: sha256(content)}))


def rewrite(folder, change):
    index = json.loads((folder / checkpoints.INDEX).read_text())
    index.pop("checksum", None)
    change(index)
    index["checksum"] = sha256(json.dumps(index).encode())
    (folder / checkpoints.INDEX).write_text(json.dumps(index))


def sha256(content):
    return hashlib.sha256(content).hexdigest()


DOORS = {
    "load_model": load_model,
    "resume": lambda folder: Run(CONFIG, Cycle()).resume(folder),
    "train": lambda folder: train(CONFIG, Cycle(), checkpoint=folder, progress=False),
    "train --shard": lambda f: train(CONFIG, Cycle(), checkpoint=f, shard=True, progress=False),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A checkpoint that training left; nobody changes it."""
    folder = tmp_path_factory.mktemp("trained") / "good"
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        train(CONFIG, Cycle(), checkpoint=folder, shard=True, progress=False)
    return folder


@pytest.fixture
def good(trained, tmp_path):
    """A copy of a checkpoint that training left."""
    return Path(shutil.copytree(trained, tmp_path / "good"))


def test_an_earlier_spelling_of_the_text_is_no_other_run(good):
    rewrite(good, lambda index: index["config"].update(corpus="docs-04096"))
    DOORS["resume"](good)


@pytest.mark.parametrize("door", DOORS)
def test_a_pickle_in_any_file_runs_no_code(good, tmp_path, monkeypatch, door):
    monkeypatch.chdir(tmp_path)
    forged = tmp_path / "forged"
    files = [file.relative_to(good) for file in good.rglob("*") if file.is_file()]
    assert len(files) == 2
    [data] = {file.parent for file in files if file.name != checkpoints.INDEX}
    others = [data / name for name in (".metadata", "__0_0.distcp", "model.safetensors.index.json")]
    for file in (*files, *others):
        for bomb in bombs():
            shutil.copytree(good, forged)
            if file.name == checkpoints.INDEX:
                (forged / file).write_bytes(bomb)
            else:
                forge(forged, forged / file, bomb)
            if file in files:
                with pytest.raises(ValueError, match=r"forged.* (is no whole|cannot be)"):
                    DOORS[door](forged)
            else:  # nobody reads these
                DOORS[door](forged)
            assert not (tmp_path / "code-ran").exists()
            shutil.rmtree(forged)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("data", ["../elsewhere", "data-../..", "", None, ["data-0123abcd"]])
def test_data_outside_of_the_folder_are_refused(good, tmp_path, door, data):
    shutil.copytree(good / checkpoints.read_index(good)["data"], tmp_path / "elsewhere")
    rewrite(good, lambda index: index.update(data=data))
    with pytest.raises(ValueError, match=r"good is no whole checkpoint"):
        DOORS[door](good)


@pytest.mark.parametrize("sums", [{}, [], None, {"a": 1}])
def test_checksums_that_leave_out_a_file_are_refused(good, sums):
    rewrite(good, lambda index: index.update(checksums=sums))
    with pytest.raises(ValueError, match="cannot be read"):
        load_model(good)


def test_a_checkpoint_from_before_an_option_goes_on_with_its_default(good):
    rewrite(good, lambda index: index["config"].pop("pieces"))
    assert train(CONFIG, Cycle(fail_at=0), checkpoint=good, progress=False).train_loss
    with pytest.raises(ValueError, match="pieces is 1 there and 2 here"):
        train(replace(CONFIG, pieces=2), Cycle(), checkpoint=good, progress=False)


# --- doors ---------------------------------------------------------------------------------------


def test_a_place_that_cannot_hold_a_checkpoint_is_named_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("mine")
    places = [tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("abc" * 100)]
    for place in places:
        with pytest.raises(OSError, match=r"name another: .*(file|run|abc)/checkpoint\.json"):
            train(CONFIG, Cycle(fail_at=0), checkpoint=place, progress=False)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_where_nobody_may_write_is_named(tmp_path, monkeypatch):
    refuse = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # root may write anywhere
    with pytest.raises(OSError, match=r"Permission denied; name another: .*run/checkpoint\.json"):
        train(CONFIG, Cycle(fail_at=0), checkpoint=tmp_path / "run", progress=False)
