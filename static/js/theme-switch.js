/* The theme button. Choosing what the system says anyway means following the system again. */
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";
const announce = () => document.dispatchEvent(new CustomEvent("theme:change"));

function choose(theme) {
  const follow = theme === (system.matches ? "dark" : "light");
  if (follow) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (follow) localStorage.removeItem("sixstage-theme");
    else localStorage.setItem("sixstage-theme", theme);
  } catch { /* then it holds for this page only */ }
  announce();
}

document.getElementById("theme")?.addEventListener("click", () => choose(isDark() ? "light" : "dark"));
system.addEventListener("change", announce);
