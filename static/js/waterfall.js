/* The waterfall. Only the rows in sight are in the document, and moving through time draws only their lanes anew, so that
   100,000 spans are as smooth as ten. */
import { count, duration, plural } from "sixstage/figures.js";
import { htmxLoaded } from "sixstage/htmx-later.js";
import { Rows } from "sixstage/waterfall-data.js";
import { dragLanes } from "sixstage/waterfall-drag.js";
import { listenToKeys } from "sixstage/waterfall-keys.js";
import { dragMap, drawMap } from "sixstage/waterfall-map.js";
import { legsOf, pathOf } from "sixstage/waterfall-path.js";
import { drawLane, drawRow } from "sixstage/waterfall-row.js";
import { Tree } from "sixstage/waterfall-tree.js";
import { View } from "sixstage/waterfall-view.js";

const ROW = 26, SPARE = 6, NARROW = 640, PRINTED = 400, ONE_PAGE = 20, DEEPEST = 5;

export class Waterfall {
  constructor(host, data) {
    Object.assign(this, { host, path: true, lines: new Map(), version: 0, asked: 0 });
    this.take(data);
    this.view = new View(data.wall_ns);
    this.build();
    this.listen();
    this.fromAddress() || this.select(this.rows.at(host.dataset.chosen) ?? 0, { address: false, scroll: false });
  }

  take(data) {
    this.rows = new Rows(data);
    this.tree = new Tree(this.rows);
  }

  /** Other data of the same run: what is chosen, folded, sought and looked at stays. */
  grow(data) {
    const chosen = this.rows.id(this.chosen), folded = [...this.tree.folded].map(i => this.rows.id(i)), { wanted } = this.tree;
    const raw = this.rows.raw_shown;
    this.take(data);
    this.rows.raw_shown = raw;
    for (const id of folded) { const i = this.rows.at(id); if (i !== undefined) this.tree.fold(i, true); }
    this.tree.search(wanted);
    this.view.grow(data.wall_ns);
    this.frame = drawMap(this.map, this.rows);
    this.lines.clear();
    this.chosen = this.rows.at(chosen) ?? 0;
    this.refresh();
    this.drawCount();
  }

  build() {
    this.host.innerHTML = `<div class="wf-map" aria-hidden="true"><span>Whole run</span><div></div></div>
      <div class="wf-axis" aria-hidden="true"><span>Span</span><div></div></div>
      <div class="wf-scroll" role="treegrid" aria-label="Spans of the run" tabindex="0"><div class="wf-body" role="presentation">
        <div class="wf-grid" aria-hidden="true"></div><div class="wf-window" role="rowgroup"></div>
        <svg class="wf-path" preserveAspectRatio="none" aria-hidden="true"><path/></svg></div></div>`;
    const find = selector => this.host.querySelector(selector);
    this.map = find(".wf-map > div");
    this.frame = drawMap(this.map, this.rows);
    this.axis = find(".wf-axis > div");
    this.scroll = find(".wf-scroll");
    this.body = find(".wf-body");
    this.grid = find(".wf-grid");
    this.window = find(".wf-window");
    this.svg = find("svg");
  }

  listen() {
    this.scroll.addEventListener("scroll", () => this.soon(), { passive: true });
    dragLanes(this.scroll, this.axis, this.view, () => this.moved());
    dragMap(this.map, this.view, () => this.moved());
    this.window.addEventListener("click", event => {
      const i = this.rows.at(event.target.closest(".wf-row")?.dataset.id);
      if (i === undefined) return;
      if (event.target.closest(".twist")) { this.tree.fold(i); this.refresh(); }
      else this.select(i);
    });
    // It speaks up at once, of the sizes with which the rows were just drawn.
    new ResizeObserver(() => { if (this.resized()) { this.version += 1; this.refresh(); } }).observe(this.host);
    listenToKeys(this);
    addEventListener("hashchange", () => this.fromAddress());
    for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => this.zoom(button.dataset.zoom));
    this.toggle("wf-path", pressed => { this.path = pressed; });
    this.toggle("wf-raw", pressed => { this.rows.raw_shown = pressed; });
    document.querySelector(".wf-find").addEventListener("input", event => {
      this.tree.search(event.target.value.trim().toLowerCase());
      this.refresh();
      this.drawCount();
    });
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  toggle(id, act) {
    const button = document.getElementById(id);
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", pressed);
      act(pressed);
      this.version += 1;
      this.refresh();
    });
  }

  zoom(how) {
    if (how === "fit") this.view.fit();
    else this.view.zoom(how === "in" ? .5 : 2, this.centre());
    this.moved();
  }

  /* Zoom stays about the chosen span while it is in sight. */
  centre() {
    const [from, to] = this.rows.extent(this.chosen), middle = (from + to) / 2;
    return middle > this.view.from && middle < this.view.to ? middle : (this.view.from + this.view.to) / 2;
  }

  /** To the first token of the chosen call, or of the next one after it. */
  firstToken() {
    const calls = [...this.rows.calls.values()].filter(call => call[2] !== null);
    const call = calls.find(([i]) => i >= this.chosen) ?? calls[0];
    if (!call) return;
    const [i, , first] = call, length = Math.min(this.view.length, (this.rows.to[i] - this.rows.from[i]) * 3);
    this.view.show(first - length / 2, first + length / 2);
    this.version += 1;
    this.select(i);
    this.refresh();
  }

  step(by) {
    const shown = this.shown, place = shown.indexOf(this.chosen);
    this.select(shown[Math.max(0, Math.min(shown.length - 1, place + by))]);
  }

  fromAddress() {
    const id = new URLSearchParams(location.hash.slice(1)).get("span"), i = id ? this.rows.at(id) : undefined;
    if (i === undefined) return false;
    this.select(i, { address: false });
    this.host.closest("section").scrollIntoView({ block: "nearest" });
    return true;
  }

  select(i, { address = true, scroll = true } = {}) {
    if (i === undefined || i < 0 || i >= this.rows.size) return;
    if (i === this.chosen) return void (scroll && this.intoSight(this.shown.indexOf(i)));
    this.chosen = i;
    this.tree.reveal(i);
    this.refresh();
    if (scroll) this.intoSight(this.shown.indexOf(i));
    const id = this.rows.id(i);
    this.scroll.setAttribute("aria-activedescendant", `span-${id}`);
    if (address) history.replaceState(null, "", `#span=${id}`);
    // Whoever runs through the rows with j does not want each one's attributes.
    clearTimeout(this.fetching);
    this.fetching = setTimeout(() => this.fetchPanel(id), address ? 90 : 0);
  }

  async fetchPanel(id) {
    await htmxLoaded(this.host.dataset.htmxUrl);
    if (this.rows.id(this.chosen) === id) htmx.ajax("GET", this.host.dataset.spanUrl.replace("0000000000000000", id), { source: "#side", target: "#side", swap: "innerHTML" });
  }

  intoSight(place) {
    const top = place * ROW, { scrollTop, clientHeight } = this.scroll;
    if (top < scrollTop) this.scroll.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.scroll.scrollTop = top + ROW - clientHeight;
    this.drawRows();
  }

  /** The part of time that is shown has changed. */
  moved() {
    this.version += 1;
    this.soon(true);
  }

  /* Whatever happens between two frames is drawn once. */
  soon(moved = false) {
    this.wasMoved ||= moved;
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.drawRows(); // first: it asks where the rows have been scrolled to, for which what was written before is laid out
      if (this.wasMoved) this.drawTime();
      this.wasMoved = false;
    });
  }

  /** Rows or sizes have changed: everything is drawn, at once. */
  refresh() {
    const shown = this.tree.shown();
    if (shown !== this.shown) {
      this.shown = shown;
      this.legs = legsOf(this.rows, shown);
      this.body.style.height = `${shown.length * ROW}px`;
      this.scroll.setAttribute("aria-rowcount", shown.length);
      // Rows drawn further down would hold the scroller there, where there are none any more.
      const most = Math.max(0, shown.length * ROW - this.scroll.clientHeight);
      if (this.scroll.scrollTop > most) this.scroll.scrollTop = most;
    }
    this.resized();
    this.drawRows();
    this.drawTime();
    this.leaveBar();
  }

  /* The width of the scroll bar, which the axis leaves free too. Last, and only when it is another: everything within is
     given its style anew. */
  leaveBar() {
    if (this.bar === this.size.bar) return;
    this.bar = this.size.bar;
    this.host.style.setProperty("--bar", `${this.bar}px`);
  }

  /* Sizes are asked for here and kept, since a question between two writes has the page laid out in between. */
  resized() {
    const { clientWidth: width, clientHeight: height } = this.host, before = this.size;
    this.size = { width, height, axis: this.axis.clientWidth, rows: this.scroll.clientHeight, bar: this.scroll.offsetWidth - this.scroll.clientWidth };
    return before?.width !== width || before.height !== height;
  }

  drawTime() {
    const { ticks, step } = this.view.ticks(this.size.axis < 320 ? 3 : 6);
    const make = (tag, t, text) => {
      const mark = document.createElement(tag);
      mark.style.left = `${this.view.at(t)}%`;
      if (text !== undefined) mark.textContent = text;
      return mark;
    };
    this.axis.replaceChildren(...ticks.map(t => make("span", t, tickText(t, step))));
    this.grid.replaceChildren(...ticks.map(t => make("i", t)));
    this.frame.style.left = `${this.view.from / this.view.whole * 100}%`;
    this.frame.style.right = `${(1 - this.view.to / this.view.whole) * 100}%`;
  }

  drawRows() {
    const top = this.scroll.scrollTop, first = Math.max(0, Math.floor(top / ROW) - SPARE);
    const last = Math.min(this.shown.length, this.printing ? PRINTED : Math.ceil((top + this.size.rows) / ROW) + SPARE);
    const narrow = this.size.width < NARROW, lines = new Map(), indent = this.indentation(first, last);
    for (let place = first; place < last; place += 1) lines.set(this.shown[place], this.line(place, narrow, indent));
    this.lines = lines;
    this.window.style.transform = `translateY(${first * ROW}px)`;
    const nodes = [...lines.values()].map(line => line.node);
    if (nodes.length !== this.window.childElementCount || nodes.some((node, n) => node !== this.window.children[n])) this.window.replaceChildren(...nodes);
    this.drawPath(first, last);
  }

  /* Five thousand levels down names still need room: what is indented is how much deeper a row is than those around it. */
  indentation(first, last) {
    let least = Infinity, most = 0;
    for (let place = first; place < last; place += 1) {
      const depth = this.rows.depth[this.shown[place]];
      least = Math.min(least, depth);
      most = Math.max(most, depth);
    }
    const base = Math.max(0, least - 2);
    return { base, step: Math.min(1, DEEPEST / (most - base)) };
  }

  /* The row at a place, made anew only in what has changed since it was last drawn. */
  line(place, narrow, { base, step }) {
    const i = this.shown[place], folded = this.tree.folded.has(i), selected = i === this.chosen;
    const indent = ((this.rows.depth[i] - base) * step).toFixed(2);
    const state = `${place} ${folded} ${selected} ${narrow} ${indent} ${this.rows.raw_shown}`, known = this.lines.get(i);
    if (known?.state === state && known.version === this.version) return known;
    const row = this.rows.row(i, folded), { version } = this;
    if (known?.state === state) {
      known.node.replaceChild(drawLane(row, this.view, narrow), known.node.lastElementChild);
      return Object.assign(known, { version });
    }
    return { node: drawRow(row, { view: this.view, selected, folded, narrow, indent, number: place + 1 }), state, version };
  }

  drawPath(first, last) {
    const height = Math.max(1, (last - first) * ROW);
    this.svg.setAttribute("viewBox", `0 0 1000 ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.style.transform = `translateY(${first * ROW}px)`;
    this.svg.firstElementChild.setAttribute("d", this.path && !this.rows.raw_shown ? pathOf(this.legs, this.view, first, last) : "");
  }

  drawCount() {
    const all = plural(this.rows.size, "span");
    document.getElementById("span-count").textContent = this.tree.wanted
      ? `${count(this.tree.matching().length)} of ${all}` : `${all}, ${duration(this.rows.wall)}`;
  }

  /* On paper nothing scrolls. */
  print(begins) {
    this.printing = begins;
    this.host.classList.toggle("is-printed", begins);
    this.host.classList.toggle("is-long", begins && this.shown.length > ONE_PAGE);
    if (begins) this.scroll.scrollTop = 0;
    this.drawRows();
  }
}

/* The unit stands once, at zero, unless the axis begins later. */
function tickText(ns, step) {
  const [size, unit] = step >= 6e10 ? [6e10, "min"] : step >= 1e8 ? [1e9, "s"] : [1e6, "ms"];
  const digits = Math.max(0, Math.min(4, -Math.floor(Math.log10(step / size) + 1e-9)));
  return `${(ns / size).toFixed(digits)}${ns === 0 || step < 1e5 ? `\u202f${unit}` : ""}`;
}
