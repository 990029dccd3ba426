"""Statements that fetch readings of many series at once, packed, from rows of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from psycopg import sql

from ingest.binary_cursor import binary_cursor
from ingest.core.figures import FigureKind
from ingest.core.grid import EPOCH, NOT_SENT, Integers, microseconds

POSTGRES_EPOCH_US = microseconds(EPOCH.replace(year=2000))
"""PostgreSQL counts time from here."""

_IN_TIME = """
           time >= %(since)s AND time <= %(until)s
       -- So the index by time can be used, which is of this expression.
       AND time AT TIME ZONE 'UTC' >= %(since)s::timestamptz AT TIME ZONE 'UTC'
       AND time AT TIME ZONE 'UTC' <= %(until)s::timestamptz AT TIME ZONE 'UTC'
"""
EVERY = f"""
    SELECT string_agg({{row}}, ''::bytea) FROM {{table}} AS sample
     WHERE series_id = ANY(%(series)s::bigint[]) AND {_IN_TIME}
     GROUP BY series_id %% 64
"""  # noqa: S608  # of this file
NEW = f"""
    SELECT string_agg({{row}}, ''::bytea) FROM {{table}} AS sample
     WHERE series_id + 0 = ANY(%(series)s::bigint[]) AND {_IN_TIME}
    HAVING count(*) > 0
"""  # noqa: S608  # of this file
"""Without the sum the planner weighs each of the series by itself, which takes half the time."""
_OF_EACH_SERIES = """{name} AS MATERIALIZED (
    SELECT {place}::int8, series_id + 0, string_agg({reading}, ''::bytea) FROM {table} AS sample
     WHERE series_id = ANY({series}::bigint[]) AND time >= {since} AND time <= {until}
     GROUP BY series_id + 0
)"""
"""The series is said once for all of its readings; they come as they are found, mostly by time.

The sum keeps the planner from reading all series in the order of an index to group them, and what
is materialized from starting processes for each kind, which take longer than they help.
"""
LAST_OF_EACH_STEP = """
    SELECT string_agg({row}, ''::bytea)
      FROM unnest(%(series)s::bigint[]) AS wanted(id)
     CROSS JOIN generate_series(
        %(since)s::timestamptz, %(until)s::timestamptz - %(step)s::interval, %(step)s::interval
     ) AS step(start)
     CROSS JOIN LATERAL (
        SELECT * FROM {table}
         WHERE series_id = wanted.id AND time > step.start
           AND time <= step.start + %(step)s::interval
         ORDER BY time DESC LIMIT 1
     ) AS sample
     GROUP BY series_id %% 64
"""
"""One look-up in the index per series and step: the cost follows the windows, not the samples."""
AROUND = """
    SELECT string_agg({row}, ''::bytea)
      FROM unnest(%(series)s::bigint[]) AS wanted(id)
     CROSS JOIN LATERAL (
        (SELECT * FROM {table}
          WHERE series_id = wanted.id AND time < %(since)s AND time >= %(from)s
          ORDER BY time DESC LIMIT 2)
        UNION ALL
        (SELECT * FROM {table}
          WHERE series_id = wanted.id AND time > %(until)s AND time <= %(to)s
          ORDER BY time LIMIT 1)
     ) AS sample
     GROUP BY series_id %% 64
"""
"""The two readings before: an interval is judged by the one before it."""


NEWEST = """
    SELECT string_agg({row}, ''::bytea)
      FROM unnest(%(series)s::bigint[]) AS wanted(id)
     CROSS JOIN LATERAL (
        SELECT * FROM {table}
         WHERE series_id = wanted.id AND time > %(since)s AND time <= %(until)s
         ORDER BY time DESC LIMIT %(most)s
     ) AS sample
     GROUP BY series_id %% 64
"""


def fetch(statement: str, kind: FigureKind[Any], parameters: dict[str, Any]) -> Integers:
    """Series, time in microseconds since 1970, and columns of each reading, (readings, 2 + n).

    The readings of many series come as one value: a row for each costs much more. If they may be
    of a long time it is not one for all of them, because a value is limited to 1 GB.
    """
    row = sql.SQL("int8send(sample.series_id) || {}").format(_reading(kind))
    query = sql.SQL(statement).format(row=row, table=sql.Identifier(kind.measurement.table))
    with binary_cursor() as cursor:
        cursor.execute(query, parameters)
        parts = cursor.fetchall()
    packed = b"".join(part for (part,) in parts)
    found = np.frombuffer(packed, dtype=">i8").astype(np.int64).reshape(-1, 2 + len(kind.columns))
    found[:, 1] += POSTGRES_EPOCH_US
    return found


def fetch_by_series(
    asked: Mapping[FigureKind[Any], Mapping[str, Any]],
) -> dict[FigureKind[Any], Integers]:
    """The same of series with many readings each, in order of the series; of all kinds at once."""
    if not asked:
        return {}
    kinds = list(asked)
    parts: list[sql.Composable] = []
    parameters: dict[str, Any] = {}
    for place, kind in enumerate(kinds):
        parameters |= {f"{name}_{place}": value for name, value in asked[kind].items()}
        parts.append(
            sql.SQL(_OF_EACH_SERIES).format(
                name=sql.Identifier(f"kind_{place}"),
                place=sql.Literal(place),
                reading=_reading(kind),
                table=sql.Identifier(kind.measurement.table),
                **{name: sql.Placeholder(f"{name}_{place}") for name in asked[kind]},
            )
        )
    every = [sql.SQL(f"SELECT * FROM kind_{place}") for place in range(len(kinds))]  # noqa: S608  # of this file
    query = sql.SQL("WITH {} {}").format(
        sql.SQL(", ").join(parts), sql.SQL(" UNION ALL ").join(every)
    )
    with binary_cursor() as cursor:
        cursor.execute(query, parameters)
        rows = sorted(cursor.fetchall(), key=itemgetter(0, 1))
    return {
        kind: _unpacked(kind, [(one, part) for own, one, part in rows if own == place])
        for place, kind in enumerate(kinds)
    }


def _unpacked(kind: FigureKind[Any], parts: Sequence[tuple[int, bytes]]) -> Integers:
    """The readings of each of the series, which come packed."""
    width = 1 + len(kind.columns)
    readings = np.frombuffer(b"".join(part for _, part in parts), dtype=">i8").reshape(-1, width)
    found = np.empty((len(readings), 1 + width), dtype=np.int64)
    found[:, 0] = np.repeat(
        np.array([series for series, _ in parts], dtype=np.int64),
        [len(part) // (width * readings.itemsize) for _, part in parts],
    )
    found[:, 1:] = readings
    found[:, 1] += POSTGRES_EPOCH_US
    return found


def _reading(kind: FigureKind[Any]) -> sql.Composable:
    """The time and the columns of a reading, as bytes."""
    columns = [
        sql.SQL("int8send(coalesce(sample.{}, {}))").format(sql.Identifier(name), NOT_SENT)
        for name in kind.columns
    ]
    return sql.SQL(" || ").join([sql.SQL("timestamptz_send(sample.time)"), *columns])


def no_rows(kind: FigureKind[Any]) -> Integers:
    return np.empty((0, 2 + len(kind.columns)), dtype=np.int64)
