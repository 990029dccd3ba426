"""Rows in PostgreSQL's binary COPY format, which is the quickest way in.

The format: a header, per row the number of columns and per column its length and bytes, a
trailer; all integers in network order (PostgreSQL manual, COPY, "Binary Format").
"""

from collections.abc import Iterable
from functools import cache
from struct import Struct

from ingest.core.catalogue import FieldKind, Measurement
from ingest.core.stored_values import Value

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
# PostgreSQL counts time from 2000-01-01.
_EPOCH_US = 946_684_800_000_000
_COLUMN_BYTES = 8
_NULL = -1


def encode_rows(
    measurement: Measurement, rows: Iterable[tuple[int, int, tuple[Value, ...]]]
) -> bytes:
    """One COPY into a table of series (bigint), time (timestamptz) and the measurement's columns.

    A row is series id, time in microseconds since 1970, values.
    """
    return HEADER + encode_body(measurement, rows) + TRAILER


def encode_body(
    measurement: Measurement, rows: Iterable[tuple[int, int, tuple[Value, ...]]]
) -> bytes:
    """The same without header and trailer, so that the rows of several can be put together."""
    width = len(measurement.fields)
    column_count = 2 + width
    full_row = _row_format(measurement, (True,) * width)
    # Values and their lengths take turns, so a full row is one slice of this list.
    full: list[Value] = [column_count, *([_COLUMN_BYTES, 0] * column_count)]
    parts: list[bytes] = []
    for series_id, time_us, values in rows:
        at = time_us - _EPOCH_US
        assert len(values) == width, f"invariant encoded-row: {width} values make a row"
        assert series_id > 0, "invariant encoded-row: a row belongs to a stored series"
        if None not in values:
            full[2::2] = (series_id, at, *values)
            parts.append(full_row.pack(*full))
            continue
        arguments: list[Value] = [column_count, _COLUMN_BYTES, series_id, _COLUMN_BYTES, at]
        for value in values:
            arguments += (_NULL,) if value is None else (_COLUMN_BYTES, value)
        present = tuple(value is not None for value in values)
        parts.append(_row_format(measurement, present).pack(*arguments))
    return b"".join(parts)


@cache
def _row_format(measurement: Measurement, present: tuple[bool, ...]) -> Struct:
    columns = "".join(
        ("id" if column.kind is FieldKind.NUMBER else "iq") if there else "i"
        for column, there in zip(measurement.fields, present, strict=True)
    )
    return Struct("!hiqiq" + columns)
