// Lesson 14: Muon's part of a step, by the number of GPUs. All is computed here, from counted operations.
const power = (e) => (2 ** e).toLocaleString("en-US");
const format = { width: power, tokens: power, gpus: power };

// The load of the busiest of so many GPUs: the dearest matrix first, each to the least busy.
// A layer has two matrices (4C, C) and four (C, C); the first cost three times as much.
function busiest(layers, gpus) {
  const load = new Array(gpus).fill(0);
  for (const cost of [...new Array(2 * layers).fill(18), ...new Array(4 * layers).fill(6)]) {
    const free = load.indexOf(Math.min(...load));
    load[free] += cost;
  }
  return Math.max(...load);
}

function view({ width, tokens, layers, steps, gpus }) {
  const C = 2 ** width, model = 72 * layers * (2 ** tokens / C); // in units of C³, as is Muon's part
  const x = Array.from({ length: 11 }, (_, e) => 2 ** e);
  const percent = (muon, n) => (100 * muon) / (muon + model / n);
  const owned = x.map((n) => percent(steps * busiest(layers, n), n));
  const whole = x.map((n) => percent(steps * 60 * layers, n));
  const shown = (v) => `${Number(v.toPrecision(3))} %`;
  return {
    title: `Width ${power(width)}, ${power(tokens)} tokens a step, ${layers === 1 ? "1 layer" : `${layers} layers`}`,
    x: { label: "GPUs", log: true, range: [1, 1024] },
    y: { label: "Muon's part of the step, %", unit: "%", range: [0, 100] },
    series: [
      { label: "each matrix has one owner", x, y: owned, marker: true },
      { label: "every GPU orthogonalizes all", x, y: whole, marker: true },
    ],
    marks: [{ x: 2 ** gpus, label: gpus ? `${power(gpus)} GPUs` : "1 GPU" }],
    handles: [{ label: "GPUs", x: 2 ** gpus, sets: ["gpus"], move: (x) => ({ gpus: Math.log2(x) }) }],
    sentence:
      `Of all operations Muon's are ${shown(whole[0])}. ` +
      `With ${gpus ? `${power(gpus)} GPUs` : "1 GPU"} it takes ${shown(owned[gpus])} of the step when each matrix has one owner, ` +
      `and ${shown(whole[gpus])} when every GPU orthogonalizes all.`,
  };
}
