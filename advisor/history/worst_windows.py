"""The worst window of each few minutes of many resources, as a day of the fleet is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import (
    Case,
    DateTimeField,
    F,
    FloatField,
    Func,
    Max,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import NullIf

from advisor.models import State, StatePoint
from ingest.core.grid import Floats

COLUMN_S = 300
CONGESTED_WINDOW, STALLED_WINDOW = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorstWindows:
    """Each (resources, columns).

    `ratio` is the largest one of a value to its threshold and `value` the largest value; NaN is
    unknown. `alarm` is `STALLED_WINDOW` or `CONGESTED_WINDOW` if some window was so, else 0.
    """

    ratio: Floats
    value: Floats
    alarm: npt.NDArray[np.uint8]


def read_worst_windows(
    resources: Sequence[int], *, since: datetime, until: datetime
) -> WorstWindows:
    """Of the windows that end in (since, until], in columns of five minutes from `since` on.

    `since` and `until` are multiples of five minutes. A window belongs to the column that it ends
    in, and one that ends with a column to that.
    """
    shape = (len(resources), round((until - since) / timedelta(seconds=COLUMN_S)))
    found = WorstWindows(
        ratio=np.full(shape, np.nan),
        value=np.full(shape, np.nan),
        alarm=np.zeros(shape, dtype=np.uint8),
    )
    places = {pk: place for place, pk in enumerate(resources)}
    first_s = round(since.timestamp())
    for row in _rows(resources, since, until):
        column = (round(row["column"].timestamp()) - first_s) // COLUMN_S
        at = places[row["resource_id"]], column
        found.ratio[at] = np.nan if row["ratio"] is None else row["ratio"]
        found.value[at] = np.nan if row["worst"] is None else row["worst"]
        found.alarm[at] = row["alarm"]
    return found


def _rows(resources: Sequence[int], since: datetime, until: datetime) -> QuerySet[Any, Any]:
    # A window is known by its end, and one that ends with a column belongs to it.
    origin = since + timedelta(microseconds=1)
    column = Func(
        Value(timedelta(seconds=COLUMN_S)),
        F("at"),
        Value(origin),
        function="date_bin",
        output_field=DateTimeField(),
    )
    return (
        StatePoint.objects.filter(
            ~Q(value=None) | Q(state=State.STALLED),
            resource__in=resources,
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
                    When(state=State.STALLED, then=STALLED_WINDOW),
                    When(state=State.CONGESTED, then=CONGESTED_WINDOW),
                    default=0,
                )
            ),
        )
    )
