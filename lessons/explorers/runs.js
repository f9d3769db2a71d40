// Lesson 04: recorded tuning runs of two optimizers; the learner chooses a run of each, and the axis.
// data: {runs: [{optimizer, rate, outer, seconds, step, overall, head, tail}], range: {overall, …}}
// The runs of an optimizer are sorted, the best first.

function view(values, data) {
  const { part, axis } = values;
  const dashes = { muon: null, adamw: "6 4" };
  const names = { muon: "Muon", adamw: "AdamW" };
  const chosen = ["muon", "adamw"].map((optimizer) => {
    const runs = data.runs.filter((run) => run.optimizer === optimizer);
    return runs[Math.min(values[optimizer], runs.length) - 1];
  });
  const end = (run) => run[part][run[part].length - 1].toFixed(3);
  const rates = (run) => `rates ${run.rate} for the matrices, ${run.outer} for embedding and head`;
  return {
    x: { label: axis },
    y: { label: `held-out loss, ${part}`, range: data.range[part] },
    series: chosen.map((run) => ({
      label: names[run.optimizer],
      x: run[axis],
      y: run[part],
      dash: dashes[run.optimizer],
      marker: true,
    })),
    sentence: chosen.map((run) => `${names[run.optimizer]} (${rates(run)}) ends at ${end(run)}`).join("; ") + ".",
  };
}
