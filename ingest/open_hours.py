"""The list of hours whose samples are not in the history yet, kept by whoever writes samples."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import connection

from ingest.core.microseconds import moment

HOUR = timedelta(hours=1)
SETTLED_AFTER = timedelta(minutes=20)
"""So long after its end an hour is sealed: the next reading of a rare sender has come by then.

No interval is longer than 15 minutes (`ingest.core.grid.LONGEST_INTERVAL_S`).
"""

_QUARTER_US = 900_000_000
_HOUR_US = 3_600_000_000


def open_hours_of(times: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """By series the hours that readings touch, in microseconds since 1970.

    A reading changes the interval before it and the one after it, of up to 15 minutes each, and
    whether the next one counts: so what it says reaches from 15 minutes before it to 30 after it.
    """
    quarters = {(series, time_us // _QUARTER_US) for series, time_us in times}
    return sorted(
        {
            (series, at_us // _HOUR_US * _HOUR_US)
            for series, quarter in quarters
            for at_us in ((quarter - 1) * _QUARTER_US, (quarter + 2) * _QUARTER_US)
        }
    )


def note_open_hours(hours: Iterable[tuple[int, int]]) -> None:
    """Put hours of series on the list, in the transaction that writes their samples.

    It locks them, so whoever seals one of these hours waits until the samples are committed.
    """
    rows = list(hours)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_openhour (host_id, at)
            SELECT DISTINCT series.host_id, wrote.at
              FROM unnest(%s::bigint[], %s::timestamptz[]) AS wrote(id, at)
              JOIN ingest_series AS series ON series.id = wrote.id
             ORDER BY series.host_id, wrote.at
                ON CONFLICT (host_id, at) DO UPDATE SET at = excluded.at
            """,
            [[series for series, _ in rows], [moment(at_us) for _, at_us in rows]],
        )
