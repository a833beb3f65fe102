/* What comes anew is laid over what stands: only nodes that differ are touched, so that a refresh costs what has changed,
   and focus, selection and hover stay. Rows of lists are known by data-run or id. What a script draws into an element
   with data-drawn is not the server's to change. */
import { localise } from "sixstage/times.js";

const keyOf = node => node.dataset?.run || node.id || null;
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && !keyOf(a) && !keyOf(b);

/** Lays each outermost element of the markup over the page's element of the same id: its content, not its attributes.
    Returns the ids of those that were different. */
export function layOver(html) {
  const made = document.createElement("template"), changed = [];
  made.innerHTML = html;
  localise(made.content); // in the page's zone, as what stands
  for (const fresh of made.content.children) {
    const stands = document.getElementById(fresh.id);
    if (stands && layContent(stands, fresh)) changed.push(fresh.id);
  }
  return changed;
}

function layContent(stands, fresh) {
  const known = new Map();
  for (const child of stands.children) if (keyOf(child)) known.set(keyOf(child), child);
  let at = stands.firstChild, changed = false;
  for (const node of [...fresh.childNodes]) {
    const match = known.get(keyOf(node)) ?? (at && alike(at, node) ? at : null);
    if (!match) { stands.insertBefore(node, at); listen(node); changed = true; continue; }
    if (match === at) at = at.nextSibling;
    else { stands.insertBefore(match, at); changed = true; }
    changed = lay(match, node) || changed;
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; changed = true; }
  return changed;
}

function lay(stands, fresh) {
  if (stands.isEqualNode(fresh)) return false;
  if (stands.nodeType !== Node.ELEMENT_NODE) { stands.nodeValue = fresh.nodeValue; return true; }
  const told = layAttributes(stands, fresh), drawn = "drawn" in stands.dataset;
  const within = !drawn && layContent(stands, fresh);
  if (told) listen(stands);
  return told || within;
}

function layAttributes(stands, fresh) {
  let changed = false;
  for (const { name } of [...stands.attributes]) if (!fresh.hasAttribute(name)) { stands.removeAttribute(name); changed = true; }
  for (const { name, value } of fresh.attributes) if (stands.getAttribute(name) !== value) { stands.setAttribute(name, value); changed = true; }
  return changed;
}

/* htmx looks only at what it put there itself. */
function listen(node) {
  if (node.nodeType === Node.ELEMENT_NODE && (node.matches("[hx-get]") || node.querySelector("[hx-get]"))) window.htmx.process(node);
}
