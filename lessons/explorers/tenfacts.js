// Lesson 00: ten facts, one of them common, learned by steps of one length in three ways.
// All matrices stand in the basis of the facts: entry (i, k) is what answer i scores for question k.

const STEPS = 40;
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

const RULES = {
  "gradient descent": (D) => D,
  "sign descent": (D, { keys, values }) => {
    const whole = times(times(values, D), flipped(keys)); // entry by entry, in the axes of W
    return times(times(flipped(values), whole.map((row) => row.map(Math.sign))), keys);
  },
  "polar factor": polar,
};

function learn(rule, share, length, data) {
  const K = data.keys.length, p = Array.from({ length: K }, (_, k) => (k ? (1 - share) / (K - 1) : share));
  let scores = eye(K).map((row) => row.map(() => 0));
  const known = [];
  for (let step = 0; step <= STEPS; step++) {
    const P = answers(scores);
    known.push(P.map((row, k) => row[k]));
    const D = RULES[rule](P.map((row, i) => row.map((v, k) => (Number(i === k) - v) * p[k])), data);
    const most = Math.max(...svd(D).s);
    scores = scores.map((row, i) => row.map((v, k) => v + (length * D[i][k]) / most));
  }
  return known;
}

function view({ rule, share, length }, data) {
  const known = learn(rule, share / 100, length, data), rare = known.map((all) => all.slice(1));
  const mean = (v) => v.reduce((a, b) => a + b, 0) / v.length, x = known.map((_, step) => step);
  const [common, others] = [known.at(-1)[0], mean(rare.at(-1))];
  return {
    x: { label: "step" },
    y: { label: "probability of the right answer", short: "probability", range: [0, 1.02] },
    series: [
      { label: "the common fact", who: rule, x, y: known.map((all) => all[0]), marker: true },
      {
        label: "the nine rare facts: mean and range", who: rule, marker: "star", dash: "2 3", x, y: rare.map(mean),
        low: rare.map((v) => Math.min(...v)), high: rare.map((v) => Math.max(...v)),
      },
    ],
    sentence:
      `The common fact is ${share} % of the questions, each rare one ${((100 - share) / 9).toFixed(1)} %. ` +
      `After ${STEPS} steps the common answer has the probability ${common.toFixed(2)}, a rare one ${others.toFixed(2)} on average.`,
  };
}
