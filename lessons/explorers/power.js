// Lesson 16: how wide an interval over so many seeds is, and how often it gives which verdict.
const nats = (value) => value.toFixed(3);
const format = { effect: nats, size: nats, spread: nats };

// Student's t at 97.5 %, for 2 seeds, 3 seeds, …
const T = [
  12.70620474, 4.30265273, 3.18244631, 2.77644511, 2.57058184, 2.44691185, 2.36462425, 2.30600414, 2.26215716, 2.22813885,
  2.20098516, 2.17881283, 2.16036866, 2.14478669, 2.13144955, 2.1199053, 2.10981558, 2.10092204, 2.09302405, 2.08596345,
  2.07961384, 2.07387307, 2.06865761, 2.06389856, 2.05953855, 2.05552944, 2.05183052, 2.04840714, 2.04522964,
];
const SEEDS = T.map((_, i) => i + 2);

// The normal distribution function, by Marsaglia's series (Journal of Statistical Software 11, 2004).
function normal(x) {
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  let sum = x, term = x;
  for (let i = 3; sum + term !== sum; i += 2) sum += term *= (x * x) / i;
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

// Over all spreads u that a sample may show (true: 1), by Simpson's rule: is the mean beyond t·u?
function chance(effect, spread, seeds) {  // effect: how far the truth lies above the size
  const freedom = seeds - 1, t = T[seeds - 2], shift = (effect * Math.sqrt(seeds)) / spread;
  const steps = 3000, end = 1 + 9 / Math.sqrt(freedom);
  let seen = 0, all = 0;
  for (let i = 0; i <= steps; i++) {
    const u = (end * i) / steps, ends = i === 0 || i === steps;
    const weight = (ends ? 1 : i % 2 ? 4 : 2) * u ** (freedom - 1) * Math.exp((-freedom * (u * u - 1)) / 2);
    all += weight;
    seen += weight * normal(shift - t * u);
  }
  return seen / all;
}

const percent = (p) => `${(100 * p).toFixed(100 * p < 10 ? 1 : 0)} %`;

function view({ effect, size, spread, seeds, show }) {
  const distance = effect - size, apart = Math.abs(distance) > 1e-9;
  const widths = SEEDS.map((n) => (T[n - 2] * spread) / Math.sqrt(n));
  const supported = SEEDS.map((n) => chance(distance, spread, n)), refuted = SEEDS.map((n) => chance(-distance, spread, n));
  const likely = distance < 0 ? refuted : supported, word = distance < 0 ? "refuted" : "supported";
  const chances = show.startsWith("chance"), y = chances ? likely.map((p) => 100 * p) : widths;
  const enough = apart ? SEEDS.find((n) => likely[n - 2] >= 0.8) : undefined;
  const told = apart ? `${enough === undefined ? "More than 30" : enough} seeds give "${word}" in 80 %.` : "The truth is the size: no number of seeds gives 80 %.";
  const both = [
    { label: "supported", x: SEEDS, y: supported.map((p) => 100 * p) },
    { label: "refuted", x: SEEDS, y: refuted.map((p) => 100 * p) },
  ];
  return {
    title: `The true difference is ${nats(effect)} nats, the hypothesis asks for ${nats(size)}`,
    x: { label: "seeds", range: [2, 30] },
    y: chances ? { label: "chance of the verdict, %", unit: "%", range: [0, 100] } : { label: "half the width, nats", unit: "nats", range: [0, 4 * Math.max(Math.abs(distance), spread)] },
    series: [
      ...(chances ? both : [{ label: "half the width", x: SEEDS, y: widths }]),
      { label: "your seeds", x: [seeds], y: [y[seeds - 2]], line: false, marker: "ring" },
    ],
    handles: [{ label: "seeds", x: seeds, y: y[seeds - 2], sets: ["seeds"], move: (x) => ({ seeds: x }) }],
    marks: [chances ? { y: 80, label: "80 %" } : { y: Math.abs(distance), label: "from the truth to the size" }],
    sentence: `With ${seeds} seeds the interval reaches ${nats(widths[seeds - 2])} nats either way: supported in ${percent(supported[seeds - 2])} of such experiments, refuted in ${percent(refuted[seeds - 2])}. ${told}`,
  };
}
