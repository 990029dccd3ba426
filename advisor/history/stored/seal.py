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
    WINDOW_S,
    Integers,
    quarter_values,
    stored_values,
    united,
)
from advisor.history.stored.chunk_rows import read_chunks, write_chunks
from advisor.history.stored.level_quarters import write_level_quarters
from advisor.history.stored.partitions import Level, ensure_partitions
from advisor.history.stored.places import Homes, Place, places_of
from advisor.history.stored.quarter_rows import write_quarters
from advisor.history.stored.tracks import KnownSubject, tracks_with_samples
from advisor.models import Shard
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import FigureKind
from ingest.core.grid import Grid, grid_of
from ingest.grid_reader import read_growth
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
        for kind, known in tracks_with_samples(organisation, hosts, hour).items():
            for begin in range(0, len(known), MOST_SUBJECTS):
                part = known[begin : begin + MOST_SUBJECTS]
                written += _seal_subjects(organisation, kind, part, grid, homes)
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
) -> int:
    found = read_growth(kind, [one.subject for one in known], grid)
    heard = np.flatnonzero(found.seconds.any(axis=0))
    if not len(heard):
        return 0
    values = stored_values(
        found.growth[:, :, heard], found.gauges[:, 1:, heard], found.seconds[:, heard]
    )
    wanted = [known[place] for place in heard.tolist()]
    places = places_of(organisation, kind.name, wanted, grid.since, homes)
    tracks = [one.track for one in wanted]
    chunks: dict[tuple[int, int], bytes] = {}
    whole = np.empty_like(values)
    for shard, columns in _shards(organisation, kind, tracks, places, grid.since):
        for row, (number, matrix) in enumerate(shard.united(values, columns)):
            whole[row][:, columns.own] = matrix[:, columns.stored]
            chunks[shard.pk, number] = pack(matrix)
    written = write_chunks(organisation.pk, grid.since, chunks)
    if written:
        quarters = quarter_values(whole, counters=len(kind.counters))
        write_quarters(organisation.pk, grid.since, tracks, quarters)
    Shard.objects.filter(pk__in={shard for shard, _ in chunks}).exclude(
        newest_hour__gte=grid.since
    ).update(newest_hour=grid.since)
    return written


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

    def united(self, values: Integers, columns: _Columns) -> Iterator[tuple[int, Integers]]:
        """Each figure's number and matrix with what was found; `values` as `stored_values`."""
        for number, found in zip(self.figures, values, strict=True):
            data = self.chunks.get(number)
            stored = None if data is None else unpack(data)
            yield number, united(stored, found[:, columns.own], columns.stored, self.width)


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
    stored = read_chunks(
        organisation.pk, shards=by_shard, figures=figures, since=hour, until=hour + HOUR
    )
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
