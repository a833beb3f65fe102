/* A long value comes with the panel as its beginning. The rest is fetched when asked for, a megabyte at a time, and
   shown as text in blocks of which the browser lays out only those in sight. */
import { count } from "sixstage/figures.js";

const BLOCK = 20000;

export async function more(line) {
  const link = line.querySelector("[data-whole]"), text = line.previousElementSibling;
  const from = Number(link.dataset.from), total = Number(link.dataset.total);
  link.textContent = "Loading";
  try {
    const answer = await fetch(`${link.href}&from=${from}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const piece = await answer.text(), shown = from + [...piece].length;
    text.append(...blocks(piece));
    if (shown >= total || !piece) return void line.remove();
    link.dataset.from = shown;
    link.textContent = `Show more: ${count(shown)} of ${count(total)} characters`;
  } catch (error) {
    link.textContent = `Not loaded: ${error.message}. Try again`;
  }
}

function blocks(text) {
  const made = [];
  for (let at = 0; at < text.length; at += BLOCK) {
    const block = document.createElement("span");
    block.className = "brought-block";
    block.textContent = text.slice(at, at + BLOCK);
    made.push(block);
  }
  return made;
}

document.addEventListener("click", event => {
  const link = event.target.closest("[data-whole]");
  if (!link) return;
  event.preventDefault();
  more(link.parentElement);
});
// What did not fit into the panel at all comes when it is unfolded.
document.addEventListener("toggle", event => {
  const line = event.target.open && event.target.querySelector?.(":scope > [data-lazy]");
  if (line) { line.removeAttribute("data-lazy"); more(line); }
}, true);
