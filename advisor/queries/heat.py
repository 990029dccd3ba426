"""The last day of every resource in five-minute columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.core.cache import cache
from django.db.models import Case, DateTimeField, F, FloatField, Func, Max, Q, Value, When
from django.db.models.functions import NullIf

from advisor.models import Resource, State, StatePoint

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
    past = cache.get_or_set(
        f"heat-{since:%Y%m%dT%H%M}-{digest}",
        lambda: _worst_windows(pks, since=since, until=still_open),
        timeout=COLUMN_S,
    )
    recent = _worst_windows(pks, since=still_open, until=until)
    wanted = {row.pk for row in resources} if only is None else set(only)
    cells: dict[int, list[Cell | None]] = {pk: [None] * COLUMNS for pk in sorted(wanted)}
    first_s = int(since.timestamp())
    for pk, start_s, *worst in (*(past or ()), *recent):
        if pk in wanted:
            cells[pk][(start_s - first_s) // COLUMN_S] = _cell(*worst)
    return {pk: Strip(since=since, cells=tuple(row)) for pk, row in cells.items()}


Worst = tuple[int, int, float | None, float | None, int]
"""Resource, start of a column in seconds since 1970, worst ratio and value, and how bad it was.

Plain, because a day of them is kept in the cache, which dataclasses leave ten times slower.
"""
_STALLED_WINDOW, _CONGESTED_WINDOW = 2, 1


def _worst_windows(pks: Sequence[int], *, since: datetime, until: datetime) -> list[Worst]:
    """One for every column in which some window has a value."""
    # A window is known by its end, and one that ends with a column belongs to it.
    origin = since + timedelta(microseconds=1)
    column = Func(
        Value(timedelta(seconds=COLUMN_S)),
        F("at"),
        Value(origin),
        function="date_bin",
        output_field=DateTimeField(),
    )
    rows = (
        StatePoint.objects.filter(
            ~Q(value=None) | Q(state=State.STALLED),
            resource__in=pks,
            at__gt=since,
            at__lte=until,
        )
        .order_by()
        .values("resource_id", column=column)
        .annotate(
            ratio=Max(F("value") / NullIf(F("threshold"), 0.0, output_field=FloatField())),
            worst=Max("value"),
            alarm=Max(
                Case(
                    When(state=State.STALLED, then=_STALLED_WINDOW),
                    When(state=State.CONGESTED, then=_CONGESTED_WINDOW),
                    default=0,
                )
            ),
        )
    )
    return [
        (
            row["resource_id"],
            round(row["column"].timestamp()),
            row["ratio"],
            row["worst"],
            row["alarm"],
        )
        for row in rows
        if row["ratio"] is not None or row["alarm"] == _STALLED_WINDOW
    ]


_STALLED = Cell(level=Level.STALLED, ratio=None, value=None)


def _cell(ratio: float | None, value: float | None, alarm: int) -> Cell:
    if alarm == _STALLED_WINDOW or ratio is None:
        return _STALLED
    level = _level(ratio, is_congested=alarm == _CONGESTED_WINDOW)
    return Cell(level=level, ratio=ratio, value=value)


def _level(ratio: float, *, is_congested: bool) -> Level:
    # A value above the threshold on an idle device is no congestion, so the state decides.
    if is_congested:
        return Level.ABOVE
    if ratio >= NEAR_RATIO:
        return Level.NEAR
    return Level.BELOW if ratio >= CALM_RATIO else Level.CALM
