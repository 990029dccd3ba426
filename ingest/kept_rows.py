"""From when on the rows of samples are all there, so that they alone say what was measured."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction

from ingest.core.grid import EPOCH

# The table has one row, which has this key.
_KEY = 1
# Any number that nothing else in this database uses for an advisory lock.
_LOCK = 7_011_515


def locked_rows_since() -> datetime:
    """From when on no row was ever dropped, nor is until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_LOCK])
        cursor.execute("SELECT since FROM ingest_keptrows")
        found = cursor.fetchone()
    return EPOCH if found is None else found[0]


@transaction.atomic
def note_dropped(before: datetime) -> None:
    """Note that rows of before this may be gone from here on; waits for hours being sealed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        cursor.execute(
            "INSERT INTO ingest_keptrows AS kept (id, since) VALUES (%s, %s)"
            " ON CONFLICT (id) DO UPDATE SET since = greatest(kept.since, excluded.since)",
            [_KEY, before],
        )
