"""Charts compared with the same hours of an earlier day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from advisor.queries.charts import PLAIN, Chart, ChartKind, ChartSet, Track
from advisor.queries.totals import total_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is drawn beside the present: `shift` before it, a multiple of every step of a grid."""

    name: str
    words: str
    shift: timedelta


COMPARISONS = (
    Comparison(name="day", words="a day earlier", shift=timedelta(days=1)),
    Comparison(name="week", words="a week earlier", shift=timedelta(weeks=1)),
)


def comparison_of(name: str) -> Comparison | None:
    """The comparison of this name; None if there is none."""
    return next((one for one in COMPARISONS if one.name == name), None)


def with_earlier(shown: ChartSet, earlier: ChartSet, comparison: Comparison) -> ChartSet:
    """The charts with those of `earlier` behind them, which has the same step, moved by the shift.

    A line gets a line of its own; a stack the sum of all its parts.
    """
    shift_s = int(comparison.shift.total_seconds())
    places = {end_s + shift_s: place for place, end_s in enumerate(earlier.ends_s)}
    cells = [places.get(end_s) for end_s in shown.ends_s]
    before = {chart.key: chart for chart in earlier.charts}
    return replace(
        shown,
        charts=tuple(
            replace(chart, tracks=chart.tracks + _moved(before.get(chart.key), cells, comparison))
            for chart in shown.charts
        ),
    )


def _moved(
    chart: Chart | None, cells: Sequence[int | None], comparison: Comparison
) -> tuple[Track, ...]:
    if chart is None:
        return ()
    tracks = [track for track in chart.tracks if track.values]
    if chart.kind is ChartKind.STACK and tracks:
        values = total_of([track.values for track in tracks])
        tracks = [Track(label="all", colour=PLAIN, values=tuple(values))]
    return tuple(
        Track(
            label=f"{track.label}, {comparison.words}",
            colour=track.colour,
            values=tuple(None if cell is None else track.values[cell] for cell in cells),
            is_earlier=True,
        )
        for track in tracks
    )
