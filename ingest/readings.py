"""How counters are read from a sample table: all of them, or the last of each step.

One statement reads all series of a table, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Any

from django.db import connection
from psycopg import sql

from ingest.core.catalogue import Measurement
from ingest.core.grid import LONGEST_INTERVAL_S, NOT_SENT
from ingest.core.steps import coarse_step_s

Row = tuple[int, ...]
"""Series, microseconds since 1970, and counters, of which `NOT_SENT` is one that was not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of time and how densely each series is read over it."""

    since: datetime
    until: datetime
    max_points: int | None

    def steps_s(self, groups: Iterable[Sequence[tuple[Measurement, int]]]) -> dict[int, int]:
        """By series the distance at which it is read; 0 is every reading.

        Series that belong together are a group, in the order in which they are read: from the
        first that holds more than `max_points` readings on, all are thinned out.
        """
        if self.max_points is None:
            return {series: 0 for group in groups for _, series in group}
        groups = list(groups)
        wanted: dict[Measurement, set[int]] = {}
        for group in groups:
            for measurement, series in group:
                wanted.setdefault(measurement, set()).add(series)
        dense = {
            series
            for measurement, ids in wanted.items()
            for series in self._dense(measurement, sorted(ids), self.max_points)
        }
        coarse_s = coarse_step_s(self.until - self.since, self.max_points)
        steps = {}
        for group in groups:
            step_s = 0
            for _, series in group:
                step_s = coarse_s if series in dense else step_s
                steps[series] = step_s
        return steps

    def rows(
        self, measurement: Measurement, steps_s: Mapping[int, int], columns: tuple[str, ...]
    ) -> list[Row]:
        """The readings of the series, each at its distance, in no order.

        The readings of a series begin with the one before `since`: the first rate starts there.
        """
        every = [series for series, step_s in steps_s.items() if not step_s]
        rows = self._every_reading(measurement, every, columns) if every else []
        for step_s in sorted({step_s for step_s in steps_s.values() if step_s}):
            thinned = [series for series, own_s in steps_s.items() if own_s == step_s]
            rows += self._last_reading_per_step(measurement, thinned, columns, step_s)
        return rows

    def _dense(self, measurement: Measurement, series: list[int], max_points: int) -> list[int]:
        """The series with more readings than wanted, without counting them all."""
        rows = _fetch(
            """
            SELECT wanted.id FROM unnest(%(series)s::bigint[]) AS wanted(id)
             WHERE EXISTS (
                (SELECT 1 FROM {table}
                  WHERE series_id = wanted.id AND time > %(since)s AND time <= %(until)s
                  LIMIT %(max_points)s + 1)
                UNION ALL
                (SELECT 1 FROM {table}
                  WHERE series_id = wanted.id AND time <= %(since)s AND time > %(earliest)s
                  LIMIT 1)
                OFFSET %(max_points)s)
            """,
            measurement,
            (),
            {**self._times(), "series": series, "max_points": max_points},
        )
        return [series for (series,) in rows]

    def _every_reading(
        self, measurement: Measurement, series: list[int], columns: tuple[str, ...]
    ) -> list[Row]:
        return _fetch(
            """
            SELECT wanted.id, {at_us}, {columns}
              FROM unnest(%(series)s::bigint[]) AS wanted(id)
             CROSS JOIN LATERAL (
                SELECT * FROM {table}
                 WHERE series_id = wanted.id AND time <= %(since)s AND time > %(earliest)s
                 ORDER BY time DESC LIMIT 1
             ) AS sample
            UNION ALL
            SELECT series_id, {at_us}, {columns} FROM {table}
             WHERE series_id = ANY(%(series)s) AND time > %(since)s AND time <= %(until)s
            """,
            measurement,
            columns,
            {**self._times(), "series": series},
        )

    def _last_reading_per_step(
        self, measurement: Measurement, series: list[int], columns: tuple[str, ...], step_s: int
    ) -> list[Row]:
        """One index look-up per series and step: the cost follows the points that are shown.

        The steps lie in the range anyway; said once more, it spares the other days' partitions.
        """
        start_s = floor(self.since.timestamp() / step_s) * step_s - step_s
        return _fetch(
            """
            SELECT wanted.id, {at_us}, {columns}
              FROM unnest(%(series)s::bigint[]) AS wanted(id)
             CROSS JOIN generate_series(
                %(start)s::timestamptz, %(until)s::timestamptz, %(step)s::interval
             ) AS step(start)
             CROSS JOIN LATERAL (
                SELECT * FROM {table}
                 WHERE series_id = wanted.id AND time <= %(until)s AND time >= %(start)s
                   AND time >= step.start AND time < step.start + %(step)s::interval
                 ORDER BY time DESC LIMIT 1
             ) AS sample
            """,
            measurement,
            columns,
            {
                **self._times(),
                "series": series,
                "start": datetime.fromtimestamp(start_s, UTC),
                "step": timedelta(seconds=step_s),
            },
        )

    def _times(self) -> dict[str, datetime]:
        return {
            "since": self.since,
            "until": self.until,
            "earliest": self.since - timedelta(seconds=LONGEST_INTERVAL_S),
        }


def _fetch(
    statement: str,
    measurement: Measurement,
    columns: tuple[str, ...],
    parameters: Mapping[str, Any],
) -> list[Row]:
    query = sql.SQL(statement).format(
        table=sql.Identifier(measurement.table),
        columns=sql.SQL(", ").join(
            sql.SQL("coalesce({}, {})").format(sql.Identifier(column), NOT_SENT)
            for column in columns
        ),
        at_us=AT_US,
    )
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        rows: list[Row] = cursor.fetchall()
        return rows


# A whole number is read four times as fast as a time with its zone.
AT_US = sql.SQL("(extract(epoch FROM time) * 1000000)::bigint")
