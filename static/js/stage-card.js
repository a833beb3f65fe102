/* Hovering a segment of any stage bar shows its name, time, share and source. */
import { duration, durationNodes, percent } from "sixstage/figures.js";
import { LABELS, cssName } from "sixstage/stages.js";
import { hideTip, showTip } from "sixstage/tip.js";

const element = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

function describe(segment) {
  const { stage, ns, source, guessed } = segment.dataset;
  const wall = Number(segment.parentElement.dataset.wallNs);
  const nodes = [element("i", `sw sg-${cssName(stage)}`), element("b", "", LABELS[stage]), " ", ...durationNodes(Number(ns))];
  nodes.push(" ", element("span", "mute", `${percent(Number(ns) / wall)} of ${duration(wall)}`));
  if (source) nodes.push(" ", element("span", `src src-${source}`, source));
  if (guessed && guessed !== "1.0") nodes.push(" ", element("span", "mute", `${duration(ns * guessed)} of it estimated`));
  return nodes;
}

let shown = false;
document.addEventListener("pointermove", event => {
  const segment = event.target.closest?.(".sb .sg[data-stage]");
  if (segment) showTip(describe(segment), event.clientX, event.clientY);
  else if (shown) hideTip();
  shown = Boolean(segment);
}, { passive: true });
