"""Columns of rows in one answer: numbers as text, or a tuple a row, cost more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from psycopg import sql

from ingest.binary_cursor import binary_cursor

Integers = npt.NDArray[np.int64]


def packed_columns(
    rows: QuerySet[Any], *keys: str, texts: Sequence[str] = ()
) -> tuple[list[Integers], list[list[str]]]:
    """Columns of keys, and columns of texts, of the same rows in any order."""
    # Keys are 8 bytes each, one after the other.
    wanted = [
        *(sql.SQL("string_agg(int8send({}), ''::bytea)").format(_name(key)) for key in keys),
        *(sql.SQL("array_agg({})").format(_name(text)) for text in texts),
    ]
    try:
        inner, values = rows.order_by().values_list(*keys, *texts).query.sql_with_params()
    except EmptyResultSet:
        # Of no row at all there is no statement.
        return [np.empty(0, dtype=np.int64) for _ in keys], [[] for _ in texts]
    statement = sql.SQL("SELECT {} FROM ({}) AS row({})").format(
        sql.SQL(", ").join(wanted),
        sql.SQL(inner),
        sql.SQL(", ").join(map(_name, [*keys, *texts])),
    )
    with binary_cursor() as cursor:
        cursor.execute(statement, values)
        found = cursor.fetchone()
    packed, named = found[: len(keys)], found[len(keys) :]
    return (
        [np.frombuffer(one or b"", dtype=">i8").astype(np.int64) for one in packed],
        [one or [] for one in named],
    )


def _name(column: str) -> sql.Identifier:
    return sql.Identifier(column)
