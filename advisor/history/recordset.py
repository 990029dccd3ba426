"""Many rows as few values of a statement: an array for each column takes much longer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Model
from psycopg.types.json import Jsonb

from ingest.binary_cursor import binary_cursor

PACKED = ("bytea", "jsonb")
"""Types whose values are sent as an array: they are long, and would be written and read twice."""


def write_rows(
    statement: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]], *values: Any
) -> None:
    """Run a statement on rows with a value for each of the columns, which have these types.

    `{rows}` in it are the rows as a table `new`, `{names}` its columns; it has placeholders for
    the `values` before them.
    """
    plain = [name for name, kind in columns.items() if kind not in PACKED]
    packed = [name for name, kind in columns.items() if kind in PACKED]
    definition = ", ".join(f"{name} {columns[name]}" for name in plain)
    parts = [f"json_to_recordset(%s) AS ({definition})"]
    parts += [f"unnest(%b::{columns[name]}[])" for name in packed]
    table = f"ROWS FROM ({', '.join(parts)}) AS new({', '.join((*plain, *packed))})"
    dicts = [dict(zip(columns, row, strict=True)) for row in rows]
    with binary_cursor() as cursor:
        cursor.execute(
            statement.format(rows=table, names=", ".join(f"new.{name}" for name in columns)),
            [
                *values,
                _text(dicts, plain),
                *(_array(dicts, name, columns[name]) for name in packed),
            ],
        )


def update_rows(rows: Sequence[Model], names: Collection[str]) -> None:
    """Write these fields of stored rows of one model, in one statement.

    Django's `bulk_update` compares each row with all others for each field: a thousand rows of
    nine fields take seconds.
    """
    if not rows:
        return
    meta: Any = rows[0]._meta  # noqa: SLF001  (Django's name)
    fields = [meta.pk, *(meta.get_field(name) for name in names)]
    columns = {field.column: str(field.rel_db_type(connection)) for field in fields}
    changes = ", ".join(f"{column} = new.{column}" for column in list(columns)[1:])
    key = meta.pk.column
    write_rows(
        f"UPDATE {meta.db_table} AS row SET {changes} FROM {{rows}}"  # noqa: S608  # of models
        f" WHERE row.{key} = new.{key}",
        columns,
        [[getattr(row, field.attname) for field in fields] for row in rows],
    )


def _text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    return _dumps([{name: row[name] for name in columns} for row in rows])


def _array(rows: Sequence[Mapping[str, Any]], name: str, kind: str) -> list[Any]:
    values = [row[name] for row in rows]
    return [Jsonb(value, _dumps) for value in values] if kind == "jsonb" else values


def _moment(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} cannot be a value of a row")


_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_moment).encode
