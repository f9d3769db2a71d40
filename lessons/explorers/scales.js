// Lesson 03: the factor that each convention applies to the learning rate of a rows×columns matrix.
const format = { rows: (e) => String(2 ** e), columns: (e) => String(2 ** e) };

const factors = {
  original: (m, n) => Math.sqrt(Math.max(1, m / n)),
  match_rms_adamw: (m, n) => 0.2 * Math.sqrt(Math.max(m, n)),
  spectral: (m, n) => Math.sqrt(m / n),
};

function view({ rows, columns }) {
  const [m, n] = [2 ** rows, 2 ** columns];
  const sizes = Array.from({ length: 9 }, (_, i) => 2 ** (i + 5));
  const now = Object.entries(factors).map(([name, f]) => [name, f(m, n)]);
  const same = 0.02 * (factors.original(m, n) / factors.match_rms_adamw(m, n));
  return {
    x: { label: `rows, with ${n} columns`, short: "rows", log: true },
    y: { label: "factor on the learning rate", log: true },
    series: Object.entries(factors).map(([label, f]) => ({
      label,
      x: sizes,
      y: sizes.map((size) => f(size, n)),
    })),
    marks: [{ x: m, label: `${m} rows` }],
    handles: [{ label: "rows", x: m, sets: ["rows"], move: (x) => ({ rows: Math.log2(x) }) }],
    sentence:
      `For ${m} × ${n} the factors are ${now.map(([name, v]) => `${v.toPrecision(3)} (${name})`).join(", ")}. ` +
      `A rate of 0.02 under original is the same step as ${same.toPrecision(2)} under match_rms_adamw.`,
  };
}
