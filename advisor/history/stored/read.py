"""Reads growth back from chunks, added up into windows, in the shape in which samples are read.

A subject costs no statement of its own: there are two, whatever is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import psycopg
from django.db import connection
from psycopg import sql

from advisor.core.chunk import UNKNOWN, unpack
from advisor.core.stored_hour import (
    QUARTER_S,
    QUARTER_SUMS,
    QUARTERS,
    WINDOW_S,
    Flags,
    Integers,
)
from advisor.models import Member
from ingest.core.canonical_figures import figures_of
from ingest.core.figures import FigureKind
from ingest.core.grid import LEAST_COVER, NOT_SENT, Grid, GridGrowth, microseconds
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR

ChunkKey = tuple[int, int, datetime]
"""A shard, the number of a figure, and the begin of an hour."""

Wanted = Mapping[FigureKind[Any], Sequence[Subject]]

_WINDOW_US = WINDOW_S * 1_000_000
_QUARTER_US = QUARTER_S * 1_000_000
_FOREVER = datetime.max.replace(tzinfo=UTC)


def read_sealed(
    organisation: int, kind: FigureKind[Any], subjects: Sequence[Subject], grid: Grid
) -> GridGrowth:
    """The growth of each subject in each window of sealed hours; a column per subject.

    What is not sealed is not known. A window that is no multiple of 10 s long takes its part of
    those that it lies in.
    """
    found = SealedHours(
        {kind: subjects}, grid, until=grid.until, organisations=frozenset({organisation})
    )
    return found.sums[kind].growth()


class SealedHours:
    """What is stored of subjects in the sealed hours of a grid that begin before `until`.

    `known` says of each kind which windows of 10 s of the grid `watched` are stored, (subjects,
    windows). `organisations` are those whose subjects are looked for, None for all.
    """

    def __init__(
        self,
        wanted: Wanted,
        grid: Grid,
        *,
        until: datetime,
        watched: Grid | None = None,
        organisations: Collection[int] | None = None,
    ) -> None:
        self._kinds = list(wanted)
        self._watched = watched
        self.sums = {
            kind: WindowSums(
                grid,
                counters=len(kind.counters),
                gauges=len(kind.gauges),
                subjects=len(subjects),
            )
            for kind, subjects in wanted.items()
        }
        self.known: dict[FigureKind[Any], Flags] = {
            kind: np.zeros((len(subjects), watched.count if watched else 0), dtype=np.bool_)
            for kind, subjects in wanted.items()
        }
        if grid.count and until > grid.since:
            shards, owners = _places(wanted, organisations)
            if shards:
                self._read(shards, owners, grid, until)

    def _read(
        self, shards: Mapping[int, _Shard], owners: Collection[int], grid: Grid, until: datetime
    ) -> None:
        # Sums are fewer, and windows of whole quarters are made of them exactly.
        is_of_quarters = not (grid.window_us % _QUARTER_US or grid.since_us % _QUARTER_US)
        in_quarters = is_of_quarters and self._watched is None
        # At the first edge gauges are asked for, which belong to the window before it.
        ahead = timedelta(seconds=WINDOW_S)
        figures = [QUARTER_SUMS] if in_quarters else _figures(self._kinds)
        asked = Hours(figures, grid.since - ahead - HOUR, until)
        chunks = read_chunks(owners, shards=shards, asked=[asked])
        step_us = _QUARTER_US if in_quarters else _WINDOW_US
        for (number, figure, at), data in chunks:
            shard, begin_us = shards[number], microseconds(at)
            kind, (own, columns) = shard.kind, shard.places(begin_us)
            # A chunk may be of before the shard had the column.
            lines = unpack(data, columns).T
            for row, values in _rows(kind, figure, lines).items():
                if row == len(kind.columns) and self._watched is not None:
                    self._note_known(kind, values, own, begin_us)
                self.sums[kind].add_row(row, values, own, begin_us=begin_us, step_us=step_us)

    def _note_known(
        self, kind: FigureKind[Any], lines: Integers, own: Integers, begin_us: int
    ) -> None:
        assert self._watched is not None
        first = (begin_us - self._watched.since_us) // _WINDOW_US
        low, high = max(first, 0), min(first + lines.shape[1], self._watched.count)
        if low < high:
            self.known[kind][own, low:high] = lines[:, low - first : high - first] != UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """Windows, and of which kinds something is read in them: whole ones, or parts of those."""

    grid: Grid
    kinds: tuple[FigureKind[Any], ...]

    def hours(self, until: datetime) -> Hours:
        """The chunks of hours that begin before `until`, which its windows are made of."""
        grid = self.grid
        # Sums are fewer, and windows of whole quarters are made of them exactly.
        is_of_quarters = not (grid.window_us % _QUARTER_US or grid.since_us % _QUARTER_US)
        figures = [QUARTER_SUMS] if is_of_quarters else _figures(self.kinds)
        return Hours(figures, grid.since - HOUR, min(until, grid.until))

    def sums(self, wanted: Wanted) -> dict[FigureKind[Any], WindowSums]:
        """Of the subjects that are wanted of each whole kind."""
        return {
            kind: WindowSums(
                self.grid,
                counters=len(kind.counters),
                gauges=len(kind.gauges),
                subjects=len(wanted[kind.whole]),
            )
            for kind in self.kinds
        }


def read_sealed_spans(
    wanted: Wanted, spans: Sequence[Span], *, until: datetime
) -> list[dict[FigureKind[Any], WindowSums]]:
    """What is stored of subjects in several spans, in the hours that begin before `until`.

    `wanted` are the subjects by whole kind. A chunk is unpacked once for all spans.
    """
    found = [span.sums(wanted) for span in spans]
    shards, owners = _places(wanted, None)
    asked = [span.hours(until) for span in spans]
    for (number, figure, at), data in read_chunks(owners, shards=shards, asked=asked):
        shard, begin_us = shards[number], microseconds(at)
        own, columns = shard.places(begin_us)
        lines = unpack(data, columns).T
        step_us = _QUARTER_US if figure == QUARTER_SUMS else _WINDOW_US
        for one, sums in zip(asked, found, strict=True):
            for kind in sums if figure in one.figures and one.since <= at < one.until else ():
                if kind.whole is shard.kind:
                    for row, values in _rows(kind, figure, lines).items():
                        sums[kind].add_row(row, values, own, begin_us=begin_us, step_us=step_us)
    return found


def _rows(kind: FigureKind[Any], figure: int, lines: Integers) -> dict[int, Integers]:
    """What a chunk has of the kind: lines by their place among the figures of the kind."""
    numbers = _figures([kind])
    if figure != QUARTER_SUMS:
        return {numbers.index(figure): lines} if figure in numbers else {}
    stored = lines.reshape(len(lines), -1, QUARTERS).swapaxes(0, 1)
    return dict(enumerate(stored[[_figures([kind.whole]).index(one) for one in numbers]]))


def _figures(kinds: Collection[FigureKind[Any]]) -> list[int]:
    return [figure.number for kind in kinds for figure in figures_of(kind)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shard:
    """Where subjects of a kind are in a shard: an array each, with an element per stay.

    The subject with the place `own` is in the column `stored` in the hours in [since, until).
    """

    kind: FigureKind[Any]
    own: Integers
    stored: Integers
    since_us: Integers
    until_us: Integers

    def places(self, hour_us: int) -> tuple[Integers, Integers]:
        """Subjects and their columns in an hour."""
        here = (self.since_us <= hour_us) & (hour_us < self.until_us)
        return self.own[here], self.stored[here]


def _places(
    wanted: Wanted, organisations: Collection[int] | None
) -> tuple[dict[int, _Shard], set[int]]:
    """The shards that the subjects are in, and whose they are, in one statement."""
    kinds = {kind.name: kind for kind, subjects in wanted.items() if subjects}
    own = {
        (name, subject): place
        for name, kind in kinds.items()
        for place, subject in enumerate(wanted[kind])
    }
    if not own:
        return {}, set()
    members = Member.objects.filter(
        track__kind__in=list(kinds),
        track__host__in={subject.host for _, subject in own},
        track__subject__in={subject.name for _, subject in own},
    )
    if organisations is not None:
        members = members.filter(track__organisation__in=organisations)
    stays: dict[tuple[str, int], list[tuple[datetime, int, int]]] = defaultdict(list)
    owners = set()
    for organisation, name, host, subject, device, since, shard, column in members.order_by(
        "track", "since"
    ).values_list(
        "track__organisation",
        "track__kind",
        "track__host",
        "track__subject",
        "track__device",
        "since",
        "shard_id",
        "column",
    ):
        place = own.get((name, Subject(host=host, name=subject, device=device)))
        if place is not None:
            stays[name, place].append((since, shard, column))
            owners.add(organisation)
    return _shards(kinds, stays), owners


def _shards(
    kinds: Mapping[str, FigureKind[Any]],
    stays: Mapping[tuple[str, int], Sequence[tuple[datetime, int, int]]],
) -> dict[int, _Shard]:
    """By shard; `stays` have the begin, shard and column of each subject in order of time."""
    rows: dict[tuple[int, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    for (name, place), own in stays.items():
        for (since, shard, column), (until, _, _) in pairwise([*own, (_FOREVER, 0, 0)]):
            rows[shard, name].append((place, column, microseconds(since), microseconds(until)))
    found = {}
    for (shard, name), columns in rows.items():
        places, stored, since_us, until_us = np.array(columns, dtype=np.int64).T
        found[shard] = _Shard(
            kind=kinds[name], own=places, stored=stored, since_us=since_us, until_us=until_us
        )
    return found


class WindowSums:
    """What counters of subjects grew by in windows of a grid, from pieces in any order.

    A piece is lines, (subjects, steps), of steps that follow one another; `own` are the places of
    its subjects. Where an edge of the grid lies within a step, the step is divided evenly.
    """

    def __init__(self, grid: Grid, *, counters: int, gauges: int, subjects: int) -> None:
        self._grid = grid
        # Lines of subjects and not of windows, because a piece is contiguous in time.
        self._sums = np.zeros((counters + 1, subjects, grid.count), dtype=np.int64)
        self._gauges = np.full((gauges, subjects, grid.count + 1), NOT_SENT, dtype=np.int64)

    def add_row(
        self, row: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Add steps of a counter, a gauge or the time covered, in this order in a kind."""
        counters, gauges = len(self._sums) - 1, len(self._gauges)
        if counters <= row < counters + gauges:
            self.note_gauge(row - counters, lines, own, begin_us=begin_us, step_us=step_us)
        else:
            self.add(min(row, counters), lines, own, begin_us=begin_us, step_us=step_us)

    def add(
        self, counter: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Add what one counter grew by in each step; the last counter is the time covered."""
        grid, end_us = self._grid, begin_us + lines.shape[1] * step_us
        low = max((begin_us - grid.since_us) // grid.window_us, 0)
        high = min(-((grid.since_us - end_us) // grid.window_us), grid.count)
        if low >= high:
            return
        target, known = self._sums[counter], np.maximum(lines, 0)
        rows = _consecutive(own)
        edges_us = grid.since_us + grid.window_us * np.arange(low, high + 1, dtype=np.int64)
        if grid.window_us == step_us and not (grid.since_us - begin_us) % step_us:
            first = (int(edges_us[0]) - begin_us) // step_us
            target[rows, low:high] += known[:, first : first + high - low]
            return
        total = np.zeros((len(lines), lines.shape[1] + 1), dtype=np.int64)
        np.cumsum(known, axis=1, out=total[:, 1:])
        steps, rest_us = np.divmod(np.clip(edges_us, begin_us, end_us) - begin_us, step_us)
        at_edges = total[:, steps]
        if rest_us.any():
            inside = np.minimum(steps, lines.shape[1] - 1)
            at_edges += np.rint(rest_us / step_us * known[:, inside]).astype(np.int64)
        target[rows, low:high] += np.diff(at_edges, axis=1)

    def note_gauge(
        self, gauge: int, lines: Integers, own: Integers, *, begin_us: int, step_us: int
    ) -> None:
        """Note what a gauge showed at the end of each step; what is known already stays."""
        grid = self._grid
        edges_us = grid.since_us + grid.window_us * np.arange(grid.count + 1, dtype=np.int64)
        steps = (edges_us - begin_us) // step_us - 1
        places = np.flatnonzero((steps >= 0) & (steps < lines.shape[1]))
        if not len(places):
            return
        here = np.ix_(own, places)
        before = self._gauges[gauge][here]
        self._gauges[gauge][here] = np.where(before == NOT_SENT, lines[:, steps[places]], before)

    def add_growth(
        self, found: GridGrowth, own: Sequence[int], *, without: Flags | None = None
    ) -> None:
        """Add windows that were read from samples, but those `without`, (subjects, windows)."""
        places = np.array(own, dtype=np.int64)
        begin_us, step_us = found.grid.since_us, found.grid.window_us
        covered_us = np.rint(found.seconds * 1e6).astype(np.int64)
        for counter, grown in enumerate([*found.growth, covered_us]):
            lines = grown.T if without is None else np.where(without, 0, grown.T)
            self.add(counter, lines, places, begin_us=begin_us, step_us=step_us)
        for gauge, values in enumerate(found.gauges):
            # It has one at the begin of the first window too.
            self.note_gauge(gauge, values.T, places, begin_us=begin_us - step_us, step_us=step_us)

    def growth(self) -> GridGrowth:
        """The windows; one that is covered too little is not known."""
        seconds = self._sums[-1].T / 1e6
        growth = self._sums[:-1]
        unknown = seconds < LEAST_COVER * self._grid.window_s
        if unknown.any():
            seconds[unknown] = 0.0
            growth[:, unknown.T] = 0
        return GridGrowth(
            grid=self._grid,
            growth=growth.swapaxes(1, 2),
            seconds=seconds,
            gauges=self._gauges.swapaxes(1, 2),
        )


def _consecutive(places: Integers) -> Integers | slice:
    """The places as a slice where they follow one another: such lines are added much faster."""
    first, count = int(places[0]) if len(places) else 0, len(places)
    is_slice = np.array_equal(places, np.arange(first, first + count))
    return slice(first, first + count) if is_slice else places


class Hours(NamedTuple):
    """The chunks of these figures, by their numbers, of hours that begin in [since, until)."""

    figures: Collection[int]
    since: datetime
    until: datetime


def read_chunks(
    organisations: Collection[int], *, shards: Collection[int], asked: Sequence[Hours]
) -> Iterator[tuple[ChunkKey, bytes]]:
    """The stored chunks that are asked for, each once, in one statement.

    They come one by one, so that a month of them need not fit into memory.
    """
    if not shards or not asked:
        return
    one_of = sql.SQL(" OR ").join([_OF_HOURS] * len(asked))
    first, last = min(one.since for one in asked), max(one.until for one in asked)
    parameters: list[object] = [list(organisations), list(shards), first, last]
    for one in asked:
        parameters += [list(one.figures), one.since, one.until]
    with connection.wrap_database_errors, binary_cursor() as cursor:
        found = cursor.stream(_CHUNKS.format(one_of=one_of), parameters, binary=True)
        for shard, figure, at, data in found:
            yield (shard, figure, at), data


_CHUNKS = sql.SQL("""
    SELECT shard_id, figure, at, data FROM advisor_history_chunk
     WHERE organisation_id = ANY(%s) AND shard_id = ANY(%s) AND at >= %s AND at < %s
       AND ({one_of})
""")
_OF_HOURS = sql.SQL("(figure = ANY(%s) AND at >= %s AND at < %s)")


def binary_cursor() -> psycopg.Cursor[tuple[Any, ...]]:
    """Bytes go to the server as they are; Django's own cursor would write them as text."""
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)
