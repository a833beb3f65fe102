/* The page of a rule: its form shows the fields that count, and the drawing of last week follows it. */
import { chart, token } from "sixstage/charts.js";
import { linesFigure } from "sixstage/lines-chart.js";
import { plotTime } from "sixstage/times.js";

const form = document.getElementById("rule-form");
const stats = [...form.stat.options].map(option => option.cloneNode(true));

/* Of a figure only some things can be compared: the others are not offered. */
function offerStats() {
  const known = (form.of.selectedOptions[0]?.dataset.stats ?? "").split(" "), chosen = form.stat.value;
  form.stat.replaceChildren(...stats.filter(option => known.includes(option.value)).map(option => option.cloneNode(true)));
  form.stat.value = known.includes(chosen) ? chosen : known.includes("p95") ? "p95" : known[0];
}

function showFields() {
  for (const field of form.querySelectorAll("[data-when]")) field.hidden = !field.dataset.when.split(" ").includes(form.when.value);
  const burns = form.when.value === "burns";
  for (const name of ["of", "stat", "where"]) form[name].closest(".field").hidden = burns;
  form.stat.closest(".field").hidden ||= form.when.value === "absent";
}

form.of.addEventListener("change", offerStats);
form.when.addEventListener("change", showFields);
offerStats();
showFields();

const SCALE = { ns: 1e9 };

/* Lines of the figure, its limit, and behind them when the rule would have fired. */
function drawn(data, width) {
  const { data: traces, layout } = linesFigure(data, width), scale = SCALE[data.unit] ?? 1;
  layout.xaxis = { ...layout.xaxis, tickformat: "%a %-d", hoverformat: "%a %-d %b %H:%M" };
  layout.shapes = data.spans.map(([from, to]) => ({
    type: "rect", xref: "x", yref: "paper", x0: plotTime(from), x1: plotTime(to), y0: 0, y1: 1, layer: "below",
    fillcolor: token("bad-soft"), line: { width: 1, color: token("bad-fill"), dash: "solid" },
  }));
  if (data.limit != null) {
    const y = data.limit / scale, top = Math.max(layout.yaxis.range[1], y * 1.15);
    layout.shapes.push({ type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: y, y1: y, line: { width: 1, color: token("bad"), dash: "4px,3px" } });
    if (top > layout.yaxis.range[1]) {
      layout.yaxis = { range: [0, top], nticks: 5 };
      layout.annotations = [];
    }
    layout.annotations.push({ xref: "paper", x: 0, xanchor: "left", y, yanchor: "bottom", text: `limit ${data.limit_words}`, showarrow: false, font: { color: token("bad"), size: 12 } });
  }
  return { data: traces, layout };
}

document.addEventListener("htmx:afterSwap", event => {
  if (event.detail.target.id !== "preview") return;
  const host = document.getElementById("rule-plot");
  if (host) chart(host, width => drawn(JSON.parse(document.getElementById("rule-chart").textContent), width));
});
