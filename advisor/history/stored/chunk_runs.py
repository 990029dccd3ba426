"""Chunks of a figure whose hours follow one another: read, unpacked and added up together.

A call for each hour would take longer than the hours themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from psycopg import sql

from advisor.core.chunk import unpack_sums, unpack_together
from advisor.core.stored_hour import STEPS_OF_SUMS, WINDOW_S, Integers
from advisor.history.stored.columns import Shard
from advisor.history.stored.window_sums import WindowSums
from ingest.binary_cursor import streamed
from ingest.core.canonical_figures import figures_of
from ingest.core.figures import FigureKind
from ingest.core.grid import microseconds, moment

ChunkKey = tuple[int, int, datetime]
"""A shard, the number of a figure, and the begin of an hour."""

MOST_HOURS = 24
MOST_BYTES = 4_000_000
"""Of all runs together so much is read before it is added up: a month need not fit into memory."""

_WINDOW_US = WINDOW_S * 1_000_000
_HOUR_US = 3_600_000_000


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """The chunks of a figure, or of the sums of all figures, in hours that follow one another.

    The subjects `own` are in the `columns` of each of them. Without slots, so that what is
    unpacked is remembered.
    """

    number: int
    shard: Shard
    figure: int
    begin_us: int
    chunks: Sequence[bytes]
    own: Integers
    columns: Integers

    @property
    def hours(self) -> list[datetime]:
        """The begin of each."""
        return [moment(self.begin_us + place * _HOUR_US) for place in range(len(self.chunks))]

    def within(self, since: datetime, until: datetime) -> Run | None:
        """That of the hours which begin in [since, until), if there are any."""
        first = max(-((self.begin_us - microseconds(since)) // _HOUR_US), 0)
        end = min(-((self.begin_us - microseconds(until)) // _HOUR_US), len(self.chunks))
        if (first, end) == (0, len(self.chunks)):
            return self
        if first >= end:
            return None
        begin_us = self.begin_us + first * _HOUR_US
        return replace(self, begin_us=begin_us, chunks=self.chunks[first:end])

    @cached_property
    def lines(self) -> Integers:
        """The numbers of all windows of 10 s of a figure, (subjects, windows)."""
        return unpack_together(self.chunks, self.columns).reshape(len(self.own), -1)

    def add_to(self, sums: WindowSums, kind: FigureKind[Any]) -> None:
        """Add what is stored of a kind; what is no part of it is left out."""
        if self.figure in STEPS_OF_SUMS:
            step_us = _HOUR_US // STEPS_OF_SUMS[self.figure]
            sums.add_all(self._sums_of(kind), self.own, begin_us=self.begin_us, step_us=step_us)
        elif self.figure in (numbers := figure_numbers([kind])):
            self._add_figure(sums, numbers.index(self.figure))

    def _add_figure(self, sums: WindowSums, row: int) -> None:
        step_us, lines = _WINDOW_US, None
        if sums.step_us % _WINDOW_US == 0 and not sums.is_gauge(row):
            step_us = sums.step_us
        if step_us > _WINDOW_US:
            added = unpack_sums(self.chunks, self.columns, steps=_HOUR_US // step_us)
            lines = added.reshape(len(self.own), -1)
        lines = self.lines if lines is None else lines
        sums.add_row(row, lines, self.own, begin_us=self.begin_us, step_us=step_us)

    def _sums_of(self, kind: FigureKind[Any]) -> Integers:
        """Sums of the kind's figures, (figures, subjects, steps)."""
        steps = STEPS_OF_SUMS[self.figure]
        stored = unpack_together(self.chunks, self.columns)
        by_hour = stored.reshape(len(self.own), len(self.chunks), -1, steps).transpose(2, 0, 1, 3)
        found = by_hour.reshape(len(by_hour), len(self.own), -1)
        if kind.whole is kind:
            return found
        whole = figure_numbers([kind.whole])
        return found[[whole.index(number) for number in figure_numbers([kind])]]


def figure_numbers(kinds: Collection[FigureKind[Any]]) -> list[int]:
    """The numbers of the figures of kinds, in the order in which they are stored."""
    return [figure.number for kind in kinds for figure in figures_of(kind)]


def read_runs(
    organisations: Collection[int],
    *,
    shards: Mapping[int, Shard],
    asked: Sequence[Hours],
    among: Collection[tuple[int, datetime]] | None = None,
) -> Iterator[Run]:
    """The chunks that are asked for in runs; of hours of shards `among`, if given, only these."""
    held: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    size = 0
    for (shard, figure, at), data in read_chunks(organisations, shards=shards, asked=asked):
        if among is None or (shard, at) in among:
            held[shard, figure].append((microseconds(at), data))
            size += len(data)
        if size > MOST_BYTES:
            yield from _runs(held, shards)
            held.clear()
            size = 0
    yield from _runs(held, shards)


def _runs(
    held: Mapping[tuple[int, int], list[tuple[int, bytes]]], shards: Mapping[int, Shard]
) -> Iterator[Run]:
    for (number, figure), hours in held.items():
        shard = shards[number]
        hours.sort()
        for part in _in_a_row(hours, shard):
            own, columns = shard.places(part[0][0])
            yield Run(
                number=number,
                shard=shard,
                figure=figure,
                begin_us=part[0][0],
                chunks=[data for _, data in part],
                own=own,
                columns=columns,
            )


def _in_a_row(
    hours: Sequence[tuple[int, bytes]], shard: Shard
) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Hours that follow one another, in which the same subjects are in the same columns."""
    begin = 0
    for place in range(1, len(hours) + 1):
        if place < len(hours) and place - begin < MOST_HOURS:
            before_us, after_us = hours[place - 1][0], hours[place][0]
            follows = after_us - before_us == _HOUR_US
            if follows and not shard.changes(before_us, after_us):
                continue
        yield hours[begin:place]
        begin = place
