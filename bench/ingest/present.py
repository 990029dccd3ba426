"""Rows that are there before: of other series, in the partitions that are written to."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

SERIES = 10_000
_ROWS_AT_ONCE = 1_000_000


def add_rows(psql: Sequence[str], millions: int) -> None:
    """Add so many to the samples of disks; their series have negative numbers."""
    for million in range(millions):
        begin = million * _ROWS_AT_ONCE
        statement = (
            "INSERT INTO ingest_diskio_sample (series_id, time, reads, writes)"
            f" SELECT -1 - n % {SERIES},"
            " date_trunc('hour', now()) - interval '1 ms' * (n / 10000), n, n"
            f" FROM generate_series({begin}, {begin + _ROWS_AT_ONCE - 1}) AS n"
        )
        subprocess.run([*psql, "-c", statement], check=True)
    subprocess.run([*psql, "-c", "VACUUM ANALYZE ingest_diskio_sample"], check=True)
