/* Figures as people read them; the same rules as dashboard/figures.py. Durations come in nanoseconds. */
export const THIN = "\u202f";
const two = n => String(n).padStart(2, "0");

export function parts(ns) {
  if (ns == null) return ["–", ""];
  const sign = ns < 0 ? "−" : "", a = Math.abs(ns);
  const [value, unit] = magnitude(a);
  return [sign + value, unit];
}

function magnitude(a) {
  if (a === 0) return ["0", "ms"];
  if (a < 5e4) return ["<0.1", "ms"];
  if (a < 9.95e6) return [(a / 1e6).toFixed(1), "ms"];
  if (a < 999.5e6) return [(a / 1e6).toFixed(0), "ms"];
  if (a < 9.995e9) return [(a / 1e9).toFixed(2), "s"];
  if (a < 99.95e9) return [(a / 1e9).toFixed(1), "s"];
  const seconds = Math.round(a / 1e9);
  if (seconds < 3600) return [`${Math.floor(seconds / 60)}${THIN}min${THIN}${two(seconds % 60)}`, "s"];
  const minutes = Math.round(a / 6e10);
  return [`${Math.floor(minutes / 60)}${THIN}h${THIN}${two(minutes % 60)}`, "min"];
}

/** As text. */
export function duration(ns) {
  const [value, unit] = parts(ns);
  return unit ? value + THIN + unit : value;
}

/** As nodes, the unit dimmed. */
export function durationNodes(ns) {
  const [value, unit] = parts(ns);
  if (!unit) return [value];
  const dim = document.createElement("span");
  dim.className = "u";
  dim.textContent = THIN + unit;
  return [value, dim];
}

export function percent(share) {
  if (share == null) return "–";
  if (share === 0) return `0${THIN}%`;
  if (share < .0005) return `<0.1${THIN}%`;
  return `${(share * 100).toFixed(share < .0995 ? 1 : 0)}${THIN}%`;
}

export function count(n) {
  if (n == null) return "–";
  if (n < 100000) return String(n).replace(/\B(?=(\d{3})+$)/g, THIN);
  return n < 999500 ? `${(n / 1000).toFixed(0)}k` : `${(n / 1e6).toFixed(1)}M`;
}

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
