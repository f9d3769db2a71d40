// How much of a text the most frequent words cover under Zipf's law, and what a mean loss then sees.

const HEAD = 0.5, MIDDLE = 0.9; // the borders of the classes, as in Corpus.frequency_class
const POINTS = 300;

const format = { power: (v) => (2 ** v).toLocaleString("en"), known: (v) => `${v} %` };

function coverage(words, exponent) {
  const covered = new Float64Array(words + 1); // covered[r]: the share of the r most frequent words
  for (let r = 1; r <= words; r++) covered[r] = covered[r - 1] + r ** -exponent;
  return covered.map((sum) => sum / covered[words]);
}

function firstNotBelow(covered, share) {
  return covered.findIndex((value) => value >= share - 1e-12);
}

function ranks(words) {
  const found = Array.from({ length: POINTS }, (_, i) => Math.round(words ** (i / (POINTS - 1))));
  return [...new Set(found)];
}

function count(number) {
  return number.toLocaleString("en");
}

function percent(share) {
  return `${Number((100 * share).toPrecision(2))} %`;
}

function view({ exponent, power, known }) {
  const words = 2 ** power, covered = coverage(words, exponent);
  const head = firstNotBelow(covered, HEAD), tail = words - firstNotBelow(covered, MIDDLE);
  const learned = Math.round((words * known) / 100), x = ranks(words);
  const blind = Math.log(words), loss = Math.max(0, 1 - covered[learned]) * blind;
  return {
    title: `${count(words)} words, the word of rank r as frequent as 1 / rˢ, s = ${exponent}`,
    x: { label: "rank of the word", log: true, range: [1, words] },
    y: { label: "share of the text", range: [0, 1.05] },
    series: [
      { label: "covered by the words up to this rank", x, y: x.map((r) => covered[r]) },
      { label: "if all words were equally frequent", x, y: x.map((r) => r / words) },
      { label: "the known words", x: [Math.max(1, learned)], y: [covered[learned]], line: false, marker: "ring" },
    ],
    handles: [{ label: "known words", x: Math.max(1, learned), y: covered[learned], sets: ["known"], move: (x) => ({ known: (100 * x) / words }) }],
    marks: [{ y: HEAD, label: "the head ends" }, { y: MIDDLE, label: "the tail begins" }],
    sentence:
      `Head: ${count(head)} ${head === 1 ? "word" : "words"}, ${percent(head / words)} of them. ` +
      `Tail: ${count(tail)}, ${percent(tail / words)}. A learner that knows the ${count(learned)} most frequent words and guesses ` +
      `blindly at the others has a mean loss of ${loss.toFixed(2)} nats, where a blind guess has ${blind.toFixed(2)}: ` +
      `${percent(known / 100)} of the words, ${percent(1 - loss / blind)} of the way.`,
  };
}
