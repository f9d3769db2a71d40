// Lesson 00: a 2×2 matrix turns the unit circle into an ellipse; its polar factor turns it into a circle.

function view({ long, short, turn }) {
  const angle = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const t = Array.from({ length: 121 }, (_, i) => (i * 2 * Math.PI) / 120);
  // the ellipse U diag(long, short) and, dashed, U alone; a radius marks where the input (1, 0) goes
  const image = (a, b) => ({
    x: [0, ...t.map((s) => a * Math.cos(s) * cos - b * Math.sin(s) * sin)],
    y: [0, ...t.map((s) => a * Math.cos(s) * sin + b * Math.sin(s) * cos)],
  });
  return {
    square: true,
    x: { label: "first coordinate", range: [-3.2, 3.2] },
    y: { label: "second coordinate", range: [-3.2, 3.2] },
    series: [
      { label: "the matrix", ...image(long, short) },
      { label: "its polar factor", dash: "6 4", ...image(1, 1) },
    ],
    sentence:
      `The matrix stretches by ${long.toFixed(1)} and ${short.toFixed(1)}, so its singular values are these two. ` +
      `Its polar factor stretches by 1 and 1, and both turn by ${turn} degrees.`,
  };
}
