// What every page does: keys, dialogs, search, updates in place, the pointer on the heat strip.

import { written, zoneName } from "./times.js";

const note = document.getElementById("live-note");
const SECOND_KEYS = { o: "/", r: "/recommendations/", i: "/incidents/", w: "/workloads/", d: "/storage/", n: "/networks/", h: "/hosts/", p: "/replay/", s: "/health-of-sluice/" };
const CHORD_MS = 1500;

// --- Keys

let chordUntil = 0;

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") return closeMenu() || closeSearch(event);
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (Date.now() < chordUntil && SECOND_KEYS[event.key]) {
    location.assign(SECOND_KEYS[event.key]);
  } else if (event.key === "/" && document.getElementById("search-box")) {
    event.preventDefault();
    document.getElementById("search-box").focus();
  } else if (event.key === "?") {
    document.getElementById("keys-dialog")?.showModal();
  }
  chordUntil = event.key === "g" ? Date.now() + CHORD_MS : 0;
}

// A menu that is left by Escape gives the focus back to what opened it.
function closeMenu() {
  const menu = document.querySelector("details.menu[open]");
  if (!menu) return false;
  menu.removeAttribute("open");
  if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  return true;
}

document.addEventListener("keydown", onKey);

// --- Dialogs: a button opens the one it names; a click beside it closes it

// The focus goes to a button at the end; a long dialog begins with what it says all the same.
function openDialog(dialog) {
  dialog?.showModal();
  dialog?.scrollTo(0, 0);
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) {
    openDialog(document.getElementById(opener.dataset.opens));
    opener.closest("details.menu")?.removeAttribute("open");
    return;
  }
  if (event.target.closest("[data-closes]") || event.target.matches("dialog[open]")) {
    event.target.closest("dialog").close();
  }
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.removeAttribute("open");
  });
  if (!event.target.closest(".search")) clearSearch();
});

document.querySelectorAll("dialog[data-open-now]").forEach(openDialog);

// A link in a message leads to a dialog, in which somebody decides.
const named = document.getElementById(location.hash.slice(1));
if (named?.matches("dialog")) openDialog(named);

// A form that needs a choice or words says so before it is sent.
document.querySelectorAll("[data-needs-one]").forEach((field) => {
  const tell = () => {
    const isAnswered = field.value.trim() || field.form.querySelector("input:checked");
    field.setCustomValidity(isAnswered ? "" : field.dataset.needsOne);
  };
  field.form.addEventListener("input", tell);
  tell();
});

// --- Search results: arrows walk through them

const results = document.getElementById("search-results");

function clearSearch() {
  results?.replaceChildren();
}

function closeSearch(event) {
  if (!event.target.closest(".search")) return;
  clearSearch();
  event.target.blur();
}

document.querySelector(".search")?.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...results.querySelectorAll("a")];
  if (event.key === "Enter" && event.target.id === "search-box" && links.length) {
    event.preventDefault();
    links[0].click();
  }
  if (!step || !links.length) return;
  event.preventDefault();
  const next = links.indexOf(document.activeElement) + step;
  (links[next] ?? document.getElementById("search-box")).focus();
});

// --- Squares: arrows walk through a group, Tab goes to the next

document.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const square = step && event.target.closest("a.square");
  const next = square && (step > 0 ? square.nextElementSibling : square.previousElementSibling);
  if (!next) return;
  event.preventDefault();
  square.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// --- Copying what is shown once

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copies);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Without HTTPS a browser has no clipboard for scripts, and still copies what is selected.
    document.execCommand("copy");
  }
  button.textContent = "Copied";
});

// --- Updates in place: not while hidden or while a dialog is open; failures say since when

let fresh = new Date();

export function sayStale(status) {
  const time = written(fresh, "%H:%M:%S");
  note.textContent =
    status === 401
      ? "You are logged out. Reload the page to log in again."
      : `Not updated since ${time} ${zoneName()}: the service does not answer. It is asked again every few seconds.`;
  note.hidden = false;
}

export function sayFresh() {
  fresh = new Date();
  note.hidden = true;
}

// What each part showed last: the service answers 304 if that is still so.
const shownParts = new Map();

document.addEventListener("htmx:config:request", (event) => {
  const { sourceEvent, sourceElement, request } = event.detail.ctx;
  const known = sourceEvent?.type === "every" && shownParts.get(sourceElement);
  if (known) request.headers["If-None-Match"] = known;
  const isSeen = !document.hidden && !document.querySelector("dialog[open]") && !sourceElement.closest("details:not([open])");
  if (sourceEvent?.type === "every" && !isSeen) event.preventDefault();
});
document.addEventListener("htmx:after:request", (event) => {
  const { response, sourceElement } = event.detail.ctx;
  const { status } = response;
  const tag = response.headers?.get?.("ETag");
  if (tag && status === 200) shownParts.set(sourceElement, tag);
  if (status < 400) sayFresh();
  else sayStale(status);
});
// What scrolls is reached by Tab, so that the arrows scroll it.
const wide = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
}));
const watchTables = () => document.querySelectorAll(".table-scroll").forEach((one) => wide.observe(one));
watchTables();
document.addEventListener("htmx:after:swap", watchTables);

document.addEventListener("htmx:error", () => sayStale(0));

// --- The pointer on the heat strip

const WORDS = { c: "below", b: "below", n: "near", a: "congested", s: "stalled" };
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

function clock(seconds) {
  return written(new Date(seconds * 1000), "%H:%M");
}

document.addEventListener("pointermove", (event) => {
  const strip = event.target.closest?.("[data-heat]");
  if (!strip) {
    tip.hidden = true;
    return;
  }
  const box = strip.getBoundingClientRect();
  const values = strip.dataset.values.split(",");
  const column = Math.min(values.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * values.length)));
  const start = Number(strip.dataset.since) + column * 300;
  const cell = values[column];
  const value = cell?.length > 1 ? `${cell.slice(1)} ${strip.dataset.unit}` : "no I/O completed";
  const text = cell ? `${value}, ${WORDS[cell[0]]}` : "no data";
  tip.textContent = `${strip.dataset.name} ${clock(start)}–${clock(start + 300)} ${zoneName()}: ${text}`;
  tip.hidden = false;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${box.top - tip.offsetHeight - 6}px`;
});

// A click on a column opens the hour around it.
document.addEventListener("click", (event) => {
  const strip = event.target.closest?.("[data-heat]");
  if (!strip || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const box = strip.getBoundingClientRect();
  const at = Number(strip.dataset.since) + ((event.clientX - box.left) / box.width) * 86400;
  const iso = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().slice(0, 19) + "Z";
  const end = Math.min(at + 1800, Date.now() / 1000);
  const page = strip.closest("a").pathname;
  location.assign(`${page}?from=${iso(end - 3600)}&to=${iso(end)}`);
});
