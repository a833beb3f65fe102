/* The charts of Live, drawn anew whenever their data has been fetched. */
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
    drawSparks,
  ];
  drawSparks();
}

begin();
document.addEventListener("htmx:afterSwap", event => {
  begin(); // the first run brings the charts
  if (event.detail.target.id === "live-data") redraw.forEach(draw => draw());
});
document.addEventListener("htmx:oobAfterSwap", event => {
  if (event.detail.target.id === "live-figures") drawSparks();
});
