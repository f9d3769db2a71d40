// Lesson 09: four numbers of the recorded spectra along training; the learner moves through the steps.
// data: {steps: [0, 10, …], seeds: {kind: {name: count}},
//        bands: {kind: {group: {name: {metric: {mean, low, high}}}}}}, each a number a step
const METRICS = {
  "effective rank": { field: "effective_rank", better: "up", shown: (v) => v.toFixed(1) },
  "entropy": { field: "entropy", better: "up", shown: (v) => v.toFixed(3) },
  "top energy": { field: "top_energy", better: "down", shown: (v) => `${(100 * v).toFixed(1)} %` },
  "quartile ratio": { field: "quartile_ratio", better: "down", shown: (v) => v.toFixed(2) },
};
const RUNS = { "AdamW and Muon": ["AdamW", "Muon"], "and the two controls": ["AdamW", "Muon", "flat Adam", "noisy Adam"] };

function view({ step, metric, group, kind, runs }, data) {
  const { field, better, shown } = METRICS[metric];
  const at = data.steps.indexOf(step), bands = data.bands[kind][group] ?? {};
  const names = RUNS[runs].filter((name) => name in bands);
  const end = data.steps[data.steps.length - 1];
  const told = names.map((name) => {
    const { mean, low, high } = bands[name][field];
    const range = low[at] === high[at] ? "" : ` (${shown(low[at])} to ${shown(high[at])})`;
    return `${name} ${shown(mean[at])}${range}`;
  });
  const missing = RUNS[runs].length > names.length && names.length ? " The controls ran without a gate only." : "";
  return {
    title: `${group}, ${kind}: ${metric}; ${better} means more isotropic`,
    x: { label: "training step", range: [-3, end + 3] },
    y: { label: metric },
    series: names.map((name) => {
      const { mean, low, high } = bands[name][field];
      return { label: `${name}, mean and range of ${data.seeds[kind][name]} seeds`, who: name, x: data.steps, y: mean, low, high, marker: true };
    }),
    handles: names.length ? [{ label: "training step", x: step, sets: ["step"], move: (x) => ({ step: x }) }] : [],
    marks: names.length ? [{ x: step, label: `step ${step}` }] : [],
    sentence: names.length
      ? `Step ${step}${step ? "" : ", before training"}, ${metric} with the range over seeds: ${told.join("; ")}.${missing}`
      : `A layer that is ${kind} has no ${group}.`,
  };
}
