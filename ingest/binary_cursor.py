"""Cursors that exchange values with the database apart from statements.

Others write values into the text of a statement: bytes as twice as many digits, which for the
columns of a fleet takes several times as long, and each text is planned anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper
from psycopg import sql
from psycopg.pq import Format


@contextmanager
def binary_cursor() -> Iterator[CursorWrapper]:
    """Such a cursor on Django's connection; its statements are counted and logged as all are.

    Types are not guessed from the text around a value: each needs its cast, or a use that says it.
    """
    connection.ensure_connection()
    own = psycopg.Cursor(connection.connection)
    own.format = Format.BINARY
    with _counted(own) as cursor:
        yield cursor


class _Prepared(psycopg.Cursor[Any]):
    """Django's connections prepare nothing, whatever a cursor is told."""

    def execute(self, query: Any, params: Any = None, **_given: Any) -> _Prepared:
        usual, self.connection.prepare_threshold = self.connection.prepare_threshold, 0
        try:
            return super().execute(query, params, prepare=True)
        finally:
            self.connection.prepare_threshold = usual


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """For a statement of many joins that is asked all the time: each session plans it once.

    The types of its values are part of what is prepared, so numbers are best `psycopg`'s `Int8`.
    """
    connection.ensure_connection()
    with _counted(_Prepared(connection.connection)) as cursor:
        yield cursor


def _counted(own: psycopg.Cursor[Any]) -> CursorWrapper:
    wrapper = CursorDebugWrapper if connection.queries_logged else CursorWrapper
    return wrapper(own, connection)


def streamed(statement: sql.Composed, parameters: Sequence[object]) -> Iterator[tuple[Any, ...]]:
    """Rows one by one as they come, so that all of them need not fit into memory.

    The statement is logged once its rows were read, and goes through what all statements go.
    """
    connection.ensure_connection()
    own = psycopg.Cursor(connection.connection)
    noted = CursorDebugWrapper(own, connection).debug_sql(statement.as_string(own))

    def execute(statement: Any, parameters: Any, _many: object, _context: object) -> Any:
        return own.stream(statement, parameters, binary=True)

    for wrapper in reversed(connection.execute_wrappers):
        execute = partial(wrapper, execute)
    with (
        connection.wrap_database_errors,
        own,
        noted if connection.queries_logged else nullcontext(),
    ):
        yield from execute(statement, parameters, False, {"connection": connection, "cursor": own})
