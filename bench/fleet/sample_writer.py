"""Writes the samples of a whole history, each table by a connection of its own.

A partition is emptied, written and given its key in one transaction, so that the server logs none
of it (`wal_level` minimal) and never has to mark its rows as visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
from django.db import connection

from bench.fleet.copy_rows import HEAD, TAIL, Integers, packed_rows, timestamps
from ingest.partitions import PART

MOST_WAITING = 3
"""So many blocks of a table wait to be written, at most."""
SETTINGS = "SET maintenance_work_mem = '512MB'; SET wal_skip_threshold = 0"
_PART_S = int(PART.total_seconds())


class TableWriter:
    """Fills one sample table, in the order of time; its key is missing until it is closed."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._server = own_connection()
        self._server.execute(SETTINGS)
        self._server.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
        self._has_parts = _has_parts(self._server, table)
        self._part: str | None = None
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[Future[None]] = []

    def write(
        self, names: Sequence[str], ends_s: Integers, series: Integers, values: Integers
    ) -> None:
        """Soon write a row for each time and series; `values` are times x series x names.

        The times are in one partition, and not in one before that of the last call.
        """
        self._wait(MOST_WAITING)
        self._waiting.append(self._thread.submit(self._write, names, ends_s, series, values))

    def close(self) -> None:
        """Write what waits, and make the key."""
        self._waiting.append(self._thread.submit(self._finish))
        self._wait(0)
        self._thread.shutdown()
        self._server.close()

    def _wait(self, most: int) -> None:
        while len(self._waiting) > most:
            self._waiting.pop(0).result()

    def _write(
        self, names: Sequence[str], ends_s: Integers, series: Integers, values: Integers
    ) -> None:
        columns = [np.tile(series, len(ends_s)), np.repeat(timestamps(ends_s), len(series))]
        rows = packed_rows([*columns, *values.reshape(-1, len(names)).T])
        target, frozen = self._table, ""
        if self._has_parts:
            target, frozen = self._open(int(ends_s[0])), ", FREEZE"
        quoted = ", ".join(f'"{name}"' for name in names)
        statement = f"COPY {target} (series_id, time, {quoted}) FROM STDIN (FORMAT binary{frozen})"
        with self._server.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(HEAD + rows + TAIL)

    def _open(self, time_s: int) -> str:
        """The partition of this time, in a transaction that emptied it."""
        begin = datetime.fromtimestamp(time_s // _PART_S * _PART_S, UTC)
        part = f"{self._table}_p{begin:%Y%m%d_%H}"
        if part != self._part:
            self._close_part()
            self._server.execute("BEGIN")
            self._server.execute(f"TRUNCATE {part}")
            self._part = part
        return part

    def _close_part(self) -> None:
        if self._part:
            self._server.execute(f"ALTER TABLE {self._part} ADD PRIMARY KEY (series_id, time)")
            self._server.execute("COMMIT")

    def _finish(self) -> None:
        self._close_part()
        # Takes the keys that the partitions have.
        self._server.execute(f"ALTER TABLE {self._table} ADD PRIMARY KEY (series_id, time)")


def own_connection() -> psycopg.Connection[tuple[object, ...]]:
    """A connection beside Django's, without the product's limits of time."""
    return connected(server_facts())


def connected(server: Mapping[str, Any]) -> psycopg.Connection[tuple[object, ...]]:
    """The same to a server of which these facts are known."""
    return psycopg.connect(**server, autocommit=True)


def server_facts() -> dict[str, Any]:
    """Where Django's server is, and by what it is asked."""
    settings = connection.get_connection_params()
    wanted = ("host", "port", "user", "dbname", "password")
    return {name: settings[name] for name in wanted if settings.get(name)}


def _has_parts(server: psycopg.Connection[tuple[object, ...]], table: str) -> bool:
    found = server.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", [table])
    row = found.fetchone()
    return row is not None and bool(row[0])


def parts_of(ends_s: Integers) -> list[Integers]:
    """These times, in order, cut where a partition ends."""
    return np.split(ends_s, np.flatnonzero(np.diff(ends_s // _PART_S)) + 1)
