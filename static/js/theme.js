/* Runs before the first paint, so that a remembered theme never flashes: the one script that is no module. */
try {
  const remembered = localStorage.getItem("sixstage-theme");
  if (remembered === "light" || remembered === "dark") document.documentElement.dataset.theme = remembered;
} catch { /* a browser that keeps nothing follows the system */ }
