"""Several COPYs in one message, so that the database is waited for once for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import psycopg
from django.db import connection
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Wait

_GOOD = (ExecStatus.COPY_IN, ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
_MOST_AT_ONCE = 64 * 1024
"""libpq may refuse what is much larger than its buffer, again and again."""


def copy_in(copies: Sequence[tuple[bytes, bytes]], *, last: bytes) -> tuple[list[int], int]:
    """Run COPY statements, each with what it is sent, and a last one, inside of `atomic`.

    The rows of each, and the number that the last one selects. When one fails, the others are not
    run.
    """
    connection.ensure_connection()
    own: psycopg.Connection[object] = connection.connection
    statements = [*(statement for statement, _ in copies), last]
    with connection.wrap_database_errors, own.lock:
        if own.pgconn.transaction_status == TransactionStatus.IDLE:
            # psycopg does so before the first statement, and waits for it.
            statements.insert(0, b"BEGIN")
        contents = [content for _, content in copies]
        return own.wait(_copied(own.pgconn, b";".join(statements), contents))


def array_text(numbers: Iterable[int]) -> str:
    """Whole numbers as the database reads an array of them; psycopg takes its time for that."""
    return f"{{{','.join(map(str, numbers))}}}"


def _copied(
    pgconn: PGconn, statement: bytes, contents: Sequence[bytes]
) -> PQGen[tuple[list[int], int]]:
    pgconn.send_query(statement)
    results = yield from generators.execute(pgconn)
    counts = []
    for content in contents:
        _raise_if_failed(results[-1])
        for begin in range(0, len(content), _MOST_AT_ONCE):
            part = content[begin : begin + _MOST_AT_ONCE]
            yield from generators.copy_to(pgconn, part, flush=False)
        while pgconn.put_copy_end() == 0:
            while not (yield Wait.W):
                continue
        # What became of this one, and then that the next is waited for.
        results = yield from generators.execute(pgconn)
        _raise_if_failed(results[0])
        counts.append(results[0].command_tuples or 0)
    _raise_if_failed(results[-1])
    return counts, int(results[-1].get_value(0, 0) or 0)


def _raise_if_failed(result: PGresult) -> None:
    if result.status not in _GOOD:
        raise error_from_result(result)
