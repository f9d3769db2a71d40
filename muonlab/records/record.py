"""Records of runs: what was run, what came out, on what; kept as JSON lines."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from muonlab import checks
from muonlab.files import lock, prepare_file, replace_file
from muonlab.optim.rules import OWN, RULES, rule_of

KEPT_DIGITS = 5  # significant digits kept of every measured number
ALL = ["QK", "VO", "FFN"]  # the groups that hold every matrix


@dataclass
class Record:
    """What one run was and what came out of it; losses are in nats a token, times in seconds."""

    config: dict[str, Any]  # the fields of TrainConfig that there were then
    train_loss: list[float]  # one a step, on that step's batch, before its update
    step_seconds: list[float]  # one a step: training only, evaluation left out
    held_out: list[dict[str, Any]]  # step, seconds so far, loss: overall, head, middle, tail
    tokens: int  # trained on
    provenance: dict[str, Any] = field(default_factory=dict)
    failure: str = ""  # the reason, when the run diverged or broke off
    spectra: list[dict[str, Any]] = field(default_factory=list)  # by training.run.Run

    @property
    def seconds(self) -> float:
        """Training time, evaluation left out."""
        return sum(self.step_seconds)

    @property
    def started(self) -> str:
        """When the run began, UTC. Of a record that lacks it, the latest that it can have been.

        That is its end less its training; what was evaluated came before the end, too.
        """
        if began := self.provenance.get("started"):
            return began
        end = datetime.fromisoformat(self.provenance.get("utc", "1970-01-01"))
        return (end - timedelta(seconds=self.seconds)).isoformat(timespec="seconds")

    def summary(self) -> str:
        """Returns one line for a terminal."""
        config, steps = self.config, len(self.train_loss)
        rates = [*(["lr"] if config["muon"] else []), "adamw_matrix_lr", "adamw_lr"]
        words = [f"{rate}={config[rate]:g}" for rate in rates if config[rate] is not None]
        gated = "gated " if config["gated"] else ""
        name = " ".join([gated + contestant(config), *words, f"seed={config['seed']}"])
        name = checks.printable(name, 1_000)
        if self.failure:
            return f"{name}: failed after {steps} steps"
        last = self.held_out[-1]
        shown = ("overall", "head", "tail")
        losses = " ".join(f"{k} {last[k]:.3f}" for k in shown if last.get(k) is not None)
        if "accuracy" in last:
            losses += " accuracy " + " ".join(f"{a:.2f}" for a in last["accuracy"])
        speed = f"{self.seconds:.1f} s, {self.tokens / self.seconds:,.0f} tokens/s"
        return f"{name}: held-out {losses} after {steps} steps, {speed}"


def several_runs(runs: Iterable[Record], alike: bool = False) -> list[Record]:
    """Returns the runs in a list; `alike`: ValueError unless on one text and of one length."""
    records = checks.several("records of runs, as recorded(…) gives", runs, Record)
    kinds = {"{corpus}, {steps} steps".format(**run.config) for run in records if alike}
    if len(kinds) > 1:
        raise ValueError(f"expected runs on one text and of one length; got {sorted(kinds)[:3]}")
    return records


def contestant(config: Mapping[str, Any]) -> str:
    """Returns what steps the matrices of a run, and which of them, where the rest is AdamW's.

    >>> contestant({"muon": ["VO", "FFN"], "rule": "muon"})
    'Muon(VO, FFN)'
    """
    checks.kind("the config of a run, as run.config", config, Mapping)
    if not config["muon"]:
        return "AdamW"
    known = config["rule"] in RULES or OWN.fullmatch(config["rule"])
    rule = rule_of(config["rule"]).shown if known else config["rule"]
    return rule if {*config["muon"]} == {*ALL} else f"{rule}({', '.join(config['muon'])})"


def run_id(config: Any) -> str:
    """Returns the name of a run: 12 hexadecimal digits of what its config has chosen.

    Only fields that differ from their defaults count. So an option that comes later changes no
    name, as long as its default is what was done before it.
    """
    fields = {f.name: (getattr(config, f.name), f.default) for f in dataclasses.fields(config)}
    chosen = {name: value for name, (value, default) in fields.items() if value != default}
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]


def append(record: Record, path: Path | str) -> None:
    """Adds the record as the last line of `path`, or nothing if that fails; other processes wait.

    ValueError if the record holds NaN or Inf, or the file has a broken line (see `read_records`).
    """
    _checked(record)  # what `read_records` would refuse
    path = prepare_file(path)
    line = line_of(record)
    with lock(path, "append"):
        known = path.read_text(encoding="utf-8") if prepare_records(path) else ""
        separator = "\n" if known and not known.endswith("\n") else ""
        replace_file(path, f"{known}{separator}{line}\n".encode())


def line_of(record: Record) -> str:
    """Returns the line that `append` adds: JSON; ValueError if the record holds NaN or Inf."""
    return json.dumps(rounded(dataclasses.asdict(record)), allow_nan=False)


def prepare_records(path: Path | str) -> bool:
    """Returns whether the file has records, once it is sure that one can be added.

    OSError: it cannot be written. ValueError: it is broken (see `read_records`).
    """
    return prepare_file(path).exists() and bool(read_records(path))


def read_records(path: Path | str) -> list[Record]:
    """Returns the records of a file, in its order; ValueError names a line that is no record."""
    lines = checks.text(path, "a file of records").splitlines()
    return [_parse(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def rounded(value: Any) -> Any:
    """Returns the value with KEPT_DIGITS digits in every measured number, at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{KEPT_DIGITS}g}")
    if isinstance(value, Mapping):
        exact = {"config", "provenance"}
        return {k: v if k in exact else rounded(v) for k, v in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _checked(run: Record) -> Record:
    """Returns a record whose fields are of their kinds, or raises what names another."""
    kinds = {"config": dict, "provenance": dict, "tokens": int, "held_out": list}
    for name, expected_kind in kinds.items():
        checks.kind(f"{expected_kind.__name__} in {name}", getattr(run, name), expected_kind)
    for name in ("train_loss", "step_seconds"):
        checks.array(f"numbers in {name}", getattr(run, name))
    datetime.fromisoformat(run.provenance.get("utc", "1970-01-01"))  # it says what it expects
    for measurement in run.held_out:
        checks.number("overall in held_out", measurement["overall"])
    return run


def _parse(line: str, place: str) -> Record:
    try:
        return _checked(Record(**json.loads(line)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"{place}: expected one record of a run as a JSON object, got {line[:60]!r}"
        then = "delete that line, or restore the file from git"
        raise ValueError(f"{message} ({error}): {then}") from error
