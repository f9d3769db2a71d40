"""The report of an experiment: one HTML file that asks no other host for anything."""

import dataclasses
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

import numpy as np
from matplotlib.figure import Figure

import muonlab
from muonlab.classroom import figures, svg
from muonlab.classroom.looks import INK
from muonlab.classroom.output import Table
from muonlab.classroom.widget import script
from muonlab.files import replace_file
from muonlab.records import table as tables
from muonlab.records.record import Record
from muonlab.studies.hypothesis import METRICS, Finding, Hypothesis, by_seed, judge, shown

WHERE = (
    *("code", "muonlab", "torch", "python", "device", "threads", "precision", "processes"),
    *("system", "corpus", "corpus_sha256"),
)
Sides = dict[str, dict[int, Record]]  # the runs of both contestants, by name and seed


def page(
    hypothesis: Hypothesis, runs: Iterable[Record], *, stated: str = "", conclusion: str = ""
) -> str:
    """Returns the page: verdict, figures with their words, losses by seed, settings, provenance.

    Args:
        runs: those of other contestants are left out.
        stated: when, as in `hypothesis.Statement.utc`; "" when nobody wrote it down.
        conclusion: the experimenter's own words.

    ValueError: the runs cannot answer (see `hypothesis.judge`).
    """
    finding = judge(hypothesis, runs := list(runs))
    figures.style()
    sides = {shown(groups): by_seed(runs, groups) for groups in (hypothesis.than, hypothesis.lower)}
    used = [side[seed] for seed in finding.seeds for side in sides.values()]
    commands = (f"<p><code>{escape(run.provenance['command'])}</code></p>" for run in used)
    return Template(script("report.html")).substitute(
        hypothesis=escape(str(hypothesis)),
        verdict=finding.verdict,
        Verdict=finding.verdict.capitalize(),
        told=told(finding),
        order=escape(_order(stated, used)),
        differences=svg.inline(differences(finding), alternative(finding)),
        losses=_losses(finding, sides),
        training=_training(sides),
        measures=_measures(hypothesis, runs),
        settings=_settings(sides),
        provenance=_provenance(used),
        conclusion=escape(conclusion) or "None was written.",
        commands="\n".join(commands),
        version=muonlab.__version__,
    )


def write(html: str, path: Path) -> None:
    """Puts a page at `path`, whole or not at all; FileNotFoundError names a missing folder."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}: make it, or name another file")
    replace_file(path, html.encode())


def told(finding: Finding) -> str:
    """Returns the result in a sentence or two."""
    mean, low, high, _ = finding.interval
    by = finding.hypothesis.by
    first = (
        f"Over {len(finding.seeds)} seeds, {_apart(finding)} is {mean:+.3f} nats, with a 95 % "
        f"interval from {low:+.3f} to {high:+.3f}; predicted was at least {by:g}."
    )
    if not by or low >= by:
        return first
    direction = "is shown" if low >= 0 else "is refuted" if high < 0 else "is open"
    return f"{first} The direction alone {direction}."


def alternative(finding: Finding) -> str:
    """Returns what the figure of the differences shows, for those who do not see it."""
    each = ", ".join(f"{d:+.3f}" for d in np.subtract(finding.than, finding.lower))
    return f"Differences of {len(finding.seeds)} seeds: {each}. {told(finding)}"


def differences(finding: Finding) -> Figure:
    """Returns the differences by seed, their interval, and lines at 0 and at what was predicted."""
    than, lower, by = finding.than, finding.lower, finding.hypothesis.by
    each = {_apart(finding): [x - y for x, y in zip(than, lower, strict=True)]}
    figure = figures.forest(each, xlabel="nats; dashed: predicted, at least" if by else "nats")
    figure.axes[0].axvline(by, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    return figure


def _apart(finding: Finding) -> str:
    return f"{shown(finding.hypothesis.than)} minus {shown(finding.hypothesis.lower)}"


def _order(stated: str, used: Sequence[Record]) -> str:
    first = min(run.provenance["utc"] for run in used)
    if not stated:
        return (
            f"The first run ended at {first}. When the hypothesis was stated is not on record, so "
            "a reader cannot know which came first."
        )
    when = "before" if stated <= first else "AFTER"
    return f"Stated at {stated}, {when} the first run ended at {first}."


def _losses(finding: Finding, names: Iterable[str]) -> str:
    than, lower = np.array([finding.than, finding.lower])
    columns = [np.append(c, c.mean()) for c in (than, lower, than - lower)]
    rows = [
        [str(seed), f"{theirs:.4f}", f"{ours:.4f}", f"{apart:+.4f}"]
        for seed, theirs, ours, apart in zip((*finding.seeds, "mean"), *columns, strict=True)
    ]
    caption = f"Held-out loss in nats, {finding.hypothesis.metric}"
    return _table(caption, ["seed", *names, "difference"], rows)


def _training(sides: Sides) -> str:
    curves = {name: [run.train_loss for run in side.values()] for name, side in sides.items()}
    steps = min(len(curve) for side in curves.values() for curve in side)
    whole = {name: [curve[:steps] for curve in side] for name, side in curves.items()}
    ends = (f"{n} at {np.mean([curve[-1] for curve in c]):.2f}" for n, c in whole.items())
    figure = figures.lines(range(1, steps + 1), whole, xlabel="step", ylabel="training loss")
    told = f"The training loss by step, a mean over the seeds, ends for {', '.join(ends)}."
    return svg.inline(figure, told)


def _measures(hypothesis: Hypothesis, runs: Sequence[Record]) -> str:
    rows = []
    for metric in METRICS:
        if all(run.held_out and run.held_out[-1].get(metric) is not None for run in runs):
            found = judge(dataclasses.replace(hypothesis, metric=metric), runs)
            predicted = "yes" if metric == hypothesis.metric else "no"
            rows.append([metric, str(found.interval), predicted])
    heads = ["held-out loss", "difference, 95 % interval", "predicted?"]
    return _table("Nats below, by class of token", heads, rows)


def _settings(sides: Sides) -> str:
    one, two = (next(iter(side.values())).config for side in sides.values())
    fields = [field for field in one if field != "seed"]
    rows = [[f, tables.shown(one[f]), tables.shown(two[f])] for f in fields if one[f] != two[f]]
    same = ", ".join(f"{f}={tables.shown(one[f])}" for f in fields if one[f] == two[f])
    caption = "What differs between the two sides (lr is Muon's rate, adamw_lr that of AdamW)"
    return _table(caption, ["setting", *sides], rows) + f"<p>The same for both: {escape(same)}.</p>"


def _provenance(used: Sequence[Record]) -> str:
    found = {name: [str(run.provenance.get(name, "?")) for run in used] for name in WHERE}
    facts = {name: ", ".join(dict.fromkeys(values)) for name, values in found.items()}
    facts |= {"runs": str(len(used)), "tokens": f"{sum(run.tokens for run in used):,}"}
    facts["seconds of training"] = f"{sum(run.seconds for run in used):.0f}"
    return _table("What it was run on", ["provenance", "value"], list(facts.items()))


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    html, label = Table(heads, rows).html(caption), escape(caption)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{html}</div>'
