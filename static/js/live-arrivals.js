/* Rows that were not there before flash once when they arrive. */
let known = null;
const rows = () => [...document.querySelectorAll("#finishing [data-run]")];

document.addEventListener("live:shown", event => {
  if (!event.detail.changed.includes("live-feeds")) return;
  const now = rows();
  if (known) for (const row of now) row.classList.toggle("is-new", !known.has(row.dataset.run));
  known = new Set(now.map(row => row.dataset.run));
});
known = new Set(rows().map(row => row.dataset.run));
