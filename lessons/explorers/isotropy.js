// Lesson 09: three numbers of the recorded spectra along training; the learner moves through the steps.
// data: {length: {steps: [0, 150, …], seeds, bands: {matrix: {name: {metric: {mean, low, high}}}}}}, each a number a step
const METRICS = {
  "effective rank": { field: "effective_rank", better: "up", shown: (v) => v.toFixed(1) },
  "top energy": { field: "top_energy", better: "down", shown: (v) => `${(100 * v).toFixed(1)} %` },
  "quartile ratio": { field: "quartile_ratio", better: "down", shown: (v) => v.toFixed(2) },
};
const RUNS = { "AdamW and Muon": ["AdamW", "Muon"], "and Muon on VO and FFN": ["AdamW", "Muon", "Muon(VO, FFN)"] };

function view({ length, matrix, metric, eighth, runs }, data) {
  const { field, better, shown } = METRICS[metric];
  const { steps, seeds, bands } = data[length], step = steps[eighth], end = steps[steps.length - 1];
  const told = RUNS[runs].map((name) => {
    const { mean, low, high } = bands[matrix][name][field];
    const range = low[eighth] === high[eighth] ? "" : ` (${shown(low[eighth])} to ${shown(high[eighth])})`;
    return `${name} ${shown(mean[eighth])}${range}`;
  });
  return {
    title: `${matrix}, runs of ${length} steps: ${metric}; ${better} means more isotropic`,
    x: { label: "training step", range: [-end / 50, end * 1.02] },
    y: { label: metric },
    series: RUNS[runs].map((name) => {
      const { mean, low, high } = bands[matrix][name][field];
      return { label: `${name}, mean and range of ${seeds} seeds`, who: name, x: steps, y: mean, low, high, marker: true };
    }),
    handles: [{ label: "eighths of the run", x: step, sets: ["eighth"], move: (x) => ({ eighth: (8 * x) / end }) }],
    marks: [{ x: step, label: `step ${step}` }],
    sentence: `Step ${step}${step ? "" : ", before training"}, ${metric} with the range over seeds: ${told.join("; ")}.`,
  };
}
