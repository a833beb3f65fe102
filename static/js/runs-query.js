/* The query line: completion from real values, conditions as chips that can be written anew, and the mark of an error.
   Without this the line is a form like any other. */
import { count, plural } from "sixstage/figures.js";

const WAIT_MS = 120;
const form = document.querySelector("[data-query]");

function begin() {
  const input = form.querySelector(".query-input"), list = form.querySelector("#complete");
  const chips = () => [...form.querySelectorAll(".tok[data-term]")];
  let offered = null, at = -1, asked = 0, timer = 0;

  const before = () => chips().map(chip => chip.dataset.term).join(" ");

  async function ask() {
    const mine = ++asked, head = before(), text = head ? `${head} ${input.value}` : input.value;
    const shift = text.length - input.value.length;
    const query = new URLSearchParams(location.search);
    for (const name of [...query.keys()]) if (!["project", "range", "from", "to", "zone"].includes(name)) query.delete(name);
    query.set("text", text);
    query.set("at", String(shift + input.selectionStart));
    let answer;
    try {
      const response = await fetch(`${form.dataset.complete}?${query}`, { headers: { accept: "application/json" } });
      if (!response.ok) return;
      answer = await response.json();
    } catch { return; } // completion helps; without it the line still works
    if (mine !== asked || document.activeElement !== input) return;
    offered = { start: answer.start - shift, end: answer.end - shift, choices: answer.choices };
    at = -1;
    draw();
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  }

  function close() {
    asked += 1;
    clearTimeout(timer);
    offered = null;
    draw();
  }

  function draw() {
    const open = Boolean(offered?.choices.length);
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    input.removeAttribute("aria-activedescendant");
    if (!open) { list.replaceChildren(); return; }
    list.replaceChildren(...offered.choices.map(option), foot());
    if (at >= 0) input.setAttribute("aria-activedescendant", `choice-${at}`);
  }

  function option(choice, number) {
    const node = document.createElement("div"), word = document.createElement("code"), says = document.createElement("span");
    node.id = `choice-${number}`;
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", String(number === at));
    word.textContent = choice.insert;
    says.className = "mute n";
    says.textContent = choice.runs == null ? choice.says : choice.among == null ? plural(choice.runs, "run") : `${count(choice.runs)} of these ${plural(choice.among, "run")}`;
    node.append(swatch(choice.insert), word, says);
    node.addEventListener("pointerdown", event => { event.preventDefault(); take(number); });
    return node;
  }

  function swatch(insert) {
    const node = document.createElement("i"), stage = /^stage\.([a-z_]+)/.exec(insert)?.[1];
    if (stage) node.className = `sw sg-${stage.replaceAll("_", "-")}`;
    return node;
  }

  function foot() {
    const node = document.createElement("div");
    node.className = "complete-foot";
    node.setAttribute("aria-hidden", "true");
    for (const [keys, words] of [["↑ ↓", "choose"], ["Tab", "take"], ["Esc", "close"]]) {
      const part = document.createElement("span");
      for (const key of keys.split(" ")) part.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
      part.append(words);
      node.append(part);
    }
    return node;
  }

  function take(number) {
    const { insert } = offered.choices[number], { start, end } = offered;
    const rest = input.value.slice(end).trimStart(), whole = !/[:>]$/.test(insert);
    const written = input.value.slice(0, Math.max(0, start)) + insert + (whole ? " " : "");
    input.value = written + rest;
    input.setSelectionRange(written.length, written.length);
    input.focus();
    close();
    later();
  }

  function move(step) {
    at = (at + step + offered.choices.length + 1) % (offered.choices.length + 1);
    if (at === offered.choices.length) at = -1;
    draw();
  }

  /* A chip becomes text again, before what is written already. */
  function rewrite(chip) {
    const text = chip.dataset.term;
    chip.remove();
    input.value = input.value ? `${text} ${input.value}` : text;
    input.focus();
    input.setSelectionRange(text.length, text.length);
    later();
  }

  input.addEventListener("input", later);
  input.addEventListener("focus", later);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", event => {
    if (event.key === "Backspace" && !input.value && chips().length) {
      event.preventDefault();
      rewrite(chips().at(-1));
    }
    if (!offered?.choices.length) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); move(event.key === "ArrowDown" ? 1 : -1); }
    else if (event.key === "Tab" && !event.shiftKey) { event.preventDefault(); take(Math.max(0, at)); }
    else if (event.key === "Enter" && at >= 0) { event.preventDefault(); take(at); }
    else if (event.key === "Escape") { event.preventDefault(); close(); }
  });
  form.querySelector(".query-text").addEventListener("click", event => {
    const chip = event.target.closest(".tok");
    if (event.target.closest("a")) return;
    if (chip) rewrite(chip);
    else input.focus();
  });
  // One query in the address, however many chips it was written as.
  form.addEventListener("formdata", event => {
    const query = event.formData.getAll("q").map(text => text.trim()).filter(Boolean).join(" ");
    event.formData.delete("q");
    if (query) event.formData.set("q", query);
  });
  if (input.dataset.at) {
    input.focus();
    input.setSelectionRange(Number(input.dataset.at), input.value.length);
    clearTimeout(timer);
  }
}

if (form) begin();
