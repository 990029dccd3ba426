// One chart: lines or a stack, labelled levels, shaded incidents. Needs uPlot as a global.

import { withFewParts } from "./busiest.js";
import { written, zone, zoneName } from "./times.js";
import { axisText, clock, inScale, scaleFor, withUnit } from "./units.js";

const HEIGHT = 240;
const AXIS_WIDTH = 58;
const SYNC_KEY = "page";
// A level further away than this many times the data is said in words instead of flattening it.
const FAR = 4;

export function palette() {
  const style = getComputedStyle(document.documentElement);
  const series = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((place) => `series-${place}`);
  const names = ["text", "muted", "grid", "above", "surface", "plain-1", "plain-2", ...series];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// The drawn series count from 1, and more than eight share colours; 0 is what belongs to none of
// them; -1 and -2 are lines that are about no workload at all.
function colourName(position) {
  if (position < 0) return `plain-${-position}`;
  return position === 0 ? "series-0" : `series-${((position - 1) % 8) + 1}`;
}

export function seriesColour(colours, position) {
  return colours[colourName(position)];
}

export class Plot {
  constructor(figure, { onZoom, onReset }) {
    this.figure = figure;
    this.place = figure.querySelector(".chart-plot");
    this.legend = figure.querySelector(".chart-legend");
    this.onZoom = onZoom;
    this.onReset = onReset;
    this.isStacked = figure.dataset.kind === "stack";
    this.colours = new Map();
    this.observer = new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height: HEIGHT }));
    this.observer.observe(this.place);
  }

  // Show the chart's data; `frame` has t, since, until and incidents, common to all charts.
  show(whole, frame) {
    const chart = this.figure.dataset.kind === "stack" ? withFewParts(whole, this.colours) : whole;
    this.whole = whole;
    this.chart = chart;
    this.frame = frame;
    this.place.querySelector(".note")?.remove();
    if (chart.gap) return this.showGap(chart.gap);
    const known = chart.tracks.flatMap((track) => track.values).filter((value) => value != null);
    this.top = this.highest();
    this.scale = scaleFor(chart.unit, Math.max(this.top, ...this.marks().map((mark) => mark.value)));
    this.figure.querySelector("[data-unit]").textContent = this.scale.label;
    const shape = chart.tracks.map((track) => track.label).join() + this.isStacked;
    if (this.plot && this.shape === shape) {
      this.plot.setData(this.data(), false);
      this.plot.setScale("x", { min: frame.since, max: frame.until });
    } else {
      this.plot?.destroy();
      this.shape = shape;
      this.plot = new uPlot(this.options(), this.data(), this.place);
      this.drawLegend();
    }
    this.fillLegend();
    this.describe(known);
  }

  showGap(gap) {
    this.plot?.destroy();
    this.plot = null;
    this.legend.replaceChildren();
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = gap;
    this.place.replaceChildren(note);
    this.place.setAttribute("aria-label", `${this.chart.title}: ${gap}`);
    this.figure.querySelector("[data-unit]").textContent = "";
  }

  recolour() {
    this.shape = null;
    if (this.whole) this.show(this.whole, this.frame);
  }

  setStacked(isStacked) {
    this.isStacked = isStacked;
    this.recolour();
  }

  // In a stack only the lowest part stands on zero, so only its promise can be compared by eye.
  marks() {
    if (!this.isStacked) return this.chart.marks;
    const lowest = this.chart.tracks[0]?.colour;
    return this.chart.marks.filter((mark) => mark.colour == null || mark.colour === lowest);
  }

  rows() {
    const { tracks } = this.chart;
    const rows = tracks.map((track) => track.values);
    if (!this.isStacked) return rows;
    // An earlier day is one line across the stack, and no part of it.
    const parts = rows.filter((_, index) => !tracks[index].earlier);
    const sums = this.frame.t.map(() => 0);
    const isKnown = this.frame.t.map((_, index) => parts.some((row) => row[index] != null));
    return rows.map((row, place) =>
      tracks[place].earlier
        ? row
        : row.map((value, index) => {
            sums[index] += value ?? 0;
            return isKnown[index] ? sums[index] : null;
          }),
    );
  }

  data() {
    return [this.frame.t, ...this.rows()];
  }

  highest() {
    let top = 0;
    for (const row of this.rows()) for (const value of row) if (value > top) top = value;
    return top;
  }

  ceiling() {
    const near = this.marks().filter((mark) => this.chart.key === "level" || mark.value <= this.top * FAR);
    const top = Math.max(this.top, ...near.map((mark) => mark.value));
    return top > 0 ? top * 1.12 : 1;
  }

  options() {
    const colours = palette();
    const plot = this;
    const axis = { stroke: colours.muted, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1, size: 5 }, font: "12px system-ui, sans-serif" };
    return {
      width: this.place.clientWidth,
      height: HEIGHT,
      padding: [10, 22, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
      legend: { show: false },
      cursor: {
        sync: { key: SYNC_KEY },
        drag: { x: true, y: false, setScale: false },
        y: false,
        points: { size: 7 },
        bind: { dblclick: () => () => { plot.onReset(); return null; } },
      },
      scales: {
        x: { time: true, range: () => [plot.frame.since, plot.frame.until] },
        y: { range: () => [0, plot.ceiling()] },
      },
      axes: [
        { ...axis, values: timeLabels, space: 80 },
        { ...axis, size: AXIS_WIDTH, space: 36, splits: (u, index, low, high) => plot.splits(high), values: (u, ticks) => ticks.map((tick) => axisText(tick, plot.scale)) },
      ],
      series: [{}, ...this.chart.tracks.map((track) => this.series(track, colours))],
      bands: this.isStacked ? this.chart.tracks.filter((track) => !track.earlier).slice(1).map((track, index) => ({ series: [index + 2, index + 1], fill: fade(seriesColour(colours, track.colour), 0.55) })) : null,
      hooks: {
        drawClear: [(u) => this.shade(u, colours)],
        draw: [(u) => this.drawMarks(u, colours)],
        setCursor: [() => this.fillLegend()],
        setSelect: [(u) => this.zoom(u)],
      },
    };
  }

  series(track, colours) {
    const stroke = seriesColour(colours, track.colour);
    const isGround = this.isStacked && track === this.chart.tracks[0];
    const isAlone = !this.isStacked && this.chart.tracks.filter((one) => !one.earlier).length === 1;
    if (track.earlier) return { stroke: fade(stroke, 0.85), width: 1.5, dash: [5, 4], points: { show: false }, spanGaps: false };
    return {
      stroke,
      width: this.isStacked ? 1 : 1.75,
      points: { show: false, size: 5, fill: stroke, filter: lonely },
      fill: isGround ? fade(stroke, 0.55) : isAlone ? fade(stroke, 0.1) : undefined,
      spanGaps: false,
    };
  }

  // Round numbers of the written scale: 1, 2 or 5 times a power of ten, at most five of them.
  splits(high) {
    const wanted = high / this.scale.factor / 5;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].find((times) => times * power >= wanted) * power * this.scale.factor;
    const ticks = [];
    for (let tick = 0; tick <= high; tick += step) ticks.push(tick);
    return ticks;
  }

  shade(u, colours) {
    const { left, top, width, height } = u.bbox;
    for (const [start, end] of this.chart.incidents ?? this.frame.incidents) {
      const from = Math.max(left, u.valToPos(start, "x", true));
      const to = Math.min(left + width, u.valToPos(end ?? this.frame.until, "x", true));
      if (to <= from) continue;
      u.ctx.fillStyle = fade(colours.above, 0.1);
      u.ctx.fillRect(from, top, to - from, height);
      u.ctx.fillStyle = colours.above;
      u.ctx.fillRect(from, top, to - from, 3 * devicePixelRatio);
    }
  }

  drawMarks(u, colours) {
    const { left, top, width } = u.bbox;
    const dot = devicePixelRatio;
    let lastY = Infinity;
    u.ctx.save();
    u.ctx.font = `600 ${12 * dot}px system-ui, sans-serif`;
    u.ctx.textBaseline = "bottom";
    for (const mark of [...this.marks()].sort((a, b) => a.value - b.value)) {
      const colour = mark.colour == null ? colours.text : seriesColour(colours, mark.colour);
      const text = `${mark.label} ${withUnit(mark.value, this.chart.unit)}`;
      const isFar = mark.value > this.ceiling();
      const y = isFar ? top + 16 * dot : u.valToPos(mark.value, "y", true);
      if (!isFar) {
        u.ctx.strokeStyle = colour;
        u.ctx.lineWidth = 1.5 * dot;
        u.ctx.setLineDash([6 * dot, 4 * dot]);
        u.ctx.beginPath();
        u.ctx.moveTo(left, y);
        u.ctx.lineTo(left + width, y);
        u.ctx.stroke();
      }
      // Two labels at one height would cover each other, so the upper one moves to the other end.
      const isCrowded = lastY - y < 16 * dot;
      const label = isFar ? `${text}, above this chart` : text;
      const x = isCrowded ? left + width - 6 * dot : left + 6 * dot;
      u.ctx.textAlign = isCrowded ? "right" : "left";
      const size = u.ctx.measureText(label).width;
      const textLeft = isCrowded ? x - size : x;
      u.ctx.fillStyle = fade(colours.surface, 0.82);
      u.ctx.fillRect(textLeft - 3 * dot, y - 16 * dot, size + 6 * dot, 15 * dot);
      u.ctx.fillStyle = colours.text;
      u.ctx.fillText(label, x, y - 1 * dot);
      lastY = y;
    }
    u.ctx.restore();
  }

  zoom(u) {
    if (u.select.width < 4) return;
    const since = u.posToVal(u.select.left, "x");
    const until = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.onZoom(since, until);
  }

  drawLegend() {
    const colours = this.chart.tracks.map((track) => track.colour);
    const items = this.chart.tracks.map((track, index) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.className = `series-mark ${this.chart.tracks[index].earlier ? "series-mark-earlier " : ""}${colourName(colours[index]).replace("-", "-mark-")}`;
      const value = document.createElement("span");
      value.className = "value";
      item.append(swatch, track.label, value);
      return item;
    });
    const time = document.createElement("li");
    time.className = "muted";
    this.legend.replaceChildren(time, ...items);
  }

  // The values under the pointer, or the newest ones.
  fillLegend() {
    if (!this.plot) return;
    // The place under the pointer may be gone since another range is shown.
    const under = this.plot.cursor.idx;
    const pointed = under < this.frame.t.length ? under : null;
    const index = pointed ?? this.newest();
    const [time, ...items] = this.legend.children;
    const isLong = this.frame.until - this.frame.since > 86400;
    time.textContent = index < 0 ? "" : `${pointed == null ? "newest " : ""}${clock(this.frame.t[index], isLong)}`;
    items.forEach((item, at) => {
      item.querySelector(".value").textContent = inScale(this.chart.tracks[at].values[index], this.scale);
    });
  }

  newest() {
    for (let index = this.frame.t.length - 1; index >= 0; index -= 1) {
      if (this.chart.tracks.some((track) => track.values[index] != null)) return index;
    }
    return -1;
  }

  describe(known) {
    const index = this.newest();
    const first = this.chart.tracks[0]?.values[index];
    const marks = this.marks().map((mark) => `${mark.label} ${withUnit(mark.value, this.chart.unit)}`);
    const parts = [
      `${this.chart.title} in ${this.scale.label}`,
      index >= 0 && first != null ? `newest ${inScale(first, this.scale)} at ${clock(this.frame.t[index])} ${zoneName()}` : "no value",
      known.length ? `highest ${inScale(Math.max(...known), this.scale)}` : "",
      ...marks,
    ];
    this.place.setAttribute("aria-label", parts.filter(Boolean).join(", "));
  }
}

// A value between two gaps has no line to be seen by: it is drawn as a point.
function lonely(u, seriesIndex) {
  const row = u.data[seriesIndex];
  return row.flatMap((value, index) => (value != null && row[index - 1] == null && row[index + 1] == null ? [index] : []));
}

function timeLabels(u, ticks, axis, space, step) {
  const isDays = step >= 86400;
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const minute = written(at, "%H:%M");
    if (isDays || (minute === "00:00" && u.scales.x.max - u.scales.x.min > 43200)) return written(at, "%m-%d");
    return step < 60 ? written(at, "%H:%M:%S") : minute;
  });
}

// The colour, given as #rrggbb, with transparency.
function fade(colour, alpha) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}
