// Lesson 08: the probability of a frequent and of a rare fact along a run, K facts in six numbers.
// The same recurrences as muonlab/theory/theorems.py; there the tests compare them with dense matrices.

const RULES = { "gradient descent": gradient, "SignGD (own axes)": signs, Muon: polar };
const COUPLED = "SignGD (coupled)";

function logs(x, others) {
  const all = [[x, 1], ...others].filter(([, n]) => n > 0);
  const top = Math.max(...all.map(([v]) => v));
  const total = top + Math.log(all.reduce((sum, [v, n]) => sum + n * Math.exp(v - top), 0));
  return (v) => Math.exp(v - total);
}

function descent({ a, b, c11, c12, c21, c22 }, K, L, p, q) {
  const f = logs(a + c11, [[c11, L - 1], [c21, K - L]]), r = logs(b + c22, [[c22, K - L - 1], [c12, L]]);
  return {
    a: p * (1 - f(a + c11) + f(c11)), b: q * (1 - r(b + c22) + r(c22)),
    c11: -p * f(c11), c21: -p * f(c21), c22: -q * r(c22), c12: -q * r(c12),
  };
}

function gradient(G, K, L) {
  return G;
}

function signs({ a, b, c11, c12, c21, c22 }) {
  const s11 = Math.sign(c11), s22 = Math.sign(c22);
  return { a: Math.sign(a + c11) - s11, b: Math.sign(b + c22) - s22, c11: s11, c12: Math.sign(c12), c21: Math.sign(c21), c22: s22 };
}

// Along the ones of the two blocks the gradient has rank one: its columns sum to 0.
function polar({ a, b, c11, c12, c21, c22 }, K, L) {
  const rest = K - L, across = Math.sqrt(L * rest);
  const core = [a + L * c11, across * c12, across * c21, b + rest * c22];
  const size = Math.hypot(...core) || 1;
  const [m11, m12, m21, m22] = core.map((v) => v / size);
  const sa = Math.sign(a), sb = Math.sign(b);
  return { a: sa, b: sb, c11: (m11 - sa) / L, c12: m12 / across, c21: m21 / across, c22: (m22 - sb) / rest };
}

function run({ rule, alpha, K, steps }) {
  const L = K / 5, p = alpha / L, q = (1 - alpha) / (K - L);
  const lr = rule === "gradient descent" ? 0.4 * K : rule === "Muon" ? 0.5 : 0.1;
  let W = { a: 0, b: 0, c11: 0, c12: 0, c21: 0, c22: 0 };
  const frequent = [], rare = [];
  for (let step = 0; step <= steps; step++) {
    const { a, b, c11, c12, c21, c22 } = W;
    frequent.push(logs(a + c11, [[c11, L - 1], [c21, K - L]])(a + c11));
    rare.push(logs(b + c22, [[c22, K - L - 1], [c12, L]])(b + c22));
    const D = RULES[rule](descent(W, K, L, p, q), K, L);
    W = Object.fromEntries(Object.entries(W).map(([name, value]) => [name, value + lr * D[name]]));
  }
  return [frequent, rare];
}

// Sign descent with coupled embeddings, where three facts share three axes. The answers are made of
// blocks of three: a group's own (frequent, rare), and those of two groups (rows, then columns).
function runCoupled({ alpha, K, steps }) {
  const L = K / 5, count = [L / 3, (K - L) / 3], p = [alpha / L, (1 - alpha) / (K - L)];
  const { keys, values } = coupled(1), three = [0, 1, 2];
  const zero = () => three.map(() => [0, 0, 0]);
  const sorts = [0, 1].map((sort) => ({ own: zero(), far: [zero(), zero()], curve: [] })); // by the sort of the column
  const moved = (block, surprise) => {
    const signs = product(product(values, surprise), transposed(keys)).map((row) => row.map(Math.sign));
    const step = product(product(transposed(values), signs), keys);
    return block.map((row, i) => row.map((v, j) => v + 0.1 * step[i][j]));
  };
  for (let step = 0; step <= steps; step++) {
    sorts.forEach((sort, s) => {
      const others = [0, 1].map((r) => count[r] - Number(r === s));
      const right = three.map((j) => logs(sort.own[j][j], three.flatMap((i) => [
        ...(i === j ? [] : [[sort.own[i][j], 1]]), [sort.far[0][i][j], others[0]], [sort.far[1][i][j], others[1]],
      ])));
      sort.curve.push(three.map((j) => right[j](sort.own[j][j])));
      const surprise = (block, own) => block.map((row, i) => row.map((v, j) => p[s] * (Number(own && i === j) - right[j](v))));
      const own = moved(sort.own, surprise(sort.own, true));
      sort.far = sort.far.map((block) => moved(block, surprise(block, false)));
      sort.own = own;
    });
  }
  return [Math.max, Math.min].map((end) => sorts[0].curve.map((at, i) => end(...at, ...sorts[1].curve[i])));
}

function view(values) {
  const mixed = values.rule === COUPLED; // frequent and rare facts alike are known well or badly
  const names = mixed ? ["the best known fact", "the worst known"] : ["a frequent fact", "a rare one"];
  const [first, second] = mixed ? runCoupled(values) : run(values);
  const x = first.map((_, i) => i);
  const gaps = first.map((value, i) => Math.abs(value - second[i]));
  const worst = Math.max(...gaps), at = gaps.indexOf(worst);
  return {
    title: `${values.rule}, ${values.K} facts`,
    x: { label: "step" },
    y: { label: "probability of the right answer", range: [0, 1] },
    series: [
      { label: names[0], x, y: first, marker: true },
      { label: names[1], x, y: second, marker: true },
    ],
    sentence: `The largest gap is ${worst.toFixed(4)}${worst < 5e-5 ? "" : `, at step ${at}`}. ` +
      `At the end ${names[0]} is answered right with probability ${first.at(-1).toFixed(3)}, ${names[1]} with ${second.at(-1).toFixed(3)}.`,
  };
}
