/* The waterfall. Only the rows in sight are in the document, so that thousands of spans stay smooth. */
import { count, duration, plural } from "sixstage/figures.js";
import { typing } from "sixstage/keys.js";
import { dragMap, drawMap } from "sixstage/waterfall-map.js";
import { pathOf } from "sixstage/waterfall-path.js";
import { drawRow } from "sixstage/waterfall-row.js";
import { Tree } from "sixstage/waterfall-tree.js";
import { View } from "sixstage/waterfall-view.js";

const ROW = 26, SPARE = 8, NARROW = 640;

export class Waterfall {
  constructor(host, data) {
    Object.assign(this, { host, data, tree: new Tree(data.rows), view: new View(data.wall_ns), path: true });
    this.build();
    this.listen();
    this.refresh();
    this.fromAddress() || this.select(this.tree.index.get(host.dataset.chosen) ?? 0, { address: false, scroll: false });
  }

  build() {
    this.host.innerHTML = `<div class="wf-map" aria-hidden="true"><span>Whole run</span><div></div></div>
      <div class="wf-axis" aria-hidden="true"><span>Span</span><div></div></div>
      <div class="wf-scroll" role="treegrid" aria-label="Spans of the run" tabindex="0"><div class="wf-body" role="presentation">
        <div class="wf-grid" aria-hidden="true"></div><div class="wf-window" role="rowgroup"></div>
        <svg class="wf-path" preserveAspectRatio="none" aria-hidden="true"><path/></svg></div></div>`;
    const find = selector => this.host.querySelector(selector);
    this.map = find(".wf-map > div");
    this.frame = drawMap(this.map, this.data);
    this.axis = find(".wf-axis > div");
    this.scroll = find(".wf-scroll");
    this.body = find(".wf-body");
    this.grid = find(".wf-grid");
    this.rows = find(".wf-window");
    this.svg = find("svg");
  }

  listen() {
    let asked = 0;
    this.scroll.addEventListener("scroll", () => { asked ||= requestAnimationFrame(() => { asked = 0; this.drawRows(); }); }, { passive: true });
    this.rows.addEventListener("click", event => {
      const i = this.tree.index.get(event.target.closest(".wf-row")?.dataset.id);
      if (i === undefined) return;
      if (event.target.closest(".twist")) { this.tree.fold(i); this.refresh(); }
      else this.select(i);
    });
    this.scroll.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const lane = this.axis.getBoundingClientRect();
      this.view.zoom(event.deltaY < 0 ? .8 : 1.25, this.view.from + (event.clientX - lane.left) / lane.width * this.view.length);
      this.refresh();
    }, { passive: false });
    dragMap(this.map, this.view, () => this.refresh());
    new ResizeObserver(() => this.refresh()).observe(this.host);
    document.addEventListener("keydown", event => this.key(event));
    addEventListener("hashchange", () => this.fromAddress());
    for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => this.zoom(button.dataset.zoom));
    const path = document.getElementById("wf-path");
    path.addEventListener("click", () => { this.path = !this.path; path.setAttribute("aria-pressed", this.path); this.refresh(); });
    document.querySelector(".wf-find").addEventListener("input", event => { this.tree.wanted = event.target.value.trim().toLowerCase(); this.refresh(); this.drawCount(); });
  }

  zoom(how) {
    if (how === "fit") this.view.fit();
    else this.view.zoom(how === "in" ? .5 : 2, this.centre());
    this.refresh();
  }

  /* Zoom stays about the chosen span while it is in sight. */
  centre() {
    const row = this.data.rows[this.chosen];
    const middle = row ? (row.from + row.to) / 2 : 0;
    return middle > this.view.from && middle < this.view.to ? middle : (this.view.from + this.view.to) / 2;
  }

  key(event) {
    if (typing(event)) return;
    const here = this.scroll.contains(document.activeElement);
    const act = {
      j: () => this.step(1), k: () => this.step(-1), w: () => this.zoom("in"), s: () => this.zoom("out"),
      a: () => { this.view.move(-.2); this.refresh(); }, d: () => { this.view.move(.2); this.refresh(); },
      "[": () => this.select(this.tree.parents[this.chosen]), "]": () => this.select(this.tree.child(this.chosen)),
      c: () => document.getElementById("wf-path").click(),
      ...(here ? {
        ArrowDown: () => this.step(1), ArrowUp: () => this.step(-1), Home: () => this.select(this.shown[0]), End: () => this.select(this.shown.at(-1)),
        ArrowLeft: () => this.left(), ArrowRight: () => { this.tree.fold(this.chosen, false); this.refresh(); },
      } : {}),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  left() {
    const open = this.data.rows[this.chosen]?.parent && !this.tree.folded.has(this.chosen);
    if (!open) return this.select(this.tree.parents[this.chosen]);
    this.tree.fold(this.chosen, true);
    this.refresh();
  }

  step(by) {
    const place = this.shown.indexOf(this.chosen);
    this.select(this.shown[Math.max(0, Math.min(this.shown.length - 1, place + by))]);
  }

  fromAddress() {
    const id = new URLSearchParams(location.hash.slice(1)).get("span"), i = this.tree.index.get(id);
    if (i === undefined) return false;
    this.select(i, { address: false });
    this.host.closest("section").scrollIntoView({ block: "nearest" });
    return true;
  }

  select(i, { address = true, scroll = true } = {}) {
    const row = this.data.rows[i];
    if (!row || i === this.chosen) return;
    this.chosen = i;
    this.tree.reveal(i);
    this.refresh();
    if (scroll) this.intoSight(this.shown.indexOf(i));
    this.scroll.setAttribute("aria-activedescendant", `span-${row.id}`);
    if (address) history.replaceState(null, "", `#span=${row.id}`);
    // Whoever runs through the rows with j does not want each one's attributes.
    clearTimeout(this.fetching);
    this.fetching = setTimeout(() => this.fetchPanel(row.id), address ? 90 : 0);
  }

  fetchPanel(id) {
    if (!window.htmx) return void document.addEventListener("DOMContentLoaded", () => this.fetchPanel(id), { once: true });
    htmx.ajax("GET", this.host.dataset.spanUrl.replace("0000000000000000", id), { source: "#side", target: "#side", swap: "innerHTML" });
  }

  intoSight(place) {
    const top = place * ROW, { scrollTop, clientHeight } = this.scroll;
    if (top < scrollTop) this.scroll.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.scroll.scrollTop = top + ROW - clientHeight;
    this.drawRows();
  }

  refresh() {
    this.shown = this.tree.shown();
    this.body.style.height = `${this.shown.length * ROW}px`;
    this.host.style.setProperty("--bar", `${this.scroll.offsetWidth - this.scroll.clientWidth}px`);
    this.drawAxis();
    this.drawRows();
    this.drawPath();
    this.frame.style.left = `${this.view.from / this.view.whole * 100}%`;
    this.frame.style.right = `${(1 - this.view.to / this.view.whole) * 100}%`;
  }

  drawAxis() {
    const { ticks, step } = this.view.ticks(this.axis.clientWidth < 320 ? 3 : 6);
    const make = (tag, t, text) => {
      const mark = document.createElement(tag);
      mark.style.left = `${this.view.at(t)}%`;
      if (text !== undefined) mark.textContent = text;
      return mark;
    };
    this.axis.replaceChildren(...ticks.map(t => make("span", t, tickText(t, step))));
    this.grid.replaceChildren(...ticks.map(t => make("i", t)));
  }

  drawRows() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - SPARE);
    const last = Math.min(this.shown.length, Math.ceil((this.scroll.scrollTop + this.scroll.clientHeight) / ROW) + SPARE);
    const narrow = this.host.clientWidth < NARROW;
    this.rows.style.transform = `translateY(${first * ROW}px)`;
    this.rows.replaceChildren(...this.shown.slice(first, last).map((i, place) => drawRow(this.data.rows[i], {
      view: this.view, selected: i === this.chosen, folded: this.tree.folded.has(i), narrow, number: first + place + 1,
    })));
    this.scroll.setAttribute("aria-rowcount", this.shown.length);
  }

  drawPath() {
    const height = Math.max(1, this.shown.length * ROW);
    this.svg.setAttribute("viewBox", `0 0 1000 ${height}`);
    this.svg.firstElementChild.setAttribute("d", this.path ? pathOf(this.data.rows, this.shown, this.view) : "");
  }

  drawCount() {
    const matching = this.tree.wanted ? this.data.rows.filter((_, i) => this.tree.matches(i)).length : null;
    document.getElementById("span-count").textContent = matching === null
      ? `${plural(this.data.rows.length, "span")}, ${duration(this.data.wall_ns)}` : `${count(matching)} of ${plural(this.data.rows.length, "span")}`;
  }
}

/* The unit stands once, at zero, unless the axis begins later. */
function tickText(ns, step) {
  const [size, unit] = step >= 6e10 ? [6e10, "min"] : step >= 1e8 ? [1e9, "s"] : [1e6, "ms"];
  const digits = Math.max(0, Math.min(4, -Math.floor(Math.log10(step / size) + 1e-9)));
  return `${(ns / size).toFixed(digits)}${ns === 0 || step < 1e5 ? `\u202f${unit}` : ""}`;
}
