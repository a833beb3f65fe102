/* Says how fresh the page is: Up to date, Stale, Reconnecting, Paused. */
import { connection } from "sixstage/live-connection.js";
import { nowClock } from "sixstage/times.js";
import { plural } from "sixstage/figures.js";

const STALE_MS = 8000; // beats come every 5 s, and may be a little late
const DIM_MS = 30000;
const word = document.getElementById("connection"), note = document.getElementById("connection-note");

/** Paused is null, or when it began and which runs have changed since. */
export const view = { paused: null };

function state() {
  const age = Date.now() - connection.newsAt;
  if (view.paused) return ["idle", `Paused at ${view.paused.at}`, `${plural(view.paused.runs.size, "run")} since`];
  if (!connection.open && connection.tries) return ["warn", "Reconnecting", `try ${connection.tries}`];
  if (!connection.open) return ["idle", "Connecting", ""];
  if (age > STALE_MS) return ["warn", "Stale", `last news ${Math.round(age / 1000)} s ago`];
  return ["ok live", "Up to date", nowClock()];
}

export function showState() {
  const [tone, text, detail] = state();
  // The word is a live region: it is written only when it changes, or a reader would hear it every second.
  if (word.textContent !== text) { word.textContent = text; word.className = `st ${tone}`; }
  if (note.textContent !== detail) note.textContent = detail;
  const dim = !view.paused && connection.newsAt > 0 && Date.now() - connection.newsAt > DIM_MS;
  document.getElementById("live-body")?.classList.toggle("stale", dim);
}

// By hand, once a second: an endless animation has the browser draw 60 frames a second, the dearest part of an open page.
setInterval(() => { showState(); word.classList.toggle("beat"); }, 1000);
for (const kind of ["hello", "beat", "runs", "lost"]) document.addEventListener(`live:${kind}`, showState);
