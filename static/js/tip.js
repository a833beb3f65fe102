/* The one hover card of the page. It takes nodes, never markup. */
let card = null;

export function showTip(nodes, x, y) {
  if (!card) {
    card = document.createElement("div");
    card.className = "tip";
    card.setAttribute("aria-hidden", "true"); // what it says stands in labels and tables too
    document.body.append(card);
  }
  card.replaceChildren(...nodes);
  card.hidden = false;
  const { offsetWidth: w, offsetHeight: h } = card;
  card.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - w - 8))}px`;
  card.style.top = `${y + h + 24 > innerHeight ? y - h - 14 : y + 14}px`;
}

export function hideTip() {
  if (card) card.hidden = true;
}
