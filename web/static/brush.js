// Brushing the heat strips: a drag, or keys, choose the time of the page, which its address holds.

import { written, zoneName } from "./times.js";

const STEP_S = 300;
const COLUMNS = 288;
const HOUR_S = 3600;
const SMALLEST_PX = 6;
const KEYS = "Arrows move it, with Shift they move its end; Page Up and Page Down move it by an hour; Enter shows it, Escape leaves it.";

const button = document.querySelector("[data-brush]");
const said = document.querySelector("[data-brush-said]");
const band = document.createElement("div");
band.className = "brush";
band.hidden = true;
document.body.append(band);

// The time under choice in seconds since 1970; null while nothing is chosen.
let chosen = null;
let drag = null;

function strips() {
  return [...document.querySelectorAll("[data-heat]")];
}

// The strips' day, and where it is drawn.
function ground() {
  const all = strips();
  if (!all.length) return null;
  const [first, last] = [all[0].getBoundingClientRect(), all.at(-1).getBoundingClientRect()];
  const since = Number(all[0].dataset.since);
  return { since, until: since + STEP_S * COLUMNS, left: first.left, width: first.width, top: first.top, bottom: last.bottom };
}

function timeAt(x, day) {
  const part = Math.min(1, Math.max(0, (x - day.left) / day.width));
  return Math.round((day.since + part * (day.until - day.since)) / 60) * 60;
}

function show() {
  const day = chosen && ground();
  band.hidden = !day;
  if (!day) return;
  const place = (at) => ((at - day.since) / (day.until - day.since)) * day.width;
  band.style.left = `${day.left + place(chosen.from)}px`;
  band.style.width = `${Math.max(1, place(chosen.to) - place(chosen.from))}px`;
  band.style.top = `${day.top}px`;
  band.style.height = `${day.bottom - day.top}px`;
}

function words() {
  const clock = (seconds) => written(new Date(seconds * 1000), "%H:%M");
  return `${clock(chosen.from)} to ${clock(chosen.to)} ${zoneName()}.`;
}

function go() {
  const iso = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
  const query = new URLSearchParams(location.search);
  query.delete("range");
  // What has not come yet cannot be shown.
  const to = Math.min(chosen.to, Math.floor(Date.now() / 1000));
  query.set("from", iso(Math.min(chosen.from, to - 60)));
  query.set("to", iso(to));
  location.assign(`${location.pathname}?${query}`);
}

// --- By pointer

document.addEventListener("pointerdown", (event) => {
  const strip = event.target.closest?.("[data-heat]");
  if (!strip || event.button !== 0 || event.ctrlKey || event.metaKey) return;
  drag = { x: event.clientX, isBrush: false };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const day = ground();
  if (!day || (!drag.isBrush && Math.abs(event.clientX - drag.x) < SMALLEST_PX)) return;
  drag.isBrush = true;
  const [from, to] = [timeAt(drag.x, day), timeAt(event.clientX, day)].sort((a, b) => a - b);
  chosen = { from, to: Math.max(to, from + 60) };
  show();
});

document.addEventListener("pointerup", () => {
  const wasBrush = drag?.isBrush;
  // The click that ends a drag opens no page; one that never comes takes nothing from the next.
  if (wasBrush) setTimeout(() => { drag = null; });
  else drag = null;
  if (wasBrush) go();
});

document.addEventListener("pointercancel", () => {
  drag = null;
  leave();
});

document.addEventListener("click", (event) => {
  if (!drag?.isBrush) return;
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });

// The browser would drag the link that the strip is in.
document.addEventListener("dragstart", (event) => {
  if (event.target.closest?.("[data-heat], .heat-cell")) event.preventDefault();
});

// --- By keys, while the button has the focus

function leave() {
  chosen = null;
  show();
  button?.setAttribute("aria-pressed", "false");
  if (said) said.hidden = true;
}

function begin() {
  const day = ground();
  if (!day) return;
  const now = Math.min(day.until, Math.floor(Date.now() / 1000 / STEP_S) * STEP_S);
  chosen = { from: now - HOUR_S, to: now };
  button.setAttribute("aria-pressed", "true");
  said.hidden = false;
  said.textContent = `${words()} ${KEYS}`;
  strips()[0].scrollIntoView({ block: "nearest" });
  show();
}

function move(event) {
  const day = ground();
  const step = { ArrowLeft: -STEP_S, ArrowRight: STEP_S, PageUp: -HOUR_S, PageDown: HOUR_S }[event.key];
  if (!step || !day) return false;
  if (event.shiftKey) {
    chosen.to = Math.min(day.until, Math.max(chosen.from + STEP_S, chosen.to + step));
  } else {
    const by = Math.min(day.until - chosen.to, Math.max(day.since - chosen.from, step));
    chosen = { from: chosen.from + by, to: chosen.to + by };
  }
  said.textContent = words();
  show();
  return true;
}

if (button) {
  button.hidden = !strips().length;
  button.addEventListener("click", () => (chosen ? go() : begin()));
  button.addEventListener("keydown", (event) => {
    if (!chosen) return;
    const isTaken = event.key === "Escape" ? (leave(), true) : move(event);
    if (isTaken) event.preventDefault();
  });
  button.addEventListener("blur", leave);
}
addEventListener("scroll", show, { passive: true });
addEventListener("resize", show);
