"""What was judged of each window of a resource: the one place that stores and reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import OuterRef, Subquery

from accounts.models import Organisation
from advisor.core.canonical import from_plain, to_plain
from advisor.core.detection import congestion as core
from advisor.core.detection.nic_signals import NicEvidence
from advisor.models import Resource, State, StatePoint
from ingest.core.grid import Flags, Floats, Grid, Integers
from ingest.core.microseconds import microseconds

LEVEL_COLUMNS = ("value", "threshold", "load", "device_load")

States = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """The judged windows, in order: each column (judged).

    `at_us` are their ends, `state` is that of the detector; NaN is absent.
    """

    at_us: Integers
    state: States
    value: Floats
    threshold: Floats
    load: Floats
    device_load: Floats

    def places(self, grid: Grid) -> Integers:
        """The window of the grid that each judged window lies in; -1 is outside."""
        # A judged window lies in the window that has its end.
        found = -((grid.since_us - self.at_us) // grid.window_us) - 1
        return np.where((found >= 0) & (found < grid.count), found, -1)

    def is_state(self, *states: State) -> Flags:
        """(judged)."""
        return np.isin(self.state, [state.value for state in states])


def read_levels(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, Levels]:
    """What was judged of each resource, by its key, in the windows that end in (since, until]."""
    rows = StatePoint.objects.filter(
        resource__in=[resource.pk for resource in resources], at__gt=since, at__lte=until
    )
    found: dict[int, list[tuple[Any, ...]]] = {resource.pk: [] for resource in resources}
    for row in rows.order_by("resource_id", "at").values_list(
        "resource_id", "at", "state", *LEVEL_COLUMNS
    ):
        found[row[0]].append(row[1:])
    return {key: _level_columns(own) for key, own in found.items()}


def _level_columns(rows: Sequence[tuple[Any, ...]]) -> Levels:
    ends, states, *values = zip(*rows, strict=True) if rows else ((),) * (2 + len(LEVEL_COLUMNS))
    columns = {
        # None becomes NaN.
        name: np.array(column, dtype=np.float64)
        for name, column in zip(LEVEL_COLUMNS, values, strict=True)
    }
    return Levels(
        at_us=np.array([microseconds(at) for at in ends], dtype=np.int64),
        state=np.array(states, dtype=np.object_),
        **columns,
    )


def read_points(
    resource: Resource, *, since: datetime, until: datetime | None = None
) -> list[core.StatePoint]:
    """The windows of one resource that end in (since, until], with reasons and signals."""
    rows = StatePoint.objects.filter(resource=resource, at__gt=since).order_by("at")
    if until is not None:
        rows = rows.filter(at__lte=until)
    return [
        core.StatePoint(
            at=row.at,
            since=row.since,
            state=core.CongestionState(row.state),
            value=row.value,
            threshold=row.threshold,
            load=row.load,
            reason=row.reason,
            signals=tuple(from_plain(NicEvidence, one) for one in row.signals),
            device_load=row.device_load,
        )
        for row in rows
    ]


def save_points(points: Mapping[Resource, Sequence[core.StatePoint]]) -> None:
    """Store the windows that were judged of each resource, in order of time.

    A window that is stored keeps what was judged first.
    """
    StatePoint.objects.bulk_create(
        [
            StatePoint(
                resource=resource,
                at=point.at,
                since=point.since,
                state=point.state,
                value=point.value,
                threshold=point.threshold,
                load=point.load,
                device_load=point.device_load,
                reason=point.reason,
                signals=[to_plain(signal) for signal in point.signals],
            )
            for resource, judged in points.items()
            for point in judged
        ],
        ignore_conflicts=True,
    )


def newest_loads(resources: Collection[int], *, since: datetime) -> dict[int, float]:
    """The load of the newest window of each resource, if it ends after `since` and has one."""
    newest = StatePoint.objects.filter(resource=OuterRef("pk"), at__gt=since)
    load = Subquery(newest.order_by("-at").values("load")[:1])
    found = Resource.objects.filter(pk__in=resources).order_by().annotate(load=load)
    return {pk: load for pk, load in found.values_list("pk", "load") if load is not None}


def newest_ends(resources: Collection[int]) -> dict[int, datetime]:
    """The end of the newest window of each resource that was ever judged."""
    newest = StatePoint.objects.filter(resource=OuterRef("pk")).order_by("-at")
    found = Resource.objects.filter(pk__in=resources).order_by()
    ends = found.annotate(end=Subquery(newest.values("at")[:1])).values_list("pk", "end")
    return {pk: end for pk, end in ends if end is not None}


def was_ever_judged(organisation: Organisation) -> bool:
    """Whether the state of some window of the organisation was known."""
    judged = StatePoint.objects.filter(resource__organisation=organisation)
    return judged.exclude(state=State.UNKNOWN).exists()


def forget_points(resource: Resource, *, since: datetime) -> None:
    """The windows that end after `since` were never judged."""
    StatePoint.objects.filter(resource=resource, at__gt=since).delete()


def drop_points(resource: int, *, before: datetime) -> int:
    """Delete what is known of windows that end before; the number of rows."""
    deleted, _ = StatePoint.objects.filter(resource=resource, at__lt=before).delete()
    return deleted


def stored_rows() -> int:
    """Rows that say in which state some resource was."""
    return StatePoint.objects.count()
