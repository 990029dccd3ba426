"""Reads what counters grew by on a grid of windows from rows of samples, many subjects at once.

What is not in the history yet is only there, and what was sealed hours ago is not.

A subject costs no statement of its own: there are at most two for each kind, and one for all.
Many windows of all kinds take one statement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection

from ingest.core.figures import FigureKind
from ingest.core.grid import (
    EPOCH,
    LONGEST_INTERVAL_S,
    SNAP_RATIO,
    SURE_INTERVAL_S,
    Flags,
    Grid,
    GridGrowth,
    Integers,
    Merging,
    Readings,
    merging,
    on_grid,
    totals_of_rates,
)
from ingest.core.mapping import Form
from ingest.fetched_readings import fetch, fetch_by_series, no_rows
from ingest.open_hours import HOUR
from ingest.sample_reads import Asked, Way


class Subject(NamedTuple):
    """What counters are about: a device, an interface, or a cgroup on a device (`major:minor`).

    `device` is empty but for kinds whose subjects have a series per device.
    """

    host: int
    name: str
    device: str = ""


MANY_WINDOWS = 60
"""From so many on, readings are fetched series by series."""
COARSE_WINDOW_S = 120.0
"""Windows from this length on are made of the last reading in each, not of all readings."""
NEW_WINDOWS, MANY_SERIES = 3, 1_000
"""Up to so many windows of at least so many series are read by time, whatever series it finds."""
FEW = 0.05
"""Readings beyond the edges are looked up for this part of the series at most; those of more are
read with the windows."""


def read_growth(kind: FigureKind[Any], subjects: Sequence[Subject], grid: Grid) -> GridGrowth:
    """The growth of each subject in each window; a column per subject, in the order given."""
    return read_growths({kind: subjects}, grid)[kind]


def read_growths(
    wanted: Mapping[FigureKind[Any], Sequence[Subject]],
    grid: Grid,
    *,
    known: SeriesOfSubjects | None = None,
) -> dict[FigureKind[Any], GridGrowth]:
    """The same for several kinds; a kind without subjects costs no statement.

    `known` are the series of just these subjects, if they were read already.
    """
    columns = series_of(wanted) if known is None else known
    coarse_s = grid.window_s if grid.window_s >= COARSE_WINDOW_S else 0.0
    rows = _many_rows(columns, grid) if grid.count >= MANY_WINDOWS and not coarse_s else {}
    found = {}
    for kind, own in columns.items():
        growth = on_grid(
            _readings(kind, own, grid, coarse_s, rows.get(kind)),
            grid,
            series_count=len(own.series),
            counters=len(kind.counters),
            wide=kind.wide,
            needed=kind.needed,
            # A total goes on in a gap that a step is longer than; a rate says nothing of it.
            step_s=np.where(own.are_rates, 0.0, coarse_s) if own.are_rates.any() else coarse_s,
        )
        found[kind] = growth.merged(own.merging)
    return found


def read_newest(
    kind: FigureKind[Any], subject: Subject, *, most: int, since: datetime, until: datetime
) -> list[tuple[Integers, Integers]]:
    """Of each series of the subject up to so many of the newest readings in (since, until].

    They are times in microseconds and counters (readings, counters), in order of time.
    """
    (wanted,) = series_of({kind: [subject]}).values()
    asked = Asked(series=wanted.array, since=since, until=until, most=most)
    rows = fetch(Way.NEWEST, kind, asked) if len(wanted.series) else no_rows(kind)
    counters = len(kind.counters)
    found = totals_of_rates(_in_order(rows, wanted.series), wanted.are_rates, counters=counters)
    return [
        (found.at_us[own], found.values[own, :counters])
        for place in reversed(range(len(wanted.series)))
        if (own := found.series == place).any()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPart:
    """What of a stretch of time is in rows of samples and not in the history yet.

    In the hours from `since` on, of those that begin at `whole_since` or later, all rows are
    there. Late samples of the `late_hosts` came for hours before that, from `late_since` to
    `late_until`, whose other rows may be gone. None is no such hour.
    """

    whole_since: datetime
    since: datetime | None
    late_since: datetime | None
    late_until: datetime | None
    late_hosts: frozenset[int]


def open_part(hosts: Collection[int], *, since: datetime, until: datetime) -> OpenPart:
    """That of the hours of these hosts that reach into the time, in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH whole AS (
                -- An hour is read with the samples before it.
                SELECT coalesce(max(since), %s) + interval '1 hour' AS since
                  FROM ingest_keptrows
            )
            SELECT whole.since,
                   min(open.at) FILTER (WHERE open.at >= whole.since),
                   min(open.at) FILTER (WHERE open.at < whole.since),
                   max(open.at) FILTER (WHERE open.at < whole.since) + interval '1 hour',
                   array_agg(DISTINCT open.host_id) FILTER (WHERE open.at < whole.since)
              FROM whole
              LEFT JOIN ingest_openhour AS open
                ON open.host_id = ANY(%s::bigint[]) AND open.at > %s AND open.at < %s
             GROUP BY whole.since
            """,
            [EPOCH, array_of(hosts), since - HOUR, until],
        )
        whole_since, first, late_since, late_until, late_hosts = cursor.fetchone()
    return OpenPart(
        whole_since=whole_since,
        since=first,
        late_since=late_since,
        late_until=late_until,
        late_hosts=frozenset(late_hosts or ()),
    )


@dataclass(kw_only=True, eq=False)
class SubjectSeries:
    """The keys of the series of subjects, in the order of the subjects, the newest first.

    `rates` are those whose readings are rates. `sends_between` says how they are read at the least
    cost: many had no reading at the edges of the windows that were read last.
    """

    by_subject: Sequence[Sequence[int]]
    rates: frozenset[int] = frozenset()
    sends_between: bool = False

    @cached_property
    def series(self) -> Integers:
        """All of them, in order."""
        return np.unique([one for own in self.by_subject for one in own]).astype(np.int64)

    @cached_property
    def array(self) -> str:
        """The same, as PostgreSQL reads it."""
        return array_of(self.series.tolist())

    @cached_property
    def are_rates(self) -> Flags:
        """(series): whether the readings of each are rates."""
        return np.isin(self.series, np.array(sorted(self.rates), dtype=np.int64))

    @cached_property
    def with_rates(self) -> SubjectSeries:
        """Those of the series whose readings are rates."""
        return SubjectSeries(by_subject=[self.series[self.are_rates].tolist()])

    @cached_property
    def with_totals(self) -> SubjectSeries:
        """The others."""
        return SubjectSeries(by_subject=[self.series[~self.are_rates].tolist()])

    @cached_property
    def merging(self) -> Merging:
        """Which of the series are those of each subject."""
        place = {one: index for index, one in enumerate(self.series.tolist())}
        return merging([[place[one] for one in own] for own in self.by_subject])


SeriesOfSubjects = Mapping[FigureKind[Any], SubjectSeries]


def series_of(wanted: Mapping[FigureKind[Any], Sequence[Subject]]) -> SeriesOfSubjects:
    """The series of each subject, the newest first."""
    every = [subject for subjects in wanted.values() for subject in subjects]
    found: dict[tuple[str, int, str, str], list[int]] = defaultdict(list)
    rates: set[int] = set()
    if every:
        by_device = {kind.measurement.name: kind.by_device for kind in wanted}
        asked: dict[str, list[str] | list[int]] = {
            "measurements": [kind.measurement.name for kind in wanted if wanted[kind]],
            "hosts": list({subject.host for subject in every}),
            "subjects": list({subject.name for subject in every}),
        }
        with connection.cursor() as cursor:
            cursor.execute(_SERIES, asked)
            rows = cursor.fetchall()
        for pk, measurement, host, name, device, form in rows:
            of = device or "" if by_device[measurement] else ""
            found[measurement, host, name, of].append(pk)
            if form == Form.RATE:
                rates.add(pk)
    return {
        kind: SubjectSeries(
            by_subject=[
                found[kind.measurement.name, subject.host, subject.name, subject.device]
                for subject in subjects
            ],
            rates=frozenset(rates),
        )
        for kind, subjects in wanted.items()
    }


_SERIES = """
    SELECT id, measurement, host_id, subject, tags ->> 'device', form FROM ingest_series
     WHERE measurement = ANY(%(measurements)s) AND host_id = ANY(%(hosts)s)
       AND subject = ANY(%(subjects)s)
     ORDER BY id DESC
"""
"""Only cgroups are told apart by device; the text of one tag is read faster than all tags."""


def _many_rows(columns: SeriesOfSubjects, grid: Grid) -> dict[FigureKind[Any], Integers]:
    """Those of many windows, of all kinds that have series; each is said once for its readings."""
    return fetch_by_series(
        {kind: _asked(own, grid, 0.0) for kind, own in columns.items() if len(own.series)}
    )


def _readings(
    kind: FigureKind[Any],
    wanted: SubjectSeries,
    grid: Grid,
    coarse_s: float,
    rows: Integers | None,
) -> Readings:
    """All readings that make the windows: those in them, and those on both sides of them.

    `rows` are those in them where they were fetched already.
    """
    if not wanted.are_rates.any():
        return _sent(kind, wanted, grid, coarse_s, rows)
    if not coarse_s:
        found = _sent(kind, wanted, grid, 0.0, rows)
    else:
        # Rates add up to totals only if each of them is there.
        found = _together(
            wanted.series,
            (wanted.with_totals, _sent(kind, wanted.with_totals, grid, coarse_s)),
            (wanted.with_rates, _sent(kind, wanted.with_rates, grid, 0.0)),
        )
    return totals_of_rates(found, wanted.are_rates, counters=len(kind.counters))


def _together(series: Integers, *parts: tuple[SubjectSeries, Readings]) -> Readings:
    """The readings of several parts of these series as those of one."""
    own = np.concatenate(
        [np.searchsorted(series, part.series)[found.series] for part, found in parts]
    )
    at_us = np.concatenate([found.at_us for _, found in parts])
    values = np.concatenate([found.values for _, found in parts])
    order = np.lexsort((at_us, own))
    return Readings(series=own[order], at_us=at_us[order], values=values[order])


def _sent(
    kind: FigureKind[Any],
    wanted: SubjectSeries,
    grid: Grid,
    coarse_s: float,
    rows: Integers | None = None,
) -> Readings:
    """The same, as they were sent."""
    if not len(wanted.series) or not grid.count:
        return _in_order(no_rows(kind), wanted.series)
    asked = _asked(wanted, grid, coarse_s)
    if rows is None:
        rows = _rows(kind, wanted, grid, coarse_s)
    found = _in_order(rows, wanted.series)
    lacking = ~_enclosed(found, len(wanted.series), grid)
    if not lacking.any():
        return found
    wanted.sends_between |= bool(lacking.mean() > FEW)
    around = replace(
        asked,
        series=array_of(wanted.series[lacking].tolist()),
        reach=2 * timedelta(seconds=LONGEST_INTERVAL_S),
    )
    more = fetch(Way.AROUND, kind, around)
    return _in_order(np.concatenate([rows, more]), wanted.series)


def _rows(kind: FigureKind[Any], wanted: SubjectSeries, grid: Grid, coarse_s: float) -> Integers:
    if grid.count >= MANY_WINDOWS and not coarse_s:
        return _many_rows({kind: wanted}, grid)[kind]
    is_new = grid.count <= NEW_WINDOWS and len(wanted.series) >= MANY_SERIES
    way = Way.LAST_OF_EACH_STEP if coarse_s else Way.NEW if is_new else Way.EVERY
    return fetch(way, kind, _asked(wanted, grid, coarse_s))


def _asked(wanted: SubjectSeries, grid: Grid, coarse_s: float) -> Asked:
    """What is fetched with the windows."""
    window = timedelta(microseconds=grid.window_us)
    # Where readings are at the edges, none beyond them is of any use.
    beyond = window if coarse_s or wanted.sends_between else SNAP_RATIO * window
    return Asked(
        series=wanted.array, since=grid.since - beyond, until=grid.until + beyond, reach=window
    )


def array_of(numbers: Iterable[int]) -> str:
    """An array of integers as PostgreSQL reads it; the driver takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _in_order(rows: Integers, series: Integers) -> Readings:
    """The readings in order of series and time; `series` are in order."""
    own, at_us = np.searchsorted(series, rows[:, 0]), rows[:, 1].copy()
    step = np.diff(own)
    if ((step > 0) | ((step == 0) & (np.diff(at_us) >= 0))).all():
        return Readings(series=own, at_us=at_us, values=rows[:, 2:])
    order = np.lexsort((at_us, own))
    return Readings(series=own[order], at_us=rows[order, 1], values=rows[order, 2:])


def _enclosed(found: Readings, series_count: int, grid: Grid) -> npt.NDArray[np.bool_]:
    """The series with readings before the first edge and after the last one. (series)

    The interval over the first edge must be such as can be judged, if need be by the one before.
    """
    begun = found.at_us <= grid.since_us
    count = np.bincount(found.series[begun], minlength=series_count)
    ends = np.bincount(found.series[found.at_us >= grid.until_us], minlength=series_count) > 0
    is_sure = count > 1
    # Of a series with one reading before the edge, that and the next one.
    only = np.flatnonzero(begun & (count[found.series] == 1))
    only = only[ends[found.series[only]]]
    interval_us = found.at_us[only + 1] - found.at_us[only]
    is_sure[found.series[only]] = interval_us <= SURE_INTERVAL_S * 1e6
    enclosed: npt.NDArray[np.bool_] = is_sure & ends
    return enclosed
