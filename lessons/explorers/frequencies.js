// Lesson 05: the first gradient of a memory and its polar factor, in the axes of the facts.
const NEWTON_SCHULZ = [15 / 8, -10 / 8, 3 / 8], STEPS = 40, HALVINGS = 60;

// (I − 11ᵀ/K) X: each column less its mean. It also takes away what rounding puts along the singular value 0.
const centred = (X) => {
  const means = X[0].map((_, k) => X.reduce((sum, row) => sum + row[k], 0) / X.length);
  return X.map((row) => row.map((v, k) => v - means[k]));
};

function polarFactor(G) {
  const [a, b, c] = NEWTON_SCHULZ, size = Math.hypot(...G.flat());
  let X = G.map((row) => row.map((v) => v / size));
  for (let step = 0; step < STEPS; step++) {
    const A = product(X, transposed(X)), square = product(A, A);
    X = centred(product(A.map((row, i) => row.map((v, j) => (i === j ? a : 0) + b * v + c * square[i][j])), X));
  }
  return X;
}

// s² between two neighbours p², where the sum of 1 / (p² − s²) changes its sign.
function singularValues(p) {
  return p.slice(1).map((below, k) => {
    let [low, high] = [below ** 2, p[k] ** 2];
    for (let i = 0; i < HALVINGS && low < high; i++) {
      const middle = (low + high) / 2, f = p.reduce((sum, q) => sum + 1 / (q * q - middle), 0);
      if (f < 0) low = middle; else high = middle;
    }
    return Math.sqrt((low + high) / 2);
  });
}

function view({ exponent, count }) {
  const facts = Array.from({ length: count }, (_, k) => k + 1), weights = facts.map((k) => k ** -exponent);
  const whole = weights.reduce((sum, w) => sum + w, 0), p = weights.map((w) => w / whole);
  const G = centred(facts.map((_, j) => facts.map((_, k) => (j === k ? p[k] : 0))));
  const flat = polarFactor(G), last = count - 1, ends = (M) => `${short(M[0][0], 2)} to ${short(M[last][last], 2)}`;
  return {
    title: `In the axes of ${count} facts, fact k as frequent as 1 / kˢ, s = ${exponent}`,
    maps: [
      { title: "gradient", matrix: G, words: `diagonal from ${ends(G)}` },
      { title: "its polar factor", matrix: flat, words: `diagonal from ${ends(flat)}` },
    ],
    x: { label: "number, largest first", short: "number", range: [0.5, count + 0.5] },
    y: { label: "singular value", log: true },
    series: [
      { label: "frequency of the fact", x: facts, y: p, line: false, marker: true },
      { label: "gradient", who: "gradient", x: facts.slice(0, -1), y: singularValues(p), marker: true },
      { label: "polar factor", who: "polar factor", x: facts.slice(0, -1), y: facts.slice(0, -1).map(() => 1), marker: true },
    ],
    sentence:
      `The most frequent fact is seen ${short(p[0] / p[last], 3)} times as often as the rarest. On the diagonal the gradient goes from ${ends(G)}, ` +
      `its polar factor from ${ends(flat)}. Both have one more singular value, 0, which a logarithmic axis cannot show.`,
  };
}
