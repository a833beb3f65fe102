/* The wall time of runs as they ended: a dot each, time on a logarithmic scale, failed ones as diamonds. */
import { token } from "sixstage/charts.js";
import { duration } from "sixstage/figures.js";
import { pageUrl } from "sixstage/links.js";
import { plotTime } from "sixstage/times.js";

const MARKS = [1e6, 1e7, 1e8, 1e9, 3e9, 1e10, 3e10, 6e10, 3e11, 3.6e12];

export function wallsFigure(points, width) {
  const drawn = points.wall_ns.map((_, i) => i).filter(i => points.wall_ns[i] > 0);
  const low = Math.min(1e9, ...drawn.map(i => points.wall_ns[i])), high = Math.max(2e9, ...drawn.map(i => points.wall_ns[i]));
  const marks = MARKS.filter(v => v >= low * .7 && v <= high * 1.5);
  // Where not all runs fit, the axis begins at the oldest that is drawn, so that empty time means no runs.
  const full = drawn.length >= 400;
  return {
    data: [dots(points, drawn.filter(i => !points.failed[i]), { color: token("text"), opacity: .5, size: 5 }),
      dots(points, drawn.filter(i => points.failed[i]), { color: token("bad-fill"), symbol: "diamond", size: 8 })],
    layout: {
      height: 232, margin: { l: 44, r: 8, t: 10, b: 24 }, hovermode: "closest",
      xaxis: { type: "date", range: [plotTime(full ? points.end_unix_ns.at(-1) : points.from_unix_ns), plotTime(points.to_unix_ns)], nticks: width < 400 ? 4 : 5, showspikes: false },
      yaxis: { type: "log", range: [Math.log10(low * .7), Math.log10(high * 1.5)], tickvals: marks, ticktext: marks.map(label), rangemode: "normal" },
      annotations: drawn.length ? [] : [{ xref: "paper", yref: "paper", x: .5, y: .5, showarrow: false, text: "No run ended in this time" }],
    },
  };
}

const label = ns => ns < 1e9 ? `${ns / 1e6}\u202fms` : ns < 6e10 ? `${ns / 1e9}\u202fs` : ns < 3.6e12 ? `${ns / 6e10}\u202fmin` : `${ns / 3.6e12}\u202fh`;

const dots = (points, which, marker) => ({
  type: "scatter", mode: "markers", marker: { line: { width: 0 }, ...marker },
  x: which.map(i => plotTime(points.end_unix_ns[i])), y: which.map(i => points.wall_ns[i]), ids: which.map(i => points.run_id[i]),
  text: which.map(i => `${plain(points.name[i])}, ${duration(points.wall_ns[i])}${points.failed[i] ? ", failed" : ""}`),
  hovertemplate: "%{text}<extra></extra>",
});

/* Plotly reads a small markup in texts; a name is only a name. */
const plain = name => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/* A dot leads to its run. */
export function wallsClick(points, event) {
  const id = event.points[0].id;
  if (id) location.assign(pageUrl(`/runs/${id}`));
}
