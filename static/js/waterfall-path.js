/* The critical path: what the user waited for, from one block down or up to the next. */
const ROW = 26, UNDER = 21.5;

export function pathOf(rows, shown, view) {
  const legs = shown.map((i, place) => ({ row: rows[i], y: place * ROW + UNDER })).filter(leg => leg.row.critical && leg.row.kind !== "agent")
    .map(leg => ({ ...leg, ...extent(leg.row) })).sort((a, b) => a.from - b.from);
  const x = ns => (view.at(ns) * 10).toFixed(2);
  return legs.map((leg, i) => {
    const next = legs[i + 1];
    return `${i ? "" : `M${x(leg.from)} ${leg.y}`}H${x(leg.to)}${next ? `H${x(next.from)}V${next.y}` : ""}`;
  }).join("");
}

function extent(row) {
  const solid = row.blocks.filter(block => !block[4]);
  return { from: Math.min(...solid.map(block => block[1])), to: Math.max(...solid.map(block => block[2])) };
}
