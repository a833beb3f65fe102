/* Buttons that show and hide a part of the page. What was opened stays open when a fragment is fetched anew. */
const apply = button => {
  const part = document.getElementById(button.dataset.toggle);
  if (part) part.hidden = button.getAttribute("aria-expanded") !== "true";
};

document.addEventListener("click", event => {
  const button = event.target.closest("[data-toggle]");
  if (!button) return;
  button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true");
  apply(button);
  const part = document.getElementById(button.dataset.toggle);
  if (!part.hidden) part.scrollIntoView({ block: "nearest" });
});
document.addEventListener("htmx:afterSwap", () => document.querySelectorAll("[data-toggle]").forEach(apply));
