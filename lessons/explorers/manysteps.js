// Lesson 08: rare facts against frequent ones along a run in batches, 20 facts in a matrix, all computed here.

const K = 20, L = 4, ALPHA = 0.8, GOAL = 0.9, LONGEST = 200; // four facts get 80 % of the questions
const JORDAN = [3.4445, -4.775, 2.0315];
const BATCHES = [5, 10, 20, 40, 80, 160, Infinity];
const SHORTEST = { Muon: 0.1, "normalized gradient descent": 0.1, "gradient descent": 2 };
const format = {
  batch: (k) => (k < BATCHES.length - 1 ? `${BATCHES[k]} draws` : "all facts"),
  step: (s) => `${2 ** s} × the shortest`,
};

const size = (X) => Math.hypot(...X.flat());
const scaled = (X, factor) => X.map((row) => row.map((v) => factor * v));
const sum = (X, Y) => X.map((row, i) => row.map((v, j) => v + Y[i][j]));

function newtonSchulz(G) {
  let X = scaled(G, 1 / size(G));
  for (let step = 0; step < 5; step++) {
    const [a, b, c] = JORDAN, A = product(X, transposed(X)), square = product(A, A);
    X = product(A.map((row, i) => row.map((v, j) => (i === j ? a : 0) + b * v + c * square[i][j])), X);
  }
  return X;
}

const RULES = {
  Muon: newtonSchulz,
  "normalized gradient descent": (M) => scaled(M, Math.sqrt(K - 1) / size(M)), // as long as Muon's step
  "gradient descent": (M) => M,
};

// The share of each fact in a batch; the minimal standard generator is exact in whole numbers.
function batches(count) {
  let state = 8;
  const uniform = () => (state = (16807 * state) % 2147483647) / 2147483647;
  const fact = (u) => (u < ALPHA ? Math.floor((u / ALPHA) * L) : L + Math.floor(((u - ALPHA) / (1 - ALPHA)) * (K - L)));
  const expected = Array.from({ length: K }, (_, k) => (k < L ? ALPHA / L : (1 - ALPHA) / (K - L)));
  return () => {
    if (count === Infinity) return expected;
    const share = Array(K).fill(0);
    for (let i = 0; i < count; i++) share[fact(uniform())] += 1 / count;
    return share;
  };
}

const mean = (numbers) => numbers.reduce((total, v) => total + v, 0) / numbers.length;

function run({ optimizer, batch, momentum, step }) {
  const next = batches(BATCHES[batch]), lr = SHORTEST[optimizer] * 2 ** step, met = new Set();
  const zero = Array.from({ length: K }, () => Array(K).fill(0));
  let W = zero, M = zero, drawn = null;
  const frequent = [], rare = [];
  for (let t = 0; ; t++) {
    const columns = transposed(W).map((scores) => { // the answers to each key
      const top = Math.max(...scores), odds = scores.map((v) => Math.exp(v - top)), total = odds.reduce((a, b) => a + b);
      return odds.map((v) => v / total);
    });
    const right = columns.map((q, k) => q[k]);
    frequent.push(mean(right.slice(0, L)));
    rare.push(mean(right.slice(L)));
    if (t === LONGEST || Math.min(frequent[t], rare[t]) > 0.98) return { frequent, rare, drawn };
    const share = next();
    share.forEach((p, k) => { if (p && k >= L) met.add(k); });
    if (drawn === null && met.size >= GOAL * (K - L)) drawn = t + 1;
    const G = transposed(columns.map((q, k) => q.map((v, j) => share[k] * (Number(j === k) - v))));
    M = sum(scaled(M, momentum), scaled(G, 1 - momentum));
    W = sum(W, scaled(RULES[optimizer](M), lr));
  }
}

function view(values) {
  const { frequent, rare, drawn } = run(values), rate = SHORTEST[values.optimizer] * 2 ** values.step;
  const first = frequent.findIndex((v) => v >= GOAL), both = frequent.findIndex((v, t) => Math.min(v, rare[t]) >= GOAL);
  const steps = (t, words) => (t === null || t < 0 ? `${words} in none of ${LONGEST} steps.` : `${words} after ${t} ${t === 1 ? "step" : "steps"}.`);
  return {
    title: `${values.optimizer}, rate ${rate.toFixed(1)}: a point is a step`,
    x: { label: "frequent facts, mean probability", short: "frequent", range: [0, 1] },
    y: { label: "rare facts, mean probability", range: [0, 1] },
    series: [
      { label: values.optimizer, x: frequent, y: rare, marker: true },
      { label: "known equally well", x: [0, 1], y: [0, 1] },
    ],
    sentence:
      (first < 0 ? "The frequent facts stay below 0.9. " : `When the frequent facts pass 0.9, the rare ones are at ${rare[first].toFixed(2)}. `) +
      `${steps(both < 0 ? null : both, "Both are at 0.9")} ${steps(drawn, "Nine rare facts of ten have been drawn")}`,
  };
}
