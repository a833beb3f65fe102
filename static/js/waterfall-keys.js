/* The waterfall by keyboard. Letters work on the whole page, arrows where the rows have the focus. */
import { typing } from "sixstage/keys.js";

const STEP = .2; // of what is shown

export function listenToKeys(wf) {
  const move = share => { wf.view.move(share); wf.moved(); };
  const fold = closed => { wf.tree.fold(wf.chosen, closed); wf.refresh(); };
  const page = () => Math.max(1, Math.floor(wf.scroll.clientHeight / 26) - 1);
  const anywhere = {
    j: () => wf.step(1), k: () => wf.step(-1), w: () => wf.zoom("in"), s: () => wf.zoom("out"),
    a: () => move(-STEP), d: () => move(STEP), f: () => wf.firstToken(),
    "[": () => wf.select(wf.rows.parents[wf.chosen]), "]": () => wf.select(wf.tree.child(wf.chosen)),
    c: () => document.getElementById("wf-path").click(),
  };
  const inRows = {
    ArrowDown: () => wf.step(1), ArrowUp: () => wf.step(-1), PageDown: () => wf.step(page()), PageUp: () => wf.step(-page()),
    Home: () => wf.select(wf.shown[0]), End: () => wf.select(wf.shown.at(-1)),
    ArrowLeft: () => wf.rows.is_parent(wf.chosen) && !wf.tree.folded.has(wf.chosen) ? fold(true) : wf.select(wf.rows.parents[wf.chosen]),
    ArrowRight: () => fold(false), Enter: () => fold(undefined),
    "+": () => wf.zoom("in"), "-": () => wf.zoom("out"), "0": () => wf.zoom("fit"),
  };
  const withShift = {
    ArrowLeft: () => move(-STEP), ArrowRight: () => move(STEP), ArrowUp: () => wf.zoom("in"), ArrowDown: () => wf.zoom("out"),
  };
  document.addEventListener("keydown", event => {
    if (typing(event)) return;
    const here = wf.scroll.contains(document.activeElement);
    const act = (here && event.shiftKey && withShift[event.key]) || (here && inRows[event.key]) || anywhere[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
