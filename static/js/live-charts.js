/* The charts of Live, each drawn anew when its own data has changed. */
import { chart } from "sixstage/charts.js";
import { heatChart } from "sixstage/heat-chart.js";
import { drawSparks } from "sixstage/live-sparks.js";
import { stagesFigure, stagesClick } from "sixstage/stages-chart.js";

const data = id => JSON.parse(document.getElementById(id).textContent);
let redraw = [];

function begin() {
  const stages = document.getElementById("stage-plot"), walls = document.getElementById("wall-plot");
  if (!stages || stages.dataset.begun) return;
  stages.dataset.begun = "yes";
  redraw = [
    chart(stages, width => stagesFigure(data("stage-data"), width), event => stagesClick(data("stage-data"), event)),
    heatChart(walls, () => data("heat-data")),
  ];
  drawSparks();
}

function stages() {
  redraw[0]();
  document.getElementById("stage-step").textContent = data("stage-data").step_words; // longer ones where very many runs end
}

const DRAWN_FROM = { "stage-data": () => stages, "heat-data": () => redraw[1], "spark-data": () => drawSparks };

begin();
document.addEventListener("htmx:afterSwap", begin); // the first run brings the charts
document.addEventListener("live:shown", event => {
  for (const [id, drawn] of Object.entries(DRAWN_FROM)) if (event.detail.changed.includes(id)) drawn()();
});
