// Numbers as pages write them: three significant digits, one scale for a whole chart.

const NAMES = { bits_per_s: "bit/s", bytes_per_s: "B/s", iops: "IOPS" };
const STEPS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const THIN_SPACE = "\u202f";

// The scale in which values up to `largest` of this unit are written.
export function scaleFor(unit, largest) {
  if (unit === "ms") return { factor: 1, label: "ms" };
  if (unit === "ratio") return { factor: 0.01, label: "%" };
  if (unit === "iops" && largest < 1e5) return { factor: 1, label: "IOPS" };
  const [factor, prefix] = STEPS.find(([step]) => largest >= step) ?? [1, ""];
  return { factor, label: unit === "iops" ? `${prefix} IOPS` : `${prefix}${NAMES[unit]}` };
}

export function threeDigits(value) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded))));
  const [whole, rest] = rounded.toFixed(Math.min(decimals, 6)).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE) : whole;
  return rest ? `${grouped}.${rest}` : grouped;
}

export function inScale(value, scale) {
  return value == null ? "–" : threeDigits(value / scale.factor);
}

export function withUnit(value, unit) {
  const scale = scaleFor(unit, Math.abs(value));
  return `${inScale(value, scale)} ${scale.label}`;
}

export function clock(seconds, isLong = false) {
  const text = new Date(seconds * 1000).toISOString();
  return isLong ? `${text.slice(0, 10)} ${text.slice(11, 19)}` : text.slice(11, 19);
}
