// The memory of muonlab/theory/memory.py, and optimizers of muonlab/optim, in this page. A matrix is
// { rows, columns, at }; `at` holds its numbers row by row. tests/test_playground.py compares all with Python's.

function matrix(rows, columns, number = () => 0) {
  const at = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) at[i * columns + j] = number(i, j);
  return { rows, columns, at };
}

const identity = (n) => matrix(n, n, (i, j) => Number(i === j));
const mix = (a, A, b, B) => entries(A, (x, k) => a * x + b * B.at[k]);
const flip = (A) => matrix(A.columns, A.rows, (i, j) => A.at[j * A.columns + i]);
const norm = (A) => Math.sqrt(A.at.reduce((sum, x) => sum + x * x, 0));
const largest = (A) => A.at.reduce((top, x) => Math.max(top, Math.abs(x)), 0) || 1; // never divide by 0

function entries({ rows, columns, at }, f) { // a loop: `map` of a typed array takes five times as long
  const found = new Float64Array(at.length);
  for (let k = 0; k < at.length; k++) found[k] = f(at[k], k);
  return { rows, columns, at: found };
}

function times({ rows, columns: inner, at: a }, { columns, at: b }) {
  const c = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let k = 0; k < inner; k++) {
    const factor = a[i * inner + k];
    for (let j = 0, to = i * columns, from = k * columns; j < columns; j++) c[to + j] += factor * b[from + j];
  }
  return { rows, columns, at: c };
}

// One-sided Jacobi: turns two columns of A V at a time until all are at right angles; then A V = U diag(sigma).
// V is changed in place: that of the step before is nearly right, and saves turns. Here its columns are rows.
function svd(A, tolerance = 1e-14, V = identity(A.columns)) {
  const { rows: m, columns: n } = A, top = largest(A);
  const C = times(V, flip(entries(A, (x) => x / top))), columns = C.at; // (A V)ᵀ
  const turn = ({ at }, length, p, q, cos, sin) => {
    for (let k = 0, i = p * length, j = q * length; k < length; k++, i++, j++) {
      const x = at[i], y = at[j];
      at[i] = cos * x - sin * y;
      at[j] = sin * x + cos * y;
    }
  };
  for (let sweep = 0, turned = true; turned && sweep < 30; sweep++) {
    turned = false;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
      let a = 0, b = 0, c = 0;
      for (let k = 0; k < m; k++) {
        const x = columns[p * m + k], y = columns[q * m + k];
        (a += x * x), (b += y * y), (c += x * y);
      }
      if (Math.abs(c) <= tolerance * Math.sqrt(a * b)) continue;
      const zeta = (b - a) / (2 * c), tan = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
      const cos = 1 / Math.sqrt(1 + tan * tan);
      turn(C, m, p, q, cos, cos * tan);
      turn(V, n, p, q, cos, cos * tan);
      turned = true;
    }
  }
  const sigma = Array.from({ length: n }, (_, i) => Math.hypot(...C.at.subarray(i * m, i * m + m)));
  return { C, V, sigma, values: sigma.map((s) => s * top).sort((a, b) => b - a) };
}

function determinant(A) { // by elimination, the largest entry of a column first
  const n = A.columns, rows = Array.from({ length: n }, (_, i) => A.at.slice(i * n, i * n + n));
  let found = 1;
  for (let k = 0; k < n; k++) {
    const pivot = rows.reduce((best, row, i) => (i >= k && Math.abs(row[k]) > Math.abs(rows[best][k]) ? i : best), k);
    if (pivot !== k) [rows[k], rows[pivot], found] = [rows[pivot], rows[k], -found];
    found *= rows[k][k];
    for (let i = k + 1; i < n; i++) for (let j = n - 1; j >= k; j--) rows[i][j] -= (rows[i][k] / rows[k][k]) * rows[k][j];
  }
  return found;
}

// --- what an optimizer makes of the average M of gradients ---------------------------------------

function polar(M, near) { // U Vᵀ; a singular value that is 0 stays 0
  const { C, V, sigma } = svd(M, 1e-14, near), zero = Math.max(...sigma) * Math.max(M.rows, M.columns) * Number.EPSILON;
  const U = matrix(C.rows, C.columns, (i, j) => (sigma[i] > zero ? C.at[i * C.columns + j] / sigma[i] : 0));
  return times(flip(U), V);
}

function newtonSchulz(M, steps = 5) { // X ← aX + (bA + cA²)X, A = XXᵀ: every singular value to about 1
  const [a, b, c] = [3.4445, -4.775, 2.0315], top = largest(M), scaled = entries(M, (x) => x / top);
  const size = norm(scaled) || 1;
  let X = entries(scaled, (x) => x / size);
  for (let step = 0; step < steps; step++) {
    const A = times(X, flip(X));
    X = mix(a, X, 1, times(mix(b, A, c, times(A, A)), X));
  }
  return X;
}

function adam(M, { G, kept, momentum, step }) { // M over the root of an average of squares
  kept.V = entries(G, (x, k) => 0.95 * (kept.V?.at[k] ?? 0) + 0.05 * x * x);
  const [first, second] = [momentum, 0.95].map((beta) => 1 - beta ** (step + 1)); // both began at 0
  return entries(M, (x, k) => x / first / (Math.sqrt(kept.V.at[k] / second) + 1e-12));
}

function norMuon(M, { kept }) { // rows of equal size, by a running mean square; then the norm of before
  const O = newtonSchulz(M), n = O.columns, row = (k) => Math.floor(k / n);
  const squares = Array.from({ length: O.rows }, (_, i) => O.at.slice(i * n, i * n + n).reduce((sum, x) => sum + x * x, 0) / n);
  kept.v = squares.map((mean, i) => 0.95 * (kept.v?.[i] ?? 0) + 0.05 * mean);
  const even = entries(O, (x, k) => x / (Math.sqrt(kept.v[row(k)]) + 1e-8)), scale = norm(O) / (norm(even) || 1);
  return entries(even, (x) => x * scale);
}

const RULES = { // `who` is a name of optimizers.json; rate and momentum are what one begins with
  gd: { name: "gradient descent", who: "gradient descent", rate: 5, momentum: 0, update: (M) => M },
  sign: { name: "sign descent", who: "sign descent", rate: 0.1, momentum: 0, update: (M) => entries(M, Math.sign) },
  adam: { name: "Adam", who: "AdamW", rate: 0.05, momentum: 0.9, update: adam },
  muon: { name: "Muon", who: "Muon", rate: 0.1, momentum: 0, update: (M, { near }) => polar(M, near.M) },
  ns: { name: "Muon (five steps)", who: "Muon", rate: 0.1, momentum: 0, update: (M) => newtonSchulz(M) },
  normuon: { name: "NorMuon", who: "NorMuon", rate: 0.1, momentum: 0, update: norMuon },
};

// --- facts ----------------------------------------------------------------------------------------

function* numbers(draw, stream) { // between 0 and 1, always the same: x ← 48271 x mod 2³¹ − 1
  let x = 7919 * (4 * draw + stream);
  for (let i = 0; ; i++) {
    x = (48271 * x) % 2147483647;
    if (i >= 10) yield x / 2147483647;
  }
}

function gaussian(d, K, source) {
  const next = () => source.next().value;
  return matrix(d, K, () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()) / Math.sqrt(d));
}

// Keys E and values (d, K): own axes, K of them or, if there are too few, random directions; turned from 0,
// over 1, coupled in threes (matrix.js), to 2, at random. Between two turns of opposite determinants something
// is squashed to 0; so the random one has a row flipped where it must, which no optimizer here notices.
function embeddings({ facts: K, dimension: d, axes, draw }) {
  const { keys, values } = coupled(Math.min(axes, 1));
  return [keys, values].map((block, stream) => {
    const source = numbers(draw, stream);
    const threes = matrix(d, d, (i, j) => (Math.floor(i / 3) === Math.floor(j / 3) ? block[i % 3][j % 3] : 0));
    const own = K <= d ? matrix(d, K, (i, j) => Number(i === j)) : gaussian(d, K, source);
    if (axes <= 1) return times(threes, own);
    const chance = polar(gaussian(d, d, source)), mirror = determinant(chance) < 0 ? -1 : 1; // that of threes is 1
    return times(polar(mix(2 - axes, threes, axes - 1, entries(chance, (x, k) => (k < d ? mirror * x : x)))), own);
  });
}

function powerLaw(K, exponent) {
  const weights = Array.from({ length: K }, (_, k) => (k + 1) ** -exponent), sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

// A run from W = 0; points[t] is after t updates. `next` adds a point.
function run(state, rule, rate, momentum) {
  const { facts: K, dimension: d, tail, batch, draw } = state;
  const p = powerLaw(K, tail), [E, values] = embeddings(state), chance = numbers(draw, 2);
  const points = [], kept = {}, near = { W: identity(d), G: identity(d), M: identity(d) };
  let M = matrix(d, d);

  function drawn() { // how often each fact is in this step's batch
    if (!batch) return p;
    const seen = p.map(() => 0);
    for (let i = 0; i < batch; i++) {
      let left = chance.next().value, k = 0;
      while (k < K - 1 && left >= p[k]) left -= p[k++];
      seen[k] += 1 / batch;
    }
    return seen;
  }

  function at(W) {
    const logits = times(flip(values), times(W, E)), surprise = matrix(K, K), seen = drawn(), correct = [];
    let loss = 0;
    for (let j = 0; j < K; j++) { // softmax down each column; a key's right answer is its own number
      const column = Array.from({ length: K }, (_, i) => logits.at[i * K + j]), top = Math.max(...column);
      const powers = column.map((x) => Math.exp(x - top)), sum = powers.reduce((a, b) => a + b);
      correct.push(powers[j] / sum);
      loss -= p[j] * (column[j] - top - Math.log(sum));
      let wrong = 0;
      powers.forEach((x, i) => { if (i !== j) (wrong += x), (surprise.at[i * K + j] = (-x / sum) * seen[j]); });
      surprise.at[j * K + j] = (wrong / sum) * seen[j];
    }
    const G = times(times(values, surprise), flip(E)); // −∇L
    let found;
    const spectra = () => (found ??= { W: svd(W, 1e-6, near.W).values, G: svd(G, 1e-6, near.G).values }); // where one looks
    const known = correct.filter((share) => share > 0.5).length;
    return { W, G, correct, loss, spectra, best: Math.max(...correct), worst: Math.min(...correct), known };
  }

  function next() {
    const { W, G } = points.at(-1), step = points.length - 1;
    M = mix(momentum, M, 1 - momentum, G);
    points.push(at(mix(1, W, rate, RULES[rule].update(M, { G, kept, near, momentum, step }))));
  }
  points.push(at(matrix(d, d)));
  return { points, next, p };
}

// --- step sizes -----------------------------------------------------------------------------------

// The step size with which a side's best known fact reaches probability 0.9 at the step `pace`: where both sides
// have it, neither is merely faster. Null where there is none: facts that disturb each other come and go.
// The first three do not notice how the axes are turned.
const LEVEL = ["gd", "muon", "ns"], KNOWN = 0.9, KEPT = new Map();

function pacedKey(state, side) {
  const { facts, dimension, tail, batch, axes, draw, pace } = state, level = LEVEL.includes(state[side]);
  const alike = level && !batch && facts <= dimension;
  const data = { facts, dimension, tail, batch, axes: level ? 0 : axes, draw: alike ? 1 : draw };
  return JSON.stringify([data, state[side], state[`${side}-momentum`], pace]);
}

function paced(state, side) {
  const key = pacedKey(state, side);
  if (!KEPT.has(key)) KEPT.set(key, search(...JSON.parse(key)));
  return KEPT.get(key);
}

// False position: what is looked for is nearly straight in the step size, and its value at 0 is known.
function search(data, rule, momentum, pace) {
  const logit = (share) => Math.log(share / Math.max(1e-9, 1 - share));
  const best = (rate, steps) => {
    const { points, next } = run(data, rule, rate, momentum);
    while (points.length <= steps) next();
    return Math.max(...points.map((point) => point.best));
  };
  const over = (rate) => [rate, logit(best(rate, pace)) - logit(KNOWN)];
  let low = [0, logit(1 / data.facts) - logit(KNOWN)], high = over((40 * RULES[rule].rate) / pace);
  for (let i = 0; high[1] < 0 && i < 12; i++) [low, high] = [high, over(2 * high[0])];
  for (let i = 0, kept = 0; high[1] > 0.003 && i < 30; i++) { // 0.9003, at most
    const [rate, value] = over((low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1]));
    if (value >= 0) [low, high, kept] = [kept > 0 ? [low[0], low[1] / 2] : low, [rate, value], 1];
    else [low, high, kept] = [[rate, value], kept < 0 ? [high[0], high[1] / 2] : high, -1];
  }
  const before = best(high[0], pace - 2);
  return high[1] >= 0 && high[1] <= 0.003 && before < KNOWN ? high[0] : null;
}
