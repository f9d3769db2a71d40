// Lesson 04: recorded tuning runs of two optimizers; the learner chooses the rate and the axis.
// data: {runs: [{optimizer, rate, seconds: [...], steps: [...], overall: [...], head: [...], tail: [...]}]}
const controls = [
  { name: "trial", label: "learning rate: trial", min: 1, max: 7, step: 1, value: 4 },
  { name: "part", label: "held-out loss of", options: ["overall", "head", "tail"], value: "overall" },
  { name: "axis", label: "against", options: ["steps", "seconds"], value: "steps" },
];

function view({ trial, part, axis }, data) {
  const dashes = { muon: null, adamw: "6 4" };
  const chosen = ["muon", "adamw"].map((optimizer) => {
    const runs = data.runs.filter((run) => run.optimizer === optimizer);
    return runs[Math.min(trial, runs.length) - 1];
  });
  const last = (values) => values[values.length - 1];
  return {
    x: { label: axis },
    y: { label: `held-out loss, ${part}`, range: data.range[part] },
    series: chosen.map((run) => ({
      label: `${run.optimizer}, rate ${run.rate}`,
      x: run[axis],
      y: run[part],
      dash: dashes[run.optimizer],
      marker: true,
    })),
    sentence: chosen
      .map((run) => `${run.optimizer} at rate ${run.rate} ends at ${last(run[part]).toFixed(2)} after ${last(run.seconds).toFixed(0)} s`)
      .join("; ") + ".",
  };
}
