// A stack of many parts, of which only the busiest can be told apart by eye.

const MOST_PARTS = 8;
const BUSIEST = 7;

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

// The chart with its busiest parts in the order they had, and the others of them in sum. What
// belongs to none (colour 0) stays a part of its own. The table and the CSV have them all.
export function withFewParts(chart) {
  const parts = chart.tracks.filter((track) => track.colour !== 0);
  if (parts.length <= MOST_PARTS) return chart;
  const busiest = new Set([...parts].sort((one, other) => mean(other.values) - mean(one.values)).slice(0, BUSIEST));
  const others = parts.filter((track) => !busiest.has(track));
  const rest = { label: `${others.length} others, in the table`, colour: 0, values: sumOf(others) };
  return { ...chart, tracks: [...parts.filter((track) => busiest.has(track)), rest, ...chart.tracks.filter((track) => track.colour === 0)] };
}
