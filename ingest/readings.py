"""How counters are read from a sample table: all of them, or the last of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Any

from django.db import connection
from psycopg import sql

from ingest.core.catalogue import Measurement
from ingest.core.counters import LONGEST_INTERVAL_S, Reading, longest_interval_s
from ingest.core.microseconds import moment

STEPS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
"""The distances at which a long range is read; they divide a day, so charts do not jitter."""


@dataclass(slots=True, kw_only=True)
class Span:
    """A range of time and how densely it is read; one for all series that belong together."""

    since: datetime
    until: datetime
    max_points: int | None
    step_s: int = 0

    def longest_interval_s(self, readings: Sequence[Reading]) -> float:
        """The longest time between these readings that is not a gap."""
        return longest_interval_s([reading.at for reading in readings], step_s=self.step_s)

    def readings(
        self, measurement: Measurement, series_id: int, columns: tuple[str, ...]
    ) -> list[Reading]:
        """The readings of one series, from the one before `since`: the first rate starts there."""
        if not self.step_s:
            every = self._every_reading(measurement, series_id, columns)
            if self.max_points is None or len(every) <= self.max_points:
                return every
            self.step_s = coarse_step_s(self.until - self.since, self.max_points)
        return self._last_reading_per_step(measurement, series_id, columns)

    def _every_reading(
        self, measurement: Measurement, series_id: int, columns: tuple[str, ...]
    ) -> list[Reading]:
        return _fetch(
            """
            (SELECT {at_us}, {columns} FROM {table}
              WHERE series_id = %(series)s AND time <= %(since)s AND time > %(earliest)s
              ORDER BY time DESC LIMIT 1)
            UNION ALL
            (SELECT {at_us}, {columns} FROM {table}
              WHERE series_id = %(series)s AND time > %(since)s AND time <= %(until)s
              ORDER BY time LIMIT %(limit)s)
            """,
            measurement,
            columns,
            {
                "series": series_id,
                "since": self.since,
                "until": self.until,
                "earliest": self.since - timedelta(seconds=LONGEST_INTERVAL_S),
                # One more than wanted tells that there are too many, without reading them all.
                "limit": None if self.max_points is None else self.max_points + 1,
            },
        )

    def _last_reading_per_step(
        self, measurement: Measurement, series_id: int, columns: tuple[str, ...]
    ) -> list[Reading]:
        """One index look-up per step, so the cost follows the points shown, not those stored.

        The steps lie in the range anyway; said once more, it spares the other days' partitions.
        """
        start_s = floor(self.since.timestamp() / self.step_s) * self.step_s - self.step_s
        return _fetch(
            """
            SELECT last.* FROM generate_series(
                %(start)s::timestamptz, %(until)s::timestamptz, %(step)s::interval
            ) AS step(start)
            CROSS JOIN LATERAL (
                SELECT {at_us}, {columns} FROM {table}
                WHERE series_id = %(series)s AND time <= %(until)s AND time >= %(start)s
                  AND time >= step.start AND time < step.start + %(step)s::interval
                ORDER BY time DESC LIMIT 1
            ) AS last
            """,
            measurement,
            columns,
            {
                "series": series_id,
                "start": datetime.fromtimestamp(start_s, UTC),
                "until": self.until,
                "step": timedelta(seconds=self.step_s),
            },
        )


def coarse_step_s(length: timedelta, max_points: int) -> int:
    """The smallest of `STEPS_S` that divides this time into no more than `max_points`."""
    wanted_s = length.total_seconds() / max_points
    return next((step for step in STEPS_S if step >= wanted_s), STEPS_S[-1])


def _fetch(
    statement: str,
    measurement: Measurement,
    columns: tuple[str, ...],
    parameters: Mapping[str, Any],
) -> list[Reading]:
    query = sql.SQL(statement).format(
        table=sql.Identifier(measurement.table),
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        at_us=AT_US,
    )
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [
            Reading(at=moment(at_us), counters=tuple(counters))
            for at_us, *counters in cursor.fetchall()
        ]


# A whole number is read four times as fast as a time with its zone.
AT_US = sql.SQL("(extract(epoch FROM time) * 1000000)::bigint")
