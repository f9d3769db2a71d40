// Lesson 10: accuracy against how often a person was seen, recorded runs; the learner chooses two learners.
// data: {steps: [...], seen: [step][how often a person of each group was seen by then],
//        accuracy: {learner: [seed][step][group]}}

function percent(share) {
  return `${(100 * share).toFixed(0)} %`;
}

// How often a fact is seen until one half of such facts is known: on a line in log2 between two groups.
function half(seen, means) {
  const below = means.findIndex((share) => share < 0.5);
  if (below < 1) return NaN;
  const part = (means[below - 1] - 0.5) / (means[below - 1] - means[below]);
  return seen[below - 1] * (seen[below] / seen[below - 1]) ** part;
}

function told(name, seen, means) {
  const at = half(seen, means), rarest = percent(means[means.length - 1]);
  const needs = Number.isNaN(at) ? "crosses one half nowhere" : `one half after about ${at.toFixed(1)} times`;
  return `${name}: ${needs}; rarest group: ${rarest}.`;
}

function view({ step, first, second }, data) {
  const at = data.steps.indexOf(step), seen = data.seen[at];
  const names = first === second ? [first] : [first, second];
  const series = [], sentences = [];
  names.forEach((name) => {
    const seeds = data.accuracy[name].map((steps) => steps[at]);
    const means = seen.map((_, g) => seeds.reduce((sum, seed) => sum + seed[g], 0) / seeds.length);
    const [low, high] = [Math.min, Math.max].map((end) => seen.map((_, g) => end(...seeds.map((seed) => seed[g]))));
    series.push({ label: `${name}, mean and range of ${seeds.length} seeds`, who: name, x: seen, y: means, low, high, marker: true });
    sentences.push(told(name, seen, means));
  });
  const last = data.seen[data.seen.length - 1];
  return {
    title: `Step ${step}: each point is a group, the most frequent at the right`,
    x: { label: "how often a person was seen so far", short: "seen", log: true, range: [data.seen[0][seen.length - 1] / 1.2, last[0] * 1.2] },
    y: { label: "first-token accuracy", range: [0, 1.05] },
    series,
    marks: [{ y: 0.5, label: "one half" }],
    sentence: sentences.join(" "),
  };
}
