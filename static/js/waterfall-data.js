import { Beside } from "sixstage/waterfall-beside.js";

/* The waterfall's columns as rows. A row is made when it is drawn, so that 100,000 of them cost nothing before. */
const GAPS = new Set(["tool_parsing", "orchestration"]);
const KINDS = { a: "agent", c: "call", t: "tool", s: "span" };
const ID = 16; // digits of a span id

export class Rows {
  constructor(data) {
    Object.assign(this, { data, size: data.depth.length, wall: data.wall_ns, depth: data.depth, from: data.from });
    this.to = data.length.map((length, i) => data.from[i] + length);
    this.failed = new Set(data.failed);
    this.open = new Set(data.open);
    this.calls = new Map(data.calls.map(call => [call[0], call]));
    this.notes = new Map(data.notes);
    this.raw = new Map(data.raw.map(([row, from, length]) => [row, [from, from + length]]));
    this.raw_shown = false;
    this.layPhases();
    this.parents = parentsOf(this.depth);
    this.beside = new Beside(this);
  }

  /* By row: the pieces of the wall that were its own, and the gaps that it ended. */
  layPhases() {
    const { phases, owners } = this.data;
    this.pieces = new Map();
    this.gaps = new Map();
    this.ribbon = [];
    this.owners_of = []; // by piece of the ribbon: its row
    this.within = new Map();
    let at = 0;
    for (let p = 0; p < phases.length; p += 4) {
      const owner = owners[phases[p]], piece = [owner, at, at += phases[p + 1], phases[p + 3] === 1];
      const of = GAPS.has(owner) ? this.gaps : this.pieces, row = phases[p + 2];
      if (of.has(row)) of.get(row).push(piece);
      else of.set(row, [piece]);
      this.ribbon.push(piece);
      this.owners_of.push(row);
    }
  }

  id(i) { return this.data.ids.slice(i * ID, (i + 1) * ID); }
  name(i) { return this.data.names[this.data.name[i]]; }
  span_name(i) { return this.data.span_name[i] < 0 ? "" : this.data.names[this.data.span_name[i]]; }
  kind(i) { return KINDS[this.data.kinds[i]]; }
  is_parent(i) { return this.depth[i + 1] > this.depth[i]; }
  is_critical(i) { return this.pieces.has(i); }

  /** Where a row begins and ends in the times that are shown. */
  extent(i) { return (this.raw_shown && this.raw.get(i)) || [this.from[i], this.to[i]]; }

  /** What the user waited for within it: its first and last piece. */
  waited(i) {
    const pieces = this.pieces.get(i);
    return [pieces[0][1], pieces.at(-1)[2]];
  }

  at(id) {
    for (let from = 0; (from = this.data.ids.indexOf(id, from)) >= 0; from += 1) if (from % ID === 0) return from / ID;
    return undefined;
  }

  /* What a folded row hides: all that was waited for below it. */
  below(i) {
    if (!this.within.has(i)) {
      let last = i;
      while (last + 1 < this.size && this.depth[last + 1] > this.depth[i]) last += 1;
      const hidden = this.ribbon.filter((_, p) => this.owners_of[p] >= i && this.owners_of[p] <= last);
      this.within.set(i, hidden.map(piece => [...piece, false]));
    }
    return this.within.get(i);
  }

  /** Everything that a row draws. Blocks are [owner, from, to, is a guess, is beside the critical path]. */
  row(i, folded = false) {
    const [from, to] = this.extent(i), call = this.calls.get(i);
    return {
      id: this.id(i), depth: this.depth[i], from, to, kind: this.kind(i), name: this.name(i), span_name: this.span_name(i),
      parent: this.is_parent(i), failed: this.failed.has(i), note: this.notes.get(i), open: this.open.has(i),
      beside: this.beside.at(i), round: call?.[1], first: this.raw_shown ? null : call?.[2] ?? null,
      folded: folded && !this.raw_shown, gaps: this.raw_shown ? [] : this.gaps.get(i) ?? [],
      blocks: this.raw_shown ? this.rawBlocks(i, from, to) : folded ? this.below(i) : this.blocks(i),
    };
  }

  blocks(i) {
    const own = this.pieces.get(i) ?? [], covered = own.reduce((sum, piece) => sum + piece[2] - piece[1], 0);
    const aside = covered < this.to[i] - this.from[i] ? this.aside(i) : [];
    return [...aside, ...own.map(piece => [...piece, false])];
  }

  /* What ran whether or not somebody waited for it. */
  aside(i) {
    const call = this.calls.get(i), end = this.to[i];
    if (!call) return this.kind(i) === "tool" ? [["tool_execution", this.from[i], end, false, true]] : [];
    const blocks = [], parts = call[4];
    let at = this.from[i];
    for (let p = 0; p < parts.length; p += 2) {
      const owner = this.data.owners[parts[p]], to = Math.min(at + parts[p + 1], end);
      blocks.push([owner, at, to, call[3] === 1 && owner !== "model_unsplit", true]);
      at = to;
    }
    return blocks;
  }

  rawBlocks(i, from, to) {
    const owner = { call: "model_unsplit", tool: "tool_execution" }[this.kind(i)];
    return owner ? [[owner, from, to, false, false]] : [];
  }
}

function parentsOf(depth) {
  const parents = new Int32Array(depth.length), stack = [];
  for (let i = 0; i < depth.length; i += 1) {
    parents[i] = depth[i] ? stack[depth[i] - 1] : -1;
    stack[depth[i]] = i;
  }
  return parents;
}
