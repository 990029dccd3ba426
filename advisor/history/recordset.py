"""Many rows as one value of a statement: an array for each column takes the driver much longer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any


def recordset(columns: Mapping[str, str]) -> str:
    """The rows of one parameter as a table expression, for columns of these types."""
    definition = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    return f"json_to_recordset(%s) AS new({definition})"


def rows_value(columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """The parameter: rows with a value for each of the columns."""
    names = list(columns)
    return json.dumps(
        [dict(zip(names, row, strict=True)) for row in rows],
        ensure_ascii=False,
        allow_nan=False,
        default=_text,
    )


def _text(value: object) -> str:
    """A value that JSON has no form for, as PostgreSQL reads it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    raise TypeError(f"{value!r} cannot be a value of a row")
