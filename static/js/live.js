/* The Live page: news from the socket are shown in the lists at once, in the key figures once a second, and in the
   charts once in ten. */
import { layOver } from "sixstage/in-place.js";
import { typing } from "sixstage/keys.js";
import { paced } from "sixstage/paced.js";
import { nowClock } from "sixstage/times.js";
import { showState, view } from "sixstage/live-state.js";
import "sixstage/live-charts.js";
import "sixstage/live-arrivals.js";
import "sixstage/live-wall.js";

const FEEDS_MS = 400, NOW_MS = 1000, CHARTS_MS = 10000; // the socket tells of news at most twice a second
let newsAt = performance.now();
const quiet = () => view.paused || document.hidden;
const fire = name => { if (!quiet()) document.dispatchEvent(new CustomEvent(`live:${name}`)); };
const refresh = {
  feeds: paced(() => fire("feeds"), FEEDS_MS),
  now: paced(() => fire("now"), NOW_MS),
  charts: paced(() => fire("charts"), CHARTS_MS),
};
const all = () => { if (!quiet()) Object.values(refresh).forEach(part => part()); };

document.addEventListener("live:runs", event => {
  newsAt = performance.now();
  event.detail.run_ids?.forEach(id => view.paused?.runs.add(id));
  all();
});
// Announcements may have been missed while the socket was down.
document.addEventListener("live:hello", () => { newsAt = performance.now(); all(); });
document.addEventListener("visibilitychange", all);
// What another tab was told just now will do, if it was told after the newest change.
document.addEventListener("htmx:configRequest", event => {
  const cause = event.detail.triggeringEvent?.type ?? "";
  if (cause.startsWith("live:")) event.detail.parameters.set("age", String(Math.floor(performance.now() - newsAt)));
});
// What was asked for before the pause may be answered with what came after it.
document.addEventListener("htmx:beforeOnLoad", event => {
  const cause = event.detail.requestConfig?.triggeringEvent?.type ?? "";
  if (view.paused && cause.startsWith("live:")) event.preventDefault();
});
document.addEventListener("htmx:beforeSwap", event => {
  if (!("inPlace" in event.detail.elt.dataset) || event.detail.isError) return;
  event.detail.shouldSwap = false;
  const changed = layOver(event.detail.serverResponse);
  document.dispatchEvent(new CustomEvent("live:shown", { detail: { changed } }));
});
// Figures are over the last minutes, and runs in flight grow older: both change without news too.
setInterval(all, CHARTS_MS);

const button = document.getElementById("pause");
function pause(on) {
  if (on === Boolean(view.paused)) return;
  view.paused = on ? { at: nowClock(), runs: new Set() } : null;
  button.textContent = on ? "Resume" : "Pause";
  button.setAttribute("aria-pressed", on);
  showState();
  all();
}
button.addEventListener("click", () => pause(!view.paused));
document.addEventListener("keydown", event => {
  if (event.key === "p" && !typing(event)) pause(!view.paused);
});
// Whoever scrolls back wants the list to stand still.
document.addEventListener("click", event => { if (event.target.closest("[data-older]")) pause(true); }, true);
