/* Where the seconds go: mean time by stage and step, stacked in the bar's order. */
import { stageColour, token } from "sixstage/charts.js";
import { duration } from "sixstage/figures.js";
import { pageUrl } from "sixstage/links.js";
import { plotTime } from "sixstage/times.js";

const HEIGHT = 232, TOP = 10, BOTTOM = 24, LABELS_WIDTH = 192, LINE = 16, MARK_ROWS = 3;
const NARROW = 520;
const SECONDS = 1e9;

export function stagesFigure(series, width) {
  const x = series.start_unix_ns.map(plotTime);
  const filled = series.runs.filter(Boolean).length;
  const narrow = width < NARROW;
  // Room above the highest for the words of events, which would cover it.
  const room = 1 - Math.min(marks(series).length, MARK_ROWS) * LINE / (HEIGHT - TOP - BOTTOM);
  const top = Math.max(...series.mean_wall_ns.map(v => v ?? 0)) / SECONDS * 1.06 / room || 1;
  // Few runs leave gaps, in which nothing is known: bars show them as gaps, an area would paint over them.
  const traces = filled >= x.length * .7 ? areas(series, x) : bars(series, x);
  return {
    data: traces,
    layout: {
      height: HEIGHT, margin: { l: 36, r: narrow ? 8 : LABELS_WIDTH, t: TOP, b: BOTTOM }, barmode: "stack", legend: { traceorder: "reversed" },
      xaxis: { type: "date", automargin: false, ticklabelstandoff: 3, range: [x[0], plotTime(String(BigInt(series.start_unix_ns.at(-1)) + BigInt(series.step_s) * 1000000000n))], nticks: narrow ? 4 : 7 },
      yaxis: { automargin: false, range: [0, top], tickvals: ticks(top), ticktext: ticks(top).map(v => v === 0 ? "0\u202fs" : String(v)) },
      shapes: marks(series).map(({ x: at }) => ({ type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1 })),
      annotations: [...markWords(series), ...(narrow ? [] : labels(series, top)), ...(filled ? [] : [nothing()])],
    },
  };
}

const ticks = top => {
  const raw = top / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
};

const common = (series, stage, x) => ({
  x, y: stage.mean_ns.map(v => v == null ? null : v / SECONDS), name: stage.label,
  customdata: stage.mean_ns.map(v => duration(v)), hovertemplate: "%{customdata}",
});

const areas = (series, x) => series.stages.filter(hasTime).map(stage => ({
  ...common(series, stage, x), type: "scatter", mode: "lines", stackgroup: "wall", stackgaps: "interpolate",
  fillcolor: stageColour(stage.stage), line: { width: .75, color: token("surface") },
}));

const bars = (series, x) => series.stages.filter(hasTime).map(stage => ({
  ...common(series, stage, x), type: "bar", offset: 0, width: series.step_s * 850,
  marker: { color: stageColour(stage.stage), line: { width: .75, color: token("surface") } },
}));

const hasTime = stage => stage.mean_ns.some(v => v);

/* Names at the right edge, at the height of their band in the last step that has runs, pushed apart where they would
   touch; a leader joins each to its band. */
function labels(series, top) {
  const last = series.runs.findLastIndex(Boolean);
  if (last < 0) return [];
  const pixels = ns => (HEIGHT - TOP - BOTTOM) * (1 - ns / SECONDS / top);
  let below = 0;
  const bands = series.stages.map(({ stage, label, mean_ns }) => {
    const ns = mean_ns[last], mid = below + ns / 2;
    below += ns;
    return { stage, label, ns, at: mid / SECONDS, want: pixels(mid) };
  }).filter(b => b.ns > top * SECONDS * .012);
  if (!bands.length) return [];
  let floor = HEIGHT - TOP - BOTTOM + LINE;
  for (const band of bands) { band.y = Math.min(band.want, floor - LINE); floor = band.y; }
  let ceiling = LINE;
  for (const band of [...bands].reverse()) { band.y = Math.max(band.y, ceiling); ceiling = band.y + LINE; }
  const line = (y, at, want, text, extra) => ({
    xref: "paper", x: 1, y: at, ax: 8, ay: y - want, xanchor: "left", align: "left", showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: token("line-strong"), text, borderpad: 0, ...extra,
  });
  const amounts = (y, text) => ({ xref: "paper", yref: "paper", x: 1, xshift: LABELS_WIDTH - 4, y: 1, yshift: -y, xanchor: "right", yanchor: "middle", showarrow: false, text: `<b>${text}</b>`, font: { color: token("text") } });
  const above = Math.min(0, bands.at(-1).y - LINE);
  return [
    { xref: "paper", yref: "paper", x: 1, xshift: 8, y: 1, yshift: -above, xanchor: "left", yanchor: "middle", showarrow: false, text: "<b>Wall, mean</b>", font: { color: token("text") } },
    amounts(above, duration(series.mean_wall_ns[last])),
    ...bands.flatMap(b => [
      line(b.y, b.at, b.want, `<span style="color:${stageColour(b.stage)}">■</span> ${b.label}`),
      amounts(b.y, duration(b.ns)),
    ]),
  ];
}

/* Events, as dotted lines with words, which stand on the side on which there is more room. */
const marks = series => (series.marks ?? []).filter(mark => BigInt(mark.at_unix_ns) >= BigInt(series.start_unix_ns[0])).map(mark => ({ x: plotTime(mark.at_unix_ns), text: mark.text, late: isLate(series, mark) }));
const isLate = (series, mark) => 2n * (BigInt(mark.at_unix_ns) - BigInt(series.start_unix_ns[0])) > BigInt(series.start_unix_ns.at(-1)) - BigInt(series.start_unix_ns[0]);
const plain = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;"); // Plotly reads a small markup in texts
const markWords = series => marks(series).map(({ x, text, late }, i) => ({ x, yref: "paper", y: 1, yshift: -(i % MARK_ROWS) * LINE, xanchor: late ? "right" : "left", yanchor: "top", xshift: late ? -3 : 3, showarrow: false, text: plain(text), font: { size: 11, color: token("text-2") }, bgcolor: token("surface"), borderpad: 0 }));

const nothing = () => ({ xref: "paper", yref: "paper", x: .5, y: .5, showarrow: false, text: "No run ended in this time" });

/* A step leads to its runs. */
export function stagesClick(series, event) {
  const i = event.points[0].pointIndex ?? event.points[0].pointNumber;
  const from = BigInt(series.start_unix_ns[i]), to = from + BigInt(series.step_s) * 1000000000n;
  location.assign(pageUrl("/runs", { from: String(from), to: String(to) }));
}

