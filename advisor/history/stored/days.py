"""Makes the rows of days from the chunks of their hours, once a day is over or has changed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from django.db import transaction

from accounts.models import Organisation
from advisor.core.histogram import histograms
from advisor.core.stored_hour import WINDOW_S, Floats
from advisor.history.stored.partitions import Level, ensure_partitions
from advisor.history.stored.read import read_sealed
from advisor.history.stored.tracks import KnownSubject
from advisor.models import Member, StaleDay
from ingest.binary_cursor import binary_cursor
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import FIGURE_KINDS, FigureKind
from ingest.core.grid import NOT_SENT, GridGrowth, grid_of
from ingest.grid_reader import Subject
from ingest.open_hours import HOUR, SETTLED_AFTER

DAY = timedelta(days=1)
MOST_SUBJECTS = 50
"""Tracks of which a day is read at once: some 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    """One figure of a track in a day."""

    track: int
    figure: int
    mean: float
    maximum: float
    histogram: bytes


def make_days(*, organisation: Organisation, now: datetime, limit_s: float) -> int:
    """Make the rows of the organisation's days that are over and stale; the number of days.

    The oldest come first. When the time is up, the rest is left for the next run.
    """
    deadline = time.monotonic() + limit_s
    over = (now - HOUR - SETTLED_AFTER).astimezone(UTC).date()
    stale = StaleDay.objects.filter(organisation=organisation, day__lt=over)
    done = 0
    for day in stale.order_by("day").values_list("day", flat=True):
        if done and time.monotonic() > deadline:
            break
        _make_day(organisation, day)
        done += 1
    return done


@transaction.atomic
def _make_day(organisation: Organisation, day: date) -> None:
    """An hour that is sealed meanwhile makes the day stale again."""
    StaleDay.objects.filter(organisation=organisation, day=day).delete()
    ensure_partitions(organisation.pk, [day], [Level.DAY])
    for kind in FIGURE_KINDS:
        tracks = _tracks(organisation, kind, day)
        for begin in range(0, len(tracks), MOST_SUBJECTS):
            part = tracks[begin : begin + MOST_SUBJECTS]
            _write(organisation.pk, day, list(_rows(organisation, kind, part, day)))


def _tracks(organisation: Organisation, kind: FigureKind[Any], day: date) -> list[KnownSubject]:
    """Tracks that had a place by the end of the day, those of a shard one after the other."""
    members = Member.objects.filter(
        track__organisation=organisation, track__kind=kind.name, since__lt=_midnight(day) + DAY
    )
    rows = members.order_by("shard", "column", "pk").values_list(
        "track", "track__host", "track__subject", "track__device"
    )
    found = {
        track: KnownSubject(track=track, subject=Subject(host=host, name=name, device=device))
        for track, host, name, device in rows
    }
    return list(found.values())


def _rows(
    organisation: Organisation, kind: FigureKind[Any], known: Sequence[KnownSubject], day: date
) -> Iterator[DayRow]:
    grid = grid_of(_midnight(day), _midnight(day) + DAY, WINDOW_S)
    found = read_sealed(organisation.pk, kind, [one.subject for one in known], grid)
    for place, figure in enumerate(FIGURES[kind.name][:-1]):
        values, means = _values(found, place, counters=len(kind.counters))
        packed = histograms(values)
        for column in np.flatnonzero(~np.isnan(means)).tolist():
            yield DayRow(
                track=known[column].track,
                figure=figure.number,
                mean=float(means[column]),
                maximum=float(np.nanmax(values[:, column])),
                histogram=packed[column],
            )


def _values(found: GridGrowth, place: int, *, counters: int) -> tuple[Floats, Floats]:
    """The values of each window, (windows, columns), and their mean, (columns); NaN is unknown."""
    if place < counters:
        seconds = np.where(found.seconds > 0, found.seconds, np.nan)
        total_s = found.seconds.sum(axis=0)
        growth = found.growth[place]
        return growth / seconds, growth.sum(axis=0) / np.where(total_s > 0, total_s, np.nan)
    gauge = found.gauges[place - counters][1:]
    values = np.where(gauge == NOT_SENT, np.nan, gauge)
    count = (gauge != NOT_SENT).sum(axis=0)
    return values, np.nansum(values, axis=0) / np.where(count > 0, count, np.nan)


def _write(organisation: int, day: date, rows: Sequence[DayRow]) -> None:
    with binary_cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO advisor_history_day
                   (organisation_id, day, track_id, figure, mean, maximum, histogram)
            SELECT %s, %s, new.* FROM unnest(
                   %s::int[], %s::smallint[], %s::float8[], %s::float8[], %s::bytea[]) AS new
                ON CONFLICT (organisation_id, track_id, figure, day) DO UPDATE
               SET mean = excluded.mean, maximum = excluded.maximum,
                   histogram = excluded.histogram
            """,
            [
                organisation,
                day,
                [row.track for row in rows],
                [row.figure for row in rows],
                [row.mean for row in rows],
                [row.maximum for row in rows],
                [row.histogram for row in rows],
            ],
        )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
