/* Moving about by pointer: dragging the lanes moves through time and rows, wheel with Ctrl and two fingers zoom, wheel
   with Shift or sideways moves. A press that does not move stays a click. */
const STILL_PX = 4;

export function dragLanes(scroll, axis, view, redraw) {
  const fingers = new Map();
  let held = null, dragged = false;
  const timeAt = x => {
    const lane = axis.getBoundingClientRect();
    return view.from + (x - lane.left) / lane.width * view.length;
  };
  const inLanes = event => event.clientX >= axis.getBoundingClientRect().left && !event.target.closest(".twist");

  scroll.addEventListener("pointerdown", event => {
    if (event.button || !inLanes(event)) return;
    fingers.set(event.pointerId, event.clientX);
    dragged = false;
    held = { x: event.clientX, y: event.clientY, from: view.from, top: scroll.scrollTop, apart: apart(fingers), pointer: event.pointerId };
  });
  scroll.addEventListener("pointermove", event => {
    if (!held || !fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    if (fingers.size > 1) return pinch();
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!dragged && Math.hypot(dx, dy) < STILL_PX) return;
    if (!dragged) { dragged = true; scroll.setPointerCapture(event.pointerId); scroll.classList.add("is-dragged"); }
    const from = held.from - dx / axis.clientWidth * view.length;
    view.show(from, from + view.length);
    if (event.pointerType === "mouse") scroll.scrollTop = held.top - dy;
    redraw();
  });
  function pinch() {
    const now = apart(fingers);
    if (held.apart && now) view.zoom(held.apart / now, timeAt([...fingers.values()].reduce((a, b) => a + b) / fingers.size));
    held.apart = now;
    dragged = true;
    redraw();
  }
  for (const end of ["pointerup", "pointercancel"]) scroll.addEventListener(end, event => {
    fingers.delete(event.pointerId);
    if (!fingers.size) { held = null; scroll.classList.remove("is-dragged"); }
  });
  // After a drag the browser still says that there was a click.
  scroll.addEventListener("click", event => { if (dragged) { event.stopPropagation(); dragged = false; } }, true);

  scroll.addEventListener("wheel", event => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) view.zoom(event.deltaY < 0 ? .8 : 1.25, timeAt(event.clientX));
    else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) view.move(sideways / axis.clientWidth);
    else return; // rows scroll as anywhere
    event.preventDefault();
    redraw();
  }, { passive: false });
}

function apart(fingers) {
  const xs = [...fingers.values()];
  return xs.length > 1 ? Math.max(20, Math.max(...xs) - Math.min(...xs)) : 0;
}
