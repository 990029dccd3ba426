"""The last day of every resource in five-minute columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.core.cache import cache

from advisor.core.detection.worst_levels import CONGESTED_WINDOW, STALLED_WINDOW, WorstWindows
from advisor.history.levels import read_worst_windows
from advisor.models import Resource

COLUMN_S = 300

COLUMNS = 288
OPEN_COLUMNS = 3
"""The newest columns that are read every time."""

NEAR_RATIO = 0.8
"""From this fraction of its threshold on a value is near."""

CALM_RATIO = 0.4
"""Below this fraction of its threshold a value is drawn paler."""


class Level(StrEnum):
    """How a five-minute column compares with the threshold."""

    CALM = "calm"
    BELOW = "below"
    NEAR = "near"
    ABOVE = "above"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The worst window of one column; `ratio` is its value relative to the threshold.

    Both are None in a column that stalled, where no I/O completed.
    """

    level: Level
    ratio: float | None
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One resource's columns from `since` on; None where no window has a value."""

    since: datetime
    cells: tuple[Cell | None, ...]

    def column_start(self, index: int) -> datetime:
        return self.since + timedelta(seconds=COLUMN_S * index)


def day_until(now: datetime) -> tuple[datetime, datetime]:
    """The 24 hours of whole columns that end with the column now is in."""
    end_s = math.ceil(now.timestamp() / COLUMN_S) * COLUMN_S
    until = datetime.fromtimestamp(end_s, UTC)
    return until - timedelta(seconds=COLUMN_S * COLUMNS), until


def heat_strips(
    resources: Sequence[Resource], *, now: datetime, only: Collection[int] | None = None
) -> dict[int, Strip]:
    """One strip per resource, by its primary key, or per resource of those in `only`.

    Older columns are cached for five minutes: a day has thousands of windows per resource, and
    only the newest still change.
    """
    since, until = day_until(now)
    still_open = until - timedelta(seconds=COLUMN_S * OPEN_COLUMNS)
    pks = sorted(row.pk for row in resources)
    digest = hashlib.sha256(repr(pks).encode()).hexdigest()
    key = f"heat-2-{since:%Y%m%dT%H%M}-{digest}"
    past: WorstWindows | None = cache.get(key)
    if past is None:
        past = read_worst_windows(pks, since=since, until=still_open)
        cache.set(key, past, COLUMN_S)
    recent = read_worst_windows(pks, since=still_open, until=until)
    wanted = pks if only is None else sorted(set(only))
    places = {pk: place for place, pk in enumerate(pks)}
    return {
        pk: Strip(since=since, cells=(*_cells(past, places[pk]), *_cells(recent, places[pk])))
        for pk in wanted
    }


def _cells(worst: WorstWindows, place: int) -> list[Cell | None]:
    """Of one resource, a cell for each column."""
    columns = (worst.ratio[place], worst.value[place], worst.alarm[place])
    return [_cell(*one) for one in zip(*(column.tolist() for column in columns), strict=True)]


_STALLED = Cell(level=Level.STALLED, ratio=None, value=None)


def _cell(ratio: float, value: float, alarm: int) -> Cell | None:
    if alarm == STALLED_WINDOW:
        return _STALLED
    if ratio != ratio:
        return None
    level = _level(ratio, is_congested=alarm == CONGESTED_WINDOW)
    return Cell(level=level, ratio=ratio, value=value)


def _level(ratio: float, *, is_congested: bool) -> Level:
    # A value above the threshold on an idle device is no congestion, so the state decides.
    if is_congested:
        return Level.ABOVE
    if ratio >= NEAR_RATIO:
        return Level.NEAR
    return Level.BELOW if ratio >= CALM_RATIO else Level.CALM
