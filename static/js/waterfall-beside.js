/* Siblings that run at the same time. Of a parent's children two sorted lists are kept, of begins and of ends, and the
   stretches in which at least two run: so a parent of 20,000 costs one sort, and each of its rows a look into the lists. */
const LEAST_NS = 5e4; // what is shorter is said nowhere, so that clocks' grains make no overlaps

export class Beside {
  constructor(rows) {
    this.rows = rows;
    this.of = new Map(); // by parent, raw times below zero
  }

  /** How many siblings run while a row does, and the stretches of it, as [from, to]; null where it is alone. */
  at(i) {
    const parent = this.rows.parents[i];
    if (parent < 0) return null;
    const key = this.rows.raw_shown ? -parent - 1 : parent;
    if (!this.of.has(key)) this.of.set(key, this.sweep(parent));
    const { begins, ends, shared } = this.of.get(key), [from, to] = this.rows.extent(i);
    if (!shared.length || to - from < LEAST_NS) return null;
    const stretches = [];
    for (let s = before(shared, piece => piece[1] <= from); s < shared.length && shared[s][0] < to; s += 1) {
      const begin = Math.max(from, shared[s][0]), end = Math.min(to, shared[s][1]);
      if (end - begin >= LEAST_NS) stretches.push([begin, end]);
    }
    const count = before(begins, at => at <= to - LEAST_NS) - before(ends, at => at < from + LEAST_NS) - 1;
    return stretches.length && count > 0 ? { count, stretches } : null;
  }

  sweep(parent) {
    const { rows } = this, { depth } = rows, told = [], shared = [];
    for (let i = parent + 1; i < rows.size && depth[i] > depth[parent]; i += 1) {
      if (depth[i] !== depth[parent] + 1) continue;
      const [from, to] = rows.extent(i);
      if (to - from >= LEAST_NS) told.push(from, to);
    }
    const begins = Float64Array.from({ length: told.length / 2 }, (_, n) => told[n * 2]).sort();
    const ends = Float64Array.from({ length: told.length / 2 }, (_, n) => told[n * 2 + 1]).sort();
    let running = 0, since = 0;
    for (let b = 0, e = 0; e < ends.length;) {
      if (b < begins.length && begins[b] < ends[e]) {
        running += 1;
        if (running === 2) since = begins[b];
        b += 1;
      } else {
        if (running === 2 && ends[e] > since) shared.push([since, ends[e]]);
        running -= 1;
        e += 1;
      }
    }
    return { begins, ends, shared };
  }
}

/* How many of a sorted list come first for which something holds. */
function before(list, holds) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(list[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
