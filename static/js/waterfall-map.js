/* The whole run in small, with the part that is shown. Dragging its frame moves that part, dragging elsewhere chooses
   another, dragging an edge makes it longer or shorter. */
import { cssName } from "sixstage/stages.js";

const SMALLEST = .0008; // of the run: phases shorter than this would be hairs that nobody sees
const LINES = 60, EDGE_PX = 8;
const MANY = 1500, COLUMNS = 400; // of more phases than can be seen, each column shows what most of it was

export function drawMap(host, rows) {
  host.replaceChildren();
  const ribbon = host.appendChild(document.createElement("div"));
  ribbon.className = "map-ribbon";
  for (const [owner, from, to] of together(rows.ribbon.length > MANY ? columns(rows) : visible(rows))) {
    const piece = ribbon.appendChild(document.createElement("i"));
    piece.className = `sg-${cssName(owner)}`;
    piece.style.width = `${(to - from) / rows.wall * 100}%`;
  }
  const lines = host.appendChild(document.createElement("div"));
  lines.className = "map-rows";
  const every = Math.max(1, Math.ceil(rows.size / LINES));
  for (let i = 0; i < rows.size; i += every) {
    const piece = lines.appendChild(document.createElement("i"));
    const left = Math.max(0, Math.min(100, rows.from[i] / rows.wall * 100));
    piece.style.left = `${left}%`;
    piece.style.width = `${Math.min(100 - left, (rows.to[i] - rows.from[i]) / rows.wall * 100)}%`;
    piece.style.top = `${i / rows.size * 100}%`;
  }
  const frame = host.appendChild(document.createElement("div"));
  frame.className = "map-window";
  return frame;
}

/* Neighbours of one owner are one piece: of a long run's 400 columns a few dozen elements are left. */
function* together(pieces) {
  let last = null;
  for (const piece of pieces) {
    if (last?.[0] === piece[0]) last[2] = piece[2];
    else { if (last) yield last; last = piece; }
  }
  if (last) yield last;
}

/* Phases too short to see are shown with the next. */
function* visible({ ribbon, wall }) {
  let begun = 0;
  for (const [owner, , to] of ribbon) {
    if ((to - begun) / wall < SMALLEST) continue;
    yield [owner, begun, to];
    begun = to;
  }
}

function* columns({ ribbon, wall }) {
  const width = wall / COLUMNS;
  let p = 0;
  for (let c = 0; c < COLUMNS; c += 1) {
    const begin = c * width, end = begin + width, spent = new Map();
    for (; p < ribbon.length && ribbon[p][1] < end; p += 1) {
      const [owner, from, to] = ribbon[p];
      spent.set(owner, (spent.get(owner) ?? 0) + Math.min(to, end) - Math.max(from, begin));
      if (to > end) break;
    }
    const most = [...spent].sort((a, b) => b[1] - a[1])[0];
    if (most) yield [most[0], begin, end];
  }
}

export function dragMap(host, view, redraw) {
  let held = null;
  const at = event => {
    const box = host.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * view.whole;
  };
  const grip = ns => {
    const edge = EDGE_PX / host.clientWidth * view.whole;
    if (!view.whole_shown && Math.abs(ns - view.from) < edge) return { other: view.to };
    if (!view.whole_shown && Math.abs(ns - view.to) < edge) return { other: view.from };
    if (!view.whole_shown && ns > view.from && ns < view.to) return { shift: ns - view.from };
    return { other: ns };
  };
  host.addEventListener("pointerdown", event => { held = grip(at(event)); host.setPointerCapture(event.pointerId); });
  host.addEventListener("pointermove", event => {
    if (!held) return;
    const ns = at(event);
    if (held.shift !== undefined) view.show(ns - held.shift, ns - held.shift + view.length);
    else if (Math.abs(ns - held.other) > view.whole * .002) view.show(Math.min(held.other, ns), Math.max(held.other, ns));
    redraw();
  });
  for (const end of ["pointerup", "pointercancel"]) host.addEventListener(end, () => { held = null; });
  host.addEventListener("dblclick", () => { view.fit(); redraw(); });
}
