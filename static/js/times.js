/* Moments in the viewer's zone, or in the one that the address names. The server writes UTC, which is also what stands
   without scripts. */
const two = n => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const zoneName = known(new URLSearchParams(location.search).get("zone")) ?? own;

function known(name) {
  try { return name ? new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone : null; } catch { return null; }
}

/** A Date whose getters tell the zone's clock: shifted by the zone's offset at that moment where it is not the browser's. */
export const asDate = ns => shifted(Number(BigInt(ns) / 1000000n));
const plain = ms => new Date(ms);
const shifted = zoneName === own ? plain : ms => {
  const at = fields(ms);
  return new Date(at.year, at.month - 1, at.day, at.hour, at.minute, at.second, ms % 1000);
};
const reader = new Intl.DateTimeFormat("en", { timeZone: zoneName, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
const fields = ms => Object.fromEntries(reader.formatToParts(ms).filter(p => p.type !== "literal").map(p => [p.type, Number(p.value)]));
const now = () => shifted(Date.now());

export const minute = d => `${two(d.getHours())}:${two(d.getMinutes())}`;
export const clock = d => `${minute(d)}:${two(d.getSeconds())}`;
export const day = d => `${d.getDate()} ${MONTHS[d.getMonth()]} ${d.getFullYear()}`;
const short = d => `${d.getDate()} ${MONTHS[d.getMonth()]} ${minute(d)}`;

/** The zone's time of now, for words such as "Paused at". */
export const nowClock = () => clock(now());

/** Local time as Plotly takes it: it knows no zones. */
export const plotTime = ns => {
  const d = asDate(ns);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(d)}.${String(d.getMilliseconds()).padStart(3, "0")}`;
};

/** As a field for times holds it: 2026-03-01 09:30, with seconds where they are not zero. */
export const fieldTime = ns => {
  const d = asDate(ns), seconds = d.getSeconds();
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${seconds ? clock(d) : minute(d)}`;
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
  const at = fields(ms);
  return Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second) - Math.floor(ms / 1000) * 1000;
}

const forms = {
  clock, minute, short,
  moment: d => `${clock(d)} on ${day(d)}`,
  day: d => d.toDateString() === now().toDateString() ? clock(d) : short(d),
  tick: d => d.getHours() || d.getMinutes() ? minute(d) : `${d.getDate()} ${MONTHS[d.getMonth()]}`,
};

export function zone() {
  const minutes = Math.round(offset(Date.now()) / 60000);
  const place = zoneName.split("/").at(-1).replaceAll("_", " ");
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
for (const swap of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(swap, () => localise(document));
