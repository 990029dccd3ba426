"""The rows beside samples: their series, made when needed, and what is noted of a write.

Of each series and host its newest sample is noted, and the hours that have to be sealed (again).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounts.models import Organisation
from ingest.core.grid import LONGEST_INTERVAL_S, moment
from ingest.core.mapping import SeriesKey
from ingest.models import Host, Series
from ingest.quotas.new_series import check_new_series

MOST_BEHIND = timedelta(seconds=LONGEST_INTERVAL_S)
"""So much newer than its row says may the last sample of a series be (`ingest.known_series`)."""
_QUARTER_US = 900_000_000
_HOUR_US = 3_600_000_000


class SeriesDeletedError(Exception):
    """A series was deleted while samples were written to it; the write can be tried again."""


def series_ids(organisation: Organisation, keys: Sequence[SeriesKey]) -> list[int]:
    """The row of each series, in the same order; hosts and series that are new are made.

    Rows are made in the order of their keys, so that two writers cannot wait for each other.
    Raises `SeriesOverQuotaError` before anything is made if not all of them may be.
    """
    found = _found_series(organisation, keys)
    missing = [key for key in keys if (key.table.name, key.tags_key) not in found]
    if missing:
        check_new_series(organisation, missing)
        hosts = _host_ids(organisation, {key.host for key in missing})
        Series.objects.bulk_create(
            [
                Series(
                    organisation=organisation,
                    host_id=hosts[key.host],
                    measurement=key.table.name,
                    subject=key.subject,
                    tags=dict(key.tags),
                    tags_key=key.tags_key,
                    source=key.source,
                    form=key.form,
                )
                for key in sorted(missing, key=lambda key: (key.table.name, key.tags_key))
            ],
            ignore_conflicts=True,
        )
        found |= _found_series(organisation, missing)
    return [found[key.table.name, key.tags_key] for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBefore:
    """What was known of a series before a write."""

    host: int
    last_sample_at: datetime | None


def note_samples(
    times: Mapping[int, tuple[datetime, datetime]], *, heard_at: datetime | None
) -> dict[int, SeriesBefore]:
    """Remember the first and last time of what was written; what was known before, by series.

    `heard_at` None: it is of a file, and the hosts themselves were not heard. Locks the series,
    so that none can go away before the write is committed; raises `SeriesDeletedError` if one
    has gone already.
    """
    parameters: dict[str, list[int] | list[datetime] | datetime | None] = {
        "heard": heard_at,
        "series": list(times),
        "first": [first for first, _ in times.values()],
        "last": [last for _, last in times.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, host_id, last_sample_at FROM ingest_series WHERE id = ANY(%(series)s)"
            " ORDER BY id FOR NO KEY UPDATE",
            parameters,
        )
        before = {
            series: SeriesBefore(host=host, last_sample_at=at)
            for series, host, at in cursor.fetchall()
        }
        if len(before) != len(times):
            raise SeriesDeletedError
        cursor.execute(
            """
            UPDATE ingest_series AS series
               SET first_sample_at = least(first_sample_at, wrote.first),
                   last_sample_at = greatest(last_sample_at, wrote.last)
              FROM unnest(%(series)s::bigint[], %(first)s::timestamptz[], %(last)s::timestamptz[])
                   AS wrote(id, first, last)
             WHERE series.id = wrote.id
            """,
            parameters,
        )
        cursor.execute(
            """
            WITH newest AS (
                SELECT host_id AS id, max(wrote.last) AS at
                  FROM unnest(%(series)s::bigint[], %(last)s::timestamptz[]) AS wrote(id, last)
                  JOIN ingest_series AS series ON series.id = wrote.id
                 GROUP BY host_id
            ), locked AS (
                SELECT id FROM ingest_host
                 WHERE id IN (SELECT id FROM newest) ORDER BY id FOR NO KEY UPDATE
            )
            UPDATE ingest_host AS host
               SET last_sample_at = greatest(last_sample_at, newest.at),
                   heard_at = greatest(heard_at, %(heard)s::timestamptz)
              FROM newest JOIN locked USING (id)
             WHERE host.id = newest.id
            """,
            parameters,
        )
    return before


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


def _found_series(
    organisation: Organisation, keys: Sequence[SeriesKey]
) -> dict[tuple[str, str], int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT series.measurement, series.tags_key, series.id
              FROM unnest(%s::text[], %s::text[]) AS wanted(measurement, tags_key)
              JOIN ingest_series AS series
                ON series.organisation_id = %s
               AND series.measurement = wanted.measurement
               AND series.tags_key = wanted.tags_key
            """,
            [[key.table.name for key in keys], [key.tags_key for key in keys], organisation.pk],
        )
        return {(measurement, tags): pk for measurement, tags, pk in cursor.fetchall()}


def _host_ids(organisation: Organisation, names: set[str]) -> dict[str, int]:
    def found() -> dict[str, int]:
        hosts = Host.objects.filter(organisation=organisation, name__in=names)
        return dict(hosts.values_list("name", "pk"))

    known = found()
    missing = sorted(names - known.keys())
    if missing:
        Host.objects.bulk_create(
            [Host(organisation=organisation, name=name) for name in missing],
            ignore_conflicts=True,
        )
        known = found()
    return known
