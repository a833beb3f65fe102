/* The list of runs: j and k move through the rows, Enter opens one. */
import { typing } from "sixstage/keys.js";
import "sixstage/runs-query.js";
import "sixstage/runs-timeline.js";

const rows = [...document.querySelectorAll("[data-rows] > tr")];
let at = -1;

document.addEventListener("keydown", event => {
  if (typing(event) || !rows.length) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  at = Math.max(0, Math.min(rows.length - 1, at + step));
  rows[at].querySelector("a").focus({ preventScroll: true });
  rows[at].scrollIntoView({ block: "nearest" });
});
