/* Which rows of the waterfall are shown: collapse and search. Rows come parents first, each with its depth. */
export class Tree {
  constructor(rows) {
    this.rows = rows;
    this.folded = new Set();
    this.wanted = "";
    this.parents = [];
    const stack = [];
    rows.forEach((row, i) => {
      stack.length = row.depth;
      this.parents[i] = stack.at(-1) ?? -1;
      stack[row.depth] = i;
    });
    this.index = new Map(rows.map((row, i) => [row.id, i]));
  }

  fold(i, closed = !this.folded.has(i)) {
    if (!this.rows[i].parent) return;
    if (closed) this.folded.add(i);
    else this.folded.delete(i);
  }

  /** Opens everything above a row, so that it is shown. */
  reveal(i) {
    for (let up = this.parents[i]; up >= 0; up = this.parents[up]) this.folded.delete(up);
  }

  /** Indices of the rows to show, in order. */
  shown() {
    if (this.wanted) return this.found();
    const list = [];
    let hiddenBelow = Infinity;
    this.rows.forEach((row, i) => {
      if (row.depth > hiddenBelow) return;
      hiddenBelow = this.folded.has(i) ? row.depth : Infinity;
      list.push(i);
    });
    return list;
  }

  matches(i) {
    const { name, span_name, id } = this.rows[i];
    return `${name}\n${span_name}\n${id}`.toLowerCase().includes(this.wanted);
  }

  /** The rows that match, with those above them. */
  found() {
    const keep = new Set();
    this.rows.forEach((_, i) => {
      if (!this.matches(i)) return;
      for (let up = i; up >= 0 && !keep.has(up); up = this.parents[up]) keep.add(up);
    });
    return [...keep].sort((a, b) => a - b);
  }

  child(i) {
    return this.rows[i + 1]?.depth > this.rows[i].depth ? i + 1 : -1;
  }
}
