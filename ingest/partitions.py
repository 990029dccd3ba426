"""Days of the sample tables: made before they are written to, dropped when they are too old.

Hypertables make their chunks themselves. Native tables have one partition per day, in UTC, named
after it. The database is asked each time which of the two it has. Functions of the database do
both with its owner's rights, because the roles of processes own no table.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from django.db import connection, transaction

from ingest.core.catalogue import MEASUREMENTS

TABLES = tuple(measurement.table for measurement in MEASUREMENTS)

# Any number that nothing else in this database uses for an advisory lock.
_LOCK = 7_011_513


def ensure_partitions(days: Iterable[date]) -> int:
    """Make what is missing for samples of these days; the number of partitions made."""
    wanted = sorted(set(days))
    if not wanted or not _missing(wanted):
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # Somebody else may have made them while this one waited for the lock.
        missing = _missing(wanted)
        for table, day in missing:
            _create_partition(table, day)
    return len(missing)


def drop_partitions(*, before: datetime) -> int:
    """Drop the days and chunks that hold nothing from `before` on; the number dropped."""
    with transaction.atomic(), connection.cursor() as cursor:
        # A reader that takes minutes must not make writers wait behind this drop.
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        return sum(_drop_of(table, before) for table in TABLES)


def _missing(days: list[date]) -> list[tuple[str, date]]:
    """The native tables and days without a partition."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT parent.relname, day
            FROM unnest(%s::text[]) AS wanted(name)
            JOIN pg_class AS parent ON parent.oid = to_regclass(wanted.name)
            CROSS JOIN unnest(%s::date[]) AS day
            WHERE parent.relkind = 'p'
              AND to_regclass(parent.relname || to_char(day, '"_p"YYYYMMDD')) IS NULL
            ORDER BY parent.relname, day
            """,
            [list(TABLES), days],
        )
        missing: list[tuple[str, date]] = cursor.fetchall()
        return missing


def _create_partition(table: str, day: date) -> None:
    """Attaching an empty table, unlike creating a partition, lets reads and writes go on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ingest_make_partition(%s, %s)", [table, day])


def _drop_of(table: str, before: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT ingest_drop_samples(%s, %s)", [table, before])
        dropped: int = cursor.fetchone()[0]
        return dropped
