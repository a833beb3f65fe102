/* Moments in the viewer's zone. The server writes UTC, which is also what stands without scripts. */
const two = n => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const asDate = ns => new Date(Number(BigInt(ns) / 1000000n));
export const minute = d => `${two(d.getHours())}:${two(d.getMinutes())}`;
export const clock = d => `${minute(d)}:${two(d.getSeconds())}`;
export const day = d => `${d.getDate()} ${MONTHS[d.getMonth()]} ${d.getFullYear()}`;

/** Local time as Plotly takes it: it knows no zones. */
export const plotTime = ns => {
  const d = asDate(ns);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(d)}.${String(d.getMilliseconds()).padStart(3, "0")}`;
};

const forms = {
  clock, minute,
  moment: d => `${clock(d)} on ${day(d)}`,
  day: d => d.toDateString() === new Date().toDateString() ? clock(d) : `${d.getDate()} ${MONTHS[d.getMonth()]} ${minute(d)}`,
};

export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const place = (Intl.DateTimeFormat().resolvedOptions().timeZone ?? "").split("/").at(-1).replaceAll("_", " ");
  if (!minutes) return place && place !== "UTC" ? `UTC ${place}` : "UTC";
  const hours = Math.floor(Math.abs(minutes) / 60), rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${two(rest)}` : ""} ${place}`.trim();
}

export function localise(root) {
  for (const time of root.querySelectorAll("time[data-ns]")) {
    const date = asDate(time.dataset.ns);
    time.textContent = (forms[time.dataset.form] ?? clock)(date);
    time.title = `${clock(date)} on ${day(date)}, ${zone()}`;
  }
  for (const node of root.querySelectorAll("[data-zone]")) node.textContent = zone();
}

localise(document);
// Right after a swap and before the next paint, so that no time is ever seen in the wrong zone.
document.addEventListener("htmx:afterSwap", () => localise(document));
