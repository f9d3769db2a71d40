// One update from W = 0: what it does to the best and the worst known of 999 facts, by optimizer.
// Facts that look alike to the optimizer are counted, not listed.

const K = 999, GOAL = 0.9, WIDEST = 20;

// A kind of fact: the logit of its right answer, and [logit, how many] of all other answers.
function gradientKinds(L, a, b) {
  return [a, b].map((x) => ({ own: x - x / K, others: [[-x / K, K - 1]] }));
}

function muonKinds(L, a, b) {
  const rest = K - L, across = Math.sqrt(L * rest);
  const left = [Math.sqrt(rest / K), -Math.sqrt(L / K)];
  const right = [a * left[0], b * left[1]], length = Math.hypot(...right);
  const core = left.map((u) => right.map((v) => (u * v) / length)); // the gradient along the ones, rank one
  const c11 = (core[0][0] - 1) / L, c22 = (core[1][1] - 1) / rest;
  return [
    { own: 1 + c11, others: [[c11, L - 1], [core[1][0] / across, rest]] },
    { own: 1 + c22, others: [[c22, rest - 1], [core[0][1] / across, L]] },
  ];
}

function signKinds(L, a, b, turn) {
  const { keys, values } = coupled(turn);
  const logits = (block) => {
    const signs = product(product(values, block), transposed(keys)).map((row) => row.map(Math.sign));
    return product(product(transposed(values), signs), keys);
  };
  const blocks = []; // of three facts: all frequent, both sorts, all rare
  if (L >= 3) blocks.push([a, a, a]);
  if (L % 3) blocks.push([0, 1, 2].map((i) => (i < L % 3 ? a : b)));
  if (K - L >= 3) blocks.push([b, b, b]);
  return blocks.flatMap((x) => {
    const elsewhere = [0, 1, 2].map(() => x.map((v) => -v / K));
    const far = logits(elsewhere);
    const here = logits(elsewhere.map((row, i) => row.map((v, j) => v + (i === j ? x[j] : 0))));
    return [0, 1, 2].map((j) => ({
      own: here[j][j],
      others: [0, 1, 2].flatMap((i) => [[far[i][j], K / 3 - 1], ...(i === j ? [] : [[here[i][j], 1]])]),
    }));
  });
}

function probability({ own, others }, step) {
  return 1 / (1 + others.reduce((sum, [logit, count]) => sum + (count ? count * Math.exp(step * (logit - own)) : 0), 0));
}

function extremes(kinds, step) {
  const all = kinds.map((kind) => probability(kind, step));
  return [Math.max(...all), Math.min(...all)];
}

// The first step size at which the best fact reaches the goal; null when none does.
function reaching(kinds) {
  const reached = (step) => extremes(kinds, step)[0] >= GOAL;
  let high = 0.1 / Math.max(...kinds.map(({ own }) => Math.abs(own)));
  for (let tries = 0; !reached(high); tries++) {
    if (tries > 120) return null;
    high *= 1.1;
  }
  let low = high / 1.1;
  for (let i = 0; i < 50; i++) [low, high] = reached((low + high) / 2) ? [low, (low + high) / 2] : [(low + high) / 2, high];
  return high;
}

function digits(p) {
  if (p < 1e-12) return "0"; // rounding
  return p > 0.99 ? p.toFixed(4) : Number(p.toPrecision(3)).toString();
}

function view({ alpha, L, optimizer, turn }) {
  const a = alpha / L, b = (1 - alpha) / (K - L);
  const kinds = { "gradient descent": gradientKinds, Muon: muonKinds, SignGD: signKinds }[optimizer](L, a, b, turn);
  const found = reaching(kinds), unit = found ?? 10 / Math.max(...kinds.map(({ own }) => Math.abs(own)));
  const x = Array.from({ length: 241 }, (_, i) => (WIDEST * i) / 240);
  const curves = x.map((share) => extremes(kinds, share * unit));
  const gaps = curves.map(([best, worst]) => best - worst);
  const [best, worst] = extremes(kinds, unit);
  return {
    title: `${optimizer}: ${L} of ${K} facts share ${Math.round(alpha * 100)} % of the questions`,
    x: { label: found === null ? "step size" : `step size (1: the best fact reaches ${GOAL})`, short: "step size", range: [0, WIDEST] },
    y: { label: "probability of the right answer", range: [0, 1.03] },
    series: [
      { label: "best fact", x, y: curves.map((c) => c[0]), marker: true },
      { label: "worst fact", x, y: curves.map((c) => c[1]), marker: true },
      { label: "gap Δ", x, y: gaps },
    ],
    marks: [{ x: 1, label: "compare here" }],
    sentence:
      `α = ${alpha.toFixed(2)}, L = ${L}, turn ${turn.toFixed(2)}${optimizer === "SignGD" ? ". Signs see α and L only where three axes mix frequent and rare facts" : ", which only SignGD sees"}. ` +
      (found === null ? `No step takes any fact to ${GOAL}. ` : `The step that takes the best fact to ${digits(best)} takes the worst to ${digits(worst)}. `) +
      `Over all step sizes in the picture the gap reaches ${digits(Math.max(...gaps))}.`,
  };
}
