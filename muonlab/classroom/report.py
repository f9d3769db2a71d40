"""The report of an experiment: one HTML file that asks no other host for anything."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import muonlab
from muonlab.classroom.output import Table
from muonlab.classroom.widget import script
from muonlab.drawing import axes, figures, svg
from muonlab.drawing.looks import INK
from muonlab.files import prepare_page, replace_file
from muonlab.optim.rules import OWN
from muonlab.records import table as tables
from muonlab.records.record import Record
from muonlab.statistics import chance_to_see, half_width
from muonlab.studies.evidence import knobs_of
from muonlab.studies.hypothesis import Hypothesis, metrics_on
from muonlab.studies.verdicts import Finding, both_sides, judge
from muonlab.sweeps.search import EDGE, Search
from muonlab.sweeps.study import Place
from muonlab.training.config import TrainConfig
from muonlab.training.own_rule import own_step, text_of

WHERE = "code muonlab torch python device threads precision processes system corpus corpus_sha256"
TUNED = ("side", "knob", "range", "best", "where in it")
REPORT_STARTS = script("report.html").partition("$")[0].encode()  # up to its title
Sides = dict[str, dict[int, Record]]  # the runs of both sides, by name and seed
Tuned = tuple[Search, Place]  # the search that chose what the hypothesis leaves open, and where


def page(
    hypothesis: Hypothesis,
    runs: Iterable[Record],
    *,
    stated: str = "",
    plan: Mapping[str, float] = {},
    tuned: Tuned | None = None,
    conclusion: str = "",
) -> str:
    """Returns the page: verdict, plan, figures with words, losses, tuning, settings, provenance.

    Args:
        runs: those of other settings are left out.
        stated: when, as in `hypothesis.Statement.utc`; "" when nobody wrote it down.
        plan: what was planned then, as in `hypothesis.state`; it stands beside what came.
        tuned: the search that chose what the hypothesis leaves open, and the place of its records.
        conclusion: the experimenter's own words.

    ValueError: the runs cannot answer (see `verdicts.judge`).
    """
    finding = judge(hypothesis, runs := list(runs))
    axes.style()
    sides = dict(zip(hypothesis.names, both_sides(hypothesis, runs), strict=True))
    used = [side[seed] for seed in finding.seeds for side in sides.values()]
    commands = (f"<p><code>{escape(run.provenance.get('command', '?'))}</code></p>" for run in used)
    trials = _trials(hypothesis, *tuned) if tuned else []
    return Template(script("report.html")).substitute(
        hypothesis=escape(str(hypothesis)),
        verdict=finding.verdict,
        Verdict=finding.verdict.capitalize(),
        told=escape(f"{told(finding)} {untuned(hypothesis, *tuned) if tuned else ''}".strip()),
        order=escape(_order(stated, used)),
        plan=_plan(finding, plan, sides, trials),
        differences=svg.inline(differences(finding), alternative(finding)),
        losses=_losses(finding),
        training=_training(sides),
        measures=_measures(finding, runs),
        tuning=_tuning(hypothesis, *tuned) if tuned else "<p>No search is on record.</p>",
        settings=_settings(sides) + _own_texts(hypothesis),
        provenance=_provenance(used),
        conclusion=escape(conclusion) or "None was written.",
        commands="\n".join(commands),
        version=muonlab.__version__,
    )


def write(html: str, path: Path) -> None:
    """Puts a page at `path`, whole or not at all; errors as `prepare_page`."""
    replace_file(prepare_page(Path(path)), html.encode())


def told(finding: Finding) -> str:
    """Returns the result in a sentence or two."""
    mean, low, high, _ = finding.interval
    by, unit = finding.hypothesis.by, finding.hypothesis.unit
    return (
        f"Over {len(finding.seeds)} seeds, {_apart(finding)} is {mean:+.3f} {unit}, with a 95 % "
        f"interval from {low:+.3f} to {high:+.3f}; asked was at least {by:g}. "
        f"The difference itself: {finding.word}."
    )


def alternative(finding: Finding) -> str:
    """Returns what the figure of the differences shows, for those who do not see it."""
    leads = ", ".join(f"{lead:+.3f}" for lead in finding.leads)
    return f"Differences of {len(finding.seeds)} seeds: {leads}. {told(finding)}"


def differences(finding: Finding) -> Figure:
    """Returns the differences by seed, their interval, and lines at 0 and at what was predicted.

    Of a change, the differences with it and without stand above.
    """
    by, unit = finding.hypothesis.by, finding.hypothesis.unit
    label = f"{unit}; dashed: predicted, at least" if by else unit
    figure = figures.forest({**finding.pairs, _apart(finding): finding.leads}, xlabel=label)
    figure.axes[0].axvline(by, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    return figure


def tuning(hypothesis: Hypothesis, search: Search, at: Place) -> list[list[str]]:
    """Returns the rows below TUNED: each side's best values, and where they lie in their ranges.

    Of a range, 0 % is the end that is named first, of an average the longest memory; near an end a
    wider one might do better. What a fair search of such a side would tune too has a row without.
    """
    rows, compared = [], {*hypothesis.better, *hypothesis.change}
    for name, config in _sides_of(hypothesis, search, at).items():
        turned = search.knobs(config)
        for knob in turned:
            place = knob.position(config)
            edge = "" if EDGE <= place <= 1 - EDGE else ": at an edge"
            ends = " to ".join(f"{end:.4g}" for end in sorted(knob.ends, reverse=knob.average))
            field = knob.fields.split()[0]
            rows.append([name, field, ends, knob.shown(config), f"{place:.0%}{edge}"])
        for knob in knobs_of(config):
            if not any(knob.fields == other.fields for other in turned):
                why = "compared" if knob.options & compared else "not tuned"
                none = None in (getattr(config, field) for field in knob.options)
                shown = "as for the rest" if none else knob.shown(config)
                rows.append([name, knob.fields.split()[0], why, shown, ""])
    return rows


def untuned(hypothesis: Hypothesis, search: Search, at: Place) -> str:
    """Returns a sentence that names what a fair search of these sides would tune too, or ""."""
    left = dict.fromkeys(row[1] for row in tuning(hypothesis, search, at) if row[2] == "not tuned")
    return f"Not tuned: {', '.join(left)}." if left else ""


def budget(hypothesis: Hypothesis, search: Search, at: Place) -> dict[str, list[float]]:
    """Returns what each side's best is expected to end with after 1, 2, … trials, by its name."""
    return _by_side(hypothesis, search, at, search.budget(at))


def _sides_of(hypothesis: Hypothesis, search: Search, at: Place) -> dict[str, TrainConfig]:
    """Returns the best settings that the search has for each side, by its name."""
    config_of, best = {}, search.best(at)
    for name, side in zip(hypothesis.names, hypothesis.settings, strict=True):
        fitting = [config for config in best if tables.fits(vars(config), side)]
        if len(fitting) != 1:
            raise ValueError(f"the search has {len(fitting)} contestants for {name}: name a rule")
        [config_of[name]] = fitting
    return config_of


def _by_side(
    hypothesis: Hypothesis, search: Search, at: Place, values: Mapping[Any, Any]
) -> dict[str, Any]:
    """Returns of what a search has by contestant that of each side, by its name."""
    who = search.tunings[0].contestant
    return {n: values[who(config)] for n, config in _sides_of(hypothesis, search, at).items()}


def _trials(hypothesis: Hypothesis, search: Search, at: Place) -> list[Record]:
    rounds = _by_side(hypothesis, search, at, search.trials(at)).values()
    return [run for of_side in rounds for runs in of_side for run in runs]


def _tuning(hypothesis: Hypothesis, search: Search, at: Place) -> str:
    curves = budget(hypothesis, search, at)
    counts = range(1, 1 + min(map(len, curves.values())))
    best = {name: curve[: len(counts)] for name, curve in curves.items()}
    ends = ", ".join(f"{name} {curve[0]:.3f} to {curve[-1]:.3f}" for name, curve in best.items())
    figure = figures.lines(counts, best, xlabel="trials of each side", ylabel="expected best")
    words = f"The expected best of 1 to {len(counts)} trials falls: {ends}."
    failed = sum(bool(run.failure) for run in _trials(hypothesis, search, at))
    again = f"the best {search.runoff} ran at two more; " if search.runoff else ""
    budget_spent = (
        f"{len(counts)} trials of each side at seed 0, which does not count; {again}{failed} "
        "diverged. A curve that still falls at its end says that more may change the difference."
    )
    chosen = _table("What the search chose", TUNED, tuning(hypothesis, search, at))
    return f"{chosen}{svg.inline(figure, words)}<p>{budget_spent}</p>"


def _plan(
    finding: Finding, plan: Mapping[str, float], sides: Sides, trials: Sequence[Record]
) -> str:
    asked, (_, low, high, n) = finding.hypothesis, finding.interval
    used = [run for side in sides.values() for run in side.values()]
    steps = ([run.step_seconds for run in side.values()] for side in sides.values())
    better, than, *_ = (np.median(np.concatenate(seconds)) for seconds in steps)
    came = {"trials a side": len(trials) / len(asked.names)} if trials else {}
    came |= {"pairs": float(n), "spread": (high - low) / 2 / half_width(1.0, n)}
    came["a step takes, times the other's"] = float(better / than)
    seconds = {"final runs": used, "trials": trials}
    came |= {f"hours of {k}": sum(r.seconds for r in runs) / 3600 for k, runs in seconds.items()}
    came["hours"] = sum(came[f"hours of {k}"] for k in seconds)
    known = dict(plan)
    if asked.longer != 1:
        known["a step takes, times the other's"] = asked.longer
    by, spread, pairs = asked.by, known.get("spread", 0), int(known.get("pairs", 0))
    if (truth := known.get("truth", by)) > by and spread > 0 and pairs > 1:  # else it says nothing
        known["chance of support, if that is true"] = chance_to_see(truth, spread, pairs, by)
    names = dict.fromkeys([*known, *came])
    rows = [[k, *(f"{q[k]:.3g}" if k in q else "" for q in (known, came))] for k in names]
    return _table("Plan and price", ["", "planned", "in the end"], rows)


def _apart(finding: Finding) -> str:
    pair = next(iter(finding.pairs))
    if not finding.unchanged:
        return pair
    with_it, without = finding.hypothesis.changes
    return f"the difference with {with_it} minus that with {without}"


def _order(stated: str, used: Sequence[Record]) -> str:
    first = min(used, key=lambda run: run.started)
    late = "" if "started" in first.provenance else " at the latest"
    if not stated:
        return (
            f"The first of these runs began at {first.started}{late}. When the hypothesis was "
            "stated is not on record, so a reader cannot know which came first."
        )
    when = "before" if _utc(stated) <= _utc(first.started) else "AFTER"
    return f"Stated at {stated}, {when} the first of these runs began, at {first.started}{late}."


def _utc(time: str) -> datetime:
    """Returns a time, which is UTC where it names no zone; ValueError: a word."""
    known = datetime.fromisoformat(time)
    return known if known.tzinfo else known.replace(tzinfo=UTC)


def _losses(finding: Finding) -> str:
    ends = [finding.than, finding.better, *finding.unchanged[::-1]]
    columns = [np.append(c, np.mean(c)) for c in (*ends, finding.leads)]
    rows = [
        [str(seed), *(f"{end:.4f}" for end in row[:-1]), f"{row[-1]:+.4f}"]
        for seed, *row in zip((*finding.seeds, "mean"), *columns, strict=True)
    ]
    caption = f"The metric {finding.hypothesis.measure} at the end"
    better, than, *without = finding.hypothesis.names
    heads = ["seed", than, better, *without[::-1], "difference"]
    return _table(caption, heads, rows)


def _training(sides: Sides) -> str:
    curves = {name: [run.train_loss for run in side.values()] for name, side in sides.items()}
    steps = {name: range(1, 1 + len(of_side[0])) for name, of_side in curves.items()}
    ends = (f"{n} at {np.mean([curve[-1] for curve in c]):.2f}" for n, c in curves.items())
    figure = figures.lines(steps, curves, xlabel="step", ylabel="training loss")
    words = f"The training loss by step, a mean over the seeds, ends for {', '.join(ends)}."
    return svg.inline(figure, words)


def _measures(finding: Finding, runs: Sequence[Record]) -> str:
    asked = finding.hypothesis
    ends = [tables.measures(run) for side in both_sides(asked, runs) for run in side.values()]
    names = metrics_on(asked.sides()[0].corpus)
    metrics: list[Any] = [m for m in names if all(end.get(m) is not None for end in ends)]
    if not isinstance(asked.metric, str):
        metrics.insert(0, asked.metric)
    rows = []
    for metric in metrics:
        one = judge(dataclasses.replace(asked, metric=metric), runs)
        predicted = "yes" if metric == asked.metric else "no"
        shown = one.hypothesis.measure, str(one.interval), one.hypothesis.unit, one.word, predicted
        rows.append(shown)
    heads = ["metric", "difference, 95 % interval", "unit", "who leads", "predicted?"]
    return _table(f"In all that was measured: {_apart(finding)}", heads, rows)


def _settings(sides: Sides) -> str:
    configs = [next(iter(side.values())).config for side in sides.values()]
    shown = {f: [tables.shown(c[f]) for c in configs] for f in configs[0] if f != "seed"}
    rows = [[f, *values] for f, values in shown.items() if len({*values}) > 1]
    same = ", ".join(f"{f}={values[0]}" for f, values in shown.items() if len({*values}) == 1)
    caption = "What differs between the sides (lr is Muon's rate, adamw_lr that of AdamW)"
    return _table(caption, ["setting", *sides], rows) + f"<p>The same for all: {escape(same)}.</p>"


def _own_texts(hypothesis: Hypothesis) -> str:
    """Returns the text of a metric and of steps that are the experimenter's own."""
    texts = [] if isinstance(hypothesis.metric, str) else [text_of(hypothesis.metric)]
    for rule in sorted({side.rule for side in hypothesis.sides() if OWN.fullmatch(side.rule)}):
        try:
            texts.append(text_of(own_step(rule)))
        except ValueError as error:  # the report is made in another process than the runs
            texts.append(f"# {error}")
    return "".join(f"<pre>{escape(text)}</pre>" for text in texts)


def _provenance(used: Sequence[Record]) -> str:
    values = {n: [str(run.provenance.get(n, "?")) for run in used] for n in WHERE.split()}
    facts = {name: ", ".join(dict.fromkeys(of_runs)) for name, of_runs in values.items()}
    facts |= {"runs": str(len(used)), "tokens": f"{sum(run.tokens for run in used):,}"}
    facts["seconds of training"] = f"{sum(run.seconds for run in used):.0f}"
    return _table("What it was run on", ["provenance", "value"], list(facts.items()))


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    html, label = Table(heads, rows).html(caption), escape(caption)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{html}</div>'
