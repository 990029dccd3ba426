// All charts of a page: one range, one request, updates while it is live, zoom kept in the address.

import { OTHERS } from "./busiest.js";
import { sayFresh, sayStale } from "./page.js";
import { savePicture, writeTable } from "./chart_export.js";
import { Plot } from "./plot.js";
import { lasting, read, written, zoneName } from "./times.js";
import { clock } from "./units.js";

const page = document.querySelector("[data-charts]");
const compareBox = document.querySelector("[data-compare]");
const live = document.querySelector("[data-live-mark]");
const SHORTEST_POLL_MS = 5000;
// Cells at the live end may still change: they are asked for again.
const OPEN_CELLS = 3;
const STALE_S = 60;

const plots = new Map();
let shown = null;
let timer = null;

// --- The range in the address

function readCompare() {
  return new URLSearchParams(location.search).get("compare") || null;
}

function readRange() {
  const query = new URLSearchParams(location.search);
  if (query.has("from") || query.has("to")) return { from: query.get("from"), to: query.get("to") };
  if (query.has("range")) return { range: query.get("range") };
  if (page.dataset.from) return { from: page.dataset.from, to: page.dataset.to };
  return { range: page.dataset.range };
}

function iso(seconds) {
  return new Date(Math.round(seconds) * 1000).toISOString().slice(0, 19) + "Z";
}

function goTo(query, compare = readCompare()) {
  const pairs = new URLSearchParams(query);
  if (compare) pairs.set("compare", compare);
  const wanted = `?${pairs}`;
  // One drag is told by every chart, because they share the pointer.
  if (wanted === location.search) return;
  history.pushState(null, "", location.pathname + wanted);
  load();
}

function onZoom(since, until) {
  const middle = (since + until) / 2;
  const half = Math.max((until - since) / 2, 15);
  goTo({ from: iso(middle - half), to: iso(middle + half) });
}

// Back to the range that the page was opened with, or the usual one.
const home = page.dataset.from ? {} : { range: readRange().range ?? page.dataset.range };
function onReset() {
  goTo(home);
}

// --- Asking

// The service's answer, or null if there is none; the page says so then.
async function answerTo(query) {
  let answer = null;
  try {
    const compare = readCompare();
    answer = await fetch(`${page.dataset.charts}?${new URLSearchParams(compare ? { ...query, compare } : query)}`);
  } catch {
    sayStale(0);
    return null;
  }
  if (!answer.ok) {
    sayStale(answer.status);
    return null;
  }
  sayFresh();
  return answer.json();
}

function points() {
  const width = page.querySelector(".chart-plot").clientWidth - 60;
  return Math.max(60, Math.min(600, Math.round(width / 2)));
}

async function load() {
  clearTimeout(timer);
  const range = readRange();
  markRange(range);
  const found = await answerTo({ ...range, points: points() });
  if (found) {
    shown = { ...found, range };
    draw();
  } else if (!shown) {
    for (const note of page.querySelectorAll(".chart-plot .note")) note.textContent = "The charts could not be loaded. They are asked for again every few seconds.";
  }
  schedule();
}

async function update() {
  clearTimeout(timer);
  if (!document.hidden && !shown) return load();
  if (!document.hidden && readRange().range) {
    const from = shown.t.at(-OPEN_CELLS - 1) ?? shown.since;
    const more = await answerTo({ ...readRange(), points: points(), step: shown.step_s, since: from });
    if (more) {
      merge(more, from);
      draw();
    } else {
      markLive(true);
    }
  }
  schedule();
}

function schedule() {
  if (!readRange().range && shown) return;
  timer = setTimeout(update, Math.max(SHORTEST_POLL_MS, (shown?.step_s ?? 0) * 1000));
}

// Replace the open cells by newer ones, and let go of what left the range.
function merge(more, from) {
  const keep = shown.t.filter((at) => at <= from).length;
  const drop = shown.t.filter((at) => at <= more.since).length;
  const joined = (old, fresh) => [...old.slice(drop, keep), ...fresh];
  for (const chart of more.charts) {
    const before = shown.charts.find((one) => one.key === chart.key);
    for (const track of chart.tracks) {
      const old = before?.tracks.find((one) => one.label === track.label)?.values ?? shown.t.map(() => null);
      track.values = joined(old.length ? old : shown.t.map(() => null), track.values);
    }
    const isEmpty = chart.tracks.every((track) => track.values.every((value) => value == null));
    if (!isEmpty && before && !before.gap) chart.gap = null;
  }
  shown = { ...more, t: joined(shown.t, more.t), range: shown.range };
}

// --- Showing

// A table beside the charts marks its rows in the colours of the stack.
function markRows() {
  const colours = plots.get("workloads")?.colours;
  for (const mark of document.querySelectorAll("[data-series]")) {
    mark.className = `series-mark series-mark-${colours?.get(mark.dataset.series) ?? colours?.get(OTHERS) ?? 0}`;
  }
}

function draw() {
  for (const chart of shown.charts) plots.get(chart.key)?.show(chart, shown);
  markRows();
  for (const [key, plot] of plots) refreshTable(key, plot);
  markLive(false);
}

function newestAt() {
  for (let index = shown.t.length - 1; index >= 0; index -= 1) {
    if (shown.charts.some((chart) => chart.tracks.some((track) => track.values[index] != null))) return shown.t[index];
  }
  return null;
}

function markLive(hasFailed) {
  const isLive = Boolean(shown?.range.range);
  const newest = shown && newestAt();
  const isOld = isLive && newest != null && shown.until - newest > Math.max(STALE_S, 3 * shown.step_s);
  live.classList.toggle("live-paused", !isLive);
  live.classList.toggle("live-stale", isOld || hasFailed);
  if (!isLive) live.textContent = "Fixed range";
  else if (newest == null) live.textContent = "No samples in this range";
  else if (isOld || hasFailed) live.textContent = `Stale: newest sample ${clock(newest)} ${zoneName()}`;
  else live.textContent = `Live, every ${lasting(shown.step_s)}`;
}

function isWhole(range) {
  return Boolean(page.dataset.from) && range.from === page.dataset.from && range.to === page.dataset.to;
}

function markRange(range) {
  const compare = readCompare();
  if (compareBox) compareBox.value = compare ?? "";
  for (const link of document.querySelectorAll("[data-range-link]")) {
    const name = link.dataset.rangeLink;
    link.search = new URLSearchParams({ ...(name && { range: name }), ...(compare && { compare }) });
    if (name ? name === range.range : isWhole(range)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const name of ["from", "to"]) {
    const input = document.querySelector(`[name="${name}"][type="datetime-local"]`);
    if (input) input.value = range[name] ? written(new Date(range[name]), "%Y-%m-%dT%H:%M:%S") : "";
  }
  for (const link of document.querySelectorAll("[data-csv]")) {
    link.href = `${link.dataset.csv}?${new URLSearchParams(Object.entries({ ...range, compare }).filter(([, value]) => value))}`;
  }
}

function refreshTable(key, plot) {
  const table = plot.figure.querySelector(".chart-table");
  if (!table.hidden && plot.chart) writeTable(table, plot);
}

// --- Start

for (const figure of page.querySelectorAll("[data-chart]")) {
  const plot = new Plot(figure, { onZoom, onReset });
  plots.set(figure.dataset.chart, plot);
  figure.querySelector("[data-table]").addEventListener("click", (event) => {
    const table = figure.querySelector(".chart-table");
    table.hidden = !table.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!table.hidden));
    refreshTable(figure.dataset.chart, plot);
  });
  figure.querySelector("[data-picture]").addEventListener("click", () => savePicture(plot, page.dataset.name));
  figure.querySelector("[data-stack]")?.addEventListener("click", (event) => {
    plot.setStacked(!plot.isStacked);
    event.currentTarget.setAttribute("aria-pressed", String(plot.isStacked));
  });
}

// Typed times are those of the page's zone, the address holds UTC.
document.querySelector("[data-range-form]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = new FormData(event.currentTarget);
  const pairs = new URLSearchParams(typed);
  for (const name of ["from", "to"]) pairs.set(name, iso(read(typed.get(name)).getTime() / 1000));
  location.assign(`${location.pathname}?${pairs}`);
});
compareBox?.addEventListener("change", () => {
  const { range, from, to } = readRange();
  goTo(isWhole({ from, to }) ? {} : range ? { range } : { from, to }, compareBox.value);
});
document.addEventListener("htmx:after:swap", markRows);
addEventListener("popstate", load);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) update();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((plot) => plot.recolour()));
load();
