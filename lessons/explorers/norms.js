// Lesson 01: the unit ball of a p-norm and the step in it with the largest gain.
const format = { p: (s) => pText(exponent(s)) };

// the slider's 0…20 runs through p = 1 … 2 … ∞ evenly in 1/p
function exponent(slider) {
  return slider >= 20 ? Infinity : 1 / (1 - slider / 20);
}

function pText(p) {
  return p === Infinity ? "∞" : p.toFixed(2).replace(/\.?0+$/, "");
}

// the steepest step: |d_i| ∝ |g_i|^(q-1) with 1/p + 1/q = 1, scaled to length 1
function steepest(g, p) {
  if (p === Infinity) return g.map(Math.sign);
  const largest = Math.max(...g.map(Math.abs));
  if (p === 1) return g.map((v) => (Math.abs(v) === largest ? Math.sign(v) : 0));
  const raw = g.map((v) => Math.sign(v) * (Math.abs(v) / largest) ** (1 / (p - 1)));
  const length = raw.reduce((sum, v) => sum + Math.abs(v) ** p, 0) ** (1 / p);
  return raw.map((v) => v / length);
}

function onBall(angle, p) {
  const [x, y] = [Math.cos(angle), Math.sin(angle)];
  const length =
    p === Infinity ? Math.max(Math.abs(x), Math.abs(y)) : (Math.abs(x) ** p + Math.abs(y) ** p) ** (1 / p);
  return [x / length, y / length];
}

function view({ angle, p: slider }) {
  const p = exponent(slider);
  // cos 90° is 6e-17 here, and its 19th root, which a large p takes, is far from 0
  const g = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)].map((v) => (Math.abs(v) < 1e-12 ? 0 : v));
  const d = steepest(g, p);
  const ball = Array.from({ length: 361 }, (_, i) => onBall((i * Math.PI) / 180, p)); // the corners too
  const gain = g[0] * d[0] + g[1] * d[1];
  const show = (v) => `(${v.map((c) => (Math.abs(c) < 0.005 ? 0 : c).toFixed(2)).join(", ")})`;
  return {
    square: true,
    x: { label: "first coordinate", range: [-1.5, 1.5] },
    y: { label: "second coordinate", range: [-1.5, 1.5] },
    series: [
      { label: "all steps of length 1", x: ball.map((v) => v[0]), y: ball.map((v) => v[1]) },
      { label: "gradient", who: "gradient", x: [0, g[0]], y: [0, g[1]] },
      { label: "steepest step", x: [0, d[0]], y: [0, d[1]], marker: true },
    ],
    handles: [{
      label: "the gradient", x: g[0], y: g[1], sets: ["angle", "angle"],
      move: (x, y) => ({ angle: ((Math.atan2(y, x) * 180) / Math.PI + 360) % 360 }),
    }],
    sentence:
      `With p = ${pText(p)}, the steepest step for the gradient ${show(g)} is ${show(d)}. ` +
      `It has a gain of ${gain.toFixed(2)}.`,
  };
}
