"""Decodes all that is stored and says what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from accounts.models import Organisation
from advisor.core.chunk import DamagedChunkError, unpack
from advisor.core.histogram import DamagedHistogramError, counts_of
from advisor.core.stored_hour import QUARTER_SUMS, QUARTERS, WINDOWS
from advisor.history.stored.partitions import Level, partitions_of
from advisor.models import Chunk, Day, Shard
from ingest.open_hours import HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A chunk or a day's histogram, of a shard or a track; `damage` is empty if it is whole."""

    level: Level
    owner: int
    figure: int
    at: datetime | date
    damage: str


def check_history(organisation: Organisation) -> Iterator[Checked]:
    """Everything that the organisation has in the history, hour by hour and day by day."""
    widths = dict(Shard.objects.filter(organisation=organisation).values_list("pk", "width"))
    for span in partitions_of(organisation.pk, Level.EXACT):
        begin = datetime(span.begin.year, span.begin.month, span.begin.day, tzinfo=UTC)
        for place in range(24):
            yield from _chunks(organisation, begin + place * HOUR, widths)
    for span in partitions_of(organisation.pk, Level.DAY):
        for place in range((span.end - span.begin).days):
            yield from _histograms(organisation, span.begin + timedelta(days=place))


def _chunks(
    organisation: Organisation, hour: datetime, widths: dict[int, int]
) -> Iterator[Checked]:
    rows = Chunk.objects.filter(organisation_id=organisation.pk, at=hour)
    for shard, figure, data in rows.values_list("shard_id", "figure", "data"):
        yield Checked(
            level=Level.EXACT,
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
    if figure == QUARTER_SUMS and windows % QUARTERS:
        return f"{windows} sums are not of {QUARTERS} quarters each"
    if figure != QUARTER_SUMS and windows != WINDOWS:
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
        yield Checked(level=Level.DAY, owner=track, figure=figure, at=day, damage=damage)
