"""Counts lines of measurements that no source knows, by host, so that nothing is lost unseen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import connection

from accounts.models import Organisation
from ingest.core.lengths import LONGEST_HOST_NAME, shortened

MOST_KEPT = 1000
"""So many measurements are kept per organisation; of more only the refused lines tell."""
_LONGEST_NAME = 64


def count_unknown(
    organisation: Organisation, lines: Mapping[tuple[str, str], int], *, now: datetime
) -> frozenset[str]:
    """Add the lines of bodies, by host and measurement, to those that came before.

    The measurements of which nothing is new: they were counted before, for each of these hosts.
    """
    counted: dict[tuple[str, str], int] = {}
    for (host, measurement), count in lines.items():
        key = _key(host, measurement)
        counted[key] = counted.get(key, 0) + count
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_unknownmeasurement AS known
                   (organisation_id, host, measurement, lines, first_sent_at, last_sent_at)
            SELECT %(organisation)s, host, measurement, lines, %(now)s, %(now)s
              FROM unnest(%(hosts)s::text[], %(measurements)s::text[], %(lines)s::bigint[])
                   AS sent(host, measurement, lines)
             WHERE (SELECT count(*) FROM ingest_unknownmeasurement
                     WHERE organisation_id = %(organisation)s) < %(most)s
                OR EXISTS (SELECT FROM ingest_unknownmeasurement AS same
                            WHERE same.organisation_id = %(organisation)s
                              AND (same.host, same.measurement) = (sent.host, sent.measurement))
             ORDER BY host, measurement
                ON CONFLICT (organisation_id, host, measurement) DO UPDATE
               SET lines = known.lines + excluded.lines, last_sent_at = excluded.last_sent_at
             -- A row that was inserted by this statement was never changed.
             RETURNING host, measurement, xmax <> 0
            """,
            {
                "organisation": organisation.pk,
                "now": now,
                "most": MOST_KEPT,
                "hosts": [host for host, _ in counted],
                "measurements": [measurement for _, measurement in counted],
                "lines": list(counted.values()),
            },
        )
        before = {(host, name) for host, name, is_known in cursor.fetchall() if is_known}
    news = {name for host, name in lines if _key(host, name) not in before}
    return frozenset(name for _, name in lines if name not in news)


def _key(host: str, measurement: str) -> tuple[str, str]:
    return (
        shortened(_storable(host), LONGEST_HOST_NAME),
        shortened(_storable(measurement), _LONGEST_NAME),
    )


def _storable(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
