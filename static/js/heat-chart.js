/* The wall time of runs as they ended: how many in each cell of time and duration, the duration on a logarithmic scale,
   and the p95 over it. A drag, or a click on a cell, opens the runs that it holds. */
import { duration, plural } from "sixstage/figures.js";
import { pageUrl } from "sixstage/links.js";
import { asDate, minute } from "sixstage/times.js";
import { hideTip, showTip } from "sixstage/tip.js";

const NS = "http://www.w3.org/2000/svg", HEIGHT = 232, LEFT = 44, RIGHT = 8, TOP = 10, BOTTOM = 22, LEVELS = 6;
const MARKS = [1e6, 1e7, 1e8, 3e8, 1e9, 3e9, 1e10, 3e10, 6e10, 3e11, 1.8e12, 3.6e12];
const LEAST_PX = 4;

const make = (name, attributes, text) => {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
};
const tick = ns => ns < 1e9 ? `${ns / 1e6}\u202fms` : ns < 6e10 ? `${ns / 1e9}\u202fs` : ns < 3.6e12 ? `${ns / 6e10}\u202fmin` : `${ns / 3.6e12}\u202fh`;

/** Draws what `read` gives into the host, and again when the returned function is called or the host's width changes. */
export function heatChart(host, read) {
  let data = null, place = null, from = null;
  const brush = make("rect", { class: "heat-brush", visibility: "hidden" });

  function draw() {
    data = read();
    const width = host.clientWidth;
    const svg = make("svg", { class: "heat", width, height: HEIGHT, role: "img", "aria-label": "Wall time of runs over time; the table has the same figures" });
    if (!data.rows.length || width < 80) {
      svg.append(make("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle", class: "heat-none" }, "No run ended in this time"));
      place = null;
      host.replaceChildren(svg);
      return;
    }
    const steps = data.start_unix_ns.length, rows = data.rows.length;
    const cellWidth = (width - LEFT - RIGHT) / steps, cellHeight = (HEIGHT - TOP - BOTTOM) / rows;
    const low = Math.log(Number(data.rows[0].low_ns)), high = Math.log(Number(data.rows.at(-1).high_ns) + 1);
    const y = ns => HEIGHT - BOTTOM - (Math.log(ns) - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    place = { steps, rows, cellWidth, cellHeight };
    svg.append(...cells(cellWidth, cellHeight), ...scale(y, width), ...times(cellWidth, width), ...p95(cellWidth, y), brush);
    host.replaceChildren(svg);
  }

  /* One path a shade: as many nodes as there are shades, however many cells. */
  function cells(w, h) {
    const most = Math.max(...data.counts.flat()), paths = Array(LEVELS).fill("");
    data.counts.forEach((column, i) => column.forEach((n, j) => {
      if (!n) return;
      const level = Math.min(LEVELS - 1, Math.floor(Math.sqrt(n / most) * (LEVELS - .01)));
      paths[level] += `M${(LEFT + i * w).toFixed(2)} ${(HEIGHT - BOTTOM - (j + 1) * h).toFixed(2)}h${Math.max(1, w - .6).toFixed(2)}v${(h - .6).toFixed(2)}h${(-Math.max(1, w - .6)).toFixed(2)}z`;
    }));
    return paths.map((d, level) => make("path", { d, class: `heat-${level + 1}` }));
  }

  function scale(y, width) {
    const bottom = HEIGHT - BOTTOM, shown = [];
    for (const ns of MARKS) {
      const at = y(ns);
      if (at < TOP || at > bottom - 2 || shown.some(other => Math.abs(other - at) < 16)) continue;
      shown.push(at);
    }
    return [
      ...MARKS.filter(ns => shown.includes(y(ns))).flatMap(ns => [make("line", { class: "heat-grid", x1: LEFT, x2: width - RIGHT, y1: y(ns), y2: y(ns) }), make("text", { class: "heat-tick", x: LEFT - 6, y: y(ns) + 4, "text-anchor": "end" }, tick(ns))]),
      make("line", { class: "heat-axis", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom }),
    ];
  }

  function times(w, width) {
    const every = Math.max(1, Math.round(data.start_unix_ns.length / (width < 400 ? 3 : 4)));
    const marks = [];
    for (let i = Math.floor(every / 2); i < data.start_unix_ns.length; i += every) marks.push(make("text", { class: "heat-tick", x: LEFT + i * w, y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, minute(asDate(data.start_unix_ns[i]))));
    return marks;
  }

  function p95(w, y) {
    let d = "", on = false;
    data.p95_ns.forEach((ns, i) => {
      if (ns == null || ns <= 0) { on = false; return; }
      d += `${on ? "L" : "M"}${(LEFT + (i + .5) * w).toFixed(1)} ${Math.max(TOP, y(ns)).toFixed(1)}`;
      on = true;
    });
    return d ? [make("path", { class: "heat-halo", d }), make("path", { class: "heat-line", d })] : [];
  }

  const cellAt = event => {
    const { left, top } = host.getBoundingClientRect();
    const i = Math.floor((event.clientX - left - LEFT) / place.cellWidth), j = Math.floor((top + HEIGHT - BOTTOM - event.clientY) / place.cellHeight);
    return { i: Math.max(0, Math.min(place.steps - 1, i)), j: Math.max(0, Math.min(place.rows - 1, j)) };
  };

  function open(a, b) {
    const [first, last] = [Math.min(a.i, b.i), Math.max(a.i, b.i)], [low, high] = [Math.min(a.j, b.j), Math.max(a.j, b.j)];
    const end = BigInt(data.start_unix_ns[last]) + BigInt(data.step_s) * 1000000000n;
    location.assign(pageUrl("/runs", { from: data.start_unix_ns[first], to: String(end), q: `wall:${data.rows[low].low_ns}ns..${data.rows[high].high_ns}ns` }));
  }

  host.addEventListener("pointermove", event => {
    if (!place) return;
    const { i, j } = cellAt(event), row = data.rows[j];
    const bold = document.createElement("b");
    bold.textContent = plural(data.counts[i][j], "run");
    showTip([`${minute(asDate(data.start_unix_ns[i]))}, ${duration(Number(row.low_ns))} to ${duration(Number(row.high_ns))}: `, bold], event.clientX, event.clientY);
    if (!from) return;
    const { left, top } = host.getBoundingClientRect();
    const x = [from.x, event.clientX].sort((a, b) => a - b), y = [from.y, event.clientY].sort((a, b) => a - b);
    for (const [name, value] of Object.entries({ x: x[0] - left, y: y[0] - top, width: x[1] - x[0], height: y[1] - y[0], visibility: x[1] - x[0] + y[1] - y[0] > LEAST_PX ? "visible" : "hidden" })) brush.setAttribute(name, value);
  });
  host.addEventListener("pointerleave", hideTip);
  host.addEventListener("pointerdown", event => {
    if (!place || event.button) return;
    from = { ...cellAt(event), x: event.clientX, y: event.clientY };
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener("pointercancel", () => { from = null; brush.setAttribute("visibility", "hidden"); });
  host.addEventListener("pointerup", event => {
    if (!from) return;
    const start = from;
    from = null;
    open(start, cellAt(event));
  });
  new ResizeObserver(draw).observe(host);
  return draw;
}
