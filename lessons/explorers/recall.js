// Lesson 05: how many facts a d × d matrix recalls, and the crosstalk that hides the others.

const TIE = 1e-9; // closer than this: the same but for rounding
const DRAWS = [1, 2, 3, 4]; // of keys and values: a single one would show its own luck
const WIDTH = 0.2, LEAST = -3, BINS = 40; // of the histogram

function chance(seed) { // mulberry32, then Box and Muller: the same numbers on every machine
  let state = seed * 0x9e3779b9;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function random(d, count, normal) { // of length 1: no value wins because it is long
  return Array.from({ length: count }, () => {
    const drawn = Float64Array.from({ length: d }, normal), size = Math.hypot(...drawn);
    return drawn.map((number) => number / size);
  });
}

function oneHot(d, count) {
  return Array.from({ length: count }, (_, k) => Float64Array.from({ length: d }, (_, i) => Number(i === k % d)));
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// Asks the memory of the first facts for each: `tell` gets the number of a fact and what all values score.
function ask(keys, values, count, tell) {
  const d = keys[0].length;
  const W = Array.from({ length: d }, () => new Float64Array(d));
  for (let k = 0; k < count; k++)
    for (let i = 0; i < d; i++)
      for (let j = 0; j < d; j++) W[i][j] += values[k][i] * keys[k][j];
  for (let k = 0; k < count; k++) {
    const answer = W.map((row) => dot(row, keys[k]));
    tell(k, values.slice(0, count).map((value) => dot(answer, value)));
  }
}

// Whether fact k is recalled: of two facts with one key, equally close to the answer, the first wins.
const wins = (k, scores) => scores.every((score, other) => other === k || score < scores[k] + (other < k ? -TIE : TIE));

function recalled(keys, values, count) {
  let right = 0;
  ask(keys, values, count, (k, scores) => (right += Number(wins(k, scores))));
  return right / count;
}

const mean = (numbers) => numbers.reduce((sum, v) => sum + v, 0) / numbers.length;
const percent = (share) => `${Math.round(100 * share)} %`;

function drawn(d, count) {
  return DRAWS.map((seed) => {
    const normal = chance(seed);
    return { random: random(d, count, normal), orthogonal: oneHot(d, count), values: random(d, count, normal) };
  });
}

function shares(d, last) {
  const tenths = Array.from({ length: 10 }, (_, i) => Math.max(2, Math.round((last * (i + 1)) / 10)));
  const x = [...new Set([...tenths, d])].sort((a, b) => a - b), draws = drawn(d, last);
  const series = ["random", "orthogonal"].map((kind) => {
    const found = x.map((count) => draws.map((draw) => recalled(draw[kind], draw.values, count)));
    const label = `${kind} keys${kind === "random" ? "" : ", shared beyond d facts"}: mean and range of ${DRAWS.length} draws`;
    return { label, x, y: found.map(mean), low: found.map((v) => Math.min(...v)), high: found.map((v) => Math.max(...v)), marker: true };
  });
  return {
    title: `A ${d} × ${d} matrix`,
    x: { label: "facts", range: [0, last] },
    y: { label: "share recalled", range: [0, 1.05] },
    series,
    marks: [{ x: d, label: `d = ${d}` }],
    sentence: `Of ${last} facts, random keys recall ${percent(series[0].y.at(-1))}, orthogonal keys ${percent(series[1].y.at(-1))}.`,
  };
}

// The right value scores 1 and crosstalk; another value scores crosstalk alone.
function crosstalk(d, count, kind) {
  const right = [], others = { sum: 0, squares: 0, number: 0, bins: new Float64Array(BINS) };
  let kept = 0;
  const bin = (score) => Math.floor((score - LEAST) / WIDTH);
  for (const draw of drawn(d, count)) {
    ask(draw[kind], draw.values, count, (k, scores) => {
      kept += Number(wins(k, scores));
      right.push(scores[k]);
      scores.forEach((score, other) => {
        if (other === k) return;
        others.sum += score;
        others.squares += score * score;
        others.number += 1;
        others.bins[bin(score)] += 1; // beyond both ends nothing is counted
      });
    });
  }
  const own = new Float64Array(BINS);
  for (const score of right) own[bin(score)] += 1;
  const x = Array.from(own, (_, i) => LEAST + (i + 0.5) * WIDTH);
  const centre = others.sum / others.number, spread = Math.sqrt(others.squares / others.number - centre ** 2);
  return {
    title: `${count} facts in a ${d} × ${d} matrix, ${kind} keys, ${DRAWS.length} draws`,
    x: { label: "score: the answer times a value", short: "score", range: [-2, 3] },
    y: { label: "share of the scores, %", unit: "%" },
    series: [
      { label: "the right value", x, y: Array.from(own, (n) => (100 * n) / right.length) },
      { label: "other values", x, y: Array.from(others.bins, (n) => (100 * n) / others.number) },
    ],
    marks: [{ x: 1, label: "without crosstalk" }],
    sentence:
      `With keys and values at right angles the right value scores 1 and every other 0. Here others score ${spread.toFixed(2)} more or less: ` +
      `one of ${count - 1} is then ahead of the right one for ${percent(1 - kept / right.length)} of the facts, which are not recalled.`,
  };
}

function view({ d, most, show }) {
  return show === "share recalled" ? shares(d, d * most) : crosstalk(d, d * most, show.includes("random") ? "random" : "orthogonal");
}
