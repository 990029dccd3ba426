"""Find or create the row of a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounts.models import Organisation
from ingest.core.source import SeriesKey
from ingest.models import Host, Series


class SeriesDeletedError(Exception):
    """A series was deleted while samples were written to it; the write can be tried again."""


def series_ids(organisation: Organisation, keys: Sequence[SeriesKey]) -> list[int]:
    """The row of each series, in the same order; hosts and series that are new are made.

    Rows are made in the order of their keys, so that two writers cannot wait for each other.
    """
    found = _found_series(organisation, keys)
    missing = [key for key in keys if (key.measurement, key.tags_key) not in found]
    if missing:
        hosts = _host_ids(organisation, {key.host for key in missing})
        Series.objects.bulk_create(
            [
                Series(
                    organisation=organisation,
                    host_id=hosts[key.host],
                    measurement=key.measurement,
                    subject=key.subject,
                    tags=dict(key.tags),
                    tags_key=key.tags_key,
                )
                for key in sorted(missing, key=lambda key: (key.measurement, key.tags_key))
            ],
            ignore_conflicts=True,
        )
        found |= _found_series(organisation, missing)
    return [found[key.measurement, key.tags_key] for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBefore:
    """What was known of a series before a write."""

    host: int
    last_sample_at: datetime | None


def note_samples(
    times: Mapping[int, tuple[datetime, datetime]], *, now: datetime
) -> dict[int, SeriesBefore]:
    """Remember the first and last time of what was written; what was known before, by series.

    Locks the series, so that none can go away before the write is committed; raises
    `SeriesDeletedError` if one has gone already.
    """
    parameters: dict[str, list[int] | list[datetime] | datetime] = {
        "now": now,
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
                   heard_at = greatest(heard_at, %(now)s)
              FROM newest JOIN locked USING (id)
             WHERE host.id = newest.id
            """,
            parameters,
        )
    return before


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
            [[key.measurement for key in keys], [key.tags_key for key in keys], organisation.pk],
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
