/* The Live page: news from the socket become refreshes of its parts, each at its own pace. */
import { paced } from "sixstage/paced.js";
import { showState, view } from "sixstage/live-state.js";
import { nowClock } from "sixstage/times.js";
import "sixstage/live-charts.js";
import "sixstage/live-arrivals.js";

const quiet = () => view.paused || document.hidden;
const fire = name => { if (!quiet()) document.dispatchEvent(new CustomEvent(`live:${name}`)); };
const refresh = {
  feeds: paced(() => fire("feeds"), 500),
  figures: paced(() => fire("figures"), 2000),
  charts: paced(() => fire("charts"), 10000),
};
const all = () => { if (!quiet()) Object.values(refresh).forEach(part => part()); };

document.addEventListener("live:runs", event => {
  event.detail.run_ids?.forEach(id => view.paused?.runs.add(id));
  all();
});
document.addEventListener("live:hello", all); // announcements may have been missed while the socket was down
document.addEventListener("visibilitychange", all);
// What was asked for before the pause may be answered with what came after it.
document.addEventListener("htmx:beforeSwap", event => {
  const cause = event.detail.requestConfig?.triggeringEvent?.type ?? "";
  if (view.paused && cause.startsWith("live:")) event.detail.shouldSwap = false;
});
// Figures are over the last minutes, and runs in flight grow older: both change without news too.
setInterval(all, 10000);

const button = document.getElementById("pause");
button.addEventListener("click", () => {
  view.paused = view.paused ? null : { at: nowClock(), runs: new Set() };
  button.textContent = view.paused ? "Resume" : "Pause";
  button.setAttribute("aria-pressed", Boolean(view.paused));
  showState();
  all();
});

document.getElementById("full-screen").addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
document.addEventListener("fullscreenchange", () => {
  document.documentElement.classList.toggle("on-the-wall", Boolean(document.fullscreenElement));
  document.getElementById("full-screen").textContent = document.fullscreenElement ? "Leave full screen" : "Full screen";
});
