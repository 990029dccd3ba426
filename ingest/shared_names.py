"""Machines that send under one name, told apart by when they started.

A machine's uptime says when it started. That moves forward when it starts again, and never back
unless its clock was set back. So where a sample says an earlier start than the one before it,
another machine sends under the same name, and no counter of that host can be trusted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import connection

from ingest.core.batch import Rows
from ingest.core.catalogue import SYSTEM
from ingest.core.grid import moment

LOOK_BACK = timedelta(minutes=1)
"""Two that send at all meet within the longest interval between samples."""
TOLERANCE_S = 5
"""Uptime is told in whole seconds, and a moment after the sample's time."""
_UPTIME = [column.name for column in SYSTEM.fields].index("uptime")


def series_of_several_machines(rows: Rows, ids: Sequence[int]) -> set[int]:
    """Of the series of these rows, which are to be written, those that another machine sent to.

    `rows` are of the measurement `system`; `ids` are their series by place.
    """
    sent = [
        (ids[place], moment(time_us), uptime)
        for (place, time_us), values in rows.items()
        if (uptime := values[_UPTIME]) is not None
    ]
    if not sent:
        return set()
    series, times, uptimes = (list(column) for column in zip(*sent, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT new.id
              FROM unnest(%(series)s::bigint[], %(times)s::timestamptz[], %(uptimes)s::bigint[])
                   AS new(id, time, uptime)
             CROSS JOIN LATERAL (
                SELECT stored.time, new.uptime - stored.uptime
                       - extract(epoch FROM new.time - stored.time) AS older_s
                  FROM ingest_system_sample AS stored
                 WHERE stored.series_id = new.id AND stored.uptime IS NOT NULL
                   AND stored.time <= new.time
                   AND stored.time >= new.time - make_interval(secs => %(look_back_s)s)
                   -- Of all times, so that other partitions are not planned for.
                   AND stored.time BETWEEN %(since)s AND %(until)s
                 ORDER BY stored.time DESC LIMIT 1
             ) AS before
             WHERE older_s > %(tolerance_s)s
                OR before.time = new.time AND abs(older_s) > %(tolerance_s)s
            """,
            {
                "series": series,
                "times": times,
                "uptimes": uptimes,
                "look_back_s": LOOK_BACK.total_seconds(),
                "since": min(times) - LOOK_BACK,
                "until": max(times),
                "tolerance_s": TOLERANCE_S,
            },
        )
        return {found for (found,) in cursor.fetchall()}


def note_shared_names(series: Collection[int], *, now: datetime) -> None:
    """Note with the hosts of these series that several machines send under their name."""
    if not series:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_host SET shared_at = %s WHERE id IN"
            " (SELECT host_id FROM ingest_series WHERE id = ANY(%s))",
            [now, sorted(series)],
        )
