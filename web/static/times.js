// Times in the zone of the browser. The server writes UTC, which stays in the title of each time
// and everywhere without scripts.

const TICK_MS = 5000;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

// What the server takes for now, whatever the clock of this machine says.
const told = document.querySelector("[data-now]")?.dataset.now;
const aheadMs = told ? Date.now() - Date.parse(told) : 0;

const isUtc = () => new Date().getTimezoneOffset() === 0;

// A short name of the zone, of the offset at this time: CET, GMT+2, UTC.
export function zoneName(at = new Date()) {
  if (at.getTimezoneOffset() === 0) return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(at);
  return parts.find((part) => part.type === "timeZoneName").value;
}

const two = (number) => String(number).padStart(2, "0");

// The time as a form like %Y-%m-%d %H:%M:%S says.
export function written(at, form) {
  const parts = { Y: at.getFullYear(), m: two(at.getMonth() + 1), d: two(at.getDate()), H: two(at.getHours()), M: two(at.getMinutes()), S: two(at.getSeconds()) };
  return form.replace(/%([YmdHMS])/g, (_, name) => parts[name]);
}

function pair(seconds, large, largeName, small, smallName) {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

// A length of time as the server writes it: 42 s, 12 min, 3 h 5 min, 2 d 4 h.
export function lasting(seconds) {
  if (seconds < 2 * MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < DAY ? pair(seconds, HOUR, "h", MINUTE, "min") : pair(seconds, DAY, "d", HOUR, "h");
}

function fromNow(at) {
  const seconds = Math.round((Date.now() - aheadMs - at) / 1000);
  if (seconds < 0) return `in ${lasting(-seconds)}`;
  return seconds === 0 ? "now" : `${lasting(seconds)} ago`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function show(time) {
  const at = new Date(time.dateTime ?? time.dataset.at);
  if (Number.isNaN(at.getTime())) return;
  if (time.dataset.ago !== undefined) set(time, fromNow(at));
  if (isUtc()) return;
  if (time.dataset.clock) set(time, written(at, time.dataset.clock));
  if (time.title && !time.title.includes("\u00b7")) {
    time.title = `${written(at, "%Y-%m-%d %H:%M:%S")} ${zoneName(at)} \u00b7 ${time.title}`;
  }
}

export function showTimes(root = document) {
  root.querySelectorAll("time[datetime], [data-at]").forEach(show);
  if (isUtc()) return;
  root.querySelectorAll("[data-zone]").forEach((place) => set(place, zoneName()));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  root.querySelectorAll("[data-zone-name]").forEach((place) => set(place, zone));
  root.querySelectorAll("[data-zone-sentence]").forEach((place) => set(place, `Times are those of ${zone}; hover for UTC.`));
}

// A field that comes in UTC is shown and typed in the zone of the browser, and sent as UTC with the
// name of the zone.
function useZone(field) {
  field.value = written(new Date(`${field.value}Z`), "%Y-%m-%dT%H:%M");
  field.form.addEventListener("formdata", ({ formData }) => {
    formData.set(field.name, new Date(field.value).toISOString());
    formData.set("zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
}

document.querySelectorAll("[data-utc]").forEach(useZone);
showTimes();
document.addEventListener("htmx:after:swap", () => showTimes());
setInterval(() => {
  if (!document.hidden) showTimes();
}, TICK_MS);
