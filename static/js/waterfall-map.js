/* The whole run in small, with the part that is shown. Dragging chooses another part. */
import { cssName } from "sixstage/stages.js";

const SMALLEST = .0008; // of the run: phases shorter than this would be hairs that nobody sees

export function drawMap(host, data) {
  const ribbon = host.appendChild(document.createElement("div"));
  ribbon.className = "map-ribbon";
  let missed = 0;
  for (const [owner, from, to] of data.phases) {
    const width = (to - from + missed) / data.wall_ns;
    if (width < SMALLEST) { missed += to - from; continue; }
    const piece = ribbon.appendChild(document.createElement("i"));
    piece.className = `sg-${cssName(owner)}`;
    piece.style.width = `${width * 100}%`;
    missed = 0;
  }
  const rows = host.appendChild(document.createElement("div"));
  rows.className = "map-rows";
  const every = Math.max(1, Math.ceil(data.rows.length / 60));
  data.rows.forEach((row, i) => {
    if (i % every) return;
    const piece = rows.appendChild(document.createElement("i"));
    const left = Math.max(0, Math.min(100, row.from / data.wall_ns * 100));
    piece.style.left = `${left}%`;
    piece.style.width = `${Math.min(100 - left, (row.to - row.from) / data.wall_ns * 100)}%`;
    piece.style.top = `${i / data.rows.length * 100}%`;
  });
  const frame = host.appendChild(document.createElement("div"));
  frame.className = "map-window";
  return frame;
}

export function dragMap(host, view, redraw) {
  let from = null;
  const at = event => {
    const box = host.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * view.whole;
  };
  host.addEventListener("pointerdown", event => { from = at(event); host.setPointerCapture(event.pointerId); });
  host.addEventListener("pointermove", event => {
    if (from === null || Math.abs(at(event) - from) < view.whole * .004) return;
    view.show(Math.min(from, at(event)), Math.max(from, at(event)));
    redraw();
  });
  host.addEventListener("pointerup", () => { from = null; });
  host.addEventListener("dblclick", () => { view.fit(); redraw(); });
}
