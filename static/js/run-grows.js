/* A run that changes while it is looked at: in flight it grows, and a late span changes figures that stood. The socket
   says that it changed; the page asks for its parts and says what is different. */
import { duration, plural } from "sixstage/figures.js";
import { paced } from "sixstage/paced.js";
import { LABELS } from "sixstage/stages.js";
import { localise } from "sixstage/times.js";
import "sixstage/live-connection.js";

const PACE_MS = 1000;
const BLOCKS = ".cost, .split > div, .facts > div"; // of the head: a longer sentence or a second source makes them taller

export function followRun(waterfall, { run, partsUrl, rowsUrl }) {
  let before = JSON.parse(document.getElementById("figures").textContent), heard = false;
  const ask = paced(async () => {
    const [parts, rows] = await Promise.all([fetch(partsUrl), fetch(rowsUrl)]).catch(() => []);
    if (parts?.redirected) return void location.replace(parts.url.replace(/\/parts(\?|$)/, "$1")); // a late root took over
    if (!parts?.ok || !rows?.ok) return;
    const made = new DOMParser().parseFromString(await parts.text(), "text/html");
    const now = JSON.parse(made.getElementById("figures").textContent);
    const changes = differences(before, now);
    swapParts(made);
    waterfall.grow(await rows.json());
    if (changes.length) say(before.in_flight, changes);
    before = now;
  }, PACE_MS);
  document.addEventListener("live:runs", event => {
    const { run_ids: ids = [], count } = event.detail;
    if (ids.includes(run) || count > ids.length) ask();
  });
  // Until the first hello the page is as new as the socket; every later one may have missed something.
  document.addEventListener("live:hello", () => { if (heard || before.provisional) ask(); heard = true; });
  // A run settles without a word when nothing more has come for a while.
  const settling = setInterval(() => { if (before.provisional) ask(); else clearInterval(settling); }, 5000);
  document.querySelector("#changed button").addEventListener("click", event => { event.target.parentElement.hidden = true; });
}

function swapParts(made) {
  for (const fresh of made.querySelectorAll("[data-part]")) {
    const part = document.querySelector(`body [data-part="${fresh.dataset.part}"]`);
    localise(fresh);
    if (part && part.innerHTML !== fresh.innerHTML) keepOpen(part, () => part.replaceChildren(...fresh.childNodes));
  }
}

/* What somebody has opened, and how far they have scrolled, stays; so do the heights, so that nothing below moves. */
function keepOpen(part, swap) {
  const height = part.childElementCount && part.matches("section") && part.offsetHeight;
  const open = part.querySelector("details")?.open, scrolled = part.querySelector(".scroll")?.scrollTop;
  const heights = [...part.querySelectorAll(BLOCKS)].map(block => block.offsetHeight);
  swap();
  if (height) hold(part, height);
  const blocks = [...part.querySelectorAll(BLOCKS)];
  if (blocks.length === heights.length) blocks.forEach((block, at) => hold(block, heights[at]));
  const details = part.querySelector("details"), scroll = part.querySelector(".scroll");
  if (details && open !== undefined) details.open = open;
  if (scroll && scrolled) scroll.scrollTop = scrolled;
}

function hold(element, height) {
  Object.assign(element.style, { height: `${height}px`, overflowY: element.scrollHeight > height ? "auto" : "" });
}

function differences(before, now) {
  const said = [];
  const signed = ns => `${ns < 0 ? "−" : "+"}${duration(Math.abs(ns))}`;
  if (now.wall_ns !== before.wall_ns) said.push(`wall time ${duration(before.wall_ns)} → ${duration(now.wall_ns)}`);
  for (const [owner, ns] of Object.entries(now.parts_ns)) {
    const by = ns - before.parts_ns[owner];
    if (by) said.push(`${LABELS[owner].toLowerCase()} ${signed(by)}`);
  }
  if (now.spans > before.spans) said.push(`${plural(now.spans - before.spans, "span")} more`);
  if (now.warnings > before.warnings) said.push(now.warnings - before.warnings === 1 ? "1 oddity more" : `${now.warnings - before.warnings} oddities more`);
  return said;
}

function say(inFlight, changes) {
  const note = document.getElementById("changed"), clock = new Date().toTimeString().slice(0, 8);
  note.firstElementChild.textContent = `${inFlight ? "Grew" : "Late spans changed this run"} at ${clock}: ${changes.join(", ")}.`;
  note.hidden = false;
}
