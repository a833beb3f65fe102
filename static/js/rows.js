/* The whole row opens, unless the reader selects text or meant a link in it. */
document.addEventListener("click", event => {
  const row = event.target.closest("[data-href]");
  if (!row || event.target.closest("a, button, input") || String(getSelection())) return;
  if (event.metaKey || event.ctrlKey) open(row.dataset.href, "_blank", "noopener");
  else location.assign(row.dataset.href);
});
