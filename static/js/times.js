/* Moments in the viewer's zone, or in the one that the address names. The server writes UTC, which is also what stands
   without scripts. What a zone is called only Intl knows, and its first use in a process takes longer than the rest of a
   page's scripts together: clocks are right at once. The viewer's own zone is called what it was called last time, and
   asked for when the browser has nothing else to do. */
const two = n => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const asked = known(new URLSearchParams(location.search).get("zone"));
let own = remembered();
const zoneName = () => asked ?? (own ??= Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");

function remembered() {
  try { return localStorage.getItem("sixstage-zone"); } catch { return null; }
}

/* The first time, and after a journey, names that stand are put right. */
function askForOwn() {
  const before = own;
  own = null;
  if (zoneName() === before) return;
  nameZone(document);
  try { localStorage.setItem("sixstage-zone", own); } catch { /* then it is asked each time */ }
}

function known(name) {
  try { return name ? new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone : null; } catch { return null; }
}

/** A Date whose UTC getters tell the zone's clock. (Its other getters tell the browser's zone, in which some of these
    clock times may not exist.) */
export const asDate = ns => shifted(Number(BigInt(ns) / 1000000n));
const shifted = ms => new Date(ms + offset(ms));
const read = { hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" };
let reader = null;
const fields = ms => Object.fromEntries((reader ??= new Intl.DateTimeFormat("en", { timeZone: asked, ...read })).formatToParts(ms).filter(p => p.type !== "literal").map(p => [p.type, Number(p.value)]));
const now = () => shifted(Date.now());

export const minute = d => `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
export const clock = d => `${minute(d)}:${two(d.getUTCSeconds())}`;
export const day = d => `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${d.getUTCFullYear()}`;
const short = d => `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${minute(d)}`;

/** The zone's time of now, for words such as "Paused at". */
export const nowClock = () => clock(now());

/** Local time as Plotly takes it: it knows no zones. */
export const plotTime = ns => {
  const d = asDate(ns);
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ${clock(d)}.${String(d.getUTCMilliseconds()).padStart(3, "0")}`;
};

/** As a field for times holds it: 2026-03-01 09:30, with seconds where they are not zero. */
export const fieldTime = ns => {
  const d = asDate(ns), seconds = d.getUTCSeconds();
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ${seconds ? clock(d) : minute(d)}`;
};

/** Unix nanoseconds, as text, of a time of the zone's clock that a field holds; null where it holds none. */
export function readFieldTime(text) {
  const found = /^(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d))?)?$/.exec(text.trim());
  if (!found) return null;
  const [year, month, date, hour, min, second] = found.slice(1).map(part => Number(part ?? 0));
  const wanted = Date.UTC(year, month - 1, date, hour, min, second);
  // Twice, since the offset of the first guess may be that of the other side of a change of clocks.
  let ms = wanted;
  for (let round = 0; round < 2; round += 1) ms = wanted - offset(ms);
  return String(BigInt(ms) * 1000000n);
}

function offset(ms) {
  if (!asked) return -new Date(ms).getTimezoneOffset() * 60000;
  const at = fields(ms);
  return Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second) - Math.floor(ms / 1000) * 1000;
}

const forms = {
  clock, minute, short,
  moment: d => `${clock(d)} on ${day(d)}`,
  day: d => day(d) === day(now()) ? clock(d) : short(d),
  tick: d => d.getUTCHours() || d.getUTCMinutes() ? minute(d) : `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]}`,
};

export function zone() {
  const minutes = Math.round(offset(Date.now()) / 60000);
  const place = zoneName().split("/").at(-1).replaceAll("_", " ");
  if (!minutes) return place && place !== "UTC" ? `UTC ${place}` : "UTC";
  const hours = Math.floor(Math.abs(minutes) / 60), rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${two(rest)}` : ""} ${place}`.trim();
}

export function localise(root) {
  for (const time of root.querySelectorAll("time[data-ns]")) time.textContent = (forms[time.dataset.form] ?? clock)(asDate(time.dataset.ns));
  if (asked || own) nameZone(root);
}

function nameZone(root) {
  const named = zone();
  for (const time of root.querySelectorAll("time[data-ns]")) {
    const date = asDate(time.dataset.ns);
    time.title = `${clock(date)} on ${day(date)}, ${named}`;
  }
  for (const node of root.querySelectorAll("[data-zone]")) node.textContent = named;
}

localise(document);
if (!asked) (window.requestIdleCallback ?? setTimeout)(askForOwn);
// Right after a swap and before the next paint, so that no time is ever seen in the wrong zone.
for (const swap of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(swap, () => localise(document));
