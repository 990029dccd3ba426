// Plays a replayed experiment: all charts on one clock. Needs uPlot as a global.

import { palette, seriesColour } from "./plot.js";
import { axisText, threeDigits } from "./units.js";

const HEIGHT = 240;
// Height of a row of words on a chart.
const ROW = 15;
const player = document.querySelector("[data-replay]");
const play = document.querySelector("[data-play]");
const speed = document.querySelector("[data-speed]");
const position = document.querySelector("[data-position]");
const clockText = document.querySelector("[data-played]");
const phaseText = document.querySelector("[data-phase]");

const charts = [];
// The same label has the same colour on every chart of the page.
const places = new Map();
let timeline = null;
let at = 0;
let isPlaying = false;
let last = null;

function placeOf(label) {
  if (!places.has(label)) places.set(label, places.size + 1);
  return places.get(label);
}

// What the study prints has the colour of ours before it.
function oursOf(series, index) {
  while (index > 0 && series[index].is_printed) index -= 1;
  return series[index].label;
}

// --- One chart

function chartOf(figure, { x, series, marks, phases = [], isLogarithmic = false, isX2 = false, range }) {
  const place = figure.querySelector(".chart-plot");
  const values = series.flatMap((one) => one.values).concat(marks.map((mark) => mark.value)).filter((value) => value != null);
  // Room for the words of phases above the lines.
  const top = Math.max(...values, 0) * (phases.length ? 1.3 : 1.12) || 1;
  const least = Math.min(...values.filter((value) => value > 0), top) / 2;
  const colours = palette();
  const axis = { stroke: colours.muted, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1, size: 5 }, font: "12px system-ui, sans-serif" };
  place.querySelector(".note")?.remove();
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      padding: [10, 18, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 7 }, sync: { key: "replay" } },
      scales: {
        x: isX2 ? { time: false, distr: 3, log: 2, range } : { time: false, range },
        y: isLogarithmic ? { distr: 3, range: [least, top * 2] } : { range: [0, top] },
      },
      axes: [
        { ...axis, space: 60, ...(isX2 ? { splits: () => x } : {}), values: (u, ticks) => ticks.map((tick) => (tick == null ? null : axisText(tick, { factor: 1 }))) },
        { ...axis, size: 58, space: 36, values: (u, ticks) => ticks.map((tick) => (tick == null ? null : axisText(tick, { factor: 1 }))) },
      ],
      series: [{}, ...series.map((one, index) => ({ stroke: seriesColour(colours, placeOf(oursOf(series, index))), width: one.is_printed ? 3 : 2, dash: one.is_printed ? [2, 4] : undefined, points: { show: isX2, size: 6 }, spanGaps: false }))],
      hooks: { draw: [(u) => drawMarks(u, marks, phases, colours)], setCursor: [(u) => chart.fill(u.cursor.idx)] },
    },
    [x, ...series.map((one) => one.values)],
    place,
  );
  const chart = { figure, plot, x, series, phases, fill: (index) => fillLegend(figure, series, index ?? (isX2 ? -1 : indexAt(x, at))) };
  drawLegend(figure, series);
  chart.fill();
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  return chart;
}

function indexAt(x, seconds) {
  let index = -1;
  while (index + 1 < x.length && x[index + 1] <= seconds + 1e-9) index += 1;
  return index;
}

function drawMarks(u, marks, phases, colours) {
  const { left, top, width, height } = u.bbox;
  const dot = devicePixelRatio;
  u.ctx.save();
  u.ctx.font = `600 ${12 * dot}px system-ui, sans-serif`;
  u.ctx.fillStyle = colours.text;
  u.ctx.strokeStyle = colours.text;
  u.ctx.setLineDash([6 * dot, 4 * dot]);
  u.ctx.lineWidth = 1.2 * dot;
  const line = (x1, y1, x2, y2) => {
    u.ctx.beginPath();
    u.ctx.moveTo(x1, y1);
    u.ctx.lineTo(x2, y2);
    u.ctx.stroke();
  };
  let lowest = -Infinity;
  for (const mark of [...marks].sort((one, other) => other.value - one.value)) {
    const y = u.valToPos(mark.value, "y", true);
    line(left, y, left + width, y);
    // Two levels close together: the lower one's words go below its line.
    const isBelow = y - lowest < ROW * dot;
    u.ctx.textAlign = "right";
    u.ctx.textBaseline = isBelow ? "top" : "bottom";
    label(u.ctx, `${mark.label} ${threeDigits(mark.value)}`, left + width - 6 * dot, isBelow ? y + 3 * dot : y - 2 * dot, colours, dot);
    lowest = y;
  }
  u.ctx.setLineDash([2 * dot, 3 * dot]);
  u.ctx.textAlign = "left";
  u.ctx.textBaseline = "top";
  const ends = [];
  for (const phase of phases) {
    const x = u.valToPos(phase.at_s, "x", true);
    line(x, top, x, top + height);
    const size = u.ctx.measureText(phase.label).width;
    const begin = Math.max(left, Math.min(x + 4 * dot, left + width - size - 2 * dot));
    // Words that would run into those before them go a row further down.
    let row = 0;
    while (ends[row] > begin) row += 1;
    ends[row] = begin + size + 8 * dot;
    label(u.ctx, phase.label, begin, top + (3 + row * ROW) * dot, colours, dot);
  }
  u.ctx.restore();
}

function label(context, text, x, y, colours, dot) {
  const size = context.measureText(text).width;
  const isRight = context.textAlign === "right";
  const isBelow = context.textBaseline === "top";
  context.save();
  context.globalAlpha = 0.8;
  context.fillStyle = colours.surface;
  context.fillRect((isRight ? x - size : x) - 2 * dot, isBelow ? y : y - 13 * dot, size + 4 * dot, 14 * dot);
  context.restore();
  context.fillText(text, x, y);
}

function drawLegend(figure, series) {
  const items = series.map((one, index) => {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = `series-mark series-mark-${((placeOf(oursOf(series, index)) - 1) % 7) + 1}${one.is_printed ? " series-mark-printed" : ""}`;
    const value = document.createElement("span");
    value.className = "value";
    item.append(swatch, one.label, value);
    return item;
  });
  figure.querySelector(".chart-legend").replaceChildren(...items);
}

function fillLegend(figure, series, index) {
  [...figure.querySelector(".chart-legend").children].forEach((item, place) => {
    const value = series[place].values[index];
    item.querySelector(".value").textContent = index < 0 ? "" : value == null ? "–" : threeDigits(value);
  });
}

// --- The clock

function show(seconds) {
  at = seconds;
  position.value = seconds;
  const text = `${threeDigits(Math.max(seconds, 0))} s`;
  clockText.textContent = text;
  position.setAttribute("aria-valuetext", `${text} of ${threeDigits(timeline.duration_s)} s`);
  for (const chart of charts.filter((one) => one.isPlayed)) {
    const upTo = indexAt(chart.x, seconds);
    chart.plot.setData([chart.x, ...chart.series.map((one) => one.values.map((value, index) => (index <= upTo ? value : null)))], false);
    chart.plot.redraw(false);
    chart.fill();
  }
  sayPhase(seconds);
}

function sayPhase(seconds) {
  const phases = charts.flatMap((chart) => chart.phases).filter((phase) => phase.at_s <= seconds);
  const newest = phases.sort((a, b) => a.at_s - b.at_s).at(-1);
  const text = newest ? `${newest.label}, from ${threeDigits(newest.at_s)} s` : "";
  if (phaseText.textContent !== text) phaseText.textContent = text;
}

// Whoever asked for less motion sees it in jumps.
const CALM_MS = 500;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function step(now) {
  if (!isPlaying) return;
  if (calm.matches && last != null && now - last < CALM_MS) return requestAnimationFrame(step);
  const passed = last == null ? 0 : (now - last) / 1000;
  last = now;
  const next = at + (passed * timeline.duration_s) / Number(speed.value);
  show(Math.min(next, timeline.duration_s));
  if (next >= timeline.duration_s) return setPlaying(false);
  requestAnimationFrame(step);
}

function setPlaying(wanted) {
  isPlaying = wanted;
  play.textContent = wanted ? "Pause" : "Play";
  if (!wanted) return;
  if (at >= timeline.duration_s) show(0);
  last = null;
  requestAnimationFrame(step);
}

// --- Start

async function start() {
  const answer = await fetch(player.dataset.replay, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`no timeline: ${answer.status}`);
  timeline = await answer.json();
  at = timeline.duration_s;
  for (const figure of document.querySelectorAll("[data-panel]")) {
    const panel = timeline.panels[Number(figure.dataset.panel)];
    const chart = chartOf(figure, { x: panel.times_s, series: panel.series, marks: panel.marks, phases: panel.phases, isLogarithmic: panel.is_logarithmic, range: [0, timeline.duration_s] });
    charts.push({ ...chart, isPlayed: true });
  }
  for (const figure of document.querySelectorAll("[data-lines]")) {
    const one = timeline.figures[Number(figure.dataset.lines)];
    chartOf(figure, { x: one.x, series: one.series, marks: one.marks, isLogarithmic: one.is_logarithmic, isX2: true, range: [one.x[0] * 0.9, one.x.at(-1) * 1.1] });
  }
  if (!play) return;
  play.disabled = position.disabled = false;
  show(timeline.duration_s);
  play.addEventListener("click", () => setPlaying(!isPlaying));
  position.addEventListener("input", () => {
    setPlaying(false);
    show(Number(position.value));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target.closest("button, select, textarea, a, summary, [type=search]") || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    setPlaying(!isPlaying);
  });
}

start().catch(() => {
  document.querySelectorAll(".chart-plot .note").forEach((note) => (note.textContent = "The timeline could not be loaded. Reload the page to ask again; the numbers below are complete."));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
