"""Decodes all that is stored and says what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from django.db import transaction

from accounts.models import Organisation
from advisor.core import level_records
from advisor.core.chunk import DamagedChunkError, unpack
from advisor.core.detection.worst_levels import DamagedEntriesError, columns_of
from advisor.core.histogram import DamagedHistogramError, counts_of
from advisor.core.level_records import (
    HOUR_US,
    PART_US,
    DamagedLevelsError,
    Run,
    hour_of,
    part_of,
    recorded_ends,
)
from advisor.core.stored_hour import STEPS_OF_SUMS, WINDOWS
from advisor.history.level_store import KEPT_FOR
from advisor.history.levels import read_runs
from advisor.history.stored.partitions import Level, partitions_of
from advisor.models import Chunk, Day, LevelRecords, Resource, ResourceStatus, Shard
from ingest.core.grid import EPOCH, microseconds, moment
from ingest.open_hours import HOUR

WHILE_CHECKING = timedelta(days=1)
"""So much of what is kept may be dropped until all is checked."""
_FOREVER = datetime.max.replace(tzinfo=UTC)


class Kind(StrEnum):
    """What is stored as bytes; the value is its table."""

    CHUNK = "advisor_history_chunk"
    DAY = "advisor_history_day"
    JUDGED = "advisor_levelrecords"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A chunk of a shard, a day's histogram of a track, or judged windows of a resource.

    `damage` is empty if it is whole; judged windows have no `figure`.
    """

    kind: Kind
    owner: int
    figure: int | None
    at: datetime | date
    damage: str


def check_history(organisation: Organisation, *, now: datetime) -> Iterator[Checked]:
    """Everything that the organisation has in the history, in portions of it."""
    widths = dict(Shard.objects.filter(organisation=organisation).values_list("pk", "width"))
    for span in partitions_of(organisation.pk, Level.EXACT):
        begin = datetime(span.begin.year, span.begin.month, span.begin.day, tzinfo=UTC)
        for place in range(24):
            yield from _chunks(organisation, begin + place * HOUR, widths)
    for span in partitions_of(organisation.pk, Level.DAY):
        for place in range((span.end - span.begin).days):
            yield from _histograms(organisation, span.begin + timedelta(days=place))
    for resource in Resource.objects.filter(organisation=organisation).order_by("pk"):
        yield from _judged(resource, now=now)


def _chunks(
    organisation: Organisation, hour: datetime, widths: dict[int, int]
) -> Iterator[Checked]:
    rows = Chunk.objects.filter(organisation_id=organisation.pk, at=hour)
    for shard, figure, data in rows.values_list("shard_id", "figure", "data"):
        yield Checked(
            kind=Kind.CHUNK,
            owner=shard,
            figure=figure,
            at=hour,
            damage=_damage_of_chunk(figure, bytes(data), widths.get(shard)),
        )


def _damage_of_chunk(figure: int, data: bytes, width: int | None) -> str:
    """The chunk of a shard that is gone is whole: its columns belong to nobody any more."""
    try:
        windows, columns = unpack(data).shape
    except DamagedChunkError as error:
        return str(error)
    steps = STEPS_OF_SUMS.get(figure)
    if steps is not None and windows % steps:
        return f"{windows} sums are not of {steps} steps each"
    if steps is None and windows != WINDOWS:
        return f"{windows} windows instead of {WINDOWS}"
    if width is not None and columns > width:
        return f"{columns} columns in a shard of {width}"
    return ""


def _histograms(organisation: Organisation, day: date) -> Iterator[Checked]:
    rows = Day.objects.filter(organisation_id=organisation.pk, day=day)
    for track, figure, data in rows.values_list("track_id", "figure", "histogram"):
        damage = ""
        try:
            counts_of(bytes(data))
        except DamagedHistogramError as error:
            damage = str(error)
        yield Checked(kind=Kind.DAY, owner=track, figure=figure, at=day, damage=damage)


def _judged(resource: Resource, *, now: datetime) -> Iterator[Checked]:
    rows, runs = _stored_levels(resource)
    found: set[int] = set()
    unread: list[range] = []
    for at, is_hour, data, worst in rows:
        begin_us, length_us = microseconds(at), HOUR_US if is_hour else PART_US
        try:
            ends_us = level_records.unpack(data).at_us.tolist()
            damage = _damage_of_levels(begin_us, length_us, ends_us, worst)
            found.update(ends_us)
        except DamagedLevelsError as error:
            damage = str(error)
            unread.append(range(begin_us + 1, begin_us + length_us + 1))
        yield Checked(kind=Kind.JUDGED, owner=resource.pk, figure=None, at=at, damage=damage)
    kept_us = hour_of(microseconds(now - KEPT_FOR + WHILE_CHECKING)) + HOUR_US
    oldest_us = -(-microseconds(rows[0][0]) // HOUR_US) * HOUR_US if rows else kept_us
    for end_us in sorted(recorded_ends(runs, since_us=min(kept_us, oldest_us)) - found):
        if not any(end_us in one for one in unread):
            yield Checked(
                kind=Kind.JUDGED,
                owner=resource.pk,
                figure=None,
                at=moment(part_of(end_us)),
                damage=f"the record of the window that ends {moment(end_us):%H:%M:%S} is missing",
            )


@transaction.atomic
def _stored_levels(
    resource: Resource,
) -> tuple[list[tuple[datetime, bool, bytes, bytes]], list[Run]]:
    """Rows of records and runs as they are at one moment: nobody judges the resource meanwhile."""
    list(ResourceStatus.objects.select_for_update(of=("self",)).filter(resource=resource))
    runs = read_runs([resource.pk], since=EPOCH, until=_FOREVER)[resource.pk]
    rows = LevelRecords.objects.filter(resource=resource).order_by("at")
    found = rows.values_list("at", "is_hour", "data", "worst")
    return [(at, is_hour, bytes(data), bytes(worst)) for at, is_hour, data, worst in found], runs


def _damage_of_levels(begin_us: int, length_us: int, ends_us: list[int], worst: bytes) -> str:
    """Windows lie in the time of their row, in order, and each part of them has its worst."""
    try:
        columns = columns_of(worst)
    except DamagedEntriesError as error:
        return str(error)
    if ends_us != sorted(set(ends_us)):
        return "the windows are not in order of time"
    if not all(begin_us < end_us <= begin_us + length_us for end_us in ends_us):
        return "some windows are not of the time of their row"
    if columns != sorted({part_of(end_us) // PART_US for end_us in ends_us}):
        return "the worst windows are not those of these records"
    return ""
