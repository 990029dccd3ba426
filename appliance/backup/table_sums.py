"""What every table holds: rows, and a sum over their contents that no order changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

import psycopg
from psycopg import sql

from appliance.backup.record import TableSum

LARGEST_BYTES = 64 << 20
"""Rows of larger tables are counted, and their contents are not read."""
LOCK_WITHIN = "900ms"
"""Less than deadlock_timeout (1 s), so that in a deadlock nobody's write is ended for us."""
MOST_TRIES = 20
PAUSE_S = 0.5
TABLES = """
    SELECT n.nspname, c.relname, pg_table_size(c.oid)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND c.relpersistence = 'p'
       AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       AND n.nspname !~ '^(pg_toast|_timescaledb)'
     ORDER BY 1, 2
"""


def sum_tables(connection: psycopg.Connection) -> dict[str, TableSum]:
    """Rows and content of every table, as the connection's transaction sees them."""
    # A value as text depends on these.
    connection.execute("SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'")
    connection.execute("SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'")
    return {
        f"{schema}.{name}": _sum(connection, schema, name, with_content=size <= LARGEST_BYTES)
        for schema, name, size in connection.execute(TABLES).fetchall()
    }


def _sum(
    connection: psycopg.Connection, schema: str, name: str, *, with_content: bool
) -> TableSum:
    content = sql.SQL("sum(hashtextextended(t::text, 0)::numeric)::text")
    query = sql.SQL("SELECT count(*), {} FROM {} t").format(
        content if with_content else sql.SQL("NULL"), sql.Identifier(schema, name)
    )
    rows, total = connection.execute(query).fetchone() or (0, None)
    return TableSum(rows=rows, content=(total or "0") if with_content else None)


@contextmanager
def state_at_restore_point(address: str, name: str) -> Iterator[tuple[psycopg.Connection, str]]:
    """A transaction that sees exactly what is there at a named place of the log; and the place.

    Writers wait for the moment in which the place is named, as for any short lock.
    Raises psycopg.errors.QueryCanceled if the tables are never free for that moment.
    """
    with psycopg.connect(address, autocommit=True) as reader:
        with psycopg.connect(address, autocommit=True) as namer:
            _lock_all(namer)
            place = _value(namer, "SELECT pg_create_restore_point(%s)::text", name)
            snapshot = _value(namer, "SELECT pg_export_snapshot()")
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            reader.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
            namer.rollback()
        yield reader, place
        reader.rollback()


def _value(connection: psycopg.Connection, query: LiteralString, *values: str) -> str:
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return str(row[0])


def _lock_all(connection: psycopg.Connection) -> None:
    """Hold off writers of all tables; the caller ends the transaction soon."""
    for tries_left in reversed(range(MOST_TRIES)):
        try:
            tables = connection.execute(TABLES).fetchall()
            names = sql.SQL(", ").join(sql.Identifier(one[0], one[1]) for one in tables)
            connection.execute("BEGIN")
            connection.execute(
                sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(LOCK_WITHIN))
            )
            connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(names))
            connection.execute("SET LOCAL statement_timeout = 0")
        except psycopg.errors.QueryCanceled:
            connection.rollback()
            if not tries_left:
                raise
            time.sleep(PAUSE_S)
        else:
            return
