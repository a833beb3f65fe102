/* The wall display: the page alone, larger, full screen where the browser lets it, and the screen kept awake. It is in
   the address, so that a screen which starts anew comes up with it. */
import { typing } from "sixstage/keys.js";

const button = document.getElementById("full-screen");
let awake = null;

function show(on) {
  document.documentElement.classList.toggle("on-the-wall", on);
  document.body.classList.toggle("is-wall", on);
  button.textContent = on ? "Leave full screen" : "Full screen";
  const here = new URL(location.href);
  if (on) here.searchParams.set("wall", "1");
  else here.searchParams.delete("wall");
  history.replaceState(null, "", here);
  keepAwake(on);
}

async function keepAwake(on) {
  try {
    if (on) awake = await navigator.wakeLock?.request("screen");
    else await awake?.release();
  } catch { /* a browser that does not keep it awake shows the page all the same */ }
}

async function turn() {
  const on = !document.body.classList.contains("is-wall");
  show(on);
  try {
    if (on) await document.documentElement.requestFullscreen();
    else if (document.fullscreenElement) await document.exitFullscreen();
  } catch { /* larger and alone it is, within its window */ }
}

button.addEventListener("click", turn);
document.addEventListener("keydown", event => { if (event.key === "f" && !typing(event)) turn(); });
document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement && document.body.classList.contains("is-wall")) show(false); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && document.body.classList.contains("is-wall")) keepAwake(true); });
if (document.body.classList.contains("is-wall")) show(true);
