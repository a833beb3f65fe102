/* Keys that work on every page: / to the search field, g then l or r to a page. */
export const typing = event => event.target.closest("input, textarea, select, [contenteditable]") || event.metaKey || event.ctrlKey || event.altKey;

let going = 0;
document.addEventListener("keydown", event => {
  if (typing(event)) return;
  if (event.key === "/") {
    const field = document.querySelector("[data-search]") ?? document.querySelector("[data-find]");
    if (field) { event.preventDefault(); field.focus(); field.select?.(); }
    return;
  }
  if (event.key === "g") { going = event.timeStamp; return; }
  if (event.timeStamp - going > 1200) return;
  going = 0;
  const link = document.querySelector(`.nav a[data-key="${CSS.escape(event.key)}"]`);
  if (link) { event.preventDefault(); link.click(); }
});
