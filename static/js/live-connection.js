/* The socket that says what changed. Everything it hears becomes an event of the document: live:hello, live:beat,
   live:runs. It reconnects by itself; every hello means that announcements may have been missed. */
import { pageUrl } from "sixstage/links.js";

const WAITS_MS = [250, 500, 1000, 2000, 4000, 8000];
export const connection = { open: false, tries: 0, newsAt: 0 };

function connect() {
  const socket = new WebSocket(pageUrl(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/live/`));
  socket.addEventListener("message", event => {
    const { kind, ...detail } = JSON.parse(event.data);
    Object.assign(connection, { open: true, tries: 0, newsAt: Date.now() });
    document.dispatchEvent(new CustomEvent(`live:${kind}`, { detail }));
  });
  socket.addEventListener("close", () => {
    connection.open = false;
    const wait = WAITS_MS[Math.min(connection.tries, WAITS_MS.length - 1)];
    connection.tries += 1;
    document.dispatchEvent(new CustomEvent("live:lost"));
    setTimeout(connect, wait * (.75 + Math.random() / 2)); // apart, so that many tabs do not come back at once
  });
}

connect();
