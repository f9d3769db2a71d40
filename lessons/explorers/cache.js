// Lesson 13: the bytes that one layer keeps of all tokens, with plain and with latent attention.
const EACH = 2; // bytes a number, in bf16

const count = (number) => number.toLocaleString("en");
const power = (e) => count(2 ** e);
const format = { latent: (n) => `${12.5 * n} %`, context: power, batch: power };

function size(bytes) {
  const unit = bytes >= 2 ** 30 ? 30 : bytes >= 2 ** 20 ? 20 : 10;
  const shown = count(Number((bytes / 2 ** unit).toPrecision(3)));
  return `${shown} ${{ 10: "KiB", 20: "MiB", 30: "GiB" }[unit]}`;
}

function view({ heads, head, latent, context, batch }) {
  const width = heads * head, rotary = 2 * Math.ceil(head / 4); // half a head, and even
  const numbers = [2 * width, (width * latent) / 8 + rotary];
  const x = Array.from({ length: 12 }, (_, i) => 2 ** (i + 6));
  const bytes = (each, tokens) => each * EACH * tokens * 2 ** batch;
  const curve = (each) => x.map((tokens) => bytes(each, tokens) / 2 ** 20);
  const now = numbers.map((each) => bytes(each, 2 ** context));
  const sequences = batch ? `${power(batch)} sequences` : "one sequence";
  return {
    title: `Width ${count(width)}, ${heads} ${heads === 1 ? "head" : "heads"}: the cache of one layer`,
    x: { label: "tokens of a sequence", log: true, range: [x[0], x[11]] },
    y: { label: "MiB", unit: "MiB", log: true, range: [1e-3, 3e5] },
    series: [
      { label: "multi-head", x, y: curve(numbers[0]) },
      { label: "latent", x, y: curve(numbers[1]) },
      { label: "now", x: [2 ** context, 2 ** context], y: now.map((v) => v / 2 ** 20), line: false, marker: "square" },
    ],
    handles: [{ label: "tokens of a sequence", x: 2 ** context, sets: ["context"], move: (x) => ({ context: Math.log2(x) }) }],
    sentence:
      `Of a token, multi-head attention keeps ${count(numbers[0])} numbers and latent attention ${count(numbers[1])}: ` +
      `${(100 * (1 - numbers[1] / numbers[0])).toFixed(0)} % less. For ${sequences} of ${power(context)} tokens ` +
      `that is ${size(now[0])} against ${size(now[1])} in each layer.`,
  };
}
