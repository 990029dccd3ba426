"""Reads growth back from chunks, added up into windows, in the shape in which samples are read.

A subject costs no statement of its own: there are two, or three, whatever is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from psycopg import sql

from advisor.core.chunk import UNKNOWN, unpack
from advisor.core.stored_hour import (
    FIVE_MINUTE_SUMS,
    QUARTER_S,
    QUARTER_SUMS,
    STEPS_OF_SUMS,
    WINDOW_S,
    Flags,
    Integers,
)
from advisor.history.stored.window_sums import WindowSums
from advisor.models import Member
from ingest.binary_cursor import streamed
from ingest.core.canonical_figures import figures_of
from ingest.core.figures import FigureKind
from ingest.core.grid import Grid, GridGrowth, microseconds, moment
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR

ChunkKey = tuple[int, int, datetime]
"""A shard, the number of a figure, and the begin of an hour."""

Wanted = Mapping[FigureKind[Any], Sequence[Subject]]

_WINDOW_US = WINDOW_S * 1_000_000
_QUARTER_US = QUARTER_S * 1_000_000
_HOUR_US = 3_600_000_000
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
        # Sums are fewer, and windows of whole steps are made of them exactly.
        number = _sums_for(grid) if self._watched is None else None
        exact = _figures(self._kinds)
        # At the first edge gauges are asked for, which belong to the window before it.
        since = grid.since - timedelta(seconds=WINDOW_S)
        found = set()
        asked = Hours(exact if number is None else [number], since - HOUR, until)
        for key, data in read_chunks(owners, shards=shards, asked=[asked]):
            shard, _, at = key
            self._add_chunk(shards[shard], key, data)
            found.add((shard, at))
        hours = _hours(since, until) if number == FIVE_MINUTE_SUMS else []
        lacking = {(shard, at) for shard in shards for at in hours} - found
        if not lacking:
            return
        # Hours that were sealed before there were such sums have the windows alone.
        own, times = zip(*lacking, strict=True)
        asked = Hours(exact, min(times), max(times) + HOUR)
        for key, data in read_chunks(owners, shards=set(own), asked=[asked]):
            shard, _, at = key
            if (shard, at) in lacking:
                self._add_chunk(shards[shard], key, data)

    def _add_chunk(self, shard: _Shard, key: ChunkKey, data: bytes) -> None:
        """Add an hour of a figure, or of sums of all figures."""
        _, figure, at = key
        kind, begin_us = shard.kind, microseconds(at)
        own, columns = shard.places(begin_us)
        # A chunk may be of before the shard had the column.
        lines = unpack(data, columns).T
        if figure in STEPS_OF_SUMS:
            self.sums[kind].add_all(_sums_in(kind, figure, lines), own, begin_us=begin_us)
            return
        row = _figures([kind]).index(figure)
        if row == len(kind.columns) and self._watched is not None:
            self._note_known(kind, lines, own, begin_us)
        self.sums[kind].add_row(row, lines, own, begin_us=begin_us, step_us=_WINDOW_US)

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
    if all(span.grid.since >= until for span in spans):
        return found
    shards, owners = _places(wanted, None)
    asked = [span.hours(until) for span in spans]
    for (number, figure, at), data in read_chunks(owners, shards=shards, asked=asked):
        shard, begin_us = shards[number], microseconds(at)
        own, columns = shard.places(begin_us)
        lines = unpack(data, columns).T
        for one, sums in zip(asked, found, strict=True):
            for kind in sums if figure in one.figures and one.since <= at < one.until else ():
                if kind.whole is not shard.kind:
                    continue
                if figure in STEPS_OF_SUMS:
                    sums[kind].add_all(_sums_in(kind, figure, lines), own, begin_us=begin_us)
                elif figure in (numbers := _figures([kind])):
                    row = numbers.index(figure)
                    sums[kind].add_row(row, lines, own, begin_us=begin_us, step_us=_WINDOW_US)
    return found


def _sums_in(kind: FigureKind[Any], number: int, lines: Integers) -> Integers:
    """What a chunk of sums has of the kind: (figures, subjects, steps)."""
    stored = lines.reshape(len(lines), -1, STEPS_OF_SUMS[number]).swapaxes(0, 1)
    if kind.whole is kind:
        return stored
    return stored[[_figures([kind.whole]).index(one) for one in _figures([kind])]]


def _sums_for(grid: Grid) -> int | None:
    """The number of the coarsest sums that the windows are made of; None if they are finer."""
    for number, steps in sorted(STEPS_OF_SUMS.items(), key=lambda one: one[1]):
        step_us = _HOUR_US // steps
        if not (grid.window_us % step_us or grid.since_us % step_us):
            return number
    return None


def _hours(since: datetime, until: datetime) -> list[datetime]:
    """The begins of the hours that reach into [since, until)."""
    first = microseconds(since) // _HOUR_US * _HOUR_US
    return [moment(at_us) for at_us in range(first, microseconds(until), _HOUR_US)]


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
    for shard, figure, at, data in streamed(_CHUNKS.format(one_of=one_of), parameters):
        yield (shard, figure, at), data


_CHUNKS = sql.SQL("""
    SELECT shard_id, figure, at, data FROM advisor_history_chunk
     WHERE organisation_id = ANY(%s) AND shard_id = ANY(%s) AND at >= %s AND at < %s
       AND ({one_of})
""")
_OF_HOURS = sql.SQL("(figure = ANY(%s) AND at >= %s AND at < %s)")
