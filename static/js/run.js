/* The Run page. */
import { followRun } from "sixstage/run-grows.js";
import { Waterfall } from "sixstage/waterfall.js";
import "sixstage/whole-values.js";

const host = document.getElementById("wf");
const inline = document.getElementById("waterfall-data");

const data = inline ? JSON.parse(inline.textContent) : await fetched();
if (data) followRun(new Waterfall(host, data), host.dataset);
document.querySelector("[data-print]").addEventListener("click", () => print());

async function fetched() {
  host.textContent = "Loading the spans";
  try {
    const answer = await fetch(host.dataset.rowsUrl);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return await answer.json();
  } catch (error) {
    host.textContent = `The spans were not loaded: ${error.message}. Load the page again.`;
    return null;
  }
}
