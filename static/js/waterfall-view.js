/* The part of the run's time that the waterfall shows. */
export class View {
  constructor(whole) {
    this.whole = Math.max(1, whole);
    this.fit();
  }

  /** The run is longer or shorter now; who looked at all of it still does. */
  grow(whole) {
    const all = this.whole_shown;
    this.whole = Math.max(1, whole);
    if (all) this.fit();
    else this.show(this.from, this.to);
  }

  fit() { this.from = 0; this.to = this.whole; }
  get length() { return this.to - this.from; }
  get whole_shown() { return this.from <= 0 && this.to >= this.whole; }

  /** Per cent of the lane's width. */
  at(ns) { return (ns - this.from) / this.length * 100; }

  zoom(factor, about = (this.from + this.to) / 2) {
    const length = Math.max(1000, Math.min(this.whole, this.length * factor));
    const share = (about - this.from) / this.length;
    this.show(about - share * length, about + (1 - share) * length);
  }

  move(share) { this.show(this.from + share * this.length, this.to + share * this.length); }

  show(from, to) {
    const length = Math.min(this.whole, Math.max(1000, to - from));
    this.from = Math.max(0, Math.min(this.whole - length, from));
    this.to = this.from + length;
  }

  /** Round times to write on the axis, at most `most` of them. */
  ticks(most) {
    const raw = this.length / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = niceSteps(power).find(s => s >= raw) ?? raw;
    const ticks = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) ticks.push(t);
    return { ticks, step };
  }
}

/* Above a minute, people count in sixties. */
const niceSteps = power => power >= 1e10
  ? [1e10, 2e10, 3e10, 6e10, 1.2e11, 3e11, 6e11, 1.2e12, 1.8e12, 3.6e12, 7.2e12, 1.44e13, 4.32e13, 8.64e13]
  : [1, 2, 5, 10].map(k => k * power);
