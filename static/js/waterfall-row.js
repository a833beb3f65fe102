/* One row of the waterfall as nodes. Names are text, never markup. */
import { count, duration, durationNodes, plural } from "sixstage/figures.js";
import { LABELS, cssName } from "sixstage/stages.js";

const KINDS = { agent: ["A", "agent"], call: ["M", "model call"], tool: ["T", "tool"], span: ["·", "span"] };
const HAIR = .04, COARSE = .15; // per cent of a lane; a folded row shows in small what may be thousands
const LONGEST_END = 28; // characters at the end of a name that stay when its beginning is cut
const DEEP = 12; // from here on a row says how deep it is

function node(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function drawRow(row, { view, selected, folded, narrow, indent, number }) {
  const line = node("div", "wf-row", nameCell(row, folded, indent), drawLane(row, view, narrow));
  line.id = `span-${row.id}`;
  line.dataset.id = row.id;
  line.setAttribute("role", "row");
  line.setAttribute("aria-level", row.depth + 1);
  line.setAttribute("aria-rowindex", number);
  line.setAttribute("aria-selected", selected);
  if (row.parent) line.setAttribute("aria-expanded", !folded);
  return line;
}

function nameCell(row, folded, indent) {
  const [letter, kind] = KINDS[row.kind];
  const twist = node("span", `twist${folded ? " is-folded" : ""}`);
  if (!row.parent) twist.style.visibility = "hidden";
  const mark = node("span", "kind", letter);
  mark.title = kind;
  const name = node(row.kind === "agent" ? "b" : "span", "clip", ...shortened(row.name));
  name.title = row.span_name && row.span_name !== row.name ? `${row.name} (${row.span_name})` : row.name;
  const cell = node("div", "wf-name", twist, mark, name);
  if (row.failed) cell.append(Object.assign(node("span", "st bad", node("span", "sr", "failed")), { title: "failed" }));
  if (row.beside) cell.append(besideMark(row.beside));
  if (row.round) cell.append(node("span", "round", row.round));
  else if (row.depth > DEEP) cell.append(Object.assign(node("span", "round", count(row.depth)), { title: `${row.depth} levels deep` }));
  cell.style.setProperty("--depth", indent);
  cell.setAttribute("role", "gridcell");
  return cell;
}

/* Where a name has no room its beginning gives way: what tells Workflow.run_step from Workflow.parse stands at the end. */
function shortened(name) {
  const cut = /[./:](?=[^./:]*$)/.exec(name)?.index ?? (/^\S+ \S+$/.test(name) ? name.indexOf(" ") : -1);
  if (cut < 2 || name.length - cut < 4 || name.length - cut > LONGEST_END) return [name];
  return [node("span", "clip", name.slice(0, cut + 1)), node("span", "clip", name.slice(cut + 1))];
}

function besideMark({ count: siblings, stretches }) {
  const says = `at the same time as ${plural(siblings, "sibling")}`, mark = node("span", "beside", node("span", "sr", says));
  const sign = mark.appendChild(node("span", "", node("i", "lg-beside"), `+${count(siblings)}`));
  sign.setAttribute("aria-hidden", true);
  mark.title = `${says}, for ${duration(stretches.reduce((sum, [from, to]) => sum + to - from, 0))}`;
  return mark;
}

/** The part of a row that changes with the view. */
export function drawLane(row, view, narrow) {
  const cell = node("div", "wf-lane");
  cell.setAttribute("role", "gridcell");
  if (!row.blocks.length || (row.kind === "agent" && !row.folded)) add(cell, view, row.from, row.to, `blk agent${row.open ? " is-open" : ""}`);
  const longest = narrow ? undefined : longestOf(row.gaps), named = longest && hasRoom(longest, view);
  for (const gap of row.gaps) add(cell, view, gap[1], gap[2], `blk gap sg-${cssName(gap[0])}${named && gap === longest ? " is-named" : ""}`);
  if (longest) cell.append(...gapLabel(row, longest, named, view));
  const drawn = { true: -Infinity, false: -Infinity }; // what lies beside the path comes first, then the path, each in time order
  for (const [owner, from, to, estimated, aside] of row.blocks) {
    // Of pieces that share a hair's breadth one is enough.
    if (to > from && view.at(to) - drawn[aside] < (row.folded ? COARSE : HAIR)) continue;
    drawn[aside] = view.at(to);
    const failed = row.failed && row.kind === "tool";
    add(cell, view, from, to, `blk ${row.folded ? "within " : ""}${failed ? "failed" : `sg-${cssName(owner)}`}${estimated ? " is-estimated" : ""}${aside ? " aside" : ""}`);
  }
  let shared = -Infinity;
  for (const [from, to] of row.beside?.stretches ?? []) {
    if (view.at(to) - shared < HAIR) continue;
    shared = view.at(to);
    add(cell, view, from, to, "shared");
  }
  const first = row.first == null ? -1 : view.at(row.first);
  if (first >= 0 && first <= 100) cell.append(Object.assign(node("i", "first"), { style: `left:${first}%`, title: "first output token" }));
  const end = view.at(row.to);
  if (end >= 0 && view.at(row.from) <= 100) {
    const note = row.open ? "not ended yet, or lost" : row.note;
    const words = note ? [node("span", "mute", ` ${note}`)] : [];
    // Beside its block a note would leave the lane, so there it stands in it.
    const place = note && end > 84 ? "before-end" : row.failed ? "bad" : "";
    cell.append(label(Math.min(end, 100), place, ...durationNodes(row.to - row.from), ...words));
  }
  return cell;
}

/* One label a row, for the longest of its gaps: in it where it has room, else left of them all. Gaps too short to see
   are named in the rounds only. */
const ROOM = 18;
const longestOf = gaps => gaps.reduce((a, b) => a && b[2] - b[1] <= a[2] - a[1] ? a : b, undefined);
const hasRoom = ([, from, to], view) => Math.min(100, view.at(to)) - Math.max(0, view.at(from)) > ROOM;

function gapLabel(row, [owner, from, to], named, view) {
  const words = [`${LABELS[owner].toLowerCase()} `, ...durationNodes(to - from)], begin = view.at(row.gaps[0][1]);
  if (named) return [label(Math.max(0, view.at(from)), `in-gap sg-${cssName(owner)}`, ...words)];
  // On the run's own row a label would stand on its line.
  if (!row.depth || begin < ROOM || begin > 104 || to - from < view.length * 2e-4) return [];
  return [label(begin, "gap-label", ...words)];
}

const label = (at, className, ...children) => {
  const made = node("span", `blk-label ${className}`, ...children);
  made.style.left = `${at}%`;
  return made;
};

function add(cell, view, from, to, className) {
  const left = view.at(from), right = view.at(to);
  if (right < 0 || left > 100) return;
  const block = node("i", className);
  const begin = Math.max(left, -.2), end = Math.min(right, 100.2);
  block.style.left = `${begin}%`;
  block.style.width = `${end - begin}%`;
  cell.append(block);
}
