// Lesson 00: ten facts, one of them common, learned by Adam and by Muon.
// All matrices stand in the basis of the facts: entry (i, k) is what answer i scores for question k.

const STEPS = 40, ADAM = 0.03, MUON = 0.15; // the rates bring the common fact to 0.9 at one step
const times = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
const flipped = (A) => A[0].map((_, j) => A.map((row) => row[j]));
const eye = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i === j)));

function turnColumns(A, p, q, cos, sin) {
  for (const row of A) [row[p], row[q]] = [cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]];
}

// One-sided Jacobi: turns pairs of columns until all are orthogonal. A = U diag(s) Vᵀ.
function svd(A) {
  const U = A.map((row) => [...row]), V = eye(A.length);
  for (let sweep = 0, turned = true; turned && sweep < 40; sweep++) {
    turned = false;
    for (let q = 1; q < A.length; q++)
      for (let p = 0; p < q; p++) {
        let a = 0, b = 0, c = 0;
        for (const row of U) (a += row[p] ** 2), (b += row[q] ** 2), (c += row[p] * row[q]);
        if (Math.abs(c) <= 1e-15 * Math.sqrt(a * b)) continue;
        const z = (b - a) / (2 * c), t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.hypot(1, z));
        const cos = 1 / Math.hypot(1, t);
        turnColumns(U, p, q, cos, cos * t);
        turnColumns(V, p, q, cos, cos * t);
        turned = true;
      }
  }
  return { U, V, s: flipped(U).map((column) => Math.hypot(...column)) };
}

function polar(A) { // a direction with the singular value 0 stays 0
  const { U, V, s } = svd(A), floor = 1e-12 * Math.max(...s);
  return times(U.map((row) => row.map((u, j) => (s[j] > floor ? u / s[j] : 0))), flipped(V));
}

function answers(scores) { // softmax of each column
  const columns = flipped(scores).map((column) => {
    const most = Math.max(...column), powers = column.map((v) => Math.exp(v - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((v) => v / sum);
  });
  return flipped(columns);
}

function adam({ keys, values }) { // it divides entry by entry, in the axes of W
  const zeros = () => keys.map((row) => row.map(() => 0));
  const M = zeros(), V = zeros();
  let step = 0;
  return (D) => {
    step += 1;
    const G = times(times(values, D), flipped(keys));
    const update = G.map((row, i) => row.map((g, j) => {
      M[i][j] = 0.9 * M[i][j] + 0.1 * g;
      V[i][j] = 0.999 * V[i][j] + 0.001 * g * g;
      return ADAM * (M[i][j] / (1 - 0.9 ** step)) / (Math.sqrt(V[i][j] / (1 - 0.999 ** step)) + 1e-12);
    }));
    return times(times(flipped(values), update), keys);
  };
}

const muon = () => (D) => polar(D).map((row) => row.map((v) => MUON * v));

function learn(optimizer, share, facts) {
  const K = facts.keys.length, p = Array.from({ length: K }, (_, k) => (k ? (1 - share) / (K - 1) : share));
  const update = optimizer(facts), known = [];
  let scores = eye(K).map((row) => row.map(() => 0));
  for (let step = 0; step <= STEPS; step++) {
    const P = answers(scores);
    known.push(P.map((row, k) => row[k]));
    const D = update(P.map((row, i) => row.map((v, k) => (Number(i === k) - v) * p[k])));
    scores = scores.map((row, i) => row.map((v, k) => v + D[i][k]));
  }
  return known;
}

const mean = (v) => v.reduce((a, b) => a + b, 0) / v.length;

function curves(who, known) {
  const rare = known.map((all) => all.slice(1)), x = known.map((_, step) => step);
  return [
    { label: `${who}: the common fact`, who, x, y: known.map((all) => all[0]), marker: true, dash: "" },
    {
      label: `${who}: nine rare facts, mean and range`, who, x, y: rare.map(mean), dash: "2 3",
      marker: who === "Adam" ? "star" : "triangle",
      low: rare.map((v) => Math.min(...v)), high: rare.map((v) => Math.max(...v)),
    },
  ];
}

function view({ share, axes }, data) {
  const own = eye(data.keys.length), facts = axes === "turned at random" ? data : { keys: own, values: own };
  const known = { Adam: learn(adam, share / 100, facts), Muon: learn(muon, share / 100, facts) };
  const [a, m] = Object.values(known).map((all) => mean(all.at(-1).slice(1)).toFixed(2));
  return {
    x: { label: "step" },
    y: { label: "probability of the right answer", short: "probability", range: [0, 1.02] },
    series: Object.entries(known).flatMap(([who, all]) => curves(who, all)),
    sentence:
      `The common fact is ${share} % of the questions, each rare one ${((100 - share) / 9).toFixed(1)} %. ` +
      `After ${STEPS} steps a rare answer has the probability ${a} under Adam and ${m} under Muon, on average.`,
  };
}
