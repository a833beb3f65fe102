/* Key figures over the chosen range, as lines under them. Drawn again when their data has changed. */
const NS = "http://www.w3.org/2000/svg", WIDTH = 120, HEIGHT = 26;

function draw(svg, values) {
  const known = values.map((value, i) => [i, value]).filter(([, value]) => value != null);
  if (!known.length) { svg.replaceChildren(); return; }
  const high = Math.max(...known.map(([, value]) => value)) || 1;
  const points = known.map(([i, value]) => [1 + i * (WIDTH - 5) / Math.max(1, values.length - 1), HEIGHT - 2 - value / high * (HEIGHT - 5)]);
  // Where nothing is known the line has a gap: what was between is not for it to say.
  const joins = known.map(([i], at) => at > 0 && known[at - 1][0] === i - 1), [lastX, lastY] = points.at(-1);
  const at = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  svg.replaceChildren(
    path("spark-area", points.map((point, i) => joins[i] ? `M${points[i - 1][0].toFixed(1)} ${HEIGHT}L${at(points[i - 1])}L${at(point)}V${HEIGHT}Z` : "").join("")),
    path("spark-line", points.map((point, i) => joins[i] ? `L${at(point)}` : `M${at(point)}h.01`).join("")),
    path("spark-dot", `M${lastX.toFixed(1)} ${lastY.toFixed(1)}h.01`),
  );
}

function path(name, d) {
  const node = document.createElementNS(NS, "path");
  node.setAttribute("class", name);
  node.setAttribute("d", d);
  return node;
}

export function drawSparks() {
  const told = document.getElementById("spark-data");
  if (!told) return;
  const lines = JSON.parse(told.textContent);
  for (const svg of document.querySelectorAll("[data-spark]")) if (lines[svg.dataset.spark]) draw(svg, lines[svg.dataset.spark]);
}
