// A stack of many parts, of which only the busiest can be told apart by eye.

const MOST_PARTS = 8;
const BUSIEST = 7;
// The key of their sum among the colours; no workload has an empty name.
export const OTHERS = "";

function mean(values) {
  const known = values.filter((value) => value != null);
  return known.reduce((sum, value) => sum + value, 0) / (known.length || 1);
}

function sumOf(tracks) {
  return tracks[0].values.map((_, index) => {
    const known = tracks.map((track) => track.values[index]).filter((value) => value != null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
  });
}

// Keeps the colours of the names that are still drawn and gives the others those that are free.
function assign(names, colours) {
  for (const name of [...colours.keys()]) if (!names.includes(name)) colours.delete(name);
  const taken = new Set(colours.values());
  let next = 1;
  for (const name of names) {
    if (colours.has(name)) continue;
    while (taken.has(next)) next += 1;
    colours.set(name, next);
    taken.add(next);
  }
}

// The chart with its busiest parts in the order they had, and the others of them in sum. What
// belongs to none (colour 0) stays a part of its own. The table and the CSV have them all.
// `colours` has the colour of each drawn part by its label, from one update to the next: no two
// that are drawn have the same, and only what belongs to none is grey.
export function withFewParts(chart, colours = new Map()) {
  const parts = chart.tracks.filter((track) => track.colour !== 0 && !track.earlier);
  const none = chart.tracks.filter((track) => track.colour === 0 || track.earlier);
  let drawn = parts;
  let rest = [];
  if (parts.length > MOST_PARTS) {
    const busiest = new Set([...parts].sort((one, other) => mean(other.values) - mean(one.values)).slice(0, BUSIEST));
    const others = parts.filter((track) => !busiest.has(track));
    drawn = parts.filter((track) => busiest.has(track));
    rest = [{ label: `${others.length} others, in the table`, values: sumOf(others) }];
  }
  assign([...drawn.map((track) => track.label), ...rest.map(() => OTHERS)], colours);
  const drawnColour = (label) => colours.get(label) ?? colours.get(OTHERS) ?? 0;
  const before = new Map(parts.map((track) => [track.colour, drawnColour(track.label)]));
  return {
    ...chart,
    tracks: [...[...drawn, ...rest].map((track) => ({ ...track, colour: drawnColour(track.label) })), ...none],
    marks: chart.marks.map((mark) => ({ ...mark, colour: mark.colour == null ? mark.colour : before.get(mark.colour) })),
  };
}
