"""Decodes all that is stored and says what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from accounts.models import Organisation
from advisor.core import level_records
from advisor.core.chunk import DamagedChunkError, unpack
from advisor.core.detection.worst_levels import DamagedEntriesError, columns_of
from advisor.core.histogram import DamagedHistogramError, counts_of
from advisor.core.level_records import HOUR_US, PART_US, DamagedLevelsError
from advisor.core.stored_hour import STEPS_OF_SUMS, WINDOWS
from advisor.history.stored.partitions import Level, partitions_of
from advisor.models import Chunk, Day, LevelRecords, Resource, Shard
from ingest.core.grid import microseconds
from ingest.open_hours import HOUR


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


def check_history(organisation: Organisation) -> Iterator[Checked]:
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
        yield from _judged(resource)


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


def _judged(resource: Resource) -> Iterator[Checked]:
    rows = LevelRecords.objects.filter(resource=resource).order_by("at")
    for at, is_hour, data, worst in rows.values_list("at", "is_hour", "data", "worst"):
        length_us = HOUR_US if is_hour else PART_US
        yield Checked(
            kind=Kind.JUDGED,
            owner=resource.pk,
            figure=None,
            at=at,
            damage=_damage_of_levels(microseconds(at), length_us, bytes(data), bytes(worst)),
        )


def _damage_of_levels(begin_us: int, length_us: int, data: bytes, worst: bytes) -> str:
    """Windows lie in the time of their row, in order, and each part of them has its worst."""
    try:
        ends_us = level_records.unpack(data).at_us.tolist()
        columns = columns_of(worst)
    except (DamagedLevelsError, DamagedEntriesError) as error:
        return str(error)
    if ends_us != sorted(set(ends_us)):
        return "the windows are not in order of time"
    if not all(begin_us < end_us <= begin_us + length_us for end_us in ends_us):
        return "some windows are not of the time of their row"
    if columns != sorted({level_records.part_of(end_us) // PART_US for end_us in ends_us}):
        return "the worst windows are not those of these records"
    return ""
