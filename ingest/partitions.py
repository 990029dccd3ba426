"""Partitions of the sample tables: made before they are written to, dropped when not needed.

Hypertables make their chunks themselves. Native tables have a partition per quarter of a day, in
UTC, named after its begin; days that were made whole stay so. Short ones go soon after their hours
are sealed. The database is asked each time which of the two kinds of table it has. Functions of
the database do both with its owner's rights, because the roles of processes own no table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from django.db import DatabaseError, connection, transaction

from ingest.core.catalogue import MEASUREMENTS
from ingest.core.figures import FIGURE_KINDS
from ingest.core.grid import EPOCH

log = logging.getLogger(__name__)

TABLES = tuple(measurement.table for measurement in MEASUREMENTS)
SEALED_TABLES = tuple(kind.measurement.table for kind in FIGURE_KINDS)
"""Those whose samples are in the history once their hours are sealed."""

PARTS_OF_A_DAY = 4
PART = timedelta(days=1) / PARTS_OF_A_DAY
PART_US = PART // timedelta(microseconds=1)
# Any number that nothing else in this database uses for an advisory lock.
_LOCK = 7_011_513


def ensure_partitions(days: Iterable[date]) -> int:
    """Make what is missing for samples of these days; the number of partitions made."""
    midnights = [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days]
    return ensure_parts(
        midnight + part * PART for midnight in midnights for part in range(PARTS_OF_A_DAY)
    )


def parts_of(since: datetime, until: datetime) -> list[datetime]:
    """The begins of the quarters of days that hold this time."""
    first = (since - EPOCH) // PART
    last = (until - EPOCH) // PART
    return [EPOCH + number * PART for number in range(first, last + 1)]


def ensure_parts(begins: Iterable[datetime]) -> int:
    """The same for the quarters of days that begin then."""
    wanted = sorted(set(begins))
    if not wanted or not _missing(wanted):
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # Somebody else may have made them while this one waited for the lock.
        missing = _missing(wanted)
        for table, begin in missing:
            _create_partition(table, begin)
    return len(missing)


def drop_partitions(
    *, before: datetime, tables: Iterable[str] = TABLES, only_sealed: bool = False
) -> int:
    """Drop the partitions and chunks that hold nothing from `before` on; the number dropped.

    With `only_sealed` those stay whose samples say something about an open hour. A table that
    somebody reads or writes for long is left for the next time.
    """
    dropped = 0
    for table in sorted(tables):
        # One at a time: whoever waits for one table must not hold another.
        try:
            dropped += _drop_of(table, before, only_sealed=only_sealed)
        except DatabaseError as error:
            log.warning("samples not dropped", extra={"table": table, "reason": str(error)})
    return dropped


def _missing(begins: list[datetime]) -> list[tuple[str, datetime]]:
    """The native tables and begins of parts without a partition."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT parent.relname, part
            FROM unnest(%s::text[]) AS wanted(name)
            JOIN pg_class AS parent ON parent.oid = to_regclass(wanted.name)
            CROSS JOIN unnest(%s::timestamptz[]) AS part
            CROSS JOIN LATERAL (SELECT part AT TIME ZONE 'UTC' AS utc) AS zoned
            WHERE parent.relkind = 'p'
              AND to_regclass(parent.relname || to_char(utc, '"_p"YYYYMMDD"_"HH24')) IS NULL
              AND to_regclass(parent.relname || to_char(utc, '"_p"YYYYMMDD')) IS NULL
            ORDER BY parent.relname, part
            """,
            [list(TABLES), begins],
        )
        missing: list[tuple[str, datetime]] = cursor.fetchall()
        return missing


def _create_partition(table: str, begin: datetime) -> None:
    """Attaching an empty table, unlike creating a partition, lets reads and writes go on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ingest_make_part(%s, %s)", [table, begin])


@transaction.atomic
def _drop_of(table: str, before: datetime, *, only_sealed: bool) -> int:
    with connection.cursor() as cursor:
        # A reader that takes minutes must not make writers wait behind this drop.
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        cursor.execute("SELECT ingest_drop_samples(%s, %s, %s)", [table, before, only_sealed])
        dropped: int = cursor.fetchone()[0]
        return dropped
