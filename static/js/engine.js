/* The page of one engine: its charts, drawn anew whenever their data has been fetched. */
import { chart } from "sixstage/charts.js";
import { linesClick, linesFigure } from "sixstage/lines-chart.js";

const data = key => JSON.parse(document.getElementById(key)?.textContent ?? "null");
const redraw = [...document.querySelectorAll("[data-chart]")].map(host => {
  const { chart: key } = host.dataset;
  return chart(host, width => linesFigure(data(key), width), event => linesClick(data(key), event));
});

document.addEventListener("htmx:afterSwap", event => {
  if (event.detail.target.id === "engine-data") redraw.forEach(draw => draw());
});
