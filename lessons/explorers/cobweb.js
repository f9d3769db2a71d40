// Lesson 02: where p(x) = a x + b x³ + c x⁵ sends a value again and again, read off its curve and the diagonal.

const CLASSICAL = [1.875, -1.25, 0.375], JORDAN = [3.4445, -4.775, 2.0315];
const TO_THE_END = 20000, LONGEST = 32, ALIKE = 1e-6, HIGH = 1.3;

const format = { share: (value) => `${value} %` };

function cycle(p, x) { // the values that repeat, the least first; null if they are more than LONGEST
  for (let i = 0; i < TO_THE_END; i++) x = p(x);
  const found = [x];
  while (found.length <= LONGEST) {
    const next = p(found.at(-1));
    if (Math.abs(next - x) < ALIKE) {
      const first = found.indexOf(Math.min(...found));
      return [...found.slice(first), ...found.slice(0, first)];
    }
    found.push(next);
  }
  return null;
}

function term(factor, power) {
  return `${factor < 0 ? "−" : "+"} ${Math.abs(factor).toFixed(3)} ${power}`;
}

function view({ share, start, steps }) {
  const [a, b, c] = CLASSICAL.map((from, i) => from + (share / 100) * (JORDAN[i] - from));
  const p = (x) => x * (a + x * x * (b + x * x * c));
  const grid = Array.from({ length: 131 }, (_, i) => (i * HIGH) / 130);
  const path = [[start, 0]];
  for (let i = 0, x = start; i < steps; i++, x = p(x)) path.push([x, p(x)], [p(x), p(x)]);
  const ends = cycle(p, start), said = (ends ?? []).map((v) => v.toFixed(3));
  return {
    square: true,
    title: `p(x) = ${a.toFixed(3)} x ${term(b, "x³")} ${term(c, "x⁵")}`,
    x: { label: "value before a step", short: "before", range: [0, HIGH] },
    y: { label: "value after it", range: [0, HIGH] },
    series: [
      { label: "one step, p(x)", x: grid, y: grid.map(p) },
      { label: "after = before", x: [0, HIGH], y: [0, HIGH], dash: "1 4" },
      { label: "the steps", x: path.map(([x]) => x), y: path.map(([, y]) => y), dash: "6 2" },
      ...(ends ? [{ label: "where they end", x: ends, y: ends.map(p), line: false, marker: "circle" }] : []),
    ],
    handles: [{ label: "first value", x: start, sets: ["start"], move: (x) => ({ start: x }) }],
    sentence: !ends ? `From ${start}, the values do not settle: no ${LONGEST} of them, or fewer, repeat.`
      : ends.length === 1 ? `From ${start}, the values settle at ${said[0]}.`
      : `From ${start}, the values end in a cycle of ${ends.length}: ${said.join(" → ")}, and again.`,
  };
}
