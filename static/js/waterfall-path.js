/* The critical path: what the user waited for, from one block down or up to the next. Only what is in sight is drawn:
   ten thousand legs would cost each frame more than all rows together. */
const ROW = 26, UNDER = 21.5;

/** The legs of all rows that are shown, in the order of time. Worked out again when rows fold. */
export function legsOf(rows, shown) {
  const legs = [];
  shown.forEach((i, place) => {
    if (!rows.is_critical(i) || rows.kind(i) === "agent") return;
    const [from, to] = rows.waited(i);
    legs.push({ from, to, place });
  });
  return legs.sort((a, b) => a.from - b.from);
}

/** A path through those between two rows and within the view, in per mille of the width and pixels from `first`. */
export function pathOf(legs, view, first, last) {
  const x = ns => (Math.max(-5, Math.min(105, view.at(ns))) * 10).toFixed(1), y = leg => (leg.place - first) * ROW + UNDER;
  const seen = leg => leg.place >= first && leg.place <= last;
  const parts = [];
  for (let i = 0; i < legs.length; i += 1) {
    const leg = legs[i], next = legs[i + 1];
    if (leg.from > view.to) break;
    if ((next ?? leg).from < view.from && leg.to < view.from) continue;
    if (seen(leg)) parts.push(`M${x(leg.from)} ${y(leg)}H${x(leg.to)}${next ? `H${x(next.from)}` : ""}`);
    if (next && (seen(leg) || seen(next) || crosses(leg, next, first, last))) parts.push(`M${x(next.from)} ${y(leg)}V${y(next)}`);
  }
  return parts.join("");
}

const crosses = (a, b, first, last) => Math.min(a.place, b.place) < first && Math.max(a.place, b.place) > last;
