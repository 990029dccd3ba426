"""Seals hours: samples become chunks and quarters, after which their rows are needed no more.

Work is the list of open hours that ingest keeps. An hour is sealed in one transaction that takes
it off the list first, so a process that is killed leaves it open, and samples that come meanwhile
open it again. An hour that is sealed again gives the same bytes.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db import DatabaseError, connection, transaction

from accounts.models import Organisation
from advisor.core.chunk import pack, unpack
from advisor.core.stored_hour import (
    STEPS_OF_SUMS,
    WINDOW_S,
    Flags,
    Integers,
    quarter_values,
    step_sums,
    stored_values,
    united,
)
from advisor.history.stored.chunk_runs import Hours, read_chunks
from advisor.history.stored.level_quarters import write_level_quarters
from advisor.history.stored.partitions import Level, ensure_partitions
from advisor.history.stored.places import Homes, Place, places_of
from advisor.history.stored.quarter_rows import write_quarters
from advisor.history.stored.tracks import KnownSubject, tracks_with_samples
from advisor.models import Member, Shard
from ingest.binary_cursor import binary_cursor
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import FigureKind
from ingest.core.grid import Grid, grid_of
from ingest.grid_reader import read_growth
from ingest.kept_rows import locked_rows_since
from ingest.models import OpenHour
from ingest.open_hours import HOUR, SETTLED_AFTER

log = logging.getLogger(__name__)

MOST_SUBJECTS = 2000
"""Subjects that are read at once, so that memory does not grow with the fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Hours that were sealed, chunks that are new or changed, and hours left for the next run."""

    hours: int
    chunks: int
    left: int


def seal(*, organisation: Organisation, now: datetime, limit_s: float) -> Sealed:
    """Seal the organisation's hours that are over, the oldest first, until the time is up.

    An hour that the database refuses is left for the next run; the others go on.
    """
    deadline = time.monotonic() + limit_s
    hours = ready_hours(organisation, now=now)
    homes = Homes(organisation)
    done = chunks = 0
    for hour in hours:
        if done and time.monotonic() > deadline:
            break
        try:
            chunks += seal_hour(organisation, hour, homes)
        except DatabaseError as error:
            log.warning(
                "hour not sealed",
                extra={"organisation": organisation.slug, "hour": hour, "reason": str(error)},
            )
            continue
        done += 1
    return Sealed(hours=done, chunks=chunks, left=len(hours) - done)


def ready_hours(organisation: Organisation, *, now: datetime) -> list[datetime]:
    """The open hours that are long enough over, the oldest first."""
    rows = OpenHour.objects.filter(
        host__organisation=organisation, at__lte=now - HOUR - SETTLED_AFTER
    )
    return list(rows.order_by("at").values_list("at", flat=True).distinct())


def seal_hour(organisation: Organisation, hour: datetime, homes: Homes) -> int:
    """Seal one hour of the hosts for which it is open; the chunks that are new or changed."""
    ensure_partitions(organisation.pk, [hour.date()], [Level.EXACT, Level.QUARTER])
    grid = grid_of(hour, hour + HOUR, WINDOW_S)
    written = 0
    with transaction.atomic():
        hosts = _take(organisation, hour)
        # What is said of an hour begins with the samples before it.
        rows_are_whole = hour - HOUR >= locked_rows_since()
        for kind, known in tracks_with_samples(organisation, hosts, hour).items():
            for begin in range(0, len(known), MOST_SUBJECTS):
                part = known[begin : begin + MOST_SUBJECTS]
                written += _seal_subjects(
                    organisation, kind, part, grid, homes, rows_are_whole=rows_are_whole
                )
        write_level_quarters(organisation, hour)
        if written:
            _note_stale_day(organisation, hour)
    return written


def _take(organisation: Organisation, hour: datetime) -> list[int]:
    """Take the hour off the list and give its hosts; nobody else seals it until the end.

    Waits for samples of the hour that are being written, so that they are read here.
    """
    with connection.cursor() as cursor:
        # Two that seal different hosts of one hour would write the same chunks.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, %s)",
            [organisation.pk, int(hour.timestamp()) // 3600],
        )
        cursor.execute(
            """
            WITH taken AS MATERIALIZED (
                SELECT open.host_id, open.at FROM ingest_openhour AS open
                  JOIN ingest_host AS host ON host.id = open.host_id
                 WHERE host.organisation_id = %s AND open.at = %s
                 ORDER BY open.host_id FOR UPDATE OF open
            )
            DELETE FROM ingest_openhour AS open USING taken
             WHERE open.host_id = taken.host_id AND open.at = taken.at
            RETURNING open.host_id
            """,
            [organisation.pk, hour],
        )
        return sorted(host for (host,) in cursor.fetchall())


def _seal_subjects(
    organisation: Organisation,
    kind: FigureKind[Any],
    known: Sequence[KnownSubject],
    grid: Grid,
    homes: Homes,
    *,
    rows_are_whole: bool,
) -> int:
    found = read_growth(kind, [one.subject for one in known], grid)
    is_heard: Flags = (found.seconds > 0).sum(axis=0) > 0
    concerned = np.flatnonzero(is_heard | _may_be_stored(known, ~is_heard, rows_are_whole))
    if not len(concerned):
        return 0
    values = stored_values(
        found.growth[:, :, concerned], found.gauges[:, 1:, concerned], found.seconds[:, concerned]
    )
    wanted = [known[place] for place in concerned.tolist()]
    places = places_of(organisation, kind.name, wanted, grid.since, homes)
    tracks = [one.track for one in wanted]
    chunks: dict[tuple[int, int], bytes] = {}
    whole = np.empty_like(values)
    for shard, columns in _shards(organisation, kind, tracks, places, grid.since):
        matrices = shard.united(values, columns, rows_are_whole=rows_are_whole)
        whole[:, :, columns.own] = matrices[:, :, columns.stored]
        if shard.chunks or is_heard[concerned[columns.own]].any():
            chunks |= shard.packed(matrices, counters=len(kind.counters))
    written = write_chunks(organisation.pk, grid.since, chunks)
    if written:
        quarters = quarter_values(whole, counters=len(kind.counters))
        write_quarters(organisation.pk, grid.since, tracks, quarters)
    Shard.objects.filter(pk__in={shard for shard, _ in chunks}).exclude(
        newest_hour__gte=grid.since
    ).update(newest_hour=grid.since)
    return written


def _may_be_stored(known: Sequence[KnownSubject], is_silent: Flags, rows_are_whole: bool) -> Flags:
    """Which of the silent ones may have windows in their chunk that are not known any more.

    A late sample can show that what was taken for one interval was none.
    """
    found: Flags = np.zeros(len(known), dtype=np.bool_)
    silent = np.flatnonzero(is_silent).tolist()
    if rows_are_whole and silent:
        tracks = [known[place].track for place in silent]
        members = Member.objects.filter(track__in=tracks).values_list("track", flat=True)
        stored = set(members.distinct())
        found[[place for place in silent if known[place].track in stored]] = True
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """Columns of what was found, and those of the shard in which they are stored."""

    own: Integers
    stored: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _StoredShard:
    """A shard in one hour: its width, the figures of its kind, and its chunks by their number."""

    pk: int
    width: int
    figures: Sequence[int]
    chunks: Mapping[int, bytes]

    def united(self, values: Integers, columns: _Columns, *, rows_are_whole: bool) -> Integers:
        """(figures, windows, width) with what was found; `values` as `stored_values`."""
        stored = [self.chunks.get(number) for number in self.figures]
        return np.stack(
            [
                united(
                    None if data is None else unpack(data),
                    found[:, columns.own],
                    columns.stored,
                    width=self.width,
                    rows_are_whole=rows_are_whole,
                )
                for data, found in zip(stored, values, strict=True)
            ]
        )

    def packed(self, matrices: Integers, *, counters: int) -> dict[tuple[int, int], bytes]:
        """By shard and number the chunks of all figures, and those of their sums."""
        exact = zip(self.figures, matrices, strict=True)
        sums = (
            (number, step_sums(matrices, counters=counters, steps=steps))
            for number, steps in STEPS_OF_SUMS.items()
        )
        return {(self.pk, number): pack(matrix) for number, matrix in [*sums, *exact]}


def _shards(
    organisation: Organisation,
    kind: FigureKind[Any],
    tracks: Sequence[int],
    places: Mapping[int, Place],
    hour: datetime,
) -> Iterator[tuple[_StoredShard, _Columns]]:
    """The shards of the tracks with what they have of this hour already."""
    by_shard: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for own, track in enumerate(tracks):
        by_shard[places[track].shard].append((own, places[track].column))
    figures = [figure.number for figure in FIGURES[kind.name]]
    chunks: dict[int, dict[int, bytes]] = defaultdict(dict)
    asked = Hours(figures, hour, hour + HOUR)
    stored = read_chunks([organisation.pk], shards=by_shard, asked=[asked])
    for (shard, figure, _), data in stored:
        chunks[shard][figure] = data
    widths = dict(Shard.objects.filter(pk__in=by_shard).values_list("pk", "width"))
    for shard, pairs in sorted(by_shard.items()):
        own, column = np.array(pairs, dtype=np.int64).T
        yield (
            _StoredShard(pk=shard, width=widths[shard], figures=figures, chunks=chunks[shard]),
            _Columns(own=own, stored=column),
        )


def _note_stale_day(organisation: Organisation, hour: datetime) -> None:
    """The day rows are made again; whoever makes them waits until this hour is written."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO advisor_staleday (organisation_id, day) VALUES (%s, %s)"
            " ON CONFLICT (organisation_id, day) DO UPDATE SET day = excluded.day",
            [organisation.pk, hour.date()],
        )


def write_chunks(organisation: int, hour: datetime, data: Mapping[tuple[int, int], bytes]) -> int:
    """Write the chunks of an hour by shard and figure; the number that is new or differs."""
    keys = sorted(data)
    with binary_cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO advisor_history_chunk AS stored
                   (organisation_id, shard_id, figure, at, data)
            SELECT %s, shard, figure, %s, data
              FROM unnest(%s::int[], %s::smallint[], %s::bytea[]) AS new(shard, figure, data)
                ON CONFLICT (organisation_id, shard_id, figure, at)
                DO UPDATE SET data = excluded.data WHERE stored.data <> excluded.data
            """,
            [
                organisation,
                hour,
                [shard for shard, _ in keys],
                [figure for _, figure in keys],
                [data[key] for key in keys],
            ],
        )
        changed: int = cursor.rowcount
        return changed
