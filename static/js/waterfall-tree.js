/* Which rows of the waterfall are shown: collapse and search. Rows come parents first, each with its depth. */
export class Tree {
  constructor(rows) {
    this.rows = rows;
    this.folded = new Set();
    this.wanted = "";
    this.listed = null;
  }

  fold(i, closed = !this.folded.has(i)) {
    if (!this.rows.is_parent(i)) return;
    if (closed) this.folded.add(i);
    else this.folded.delete(i);
    this.listed = null;
  }

  /** Folds everything at and below a depth, or opens all. */
  foldFrom(depth) {
    this.folded.clear();
    for (let i = 0; i < this.rows.size; i += 1) if (this.rows.depth[i] >= depth && this.rows.is_parent(i)) this.folded.add(i);
    this.listed = null;
  }

  search(text) {
    this.wanted = text;
    this.listed = null;
  }

  /** Opens everything above a row, so that it is shown. */
  reveal(i) {
    for (let up = this.rows.parents[i]; up >= 0; up = this.rows.parents[up]) if (this.folded.delete(up)) this.listed = null;
  }

  /** Indices of the rows to show, in order. */
  shown() {
    return this.listed ??= this.wanted ? this.found() : this.unfolded();
  }

  unfolded() {
    const { depth, size } = this.rows, list = [];
    let hiddenBelow = Infinity;
    for (let i = 0; i < size; i += 1) {
      if (depth[i] > hiddenBelow) continue;
      hiddenBelow = this.folded.has(i) ? depth[i] : Infinity;
      list.push(i);
    }
    return list;
  }

  /** The rows that match, in order. Names repeat, so each is looked at once. */
  matching() {
    const { data, size } = this.rows, wanted = this.wanted;
    const names = data.names.map(name => name.toLowerCase().includes(wanted)), whole = /^[0-9a-f]{4,16}$/.test(wanted);
    const list = [];
    for (let i = 0; i < size; i += 1) {
      if (names[data.name[i]] || names[data.span_name[i]] || (whole && this.rows.id(i).includes(wanted))) list.push(i);
    }
    return list;
  }

  /** The rows that match, with those above them. */
  found() {
    const keep = new Set();
    for (const i of this.matching()) for (let up = i; up >= 0 && !keep.has(up); up = this.rows.parents[up]) keep.add(up);
    return [...keep].sort((a, b) => a - b);
  }

  child(i) { return this.rows.is_parent(i) ? i + 1 : -1; }
}
