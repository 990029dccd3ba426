"""The writer of the fleet's samples, on a real database."""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
from django.db import connection

from bench.fleet.sample_writer import TableWriter, parts_of
from ingest.core.catalogue import NSTAT
from ingest.partitions import ensure_partitions

NAMES = [field.name for field in NSTAT.fields]
# 2026-01-15T12:00:00Z, where a partition begins
NOON_S = 1_768_478_400
SERIES = np.array([7, 8], np.int64)


def counted(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


def test_times_are_cut_where_a_partition_ends() -> None:
    ends_s = np.array([NOON_S - 20, NOON_S - 10, NOON_S, NOON_S + 10], np.int64)

    assert [part.tolist() for part in parts_of(ends_s)] == [
        [NOON_S - 20, NOON_S - 10],
        [NOON_S, NOON_S + 10],
    ]


@pytest.fixture
def empty_table(transactional_db: None) -> Iterator[str]:
    """A sample table of its own rows: they are committed, so they are removed afterwards."""
    ensure_partitions([datetime.fromtimestamp(NOON_S, UTC).date()])
    yield NSTAT.table
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {NSTAT.table}")


def test_written_table_has_its_rows_and_its_key(empty_table: str) -> None:
    writer = TableWriter(empty_table)
    for ends_s in parts_of(np.arange(NOON_S - 30, NOON_S + 30, 10, dtype=np.int64)):
        values = np.full((len(ends_s), len(SERIES), len(NAMES)), 5, np.int64)
        writer.write(NAMES, ends_s, SERIES, values)
    writer.close()

    # Two series of six times, three on each side of noon
    assert counted(f"SELECT count(*) FROM {empty_table}") == 12
    keys = f"SELECT count(*) FROM pg_constraint WHERE conrelid = '{empty_table}'::regclass"
    assert counted(f"{keys} AND contype = 'p'") == 1
