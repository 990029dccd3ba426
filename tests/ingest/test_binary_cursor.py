"""What goes past Django's own cursor is counted, wrapped and refused like other statements."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from psycopg import sql
from psycopg.types.numeric import Int8

from ingest.binary_cursor import binary_cursor, prepared_cursor, streamed

pytestmark = pytest.mark.django_db

ONE_TO_THREE = sql.SQL("SELECT one::int8 FROM generate_series(%s::int8, 3) AS one").format()


def test_streamed_statement_is_counted_and_goes_through_wrappers() -> None:
    seen = []

    def wrapper(execute, statement, parameters, many, context):  # type: ignore[no-untyped-def]
        seen.append(parameters)
        return execute(statement, parameters, many, context)

    with CaptureQueriesContext(connection) as captured, connection.execute_wrapper(wrapper):
        rows = list(streamed(ONE_TO_THREE, [1]))

    assert rows == [(1,), (2,), (3,)]
    assert seen == [[1]]
    assert len(captured) == 1


def test_fault_of_a_streamed_statement_is_an_error_of_the_database() -> None:
    with pytest.raises(DatabaseError):
        list(streamed(sql.SQL("SELECT 1 / %s::int4").format(), [0]))


def test_bytes_come_back_as_they_went() -> None:
    sent = bytes(range(256))
    with CaptureQueriesContext(connection) as captured, binary_cursor() as cursor:
        cursor.execute("SELECT %s::bytea", [sent])
        assert cursor.fetchall() == [(sent,)]
    assert len(captured) == 1


def test_prepared_statement_is_planned_once_for_all_values() -> None:
    for number in (1, 2, 3):
        with prepared_cursor() as cursor:
            cursor.execute("SELECT %s + 40", [Int8(number)])
            assert cursor.fetchone() == (number + 40,)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements"
            " WHERE statement = 'SELECT $1 + 40'"
        )
        assert cursor.fetchall() == [(3,)]


def test_statements_of_other_cursors_stay_unprepared() -> None:
    with prepared_cursor() as cursor:
        cursor.execute("SELECT 1")
    for _ in range(10):
        with binary_cursor() as cursor:
            cursor.execute("SELECT %s::int + 41", [1])
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%41%'")
        assert cursor.fetchone() == (0,)
