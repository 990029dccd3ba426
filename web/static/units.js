// Numbers as pages write them: three significant digits, one scale for a whole chart.

import { written } from "./times.js";

const NAMES = { bits_per_s: "bit/s", bytes_per_s: "B/s", iops: "IOPS", packets_per_s: "packets/s", commands: "commands" };
const STEPS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
];
const THIN_SPACE = "\u202f";

// The scale in which values up to `largest` of this unit are written.
export function scaleFor(unit, largest) {
  if (unit === "ms") return { factor: 1, label: "ms" };
  if (unit === "ratio") return { factor: 0.01, label: "%" };
  const isCount = ["iops", "packets_per_s", "commands"].includes(unit);
  const steps = isCount ? STEPS : [...STEPS, [1e3, "k"]];
  const [factor, prefix] = steps.find(([step]) => largest >= step * 0.9995) ?? [1, ""];
  return { factor, label: `${prefix}${NAMES[unit]}` };
}

// Three significant digits and at most three decimals, or all before the point: 6.67, 94.0, 1234.
export function threeDigits(value) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded))));
  const text = value.toFixed(Math.min(decimals, 3));
  if (Number(text) === 0) return "0";
  const [whole, rest] = text.split(".");
  return rest ? `${grouped(whole)}.${rest}` : grouped(whole);
}

export function inScale(value, scale) {
  return value == null ? "–" : threeDigits(value / scale.factor);
}

function grouped(whole) {
  return whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE) : whole;
}

// A round number for an axis, without digits that say nothing.
export function axisText(value, scale) {
  const [whole, rest] = String(Number((value / scale.factor).toPrecision(6))).split(".");
  return rest ? `${grouped(whole)}.${rest}` : grouped(whole);
}

export function withUnit(value, unit) {
  const scale = scaleFor(unit, Math.abs(value));
  return `${inScale(value, scale)} ${scale.label}`;
}

export function clock(seconds, isLong = false) {
  return written(new Date(seconds * 1000), isLong ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S");
}
