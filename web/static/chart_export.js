// A chart as a table and as a picture.

import { palette, seriesColour } from "./plot.js";
import { zoneName } from "./times.js";
import { clock, inScale } from "./units.js";

const MOST_ROWS = 240;

function cell(name, text, scope) {
  const element = document.createElement(name);
  element.textContent = text;
  if (scope) element.scope = scope;
  return element;
}

// Newest first; a long range is thinned out evenly, and the caption says so.
export function writeTable(place, { whole: chart, frame, scale }) {
  const every = Math.ceil(frame.t.length / MOST_ROWS);
  const table = document.createElement("table");
  const thinned = every > 1 ? `, every ${every * frame.step_s} s` : "";
  table.append(cell("caption", `${chart.title} in ${scale?.label ?? ""}${thinned}, newest first. Times are ${zoneName()}.`));
  const head = document.createElement("tr");
  head.append(cell("th", "Time", "col"), ...chart.tracks.map((track) => cell("th", track.label, "col")));
  table.append(document.createElement("thead"), document.createElement("tbody"));
  table.tHead.append(head);
  for (let index = frame.t.length - 1; index >= 0; index -= every) {
    const row = document.createElement("tr");
    row.append(cell("th", clock(frame.t[index], true), "row"));
    for (const track of chart.tracks) {
      const value = cell("td", scale ? inScale(track.values[index], scale) : "–");
      value.className = "number";
      if (track.values[index] == null) value.title = "nothing was measured";
      row.append(value);
    }
    table.tBodies[0].append(row);
  }
  head.querySelectorAll("th:not(:first-child)").forEach((th) => (th.className = "number"));
  place.replaceChildren(table);
}

// The plot with its title and legend, on the page's own ground.
export function savePicture(plot, name) {
  if (!plot.plot) return;
  const source = plot.plot.ctx.canvas;
  const dot = devicePixelRatio;
  const colours = palette();
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height + 64 * dot;
  const ctx = canvas.getContext("2d");
  ctx.fillStyle = colours.surface;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = colours.text;
  ctx.textBaseline = "middle";
  ctx.font = `600 ${15 * dot}px system-ui, sans-serif`;
  ctx.fillText(`${name}: ${plot.chart.title}, ${plot.scale.label}`, 12 * dot, 20 * dot);
  ctx.drawImage(source, 0, 36 * dot);
  ctx.font = `${12 * dot}px system-ui, sans-serif`;
  let x = 58 * dot;
  for (const track of plot.chart.tracks) {
    ctx.fillStyle = seriesColour(colours, track.colour);
    ctx.fillRect(x, canvas.height - 20 * dot, 10 * dot, 10 * dot);
    ctx.fillStyle = colours.text;
    ctx.fillText(track.label, x + 15 * dot, canvas.height - 15 * dot);
    x += ctx.measureText(track.label).width + 34 * dot;
  }
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}-${plot.chart.key}.png`.replaceAll("/", "-");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}
