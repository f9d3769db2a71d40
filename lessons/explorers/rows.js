// Lesson 12: the row norms of a matrix before and after it is orthogonalized. All is computed here.
const JORDAN = [3.4445, -4.775, 2.0315], EXACT = [15 / 8, -10 / 8, 3 / 8];

// The minimal standard generator, exact in whole numbers; four draws make one that is nearly normal.
function draws(seed) {
  let state = seed;
  const uniform = () => (state = (16807 * state) % 2147483647) / 2147483647;
  return () => uniform() + uniform() + uniform() + uniform() - 2;
}

// Row i times exp(spread · a number of its own), column j divided by j: a spectrum that falls.
function momentum(rows, columns, spread) {
  const scale = draws(7), entry = draws(11);
  return Array.from({ length: rows }, () => {
    const factor = Math.exp(spread * scale());
    return Array.from({ length: columns }, (_, j) => (factor * entry()) / (j + 1));
  });
}

const norms = (X) => X.map((row) => Math.hypot(...row));

function orthogonalized(G, steps, [a, b, c]) {
  const tall = G.length > G[0].length;
  const size = Math.hypot(...norms(G));
  let X = (tall ? transposed(G) : G).map((row) => row.map((v) => v / size));
  for (let step = 0; step < steps; step++) {
    const A = product(X, transposed(X)), square = product(A, A);
    const P = A.map((row, i) => row.map((v, j) => (i === j ? a : 0) + b * v + c * square[i][j]));
    X = product(P, X);
  }
  return tall ? transposed(X) : X;
}

// each norm as a multiple of the root of the mean square, the shortest first
function even(X) {
  const found = norms(X), mean = Math.sqrt(found.reduce((sum, v) => sum + v * v, 0) / found.length);
  return found.map((v) => v / mean).sort((p, q) => p - q);
}

function view({ rows, columns, spread, steps, factor }) {
  const G = momentum(rows, columns, spread), exact = factor !== "Newton-Schulz";
  const before = even(G), after = even(exact ? orthogonalized(G, 60, EXACT) : orthogonalized(G, steps, JORDAN));
  const x = before.map((_, i) => i + 1), ratio = (v) => (v[v.length - 1] / v[0]).toFixed(2);
  const how = exact ? "the exact polar factor" : steps === 1 ? "1 step" : `${steps} steps`;
  return {
    title: `${rows} × ${columns}, ${rows > columns ? "tall" : rows < columns ? "wide" : "square"}: ${how}`,
    x: { label: "row, shortest first", short: "row", range: [1, rows] },
    y: { label: "norm, 1: the root mean square", range: [0, 3] },
    series: [
      { label: "momentum", x, y: before },
      { label: "orthogonalized", who: "Muon", x, y: after, marker: true },
    ],
    marks: [{ y: 1, label: "NorMuon's first step" }],
    idle: exact ? ["steps"] : [],
    sentence: `The longest row of the momentum is ${ratio(before)} times as long as the shortest; after ${how}, ${ratio(after)} times.`,
  };
}
