"""The last day of every resource in five-minute columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.cache import cache

from advisor.core.detection.worst_levels import CONGESTED_WINDOW, STALLED_WINDOW, WorstWindows
from advisor.history.history import numbers
from advisor.history.levels import read_worst_windows
from ingest.core.grid import Floats

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


LEVELS = (None, *Level)
"""The level of a column is stored as its place here; None is where no window has a value."""
_PLACES = {level: place for place, level in enumerate(LEVELS)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strip:
    """One resource's columns from `since` on, (columns) each.

    `levels` are places in `LEVELS`; NaN is no ratio and no value.
    """

    since: datetime
    levels: npt.NDArray[np.uint8]
    ratio: Floats
    value: Floats

    @property
    def cells(self) -> tuple[Cell | None, ...]:
        """A cell for each column, None where no window has a value."""
        columns = zip(self.levels, numbers(self.ratio), numbers(self.value), strict=True)
        return tuple(
            None if place == 0 else Cell(level=LEVELS[place], ratio=ratio, value=value)
            for place, ratio, value in columns
        )

    def column_start(self, index: int) -> datetime:
        return self.since + timedelta(seconds=COLUMN_S * index)


def day_until(now: datetime) -> tuple[datetime, datetime]:
    """The 24 hours of whole columns that end with the column now is in."""
    end_s = math.ceil(now.timestamp() / COLUMN_S) * COLUMN_S
    until = datetime.fromtimestamp(end_s, UTC)
    return until - timedelta(seconds=COLUMN_S * COLUMNS), until


def heat_strips(resources: Iterable[int], *, now: datetime) -> dict[int, Strip]:
    """One strip per resource, by its primary key.

    Older columns are cached for five minutes: a day has thousands of windows per resource, and
    only the newest still change.
    """
    pks = sorted(resources)
    since, until = day_until(now)
    worst = _day(pks, since, until)
    levels = _levels(worst)
    # A value while stalled is none of a device that works, and one without a threshold has no
    # ratio.
    unknown = (worst.alarm == STALLED_WINDOW) | np.isnan(worst.ratio)
    ratio, value = (np.where(unknown, np.nan, one) for one in (worst.ratio, worst.value))
    return {
        pk: Strip(since=since, levels=levels[place], ratio=ratio[place], value=value[place])
        for place, pk in enumerate(pks)
    }


def _day(pks: Sequence[int], since: datetime, until: datetime) -> WorstWindows:
    digest = hashlib.sha256(repr(pks).encode()).hexdigest()
    key = f"heat-2-{since:%Y%m%dT%H%M}-{digest}"
    past: WorstWindows | None = cache.get(key)
    if past is None:
        whole = read_worst_windows(pks, since=since, until=until)
        cache.set(key, _columns(lambda name: getattr(whole, name)[:, :-OPEN_COLUMNS]), COLUMN_S)
        return whole
    still_open = until - timedelta(seconds=COLUMN_S * OPEN_COLUMNS)
    both = past, read_worst_windows(pks, since=still_open, until=until)
    return _columns(lambda name: np.concatenate([getattr(one, name) for one in both], axis=1))


def _columns(of: Callable[[str], Any]) -> WorstWindows:
    return WorstWindows(ratio=of("ratio"), value=of("value"), alarm=of("alarm"))


def _levels(worst: WorstWindows) -> npt.NDArray[np.uint8]:
    """The places of the levels in `LEVELS`, (resources, columns)."""
    # A value above the threshold on an idle device is no congestion, so the state decides.
    rules = {
        Level.STALLED: worst.alarm == STALLED_WINDOW,
        None: np.isnan(worst.ratio),
        Level.ABOVE: worst.alarm == CONGESTED_WINDOW,
        Level.NEAR: worst.ratio >= NEAR_RATIO,
        Level.BELOW: worst.ratio >= CALM_RATIO,
    }
    places = [_PLACES[level] for level in rules]
    found = np.select(list(rules.values()), places, default=_PLACES[Level.CALM])
    return found.astype(np.uint8)
