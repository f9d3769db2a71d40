// Where five (or k) steps of p(x) = a x + b x³ + c x⁵ send each singular value.

const PRESETS = {
  jordan: { a: 3.4445, b: -4.775, c: 2.0315 },
  "classical quintic": { a: 1.875, b: -1.25, c: 0.375 },
  cubic: { a: 1.5, b: -0.5, c: 0 },
};
const LOWEST = 0.002;

function changed(name, values) {
  if (name === "preset") return { ...values, ...PRESETS[values.preset] };
  return "abc".includes(name) ? { ...values, preset: "custom" } : values;
}

function compose({ steps, a, b, c }, x) {
  for (let i = 0; i < steps; i++) {
    const square = x * x;
    x = x * (a + square * (b + square * c));
  }
  return x;
}

function grid(low, count) {
  return Array.from({ length: count }, (_, i) => low ** (1 - i / (count - 1)));
}

function term(factor, power) {
  return `${factor < 0 ? "−" : "+"} ${Math.abs(factor)} ${power}`;
}

function view(values) {
  const log = values.axis === "logarithmic";
  const x = log ? grid(1e-4, 500) : Array.from({ length: 501 }, (_, i) => (i / 500) ** 2);
  const image = [...grid(LOWEST, 8000), ...grid(0.2, 8000)].map((v) => compose(values, v));
  const low = Math.min(...image), high = Math.max(...image);
  const slope = values.a ** values.steps;
  return {
    title: `${values.steps} ${values.steps === 1 ? "step" : "steps"} of p(x) = ${values.a} x ${term(values.b, "x³")} ${term(values.c, "x⁵")}`,
    x: { label: "singular value before", log, range: log ? [1e-4, 1] : [0, 1] },
    y: { label: "singular value after", range: [0, 1.5] },
    series: [
      { label: "after the steps", x, y: x.map((v) => compose(values, v)) },
      { label: "unchanged", x, y: x },
    ],
    marks: [{ y: 1, label: "goal: 1" }],
    sentence: values.steps === 0 ? "Without a step every singular value stays what it is, whatever a, b and c are." : Number.isFinite(low + high) && high < 100
      ? `Singular values between ${LOWEST} and 1 end between ${low.toFixed(3)} and ${high.toFixed(3)}. ` +
        `Close to zero they grow by a factor of ${slope.toLocaleString("en", { maximumSignificantDigits: 3 })}.`
      : "Some singular values grow without bound: these numbers do not work.",
  };
}
