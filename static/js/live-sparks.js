/* Key figures over the chosen range, as lines under them. Drawn again whenever tiles or data were fetched. */
const NS = "http://www.w3.org/2000/svg", WIDTH = 120, HEIGHT = 26;

function draw(svg, values) {
  const known = values.map((value, i) => [i, value]).filter(([, value]) => value != null);
  if (known.length < 2) { svg.replaceChildren(); return; }
  const high = Math.max(...known.map(([, value]) => value)) || 1;
  const points = known.map(([i, value]) => [1 + i * (WIDTH - 5) / Math.max(1, values.length - 1), HEIGHT - 2 - value / high * (HEIGHT - 5)]);
  const line = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), [lastX, lastY] = points.at(-1);
  svg.replaceChildren(
    path("spark-area", `${line}L${lastX.toFixed(1)} ${HEIGHT}L${points[0][0].toFixed(1)} ${HEIGHT}Z`),
    path("spark-line", line),
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
