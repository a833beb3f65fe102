/* Lines over time, each named at its right end with its newest value; stacked areas where parts add up. A step that
   nobody observed is a gap. */
import { stageColour, token } from "sixstage/charts.js";
import { count, duration, percent } from "sixstage/figures.js";
import { pageUrl } from "sixstage/links.js";
import { plotTime } from "sixstage/times.js";

const HEIGHT = 232, TOP = 10, BOTTOM = 24, LABELS_WIDTH = 112, LINE = 16, NARROW = 400;
const INKS = ["text", "text-3", "accent", "line-strong"];
const DASHES = ["solid", "solid", "solid", "dot"];
const SCALE = { ns: 1e9 };

const rate = v => v == null ? "–" : Number.isInteger(v) ? count(v) : v > 0 && v < 9.95 ? v.toFixed(1) : count(Math.round(v));
const say = { ns: v => duration(v == null ? null : Math.round(v)), share: percent, number: rate, rate };

export function linesFigure(given, width) {
  const drawn = given ?? { lines: [], start_unix_ns: [], unit: "number", step_s: 1 };
  const x = drawn.start_unix_ns.map(plotTime), scale = SCALE[drawn.unit] ?? 1, narrow = width < NARROW;
  const highest = drawn.stacked ? Math.max(...x.map((_, i) => drawn.lines.reduce((s, l) => s + (l.values[i] ?? 0), 0)), 0)
    : Math.max(...drawn.lines.flatMap(l => l.values.map(v => v ?? 0)), 0);
  const top = drawn.top ?? (highest / scale * 1.08 || 1);
  const marks = ticks(top);
  return {
    data: drawn.lines.map((line, i) => trace(drawn, line, i, x, scale)),
    layout: {
      height: HEIGHT, margin: { l: 40, r: LABELS_WIDTH, t: TOP, b: BOTTOM },
      xaxis: { type: "date", range: x.length ? [x[0], plotTime(String(BigInt(drawn.start_unix_ns.at(-1)) + BigInt(drawn.step_s) * 1000000000n))] : undefined, nticks: narrow ? 3 : 6 },
      yaxis: { range: [0, top * 1.02], tickvals: marks, ticktext: marks.map(v => mark(v, drawn.unit)) },
      annotations: labels(drawn, top * 1.02, scale),
    },
  };
}

function trace(drawn, line, i, x, scale) {
  const colour = line.stage ? stageColour(line.stage) : token(INKS[i % INKS.length]);
  return {
    type: "scatter", mode: x.length < 3 || lonely(line.values) ? "lines+markers" : "lines", x, name: line.name,
    y: line.values.map(v => v == null ? null : v / scale), customdata: line.values.map(v => say[drawn.unit](v)),
    hovertemplate: "%{customdata}", connectgaps: false, marker: { size: 4, color: colour },
    ...(drawn.stacked ? { stackgroup: "parts", fillcolor: colour, line: { width: .75, color: token("surface") } }
      : { line: { width: i ? 1.25 : 1.75, color: colour, dash: DASHES[i % DASHES.length] } }),
  };
}

/* A point without neighbours is no line: it needs a dot to be seen. */
const lonely = values => values.some((v, i) => v != null && values[i - 1] == null && values[i + 1] == null);

const ticks = top => {
  const raw = top / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(s => s >= raw);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
};

const mark = (v, unit) => unit === "ns" ? (v === 0 ? "0\u202fs" : v < 1 ? `${Number((v * 1000).toPrecision(3))}\u202fms` : String(v))
  : unit === "share" ? percent(v) : v >= 100000 ? count(v) : String(v);

/* Names at the right edge, at the height of their newest value, pushed apart where they would touch. */
function labels(drawn, top, scale) {
  const last = drawn.start_unix_ns.findLastIndex((_, i) => drawn.lines.some(l => l.values[i] != null));
  if (last < 0) return [];
  let below = 0;
  const ends = drawn.lines.map((line, i) => {
    const value = line.values[last], y = (value ?? 0) / scale, at = drawn.stacked ? below + y / 2 : y;
    if (drawn.stacked) below += y;
    return { line, i, value, at, want: (HEIGHT - TOP - BOTTOM) * (1 - at / top) };
  }).filter(end => end.value != null).sort((a, b) => b.want - a.want);
  let floor = HEIGHT - TOP - BOTTOM + LINE;
  for (const end of ends) { end.y = Math.min(end.want, floor - LINE); floor = end.y; }
  let ceiling = 0;
  for (const end of [...ends].reverse()) { end.y = Math.max(end.y, ceiling); ceiling = end.y + LINE; }
  return ends.map(end => {
    const colour = end.line.stage ? stageColour(end.line.stage) : token(INKS[end.i % INKS.length]);
    return {
      xref: "paper", x: 1, y: end.at, ax: 8, ay: end.y - end.want, xanchor: "left", align: "left", showarrow: true, arrowhead: 0, arrowwidth: 1,
      arrowcolor: token("line-strong"), borderpad: 0, text: `<span style="color:${colour}">■</span> ${end.line.name} <b>${say[drawn.unit](end.value)}</b>`, font: { color: token("text") },
    };
  });
}

/* A step leads to the runs that ended in it. */
export function linesClick(drawn, event) {
  const i = event.points[0].pointIndex ?? event.points[0].pointNumber;
  const from = BigInt(drawn.start_unix_ns[i]), to = from + BigInt(drawn.step_s) * 1000000000n;
  location.assign(pageUrl("/runs", { from: String(from), to: String(to) }));
}
