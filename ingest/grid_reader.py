"""Reads what counters grew by on a grid of windows, for any number of subjects at once.

A subject costs no statement of its own: there are at most two for each kind, and one for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection
from django.db.models.fields.json import KT
from psycopg import sql

from ingest.core.figures import FigureKind, FiguresT
from ingest.core.grid import (
    LONGEST_INTERVAL_S,
    NOT_SENT,
    SURE_INTERVAL_S,
    Grid,
    GridGrowth,
    Integers,
    Readings,
    on_grid,
)
from ingest.core.microseconds import EPOCH, microseconds
from ingest.models import Series


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Subject:
    """What counters are about: a device, an interface, or a cgroup on a device (`major:minor`).

    `device` is empty but for kinds whose subjects have a series per device.
    """

    host: int
    name: str
    device: str = ""


POSTGRES_EPOCH_US = microseconds(EPOCH.replace(year=2000))
"""PostgreSQL counts time from here."""
COARSE_WINDOW_S = 120.0
"""Windows from this length on are made of the last reading in each, not of all readings."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was read of subjects of several kinds, each subject once, on one grid."""

    grid: Grid
    places: Mapping[FigureKind[Any], Mapping[Subject, int]]
    growth: Mapping[FigureKind[Any], GridGrowth]

    def figures(self, kind: FigureKind[FiguresT], subjects: Sequence[Subject]) -> FiguresT:
        """Those of the subjects, which were all read, a column for each in the order given."""
        places = self.places[kind]
        return kind.figures(self.growth[kind].chosen([places[one] for one in subjects]))


def read_measured(wanted: Mapping[FigureKind[Any], Collection[Subject]], grid: Grid) -> Measured:
    """What each subject did in each window; one that is wanted twice is read once."""
    once = {kind: list(dict.fromkeys(subjects)) for kind, subjects in wanted.items()}
    return Measured(
        grid=grid,
        places={kind: {one: at for at, one in enumerate(own)} for kind, own in once.items()},
        growth=read_growths(once, grid),
    )


def read_growth(kind: FigureKind[Any], subjects: Sequence[Subject], grid: Grid) -> GridGrowth:
    """The growth of each subject in each window; a column per subject, in the order given."""
    return read_growths({kind: subjects}, grid)[kind]


def read_growths(
    wanted: Mapping[FigureKind[Any], Sequence[Subject]], grid: Grid
) -> dict[FigureKind[Any], GridGrowth]:
    """The same for several kinds; a kind without subjects costs no statement."""
    columns = _series_of(wanted)
    coarse_s = grid.window_s if grid.window_s >= COARSE_WINDOW_S else 0.0
    found = {}
    for kind, own in columns.items():
        series = sorted({one for ids in own for one in ids})
        place = {one: index for index, one in enumerate(series)}
        growth = on_grid(
            _readings(kind, series, grid, coarse_s),
            grid,
            series_count=len(series),
            counters=len(kind.counters),
            wide=kind.wide,
            step_s=coarse_s,
        )
        found[kind] = growth.merged([[place[one] for one in ids] for ids in own])
    return found


def read_newest(
    kind: FigureKind[Any], subject: Subject, *, most: int, since: datetime, until: datetime
) -> list[tuple[Integers, Integers]]:
    """Of each series of the subject up to so many of the newest readings in (since, until].

    They are times in microseconds and counters (readings, counters), in order of time.
    """
    ((series,),) = _series_of({kind: [subject]}).values()
    parameters = {"series": series, "since": since, "until": until, "most": most}
    parts = _fetch(_NEWEST, kind, parameters) if series else []
    found = []
    for _, rows in sorted(parts, key=lambda part: series.index(part[0])):
        ordered = rows[np.argsort(rows[:, 0])]
        found.append((ordered[:, 0], ordered[:, 1 : 1 + len(kind.counters)]))
    return found


def _series_of(
    wanted: Mapping[FigureKind[Any], Sequence[Subject]],
) -> dict[FigureKind[Any], list[list[int]]]:
    """The series of each subject, the newest first."""
    every = [subject for subjects in wanted.values() for subject in subjects]
    found: dict[tuple[str, int, str, str], list[int]] = defaultdict(list)
    if every:
        by_device = {kind.measurement.name: kind.by_device for kind in wanted}
        rows = Series.objects.filter(
            measurement__in=[kind.measurement.name for kind in wanted if wanted[kind]],
            host__in={subject.host for subject in every},
            subject__in={subject.name for subject in every},
        )
        # Only cgroups are told apart by device; the text of one tag is read faster than all tags.
        fields = ("pk", "measurement", "host_id", "subject", KT("tags__device"))
        for pk, measurement, host, name, device in rows.order_by("-pk").values_list(*fields):
            of = device or "" if by_device[measurement] else ""
            found[measurement, host, name, of].append(pk)
    return {
        kind: [
            found[kind.measurement.name, subject.host, subject.name, subject.device]
            for subject in subjects
        ]
        for kind, subjects in wanted.items()
    }


def _readings(
    kind: FigureKind[Any], series: Sequence[int], grid: Grid, coarse_s: float
) -> Readings:
    """All readings that make the windows: those in them, and those on both sides of them."""
    window = timedelta(microseconds=grid.window_us)
    times = {"since": grid.since - window, "until": grid.until + window}
    parts = []
    if series and grid.count:
        statement = _LAST_OF_EACH_STEP if coarse_s else _EVERY
        parts = _fetch(statement, kind, {**times, "series": list(series), "step": window})
        lacking = _not_enclosed(parts, series, grid)
        if lacking:
            reach = timedelta(seconds=LONGEST_INTERVAL_S)
            around = {"from": times["since"] - 2 * reach, "to": times["until"] + reach}
            parts += _fetch(_AROUND, kind, {**times, **around, "series": lacking})
    return _together(parts, series, width=len(kind.columns))


Part = tuple[int, Integers]
"""A series, and its readings: time in microseconds since 1970 and columns, (readings, 1 + n)."""

_EVERY = """
    SELECT series_id, string_agg({row}, ''::bytea) FROM {table}
     WHERE series_id = ANY(%(series)s) AND time >= %(since)s AND time <= %(until)s
     GROUP BY series_id
"""
_LAST_OF_EACH_STEP = """
    SELECT wanted.id, string_agg({row}, ''::bytea)
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
     GROUP BY wanted.id
"""
"""One look-up in the index per series and step: the cost follows the windows, not the samples."""
_AROUND = """
    SELECT wanted.id, string_agg({row}, ''::bytea)
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
     GROUP BY wanted.id
"""
"""The two readings before: an interval is judged by the one before it."""


_NEWEST = """
    SELECT wanted.id, string_agg({row}, ''::bytea)
      FROM unnest(%(series)s::bigint[]) AS wanted(id)
     CROSS JOIN LATERAL (
        SELECT * FROM {table}
         WHERE series_id = wanted.id AND time > %(since)s AND time <= %(until)s
         ORDER BY time DESC LIMIT %(most)s
     ) AS sample
     GROUP BY wanted.id
"""


def _fetch(statement: str, kind: FigureKind[Any], parameters: dict[str, Any]) -> list[Part]:
    """One row per series with all its readings as bytes: a row per reading costs much more."""
    row = sql.SQL(" || ").join(
        [
            sql.SQL("timestamptz_send(time)"),
            *(
                sql.SQL("int8send(coalesce({}, {}))").format(sql.Identifier(name), NOT_SENT)
                for name in kind.columns
            ),
        ]
    )
    query = sql.SQL(statement).format(row=row, table=sql.Identifier(kind.measurement.table))
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        rows = cursor.fetchall()
    width = 1 + len(kind.columns)
    return [(series, _unpacked(packed, width)) for series, packed in rows]


def _unpacked(packed: bytes, width: int) -> Integers:
    found = np.frombuffer(packed, dtype=">i8").astype(np.int64).reshape(-1, width)
    found[:, 0] += POSTGRES_EPOCH_US
    return found


def _not_enclosed(parts: Sequence[Part], series: Sequence[int], grid: Grid) -> list[int]:
    """The series of which a reading before the first edge or after the last one is lacking."""
    enclosed = {
        one
        for one, rows in parts
        if rows[:, 0].max() >= grid.until_us and _has_begin(np.sort(rows[:, 0]), grid.since_us)
    }
    return [one for one in series if one not in enclosed]


def _has_begin(at_us: Integers, since_us: int) -> bool:
    """Whether the interval over the first edge can be judged, if need be by the one before it."""
    begun = int(np.searchsorted(at_us, since_us, side="right"))
    if begun != 1:
        return begun > 1
    return int(at_us[1] - at_us[0]) <= SURE_INTERVAL_S * 1e6


def _together(parts: Sequence[Part], series: Sequence[int], *, width: int) -> Readings:
    """The readings in order of series and time."""
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        return Readings(series=nothing, at_us=nothing, values=np.empty((0, width), dtype=np.int64))
    place = {one: index for index, one in enumerate(series)}
    own = np.concatenate([np.full(len(rows), place[one], dtype=np.int64) for one, rows in parts])
    rows = np.concatenate([rows for _, rows in parts])
    order = np.lexsort((rows[:, 0], own))
    return Readings(series=own[order], at_us=rows[order, 0], values=rows[order, 1:])
