// Lesson 10: accuracy by group of people, recorded runs; the learner chooses two ways to step the matrices.
// data: {steps: [...], asked: [times each person of a group is asked about, once per question],
//        accuracy: {kind: {name: [seed][step][group]}}}

function percent(share) {
  return `${(100 * share).toFixed(0)} %`;
}

function told(name, seeds, means, rarest) {
  const below = means.findIndex((share) => share < 0.5);
  const half = below < 0 ? "at least half right in every group"
    : below === 0 ? "below one half in every group" : `at least half right up to group ${below - 1}`;
  const ends = seeds.map((groups) => groups[rarest]);
  return `${name}: ${half}; group ${rarest}: ${percent(means[rarest])}, ` +
    `from ${percent(Math.min(...ends))} to ${percent(Math.max(...ends))} over ${seeds.length} seeds.`;
}

function view({ step, first, second, kind }, data) {
  const at = data.steps.indexOf(step), groups = data.asked.map((_, g) => g), rarest = groups.length - 1;
  const names = first === second ? [first] : [first, second];
  const series = [], sentences = [];
  names.forEach((name) => {
    const seeds = data.accuracy[kind][name].map((steps) => steps[at]);
    const means = groups.map((g) => seeds.reduce((sum, seed) => sum + seed[g], 0) / seeds.length);
    const [low, high] = [Math.min, Math.max].map((end) => groups.map((g) => end(...seeds.map((seed) => seed[g]))));
    series.push({ label: `${name}, mean and range of ${seeds.length} seeds`, who: name, x: groups, y: means, low, high, marker: true });
    sentences.push(told(name, seeds, means, rarest));
  });
  return {
    title: `Feed-forward layer ${kind}, step ${step}. The person of group 0 is chosen ${data.asked[0]} times, one of group ${rarest} once.`,
    x: { label: "group of people, frequent to rare", short: "group", range: [-0.2, rarest + 0.2] },
    y: { label: "first-token accuracy", range: [0, 1.05] },
    series,
    marks: [{ y: 0.5, label: "one half" }],
    sentence: sentences.join(" "),
  };
}
