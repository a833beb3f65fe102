/* A long value comes with the panel as its beginning; all of it is fetched when asked for, and shown as text. */
document.addEventListener("click", async event => {
  const link = event.target.closest("[data-whole]");
  if (!link) return;
  event.preventDefault();
  const line = link.parentElement, text = line.previousElementSibling;
  line.textContent = "Loading";
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    text.textContent = await answer.text();
    line.remove();
  } catch (error) {
    line.textContent = `Not loaded: ${error.message}.`;
  }
});
