"""Table 1: the paper's rows and ours, and the tiers of machines that run them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from muonlab.data import shards
from muonlab.models import gpt
from muonlab.studies import table1
from muonlab.studies.after_race import TABLE
from muonlab.studies.grids import PRESETS
from muonlab.studies.races import RACE
from muonlab.studies.table1 import ALL_GROUPS, OWN_ROWS, PAPER_ROWS, TIERS, rows
from muonlab.sweeps.study import HERE
from muonlab.training.run import train


def test_the_papers_table_has_all_its_rows_and_ours_fit_the_kind_of_feed_forward_layer():
    plain, gated = (
        [losses[kind] for losses in PAPER_ROWS.values() if losses[kind] is not None]
        for kind in (False, True)
    )
    assert (len(plain), len(gated)) == (13, 15)
    assert min(plain) == PAPER_ROWS[ALL_GROUPS][0]
    assert max(gated) == PAPER_ROWS[()][1]
    assert all("W_gate" not in groups for groups in rows(False))
    assert ("W_gate",) in rows(True)
    assert {*OWN_ROWS} <= {*rows(True)} & {*rows(False)}


@pytest.mark.parametrize("tier", TIERS)
def test_the_first_grid_of_a_tier_is_the_papers_protocol_and_needs_no_record(tier):
    configs = PRESETS[f"{tier}-tuning-adamw"]()
    assert {(c.muon, c.adamw_matrix_lr) for c in configs} == {((), None)}  # one rate
    assert not any(c.nesterov or c.weight_decay for c in configs)


def test_the_runs_that_a_tier_costs_are_those_that_it_will_do_but_for_the_rates():
    tuning, table = table1.tier_runs(TIERS["cpu"])
    rates = {"lr": 0, "adamw_lr": 0}
    ran = [PRESETS[name]() for name in ("cpu-tuning-adamw", "cpu-tuning-muon", "cpu")]
    same = lambda grid: sorted(map(repr, (replace(c, **rates) for c in grid)))  # noqa: E731
    assert same(tuning) == same(ran[0] + ran[1])
    assert same(table) == same(ran[2])


@pytest.mark.parametrize("tier", ["gpu", "paper"])
def test_the_larger_tiers_run_on_a_cpu_when_they_are_made_small(tier, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shape = gpt.GPTConfig(vocab_size=64, context=16, layers=1, width=16, heads=2)
    monkeypatch.setitem(gpt.SIZES, TIERS[tier].base.size, shape)
    numbers = np.arange(2000) % 60
    for part in ("train", "val"):
        shards.write_shard(numbers, 60, tmp_path / f"some_{part}_000001.bin")
    small = {"steps": 4, "batch": 2, "context": 16, "eval_every": 2, "eval_tokens": 32}
    base = replace(TIERS[tier].base, corpus=str(tmp_path), device="cpu", **small)
    base = replace(base, precision="bf16", spectra_every=2)
    for muon in (("VO", "FFN"), ()):
        record = train(replace(base, muon=muon), progress=False)
        assert len(record.train_loss) == 4
        assert [row["step"] for row in record.held_out] == [2, 4]
        assert [row["step"] for row in record.spectra] == [0, 2, 4]
        assert record.provenance["precision"] == "bf16"


def test_each_row_is_tuned_as_often_with_what_suits_adamw_and_with_what_suits_muon():
    trials = TABLE.tunings[0].grid(HERE)
    shared = {(c.adamw_lr, c.betas) for c in RACE[1200].best(HERE)[:2]}
    assert len(shared) == 2
    count = Counter((c.gated, c.muon, (c.adamw_lr, c.betas)) for c in trials)
    assert {key[2] for key in count} == shared
    assert set(count.values()) == {4}
    assert len(count) == 2 * 14
    left = {(c.adamw_matrix_lr, c.adamw_matrix_beta1) for c in trials if len(c.muon) == 1}
    assert len(left) == 1, "what Muon leaves has one setting, AdamW's best"


def test_the_other_ends_are_those_that_a_row_did_not_choose():
    shared = {(c.adamw_lr, c.betas) for c in RACE[1200].best(HERE)[:2]}
    chosen = {c.muon: c for c in PRESETS["table-1200"]() if not c.gated}
    others = PRESETS["table-1200-ends"]()
    assert Counter(c.muon for c in others) == {(): 5, ("O", "FFN"): 5, ALL_GROUPS: 5}
    for config in others:
        pair = config, chosen[config.muon]
        assert {(c.adamw_lr, c.betas) for c in pair} == shared


def test_every_row_has_its_place_in_the_order():
    rows = (*table1.PAPER_ROWS, *table1.OWN_ROWS)
    assert sorted(table1.ROW_NAMES) == sorted(map(table1.row_name, rows))
