/* Copy buttons: a text, or a link to this page with a fragment. */
document.addEventListener("click", async event => {
  const button = event.target.closest("[data-copy], [data-copy-link]");
  if (!button) return;
  const text = button.dataset.copy ?? new URL(button.dataset.copyLink, location.href).href;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
});
