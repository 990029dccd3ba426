"""Machines that send under one name, told apart by when they started, else by their disks.

A machine's uptime says when it started. That moves forward when it starts again, and never back
unless its clock was set back. So where a sample says an earlier start than the one before it,
another machine sends under the same name, and no counter of that host can be trusted.

Where nobody sends an uptime, the counters of a disk can tell: one machine's fall when it starts
again, those of two that take turns at every turn. Samples of the same times replace each other,
and then nothing is seen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import connection
from psycopg import sql

from accounts.models import Organisation
from ingest.core.catalogue import DISKIO, SYSTEM
from ingest.core.grid import moment
from ingest.core.mapping import Form

LOOK_BACK = timedelta(minutes=1)
"""Two that send once a minute meet in this time. After more of it one may follow the other."""
TOLERANCE_S = 5
"""Uptime is told in whole seconds, and a moment after the sample's time."""
LOOK_BACK_AT_DISKS = timedelta(minutes=3)
"""Two that send once a minute take two turns in this time; a machine hardly starts twice in it."""


def series_of_several_machines(
    sent: Sequence[tuple[int, int, int]], *, are_stored: bool = False
) -> set[int]:
    """Of series whose uptimes are to be written, those that another machine sent to.

    Each is a series of the measurement `system`, a time (µs since 1970) and an uptime (s). If they
    `are_stored`, nothing else was at their times.
    """
    if not sent:
        return set()
    series = [one for one, _, _ in sent]
    times = [moment(time_us) for _, time_us, _ in sent]
    uptimes = [uptime for _, _, uptime in sent]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT new.id
              FROM unnest(%(series)s::bigint[], %(times)s::timestamptz[], %(uptimes)s::bigint[])
                   WITH ORDINALITY AS new(id, time, uptime, place)
              JOIN ingest_samples_before(
                   %(table)s, 'uptime', %(series)s, %(times)s,
                   make_interval(secs => %(look_back_s)s), is_at => NOT %(are_stored)s
                   ) AS before USING (place)
             CROSS JOIN LATERAL (
                SELECT new.uptime - before.value - extract(epoch FROM new.time - before.at)
                       AS older_s
             ) AS compared
             WHERE older_s > %(tolerance_s)s
                OR before.at = new.time AND abs(older_s) > %(tolerance_s)s
            """,
            {
                "table": SYSTEM.table,
                "series": series,
                "times": times,
                "uptimes": uptimes,
                "are_stored": are_stored,
                "look_back_s": LOOK_BACK.total_seconds(),
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


def note_names_shared_by_disks(organisation: Organisation, *, now: datetime) -> None:
    """Note with its hosts that were heard lately and send no uptime whether their disks say so."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(_SHARED_BY_DISKS).format(disks=sql.Identifier(DISKIO.table)),
            {
                "organisation": organisation.pk,
                "now": now,
                "heard": now - LOOK_BACK,
                "oldest": now - timedelta(days=1),
                "look_back_s": LOOK_BACK_AT_DISKS.total_seconds(),
                "disk": DISKIO.name,
                "counter": Form.COUNTER,
                "system": SYSTEM.name,
            },
        )


_SHARED_BY_DISKS = """
    WITH disk AS MATERIALIZED (
        SELECT series.id, series.host_id, since
          FROM ingest_series AS series JOIN ingest_host AS host ON host.id = series.host_id
         CROSS JOIN LATERAL (
               SELECT series.last_sample_at - make_interval(secs => %(look_back_s)s) AS since
               ) AS look
         WHERE host.organisation_id = %(organisation)s AND host.heard_at > %(heard)s
           AND series.measurement = %(disk)s AND series.last_sample_at > %(oldest)s
           -- Rates fall whenever there is less to do.
           AND series.form = %(counter)s
           AND NOT EXISTS (
               SELECT FROM ingest_series AS uptime
                WHERE uptime.host_id = host.id AND uptime.measurement = %(system)s
                  AND uptime.last_sample_at > since)
    ), reading AS (
        SELECT disk.host_id, disk.id, bytes - lag(bytes) OVER (
                   PARTITION BY disk.id ORDER BY sample.time) AS grown
          FROM disk CROSS JOIN LATERAL (
               SELECT time, read_bytes + write_bytes AS bytes FROM {disks}
                WHERE series_id = disk.id AND time > disk.since AND time > %(oldest)s
               ) AS sample
    )
    UPDATE ingest_host SET shared_at = %(now)s WHERE id IN (
        SELECT id FROM ingest_host WHERE id IN (
            SELECT host_id FROM reading GROUP BY host_id, id
            -- Two collectors of one machine differ by less than it grows.
            HAVING count(*) FILTER (WHERE grown < 0) > 1
               AND -sum(grown) FILTER (WHERE grown < 0) > abs(sum(grown)))
           -- In the order of those who write samples.
         ORDER BY id FOR NO KEY UPDATE)
"""
