/* Menus close by Escape, and when something else is clicked; a time range of one's own is written in the zone's clock. */
import { fieldTime, readFieldTime } from "sixstage/times.js";

const opened = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", event => {
  for (const menu of opened()) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  for (const menu of opened()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

for (const field of document.querySelectorAll("[data-own-time][data-ns]")) field.value = fieldTime(field.dataset.ns);
for (const form of document.querySelectorAll("[data-own-range]")) {
  form.addEventListener("formdata", event => {
    for (const name of ["from", "to"]) {
      const read = readFieldTime(event.formData.get(name) ?? "");
      if (read) event.formData.set(name, read);
      else if (!event.formData.get(name)) event.formData.delete(name);
    }
  });
}
