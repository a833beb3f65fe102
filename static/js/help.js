/* ? lists the keys of the page; the same card explains the query language. */
import { typing } from "sixstage/keys.js";

const KEYS = [
  ["Everywhere", [["/", "to the search or the query line"], ["?", "this list"], ["Esc", "close what is open"]]],
  ["Runs", [["j k", "next run, run before"], ["Enter", "open it"], ["Tab", "take a completion"], ["↑ ↓", "choose among completions"], ["⌫", "in an empty line: edit the last condition"]]],
  ["Live", [["p", "pause, go on"], ["f", "full screen"]]],
  ["A run", [["w s", "zoom in, out about the chosen span"], ["a d", "move through time"], ["j k", "next span, span before"], ["[ ]", "parent, child"], ["f", "first token"], ["c", "critical path"], ["← →", "among the rows: fold or to the parent, open"], ["+ - 0", "among the rows: zoom in, out, all of the run"], ["PgUp PgDn Home End", "among the rows: further at once"]]],
];
const QUERY = [
  ["Conditions: all must hold", [
    ["service:checkout", "equals; also agent, model, tool, engine, version, session, user, name"],
    ["model:llama*", "a star stands for anything"],
    ["service:shop,desk", "one of several; service:(shop OR desk) says the same"],
    ["-tool:search", "not; also NOT, and !="],
    ["version:*", "any, as long as it is known; -version:* where it is not"],
    ["\"late parcel\" refund", "text in name, service, agent, session, user, error or trace id"],
  ]],
  ["Amounts: > >= < <= or a range", [
    ["wall>5s wall:2s..5s", "times in ms, s, min, h; seconds without a unit; also ttft, first_token, ttft_sum"],
    ["stage.prefill>30%", "share of the run, or a time; every stage and outside time"],
    ["tokens.in>12k cache<30%", "also tokens.out, tokens.cached, rounds, tools, tool_failures, warnings, spans"],
    ["cost>0.02", "by the prices in Settings"],
  ]],
  ["Kinds", [
    ["status:error,open", "ok, error, open"],
    ["error:timeout error:\"no route\"", "a kind of error, or text in it"],
    ["costliest:queue", "the stage that took most"],
  ]],
];

function card(title, groups, asKeys) {
  const dialog = document.createElement("dialog");
  dialog.className = "help";
  dialog.setAttribute("aria-label", title);
  const head = document.createElement("header"), name = document.createElement("h2"), close = document.createElement("button");
  name.textContent = title;
  close.className = "btn small";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  head.append(name, close);
  dialog.append(head);
  for (const [group, lines] of groups) {
    const heading = document.createElement("h3"), list = document.createElement("dl");
    heading.textContent = group;
    for (const [told, says] of lines) {
      const term = document.createElement("dt"), words = document.createElement("dd");
      term.append(...(asKeys ? told.split(" ").flatMap(key => [keyCap(key), " "]) : [code(told)]));
      words.textContent = says;
      list.append(term, words);
    }
    dialog.append(heading, list);
  }
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

const made = tag => text => Object.assign(document.createElement(tag), { textContent: text });
const keyCap = made("kbd"), code = made("code");

document.addEventListener("keydown", event => {
  if (event.key !== "?" || typing(event) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  const pages = [...document.querySelectorAll(".nav a[data-key]")].map(link => [`g ${link.dataset.key}`, link.textContent.trim()]);
  card("Keys", [...KEYS.slice(0, 1), ["Pages", pages], ...KEYS.slice(1)], true);
});
document.addEventListener("click", event => {
  if (event.target.closest("[data-open-help=query]")) card("The query language", QUERY, false);
});
