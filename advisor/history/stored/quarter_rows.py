"""Rows of quarters of an hour: written when the hour is sealed, read by SQL and charts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from django.db import connection
from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.pq import Format

from advisor.core.stored_hour import QUARTER_S, QuarterValues
from ingest.core.grid import microseconds
from ingest.fetched_readings import POSTGRES_EPOCH_US

QUARTER = timedelta(seconds=QUARTER_S)
_QUARTER_US = QUARTER_S * 1_000_000


def write_quarters(
    organisation: int, hour: datetime, tracks: Sequence[int], quarters: QuarterValues
) -> None:
    """Write the quarters of this hour in which anything of a track is known."""
    places, columns = np.nonzero(quarters.known)
    own = np.array(tracks, dtype=np.int64)[columns]
    means = quarters.mean[:, places, columns]
    largest = quarters.maximum[:, places, columns]
    starts_us = microseconds(hour) - POSTGRES_EPOCH_US + _QUARTER_US * places
    # The log of Django's cursor could not show such arrays.
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.adapters.register_dumper(_Array, _ArrayDumper)
        cursor.execute(
            _statement(len(means)),
            [
                _Array(_INT4, own.astype(">i4")),
                _Array(_TIMESTAMPTZ, starts_us.astype(">i8")),
                *(_Array(_FLOAT4, row.astype(">f4")) for row in [*means, *largest]),
                organisation,
            ],
        )


def _statement(figures: int) -> sql.Composed:
    """One array per figure on the way in: PostgreSQL has no array of arrays to unnest."""
    means = [sql.Identifier(f"mean_{place}") for place in range(figures)]
    largest = [sql.Identifier(f"maximum_{place}") for place in range(figures)]
    comma = sql.SQL(", ")
    return sql.SQL(
        """
        WITH new AS (
            SELECT * FROM unnest(%b::int[], %b::timestamptz[], {arrays})
                AS new(track, at, {columns})
        )
        INSERT INTO advisor_history_quarter AS stored
               (organisation_id, track_id, at, mean, maximum)
        SELECT %b, track, at, ARRAY[{means}], ARRAY[{largest}] FROM new
            ON CONFLICT (organisation_id, track_id, at)
            DO UPDATE SET mean = excluded.mean, maximum = excluded.maximum
            WHERE (stored.mean, stored.maximum) IS DISTINCT FROM (excluded.mean, excluded.maximum)
        """
    ).format(
        arrays=comma.join([sql.SQL("%b::real[]")] * (2 * figures)),
        columns=comma.join([*means, *largest]),
        means=comma.join(means),
        largest=comma.join(largest),
    )


_INT4, _FLOAT4, _TIMESTAMPTZ = 23, 700, 1184
"""What PostgreSQL calls the types of elements."""
_ONE_DIMENSION = struct.Struct(">iiiii")


@dataclass(frozen=True, slots=True, eq=False)
class _Array:
    """Numbers in the order of the network, and the type of an element; NaN is NULL.

    Passing a list of them to the driver takes ten times as long.
    """

    element: int
    values: npt.NDArray[Any]


class _ArrayDumper(Dumper):
    """As PostgreSQL sends and takes arrays; the statement says their types."""

    format = Format.BINARY

    def dump(self, obj: _Array) -> bytes:
        """The bytes: the length comes before each value, and alone if it is NULL."""
        count, size = len(obj.values), obj.values.itemsize
        is_null = obj.values != obj.values
        cells = np.empty((count, 4 + size), dtype=np.uint8)
        lengths = np.where(is_null, -1, size).astype(">i4")
        cells[:, :4] = lengths.view(np.uint8).reshape(count, 4)
        cells[:, 4:] = np.ascontiguousarray(obj.values).view(np.uint8).reshape(count, size)
        is_sent = np.ones(cells.shape, dtype=np.bool_)
        is_sent[is_null, 4:] = False
        head = _ONE_DIMENSION.pack(1, int(is_null.any()), obj.element, count, 1)
        return head + cells[is_sent].tobytes()
