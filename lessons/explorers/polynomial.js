// Where some steps of p(x) = a x + b x³ + c x⁵ send each singular value.

const PRESETS = {
  jordan: { a: 3.4445, b: -4.775, c: 2.0315 },
  "classical quintic": { a: 1.875, b: -1.25, c: 0.375 },
  cubic: { a: 1.5, b: -0.5, c: 0 },
};
const POLAR_EXPRESS = [ // numbers of its own for each step (arXiv 2505.16932, Algorithm 1)
  [8.28721201814563, -23.595886519098837, 17.300387312530933], [4.107059111542203, -2.9478499167379106, 0.5448431082926601],
  [3.9486908534822946, -2.908902115962949, 0.5518191394370137], [3.3184196573706015, -2.488488024314874, 0.51004894012372],
  [2.300652019954817, -1.6689039845747493, 0.4188073119525673], [1.891301407787398, -1.2679958271945868, 0.37680408948524835],
  [1.8750014808534479, -1.2500016453999487, 0.3750001645474248],
].map(([a, b, c]) => [a / 1.01, b / 1.01 ** 3, c / 1.01 ** 5]);
POLAR_EXPRESS.push([15 / 8, -10 / 8, 3 / 8]);
const LOWEST = 0.002, BINS = 400, EACH = 10;
const GRIPS = [0.2, 0.6, 1]; // where p can be dragged

function changed(name, values) {
  if (name === "preset") return { ...values, ...PRESETS[values.preset] };
  return "abc".includes(name) ? { ...values, preset: "custom" } : values;
}

const p = ([a, b, c], x) => x * (a + x * x * (b + x * x * c));

function grid(low, count) {
  return Array.from({ length: count }, (_, i) => low ** (1 - i / (count - 1)));
}

// The least and the largest of each few neighbours: a curve that swings faster than pixels keeps its height.
function ends(x, f) {
  const found = [x[0]];
  for (let i = 1; i < x.length; i += EACH) {
    const few = x.slice(i, i + EACH), images = few.map(f);
    const both = [Math.min, Math.max].map((end) => few[images.indexOf(end(...images))]);
    found.push(...new Set([...both, few.at(-1)].sort((v, w) => v - w)));
  }
  return found;
}

// The a, b, c of the curve through three points: p(x) / x is a parabola in x².
function through(heights) {
  const [r, s, t] = GRIPS.map((x) => x * x), [u, v, w] = GRIPS.map((x, i) => heights[i] / x);
  const first = (v - u) / (s - r), c = ((w - v) / (t - s) - first) / (t - r), b = first - c * (r + s);
  const found = { a: u - b * r - c * r * r, b, c };
  const fits = ({ name, min, max }) => found[name] >= min && found[name] <= max;
  return controls.filter(({ name }) => name in found).every(fits) ? found : {};
}

function term(factor, power) {
  return `${factor < 0 ? "−" : "+"} ${Math.abs(factor)} ${power}`;
}

function view({ steps, a, b, c, preset, show, axis }) {
  const express = preset === "Polar Express", log = axis === "logarithmic", distance = show !== "the value";
  const triples = express ? POLAR_EXPRESS.slice(0, steps) : Array(steps).fill([a, b, c]);
  const after = (v) => triples.reduce((x, triple) => p(triple, x), v);
  const shown = distance ? (v) => Math.abs(1 - after(v)) : after;
  const fine = log ? grid(1e-4, BINS * EACH + 1) : Array.from({ length: BINS * EACH + 1 }, (_, i) => (i / BINS / EACH) ** 2);
  const x = ends(fine, shown), few = fine.filter((_, i) => i % 40 === 0);
  const image = [...grid(LOWEST, 8000), ...grid(0.2, 8000)].map(after);
  const low = Math.min(...image), high = Math.max(...image);
  const slope = triples.reduce((size, [first]) => size * first, 1);
  const grips = express || distance ? [] : GRIPS;
  const numbers = express ? "Polar Express, whose a, b and c change from step to step" : `p(x) = ${a} x ${term(b, "x³")} ${term(c, "x⁵")}`;
  return {
    title: `${steps} ${steps === 1 ? "step" : "steps"} of ${numbers}`,
    x: { label: "singular value before", short: "before", log, range: log ? [1e-4, 1] : [0, 1] },
    y: distance ? { label: "distance from 1", range: [0, 1] } : { label: "singular value after", range: [0, 1.5] },
    series: [
      { label: "after the steps", x, y: x.map(shown) },
      ...(grips.length ? [{ label: "after one step, p(x): drag its points", x: few, y: few.map((v) => p([a, b, c], v)) }] : []),
      { label: "unchanged", x: few, y: few.map((v) => (distance ? 1 - v : v)), dash: "1 4" },
    ],
    marks: distance ? [] : [{ y: 1, label: "goal: 1" }],
    idle: express ? ["a", "b", "c"] : [],
    handles: grips.map((at, i) => ({
      label: `height of p at ${at}`, x: at, y: p([a, b, c], at),
      move: (_, y) => through(GRIPS.map((other, j) => (i === j ? y : p([a, b, c], other)))),
    })),
    sentence: steps === 0 ? "Without a step every singular value stays what it is, whatever a, b and c are." : Number.isFinite(low + high) && high < 100
      ? `Singular values between ${LOWEST} and 1 end between ${low.toFixed(3)} and ${high.toFixed(3)}. ` +
        `Close to zero they grow by a factor of ${slope.toLocaleString("en", { maximumSignificantDigits: 3 })}.`
      : "Some singular values grow without bound: these numbers do not work.",
  };
}
