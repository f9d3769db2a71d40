// Lesson 14: one training step as bars, in four ways. All is computed here, by the formulas of muonlab.cost.timeline.
const SHAPES = { // layers, width, tokens of a sequence, which is what a GPU reads at a time
  "160M": [12, 768, 1024], "1B": [16, 2048, 2048], "8B": [32, 4096, 4096], "70B": [86, 8192, 4096],
};
const VOCABULARY = 50304, SPEED = 989e12 * 0.4, NVLINK = 450e9, CARD = 50e9, SERVER = 8;
const WAYS = ["AdamW", "everybody", "owners", "overlap"];
const BARS = { // a dash tells them apart without colour
  forward: "", backward: "9 1.5", "Newton-Schulz": "2 1.2",
  "gather weights": "16 2", "sum gradients": "5 2", "send momenta": "3 1 1 1",
};
const power = (e) => (2 ** e).toLocaleString("en-US");
const format = { gpus: power, sequences: power };

// The matrices of the busiest GPU: the dearest first, each to the least busy. Costs in units of C³, numbers in C².
function busiest(layers, gpus) {
  const owned = Array.from({ length: gpus }, () => ({ cost: 0, numbers: 0, matrices: 0 }));
  const give = (cost, numbers) => {
    const free = owned.reduce((a, b) => (b.cost < a.cost ? b : a));
    (free.cost += cost), (free.numbers += numbers), (free.matrices += 1);
  };
  for (let i = 0; i < 2 * layers; i++) give(90, 4); // (4C, C): five times 4k²M + 2k³
  for (let i = 0; i < 4 * layers; i++) give(30, 1);
  return { ...owned.reduce((a, b) => (b.cost > a.cost ? b : a)), numbers: Math.max(...owned.map((o) => o.numbers)) };
}

function momenta(way, { layers, C, gpus, others, toAll, toOne, done, free }) {
  const bar = (name, start, end) => ({ name, start, end });
  if (way === "AdamW") return [];
  if (way === "everybody") {
    const here = done + (2 * 12 * C ** 2 * layers * others) / toAll;
    return [bar("send momenta", done, here), bar("Newton-Schulz", here, here + (300 * layers * C ** 3) / SPEED)];
  }
  const most = busiest(layers, gpus), products = (most.cost * C ** 3) / SPEED, k = most.matrices;
  const sent = (2 * most.numbers * C ** 2 * others) / toOne;
  let here = done + sent, ready = here + products, last = ready + sent;
  if (way === "overlap") {
    here = Math.max(free + sent, done + sent / k);
    const begun = k > 1 ? Math.max(done, free + sent / k) : here;
    ready = Math.max(begun + products, here + products / k);
    last = Math.max(Math.max(begun + products / k, here) + sent, ready + sent / k);
  }
  return [bar("send momenta", here - sent, here), bar("Newton-Schulz", ready - products, ready), bar("send momenta", last - sent, last)];
}

function step(way, { model: name, gpus, sequences, cards }) {
  const [layers, C, context] = SHAPES[name], P = 2 ** gpus, others = (P - 1) / P;
  const weights = 12 * C ** 2 * layers, numbers = weights + 2 * VOCABULARY * C;
  const model = (6 * (weights + VOCABULARY * C + layers * 2 * C * context) * 2 ** sequences * context) / SPEED;
  const outside = P > SERVER, toAll = outside ? Math.min(NVLINK, cards * CARD) : NVLINK;
  const toOne = outside ? Math.min(NVLINK, (cards * CARD) / SERVER) : NVLINK;
  const once = (4 * numbers * others) / toAll, turn = Math.max(model / 3, once), free = turn + 2 * once;
  const back = turn + Math.max((model * 2) / 3, once), done = Math.max(back, free);
  const later = momenta(way, { layers, C, gpus: P, others, toAll, toOne, done, free });
  const summed = Math.min(done, ...later.map(({ start }) => start));
  const first = { forward: [turn - model / 3, turn], backward: [back - (model * 2) / 3, back] };
  return [
    ...Object.entries(first).map(([name, [start, end]]) => ({ name, start, end })),
    { name: "gather weights", start: 0, end: once }, { name: "gather weights", start: turn, end: turn + once },
    { name: "sum gradients", start: summed - once, end: summed }, ...later,
  ].filter(({ start, end }) => end > start);
}

function view(values) {
  const shown = values.ways === "all four" ? WAYS : WAYS.filter((way) => way !== "everybody");
  const steps = Object.fromEntries(WAYS.map((way) => [way, step(way, values)]));
  const long = (way) => 1000 * Math.max(...steps[way].map(({ end }) => end));
  const row = (way, name) => 2 * (shown.length - shown.indexOf(way)) - (["forward", "backward", "Newton-Schulz"].includes(name) ? 0 : 1);
  const ms = (value) => `${short(value, 3)} ms`, adamw = long("AdamW");
  const more = (way) => `${ms(long(way) - adamw)} (${short((100 * (long(way) - adamw)) / adamw, 2)} %)`;
  const series = Object.entries(BARS).map(([name, dash]) => {
    const bars = shown.flatMap((way) => steps[way].filter((bar) => bar.name === name).map((bar) => [way, bar]));
    return { // the end comes first: it is what one reads off
      label: name, dash, width: 11, ...(["Newton-Schulz", "send momenta"].includes(name) ? { who: "Muon" } : {}),
      x: bars.flatMap(([, { start, end }]) => [1000 * end, 1000 * start, NaN]),
      y: bars.flatMap(([way]) => [row(way, name), row(way, name), NaN]),
    };
  });
  const P = 2 ** values.gpus;
  return {
    title: `${values.model} on ${P === 1 ? "1 GPU" : `${power(values.gpus)} GPUs`}`,
    x: { label: "ms", unit: "ms", range: [0, 1.02 * Math.max(...shown.map(long))] },
    y: { label: "", range: [0.2, 2 * shown.length + 0.8], names: shown.toReversed().flatMap((way) => [`${way}, links`, `${way}, GPU`]) },
    series,
    marks: [{ x: adamw, label: "AdamW ends" }],
    sentence:
      `With AdamW a step takes ${ms(adamw)}. Muon adds ${more("everybody")} where everybody orthogonalizes all, ` +
      `${more("owners")} with owners, ${more("overlap")} with overlap.`,
  };
}
