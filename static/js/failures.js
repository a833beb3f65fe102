/* A fragment that could not be fetched says so in the panel that failed; the others stay, and so do the old figures. */
function note(target, text) {
  clear(target);
  const line = document.createElement("p");
  line.className = "panel-failure";
  const words = document.createElement("span");
  words.className = "st bad";
  words.textContent = text;
  line.append(words);
  target.prepend(line);
}
const clear = target => target.querySelectorAll(":scope > .panel-failure").forEach(n => n.remove());

document.addEventListener("htmx:responseError", event => {
  const { status } = event.detail.xhr;
  if (status === 404 && event.detail.target.id === "side") return;
  note(event.detail.target, status === 401 || status === 403
    ? "You are signed out. Load the page again to sign in."
    : `Not refreshed: the server answered ${status}. It is tried again with the next news.`);
});
document.addEventListener("htmx:sendError", event => note(event.detail.target, "Not refreshed: the server cannot be reached. It is tried again with the next news."));
document.addEventListener("htmx:timeout", event => note(event.detail.target, "Not refreshed: no answer within 20 seconds. It is tried again with the next news."));
document.addEventListener("htmx:afterRequest", event => { if (event.detail.successful) clear(event.detail.target); });
/* A span that is not stored answers 404 with words of its own. */
document.addEventListener("htmx:beforeSwap", event => {
  if (event.detail.target.id === "side" && event.detail.xhr.status === 404) event.detail.shouldSwap = true;
});
