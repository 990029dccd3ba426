// Times in the zone of the person's profile, else of the browser. The server writes UTC, which stays
// in the title of each time and everywhere without scripts.

const TICK_MS = 5000;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

// What the server takes for now, whatever the clock of this machine says.
const told = document.querySelector("[data-now]")?.dataset.now;
const aheadMs = told ? Date.now() - Date.parse(told) : 0;

const DIGITS = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };

// A zone that this browser does not know is left for its own.
function wallClock(timeZone) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...DIGITS, timeZone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", DIGITS);
  }
}

const wall = wallClock(document.documentElement.dataset.timeZone);
export const zone = wall.resolvedOptions().timeZone;

function partsOf(at) {
  return Object.fromEntries(wall.formatToParts(at).map((part) => [part.type, part.value]));
}

function aheadOfUtcMs(at) {
  const { year, month, day, hour, minute, second } = partsOf(at);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

const isUtc = () => aheadOfUtcMs(new Date()) === 0;

// A short name of the zone, of the offset at this time: CET, GMT+2, UTC.
export function zoneName(at = new Date()) {
  if (aheadOfUtcMs(at) === 0) return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" }).formatToParts(at);
  return parts.find((part) => part.type === "timeZoneName").value;
}

// The time as a form like %Y-%m-%d %H:%M:%S says.
export function written(at, form) {
  const parts = partsOf(at);
  const words = { Y: parts.year, m: parts.month, d: parts.day, H: parts.hour, M: parts.minute, S: parts.second };
  return form.replace(/%([YmdHMS])/g, (_, name) => words[name]);
}

// The time that is typed as 2026-11-27T12:30, as the clock on the wall says it.
export function read(typed) {
  const atUtc = Date.parse(`${typed}Z`);
  if (Number.isNaN(atUtc)) return new Date(NaN);
  // The offset is that of the time itself, which the first guess may miss where clocks are changed.
  const guess = atUtc - aheadOfUtcMs(new Date(atUtc));
  return new Date(atUtc - aheadOfUtcMs(new Date(guess)));
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
  root.querySelectorAll("[data-zone-name]").forEach((place) => set(place, zone));
  root.querySelectorAll("[data-zone-sentence]").forEach((place) => set(place, `Times are those of ${zone}; hover for UTC.`));
}

// A field that comes in UTC is shown and typed in the zone of the page, and sent as UTC with the
// name of the zone.
function useZone(field) {
  field.value = written(new Date(`${field.value}Z`), "%Y-%m-%dT%H:%M");
  field.form.addEventListener("formdata", ({ formData }) => {
    formData.set(field.name, read(field.value).toISOString());
    formData.set("zone", zone);
  });
}

document.querySelectorAll("[data-utc]").forEach(useZone);
// A choice of zones that nobody has made yet is that of the browser, if it is among them.
document.querySelectorAll("[data-zone-choice]").forEach((choice) => {
  if ([...choice.options].some((option) => option.value === zone)) choice.value = zone;
});
showTimes();
document.addEventListener("htmx:after:swap", () => showTimes());
setInterval(() => {
  if (!document.hidden) showTimes();
}, TICK_MS);
