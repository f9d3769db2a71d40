// Lesson 00: a 2×2 matrix turns the unit circle into an ellipse; its polar factor turns it into a circle.

// The slider turns by half a circle; an ellipse is then the same again.
function degrees(x, y) {
  return ((Math.atan2(y, x) * 180) / Math.PI + 360) % 180;
}

function view({ long, short, turn }) {
  const angle = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const t = Array.from({ length: 121 }, (_, i) => Math.PI / 2 + (i * 2 * Math.PI) / 120);
  // the ellipse U diag(long, short) and, dashed, U alone; a radius marks where the input (0, 1) goes
  const image = (a, b) => ({
    x: [0, ...t.map((s) => a * Math.cos(s) * cos - b * Math.sin(s) * sin)],
    y: [0, ...t.map((s) => a * Math.cos(s) * sin + b * Math.sin(s) * cos)],
  });
  return {
    square: true,
    x: { label: "first coordinate", range: [-3.2, 3.2] },
    y: { label: "second coordinate", range: [-3.2, 3.2] },
    series: [
      { label: "the gradient", ...image(long, short) },
      { label: "its polar factor", who: "polar factor", dash: "6 4", ...image(1, 1) },
    ],
    handles: [
      {
        label: "end of the long axis", x: long * cos, y: long * sin, sets: ["turn", "long"],
        move: (x, y) => ({ long: Math.hypot(x, y), turn: degrees(x, y) }),
      },
      {
        label: "end of the short axis", x: -short * sin, y: short * cos, sets: ["turn", "short"],
        move: (x, y) => ({ short: Math.hypot(x, y), turn: degrees(y, -x) }),
      },
    ],
    sentence:
      `The gradient stretches by ${long.toFixed(1)} and ${short.toFixed(1)}, so its singular values are these two. ` +
      `Its polar factor stretches by 1 and 1, and both turn by ${turn} degrees.`,
  };
}
