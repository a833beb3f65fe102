/* The Run page. Its rows come first; what follows the run is fetched when they stand. */
import { Waterfall } from "sixstage/waterfall.js";

const host = document.getElementById("wf");
const told = document.getElementById("waterfall-data"); // not there where the server failed on the way
const shown = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));

async function begin() {
  document.querySelector("[data-print]").addEventListener("click", () => print());
  const waterfall = new Waterfall(host, JSON.parse(told.textContent));
  await shown();
  const [{ followRun }] = await Promise.all([import("sixstage/run-grows.js"), import("sixstage/whole-values.js")]);
  followRun(waterfall, host.dataset);
}

if (told) begin();
