"""The last day of every resource in five-minute columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.db.models import Case, F, FloatField, Func, IntegerField, Max, When
from django.db.models.functions import NullIf

from advisor.models import Resource, State, StatePoint

COLUMN_S = 300
COLUMNS = 288
NEAR_RATIO = 0.8
"""From this part of its threshold on a value is called near."""

CALM_RATIO = 0.4
"""Below this part of its threshold a value is drawn paler, so that the rest stands out."""


class Level(StrEnum):
    """How a five-minute column compares with the threshold."""

    CALM = "calm"
    BELOW = "below"
    NEAR = "near"
    ABOVE = "above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The worst window of one column; `ratio` is its value as a part of the threshold."""

    level: Level
    ratio: float
    value: float


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


def heat_strips(resources: Sequence[Resource], *, now: datetime) -> dict[int, Strip]:
    """One strip per resource, by its primary key."""
    since, until = day_until(now)
    first = int(since.timestamp()) // COLUMN_S
    column = Func(
        F("at"),
        # A window is known by its end, and one that ends with a column belongs to it.
        template=f"ceil(extract(epoch from %(expressions)s) / {COLUMN_S})::bigint - 1",
        output_field=IntegerField(),
    )
    ratio = F("value") / NullIf(F("threshold"), 0.0, output_field=FloatField())
    congested = Case(When(state=State.CONGESTED, then=1), default=0)
    rows = (
        StatePoint.objects.filter(resource__in=resources, at__gt=since, at__lte=until)
        .exclude(value=None)
        .order_by()
        .values("resource_id", column=column)
        .annotate(ratio=Max(ratio), worst=Max("value"), congested=Max(congested))
    )
    cells: dict[int, list[Cell | None]] = {row.pk: [None] * COLUMNS for row in resources}
    for row in rows:
        if row["ratio"] is not None:
            cells[row["resource_id"]][row["column"] - first] = Cell(
                level=_level(row["ratio"], is_congested=bool(row["congested"])),
                ratio=row["ratio"],
                value=row["worst"],
            )
    return {pk: Strip(since=since, cells=tuple(row)) for pk, row in cells.items()}


def _level(ratio: float, *, is_congested: bool) -> Level:
    # A value above the threshold on an idle device is no congestion, so the state decides.
    if is_congested:
        return Level.ABOVE
    if ratio >= NEAR_RATIO:
        return Level.NEAR
    return Level.BELOW if ratio >= CALM_RATIO else Level.CALM
