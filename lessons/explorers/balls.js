// Lesson 01: the unit balls of three norms in the space of symmetric 2×2 matrices, and one gradient.
// [[m + a, b], [b, m − a]] is the point (a, b, m), m upwards; its eigenvalues are m ± √(a² + b²).
const NORMS = ["Frobenius norm", "largest entry", "spectral norm"];
const APART = 3.1, REACH = 1.3, R = Math.SQRT1_2; // between the balls; of the gradient; of the first ball
const [ct, st, ce, se] = [Math.cos(0.45), Math.sin(0.45), Math.cos(0.3), Math.sin(0.3)]; // the viewer's place

const cut = (v) => (Math.abs(v) < 1e-9 ? 0 : v); // what is only rounding has no sign
const degrees = (s, c) => ((Math.atan2(s, c) * 180) / Math.PI + 360) % 360;
const seen = ([a, b, m]) => [a * ct - b * st, m * ce + (a * st + b * ct) * se];

// From the paper back to the side of the gradient's sphere that faces the viewer.
function turned(x, y) {
  const shrink = Math.min(1, REACH / Math.hypot(x, y)), [u, h] = [x * shrink, y * shrink];
  const near = Math.sqrt(Math.max(0, REACH ** 2 - u * u - h * h)), v = h * se - near * ce;
  const [a, b, m] = [u * ct + v * st, v * ct - u * st, h * ce + near * se];
  return { around: degrees(b, a), height: ((degrees(m, Math.hypot(a, b)) + 180) % 360) - 180 };
}

const circle = (p, q) => Array.from({ length: 49 }, (_, i) => (i * Math.PI) / 24)
  .map((t) => p.map((v, i) => v * Math.cos(t) + q[i] * Math.sin(t)));
const rim = circle([1, 0, 0], [0, 1, 0]);
const spokes = rim.filter((_, i) => i % 4 === 0).flatMap((point, i) => [[0, 0, i % 2 ? -1 : 1], point]);
const diamond = (b) => [[1, b, 0], [0, b, 1], [-1, b, 0], [0, b, -1], [1, b, 0]];
const [front, back] = [diamond(-1), diamond(1)];
const FRAMES = [
  [rim.map((p) => p.map((v) => R * v)), circle([R * ct, -R * st, 0], [R * se * st, R * se * ct, R * ce])],
  [front, back, ...front.slice(1).map((point, i) => [point, back[i + 1]])],
  [rim, spokes],
];

function spectral(m, [a, b], r) {
  const [plus, minus] = [Math.sign(cut(m + r)), Math.sign(cut(m - r))];
  const [half, turn] = [(plus - minus) / 2, r ? [a / r, b / r] : [0, 0]];
  return [half * turn[0], half * turn[1], (plus + minus) / 2];
}

function where([a, b, m]) {
  if (a || b) return m ? "the middle of an edge" : "a point of the rim, a reflection";
  return m > 0 ? "the upper tip, the identity" : "the lower tip, minus the identity";
}

function view({ around, height }) {
  const [t, h] = [around, height].map((v) => (v * Math.PI) / 180);
  const g = [Math.cos(h) * Math.cos(t), Math.cos(h) * Math.sin(t), Math.sin(h)].map(cut);
  const [a, b, m] = g, r = Math.hypot(a, b), signs = [m + a, m - a, b].map((v) => Math.sign(cut(v)));
  const steps = [g.map((v) => R * v), [(signs[0] - signs[1]) / 2, signs[2], (signs[0] + signs[1]) / 2], spectral(m, g, r)];
  const line = (strokes) => { // strokes: [panel, points in space], joined by gaps
    const at = strokes.flatMap(([panel, points]) => [[NaN, NaN], ...points.map(seen).map(([x, y]) => [x + panel * APART, y])]);
    return { x: at.slice(1).map(([x]) => x), y: at.slice(1).map(([, y]) => y) };
  };
  const to = (point) => [[0, 0, 0], point], tip = g.map((v) => REACH * v), [x, y] = seen(tip);
  const text = ([a, b, m]) => `((${[m + a, b].map((v) => cut(v).toFixed(2)).join(", ")}), (${[b, m - a].map((v) => cut(v).toFixed(2)).join(", ")}))`;
  const all = "all steps of length 1";
  const names = ["gradient descent", "sign descent", "Muon"];
  return {
    square: true, panels: NORMS,
    x: { label: "", range: [-APART / 2, 2.5 * APART] }, y: { label: "", range: [-APART / 2, APART / 2] },
    series: [
      { label: all, width: 1, dash: "", ...line(FRAMES.flatMap((frame, panel) => frame.map((points) => [panel, points]))) },
      { label: "gradient", who: "gradient", ...line([0, 1, 2].map((panel) => [panel, to(tip)])) },
      ...steps.map((step, panel) => ({
        label: `steepest step: ${names[panel]}`, who: names[panel], dash: "", marker: true, ...line([[panel, to(step)]]),
      })),
    ],
    handles: NORMS.map((name, panel) => ({
      label: `the gradient beside the ball of the ${name}`, x: x + panel * APART, y, sets: ["around", "height"],
      move: (px, py) => turned(px - panel * APART, py),
    })),
    sentence:
      `The gradient has the eigenvalues ${cut(m + r).toFixed(2)} and ${cut(m - r).toFixed(2)}. Steepest step of length 1: ` +
      `in the ${NORMS[0]} ${text(steps[0])}, in the ${NORMS[1]} ${text(steps[1])}, ` +
      `in the ${NORMS[2]} ${text(steps[2])}, ${where(steps[2].map(cut))}.`,
  };
}
