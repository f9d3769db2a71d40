"""What must not change when the code does: every preset's runs, every record's numbers.

And what holds of every grid that is recorded. One file, since a grid takes a while to find.

`python tests/test_pins.py` pins what is new, and drops what is gone; it changes no pin.
"""

import dataclasses
import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from muonlab.records import record
from muonlab.records.store import RESULTS, path_of
from muonlab.studies.grids import PRESETS, STUDIES
from muonlab.studies.ladder import UNFINISHED
from muonlab.sweeps.results import known
from muonlab.training.config import TrainConfig

FILE = Path(__file__).parent / "pins.json"
PINS = json.loads(FILE.read_text(encoding="utf-8"))
DEFAULTS = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
TUNINGS = {tuning.name: tuning for study in STUDIES.values() for tuning in study.tunings}
CURVES = ("train_loss", "step_seconds", "held_out", "tokens", "failure", "provenance")


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def chosen(config):
    """What differs from the defaults: an option that is new changes nothing here."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in config.items() if not same(k, v)}


def same(name, value):
    default = DEFAULTS[name]
    return (tuple(value) if isinstance(value, list) else value) == default


def numbers(run):
    """All that was measured; step 0 of the spectra is left out, which old records lacked."""
    spectra = [at for at in run.spectra if at["step"] > 0]
    return [chosen(run.config), spectra, *(getattr(run, name) for name in CURVES)]


@cache
def grid(name):
    return PRESETS[name]()


def preset(name):
    try:
        found = [chosen(vars(config)) for config in grid(name)]
    except ValueError:  # its trials are not recorded yet
        return None
    return digest(found)


def finished():
    """The files of records, without those that grow."""
    return sorted(p.name for p in RESULTS.glob("*.jsonl") if p.stem not in UNFINISHED)


def records(runs):
    return digest([numbers(run) for run in runs])


@pytest.mark.parametrize("name", PINS["presets"])
def test_a_preset_names_the_same_runs_in_the_same_order(name):
    assert preset(name) == PINS["presets"][name]


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_the_numbers_of_a_record_stay_and_every_grid_is_whole_and_from_committed_code(file):
    runs_by_config, name = known(file).read(), file.stem
    runs = [*reversed(runs_by_config.values())]
    assert len(runs) == len(file.read_text(encoding="utf-8").splitlines())
    configs = runs_by_config.keys()
    assert configs < {*grid(name)} if name in UNFINISHED else configs == {*grid(name)}
    pinned = PINS["records"].get(file.name)
    assert pinned or name in UNFINISHED, "a new record: `python tests/test_pins.py` pins it"
    assert name in UNFINISHED or records(runs) == pinned
    for run in runs:
        assert not run.failure
        assert not run.provenance["code"].endswith("-dirty")
        assert len(run.train_loss) == run.config["steps"]
    texts = {(run.config["corpus"], run.provenance["corpus_sha256"]) for run in runs}
    assert len(texts) == len({name for name, _ in texts})  # a name means one text


@pytest.mark.parametrize("name", [name for name in TUNINGS if path_of(name).exists()])
def test_each_contestant_has_as_many_trials_at_seeds_that_never_count(name):
    trials, contestant = grid(name), TUNINGS[name].contestant
    assert len({*map(contestant, trials)}) < len({*trials}) == len(trials)
    assert len({*Counter(map(contestant, trials)).values()}) == 1
    assert {trial.seed for trial in trials} == ({101, 102} if name.endswith("-runoff") else {0})


def test_everything_is_pinned():
    assert PINS["presets"].keys() == PRESETS.keys()
    assert PINS["records"].keys() == {*finished()}


if __name__ == "__main__":
    files = finished()
    presets = {name: PINS["presets"].get(name) or preset(name) for name in PRESETS}
    numbers_of = {
        name: PINS["records"].get(name) or records(record.read_records(RESULTS / name))
        for name in files
    }
    text = json.dumps({"presets": presets, "records": numbers_of}, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
