/* The histogram over the list: pointing tells a step's figures, dragging chooses a range, a click one step. */
import { clock, asDate } from "sixstage/times.js";
import { hideTip, showTip } from "sixstage/tip.js";

const plot = document.querySelector("[data-timeline]");
const LEAST_PX = 4;

function stepAt(x) {
  const steps = plot.querySelectorAll("g[data-from]"), { left, width } = plot.getBoundingClientRect();
  const at = Math.floor((x - left) / width * steps.length);
  return steps[Math.max(0, Math.min(steps.length - 1, at))];
}

function show(from, to) {
  const query = new URLSearchParams(location.search);
  for (const name of ["range", "cursor"]) query.delete(name);
  query.set("from", from);
  query.set("to", to);
  location.assign(`${location.pathname}?${query}`);
}

function begin() {
  const brush = plot.querySelector(".timeline-brush");
  let from = null;
  plot.addEventListener("pointerdown", event => {
    if (event.button) return;
    from = event.clientX;
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", event => {
    const step = stepAt(event.clientX);
    const bold = document.createElement("b");
    bold.textContent = clock(asDate(step.dataset.from));
    showTip([bold, ` ${step.dataset.says}`], event.clientX, event.clientY);
    if (from === null) return;
    const { left } = plot.getBoundingClientRect();
    brush.hidden = Math.abs(event.clientX - from) < LEAST_PX;
    brush.style.left = `${Math.min(from, event.clientX) - left}px`;
    brush.style.width = `${Math.abs(event.clientX - from)}px`;
  });
  plot.addEventListener("pointerleave", hideTip);
  plot.addEventListener("pointercancel", () => { from = null; brush.hidden = true; });
  plot.addEventListener("pointerup", event => {
    if (from === null) return;
    const first = stepAt(Math.min(from, event.clientX)), last = stepAt(Math.max(from, event.clientX));
    from = null;
    show(first.dataset.from, last.dataset.to);
  });
}

if (plot) begin();
