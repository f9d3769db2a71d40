// Lesson 05: how many facts a d × d matrix recalls, for random keys and for orthogonal ones.

const TIE = 1e-9; // closer than this: the same but for rounding

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

function recalled(keys, values, count) {
  const d = keys[0].length;
  const W = Array.from({ length: d }, () => new Float64Array(d));
  for (let k = 0; k < count; k++)
    for (let i = 0; i < d; i++)
      for (let j = 0; j < d; j++) W[i][j] += values[k][i] * keys[k][j];
  let right = 0;
  for (let k = 0; k < count; k++) {
    const answer = W.map((row) => dot(row, keys[k]));
    const own = dot(answer, values[k]);
    let best = true; // of two facts with one key, equally close to the answer, the first wins
    for (let other = 0; best && other < count; other++)
      best = other === k || dot(answer, values[other]) < own + (other < k ? -TIE : TIE);
    right += Number(best);
  }
  return right / count;
}

function view({ d, most, seed }) {
  const tenths = Array.from({ length: 10 }, (_, i) => Math.max(2, Math.round((d * most * (i + 1)) / 10)));
  const x = [...new Set([...tenths, d])].sort((a, b) => a - b);
  const normal = chance(seed), last = x[x.length - 1];
  const keys = random(d, last, normal), values = random(d, last, normal);
  const straight = oneHot(d, last);
  const series = [
    { label: "random keys and values", x, y: x.map((count) => recalled(keys, values, count)), marker: true },
    { label: "orthogonal keys, shared beyond d facts", x, y: x.map((count) => recalled(straight, values, count)), marker: true },
  ];
  const end = (s) => `${Math.round(100 * s.y[s.y.length - 1])} %`;
  return {
    title: `A ${d} × ${d} matrix`,
    x: { label: "facts", range: [0, last] },
    y: { label: "share recalled", range: [0, 1.05] },
    series,
    marks: [{ x: d, label: "d" }],
    sentence: `Of ${last} facts, random keys recall ${end(series[0])}, orthogonal keys ${end(series[1])}.`,
  };
}
