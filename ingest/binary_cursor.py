"""A cursor that exchanges values with the database apart from statements, and bytes as they are.

Others write values into the text of a statement, bytes as twice as many digits: for the columns of
a fleet that takes several times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper
from psycopg.pq import Format


@contextmanager
def binary_cursor() -> Iterator[CursorWrapper]:
    """Such a cursor on Django's connection; its statements are counted and logged as all are.

    Types are not guessed from the text around a value: each needs its cast, or a use that says it.
    """
    connection.ensure_connection()
    own = psycopg.Cursor(connection.connection)
    own.format = Format.BINARY
    wrapper = CursorDebugWrapper if connection.queries_logged else CursorWrapper
    with wrapper(own, connection) as cursor:
        yield cursor
