/* Rows that were not there before flash once when they arrive, unless so many do that it would tell nothing. */
const FLASH_MOST = 4;
let known = null;
const rows = () => [...document.querySelectorAll("#finishing [data-run]")];

document.addEventListener("live:shown", event => {
  if (!event.detail.changed.includes("live-feeds")) return;
  const now = rows();
  const fresh = known ? now.filter(row => !known.has(row.dataset.run)) : [];
  for (const row of now) row.classList.toggle("is-new", fresh.length <= FLASH_MOST && fresh.includes(row));
  known = new Set(now.map(row => row.dataset.run));
});
known = new Set(rows().map(row => row.dataset.run));
