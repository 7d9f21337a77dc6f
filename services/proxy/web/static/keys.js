// Keys of the page. All that they do can be done without them: they press what stands on it.
"use strict";

document.documentElement.classList.add("scripted");

const items = () => [...document.querySelectorAll("[data-item]")];
let place = 0; // of the item in the queue that somebody is at

function goTo(index) {
  const all = items();
  if (!all.length) return;
  place = Math.max(0, Math.min(index, all.length - 1));
  all[place].focus();
  all[place].scrollIntoView({ block: "nearest" });
}

function current() {
  const found = items().indexOf(document.activeElement && document.activeElement.closest("[data-item]"));
  if (found >= 0) place = found;
  return found;
}

function typing(element) {
  return element.closest("textarea, select, [contenteditable]") || (element.closest("input") && !["checkbox", "button", "submit"].includes(element.type));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
  if (typing(event.target)) {
    if (event.key === "Escape" && event.target.closest("[data-item]")) goTo(current());
    return;
  }
  const at = current();
  const item = at >= 0 ? items()[at] : null;
  if (event.key === "/" && document.getElementById("q")) {
    document.getElementById("q").focus();
  } else if (event.key === "j") {
    goTo(at < 0 ? place : at + 1);
  } else if (event.key === "k") {
    goTo(at < 0 ? place : at - 1);
  } else if (event.key === "x" && item) {
    item.querySelector("[data-select]")?.click();
  } else if (/^[a-z]$/.test(event.key)) {
    const within = event.key === "u" ? document.getElementById("said") : item;
    const button = within && within.querySelector(`[data-key="${event.key}"]`);
    if (!button) return;
    button.click();
    const field = button.tagName === "SUMMARY" && item.querySelector("details[open] textarea");
    if (field) {
      field.focus();
      field.setSelectionRange(field.value.length, field.value.length);
    }
  } else {
    return;
  }
  event.preventDefault();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-all]")) return;
  for (const box of document.querySelectorAll("[data-select]")) box.checked = event.target.checked;
});

document.addEventListener("focusin", (event) => {
  if (event.target.matches(".secret")) event.target.select();
});

// The queue was put in anew: whoever was at an item goes on with the one that took its place.
let deciding = false;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!document.getElementById("queue")?.contains(event.target) && !document.getElementById("said")?.contains(event.target)) return;
  deciding = true;
  current();
});
document.addEventListener("htmx:afterSettle", () => {
  if (!deciding) return;
  deciding = false;
  if (items().length) goTo(place);
  else document.getElementById("main").focus();
});

// What the server refused is said, where there is a place for it.
document.addEventListener("htmx:responseError", (event) => {
  const page = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  tell(page.getElementById("problem")?.textContent || "That did not work: load the page again.");
});
document.addEventListener("htmx:sendError", () => tell("BRB does not answer."));

function tell(text) {
  const where = document.getElementById("said") || document.querySelector("#results [role=status]");
  if (!where) return;
  const line = document.createElement("p");
  line.className = "warning";
  line.textContent = text;
  where.replaceChildren(line);
}
