/* The two charts of Live, drawn anew whenever their data has been fetched. */
import { chart } from "sixstage/charts.js";
import { count as figure } from "sixstage/figures.js";
import { stagesFigure, stagesClick } from "sixstage/stages-chart.js";
import { wallsFigure, wallsClick } from "sixstage/walls-chart.js";

const data = id => JSON.parse(document.getElementById(id).textContent);
let redraw = [];

function begin() {
  const stages = document.getElementById("stage-plot"), walls = document.getElementById("wall-plot");
  if (!stages || stages.dataset.begun) return;
  stages.dataset.begun = "yes";
  redraw = [
    chart(stages, width => stagesFigure(data("stage-data"), width), event => stagesClick(data("stage-data"), event)),
    chart(walls, width => wallsFigure(data("wall-data"), width), event => wallsClick(data("wall-data"), event)),
  ];
}

function caption() {
  const count = document.getElementById("wall-count"), line = document.getElementById("wall-caption");
  if (!count) return;
  const { shown, all } = count.dataset;
  line.textContent = shown === all ? "one dot a run, on a logarithmic scale" : `the newest ${shown} of ${figure(Number(all))}, logarithmic`;
}

begin();
caption();
document.addEventListener("htmx:afterSwap", event => {
  begin(); // the first run brings the charts
  if (event.detail.target.id === "live-data") { redraw.forEach(draw => draw()); caption(); }
});
