"""The tables into which the rival copies have what the product's have."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from bench.ingest.rival import copied, copied_tables
from ingest.core.catalogue import DISKIO, MEASUREMENTS


def indexes(table: str) -> list[str]:
    """What each index of the table is over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass",
            [table],
        )
        return sorted(row[0].partition(" USING ")[2] for row in cursor.fetchall())


@pytest.mark.django_db
def test_rival_writes_the_same_indexes() -> None:
    with connection.cursor() as cursor:
        for statement in copied_tables(datetime(2026, 1, 15, tzinfo=UTC), timescaledb=False):
            cursor.execute(statement)

    for measurement in MEASUREMENTS:
        assert indexes(copied(measurement)) == indexes(measurement.table)
    # The key, and the index by time.
    assert len(indexes(DISKIO.table)) == 2
