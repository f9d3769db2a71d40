// The start page, and lesson 15: on what Muon's lead over AdamW depends, a mark a race; recorded runs.
// data: {races: [{name, study, size, tokens, steps, n, lead, saved}]}. lead (nats) and saved (a share of
// AdamW's steps): {overall, tail: [mean, low, high], or null where it could not be measured}
const SCALES = {
  "tokens a step": { of: (race) => race.tokens, label: "tokens a step", short: "tokens a step, drawn at" },
  size: { of: (race) => race.size / 1e6, label: "millions of numbers in hidden matrices", short: "millions, drawn at" },
  steps: { of: (race) => race.steps, label: "steps of a run", short: "steps, drawn at" },
};
const MEASURES = {
  nats: { key: "lead", times: 1, digits: 3, unit: "nats", axis: "Muon's lead, nats", title: "Muon's lead over AdamW",
    most: "Largest lead", least: "smallest", more: "it is larger on rare tokens than on all" },
  "steps saved (%)": { key: "saved", times: 100, digits: 1, unit: "%", axis: "steps that Muon saves, %", title: "Share of AdamW's steps that Muon saves",
    most: "Most saved", least: "fewest", more: "more are saved on rare tokens than on all" },
};
const NAMED = { "race-1200": "laptop", "race-gpu": "GPU" };
const ROOM = 44; // so many marks find room side by side
const UNKNOWN = [NaN, NaN, NaN];

const number = (v, digits) => v.toFixed(digits).replace("-", "−");

const format = { race: (v, { races }) => (v ? `${v} of ${races.length}` : "none") };

function ordered(races, sort) {
  const { of } = SCALES[sort];
  return races.toSorted((a, b) => of(a) - of(b) || a.size - b.size || a.tokens - b.tokens || a.steps - b.steps);
}

function changed(name, values, before, { races }) { // another order: the same race
  const chosen = ordered(races, before.sort)[values.race - 1];
  const race = name === "sort" ? ordered(races, values.sort).indexOf(chosen) + 1 : values.race;
  return { ...values, race: Math.min(race, races.length) };
}

// Rising places as near to their own as a gap between them allows: those too close share their room around their mean.
function spread(places, gap) {
  const groups = [];
  places.forEach((place, i) => {
    let group = { sum: place - i * gap, count: 1 };
    while (groups.length && groups.at(-1).sum / groups.at(-1).count >= group.sum / group.count) {
      const { sum, count } = groups.pop();
      group = { sum: sum + group.sum, count: count + group.count };
    }
    groups.push(group);
  });
  return groups.flatMap(({ sum, count }) => Array(count).fill(sum / count)).map((place, i) => place + i * gap);
}

function across({ of }, races) {
  const logs = races.map((race) => Math.log10(of(race)));
  return spread(logs, (logs.at(-1) - logs[0]) / ROOM).map((log) => 10 ** log);
}

// The races that have a name, a line each; of two that stand close the right one's label is for both.
function named(races, x) {
  const lines = races.map(({ study }, i) => ({ x: x[i], label: NAMED[study] })).filter(({ label }) => label);
  return lines.map((line, i) => {
    const close = (a, b) => a && b && Math.log(b.x / a.x) < 0.15 * Math.log(x.at(-1) / x[0]);
    const label = close(lines[i - 1], line) ? `${lines[i - 1].label}, ${line.label}` : line.label;
    return { x: line.x, label: close(line, lines[i + 1]) ? "" : label };
  });
}

// The range of an axis that has x, and at the right of a last race with a name room for it.
function reach(x, last) {
  const whole = x.at(-1) / x[0];
  return [x[0] / whole ** 0.05, x.at(-1) * whole ** (NAMED[last.study] ? 0.22 : 0.05)];
}

function nearby(x, at) {
  const far = (place) => Math.abs(Math.log(place / at));
  return x.reduce((best, place, i) => (far(place) < far(x[best]) ? i : best), 0);
}

function told({ name, size, tokens, steps, n }, all, rare, { digits, unit }) {
  const lead = (ends) => {
    const [mean, low, high] = ends.map((v) => number(v, digits));
    return Number.isNaN(ends[0]) ? "not measured" : `${mean} ${unit} [${low}, ${high}]`;
  };
  const about = `${(size / 1e6).toFixed(1)}M numbers, ${tokens.toLocaleString("en")} tokens a step, ${steps.toLocaleString("en")} steps, ${n} seeds`;
  return `${name[0].toUpperCase()}${name.slice(1)} (${about}): all tokens ${lead(all)}, rare tokens ${lead(rare)}.`;
}

function finding(races, all, rare, { digits, unit, most, least, more }) {
  const known = races.map(({ name }, i) => ({ name, all: all[i][0], rare: rare[i][0] })).filter((race) => !Number.isNaN(race.all));
  const rising = known.toSorted((a, b) => a.all - b.all), both = known.filter((race) => !Number.isNaN(race.rare));
  const end = (race) => `${race.name}, ${number(race.all, digits)} ${unit}`;
  const larger = both.filter((race) => race.rare > race.all).length;
  return `${most}: ${end(rising.at(-1))}; ${least}: ${end(rising[0])}. In ${larger} of ${both.length} races ${more}.`;
}

function view({ sort, measure, race }, data) {
  const words = MEASURES[measure], { key, times } = words;
  const races = ordered(data.races, sort), x = across(SCALES[sort], races), range = reach(x, races.at(-1));
  const chosen = Math.min(race, races.length) - 1; // of none, -1
  const [all, rare] = ["overall", "tail"].map((part) => races.map((one) => (one[key][part] ?? UNKNOWN).map((v) => times * v)));
  const ends = [...all, ...rare].flat().filter((v) => !Number.isNaN(v)), top = Math.max(0, ...ends), bottom = Math.min(0, ...ends);
  const series = (label, marker, found) => {
    const [y, low, high] = [0, 1, 2].map((i) => found.map((one) => one[i]));
    return { label, x, y, low, high, line: false, marker };
  };
  const joined = (f) => races.map((_, i) => f(all[i][0], rare[i][0]));
  return {
    title: `${words.title} in ${races.length} races; equal ones stand side by side`,
    x: { ...SCALES[sort], log: true, range },
    y: { label: words.axis, range: [bottom - 0.05 * (top - bottom), top + 0.15 * (top - bottom)] },
    series: [
      series("all tokens", "circle", all),
      // without a y: nothing to read off, only the bar between the two marks
      { label: "one race; short bars: 95 % intervals", x, y: x.map(() => NaN), low: joined(Math.min), high: joined(Math.max), width: 1.2, dash: "" },
      series("rare tokens", "triangle", rare),
    ],
    marks: [{ y: 0, label: "" }, ...(chosen < 0 ? [] : [{ x: x[chosen], label: "" }]), ...named(races, x)],
    handles: [{ label: races[chosen]?.name ?? "no race", x: x[chosen] ?? range[0], sets: ["race"], move: (at) => ({ race: nearby(x, at) + 1 }) }],
    sentence:
      `${chosen < 0 ? "Move the ring to a race to read its numbers here." : told(races[chosen], all[chosen], rare[chosen], words)} ` +
      finding(races, all, rare, words),
  };
}
