"""A workload's last day on every resource: its rates and reservations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from django.db.models import Q

from advisor.advice.shared.picture import Axis, Level, Line, Picture, Point
from advisor.core.detection.congestion import ALARMS
from advisor.core.own_limit import is_held_back
from advisor.core.quantity import format_rate
from advisor.history.observe import AllocationWindow, allocation_windows
from advisor.history.tiers import shares_of
from advisor.history.windows import Span
from advisor.models import Allocation, Policy, Resource, StatePoint, Workload
from advisor.queries.incidents import IncidentLine, incident_lines, incident_rows
from advisor.queries.scope import Scope

LENGTH = timedelta(days=1)
SHORTEST_WINDOW_S = 60.0
MOST_POINTS = 1440
"""A day in minutes."""
SHOWN_POINTS = 360
INCIDENTS_OF = timedelta(days=7)
MOST_INCIDENTS = 20
GAP = 2.5
"""Two windows further apart than this multiple of the usual distance have a gap."""
SHORT = 0.95
"""A rate this near to a reservation meets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The settings of an allocation from `since` on; a limit of None means no limit."""

    since: datetime | None
    reservation: float
    limit: float | None
    entitlement: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationDay:
    """One allocation over the last day; minutes are None where nothing was measured.

    `unmet_min` counts the windows below the reservation in which it wanted more: it waited for
    I/O, or the resource was congested. `throttled_min` counts those at its own limit.
    """

    allocation: Allocation
    resource: Resource
    shares: int
    promise: Promise
    mean: float | None
    measured_min: float
    unmet_min: float | None
    throttled_min: float | None
    picture: Picture | None

    @property
    def met_ratio(self) -> float | None:
        """The fraction of the day in which the reservation was met; None without one."""
        if self.unmet_min is None or self.promise.reservation == 0:
            return None
        return 1 - self.unmet_min / self.measured_min


def allocation_days(workload: Workload, *, now: datetime) -> list[AllocationDay]:
    """Its allocations in order of their resources."""
    allocations = workload.allocations.select_related("resource", "host", "workload")
    return [
        _allocation_day(allocation, now)
        for allocation in allocations.order_by("resource__name", "host__name", "pk")
    ]


def incidents_with(scope: Scope, workload: Workload, *, now: datetime) -> list[IncidentLine]:
    """The incidents of the last week with it as victim or aggressor, newest first."""
    named = [{"workload": workload.name}]
    rows = incident_rows(scope).filter(
        Q(victims__contains=named) | Q(aggressors__contains=named),
        started_at__gt=now - INCIDENTS_OF,
    )
    return incident_lines(list(rows[:MOST_INCIDENTS]), now=now)


def _allocation_day(allocation: Allocation, now: datetime) -> AllocationDay:
    resource = allocation.resource
    window_s = max(resource.window_s, SHORTEST_WINDOW_S)
    span = Span(since=now - LENGTH, until=now, window_s=window_s)
    windows = allocation_windows(allocation, span=span, max_points=MOST_POINTS)
    promises = _promises(allocation)
    throttled = unmet = 0
    congested = _congested(resource, span) if windows else []
    for window in windows:
        promise = _at(promises, window.at)
        is_throttled = is_held_back(
            window.rate, promise.limit, counted_before=resource.traits.counts_before_limit
        )
        throttled += is_throttled
        unmet += (
            not is_throttled
            and window.rate < SHORT * promise.reservation
            and _wanted_more(window, congested, window_s)
        )
    minutes = window_s / 60
    return AllocationDay(
        allocation=allocation,
        resource=resource,
        shares=shares_of(allocation),
        promise=promises[-1],
        mean=sum(one.rate for one in windows) / len(windows) if windows else None,
        measured_min=len(windows) * minutes,
        unmet_min=unmet * minutes if windows else None,
        throttled_min=throttled * minutes if windows else None,
        picture=_picture(allocation, windows, promises[-1]) if len(windows) > 1 else None,
    )


def _promises(allocation: Allocation) -> list[Promise]:
    """The allocation's own settings, then those of each policy version that has it."""
    promises = [
        Promise(
            since=None,
            reservation=allocation.reservation,
            limit=allocation.limit,
            entitlement=None,
        )
    ]
    versions = Policy.objects.filter(resource=allocation.resource).order_by("version")
    for created_at, allocations in versions.values_list("created_at", "allocations"):
        found: dict[str, Any] | None = next(
            (one for one in allocations if one["allocation"] == allocation.pk), None
        )
        if found is None:
            # A version without it restores what was found.
            promises.append(promises[0])
            continue
        promises.append(
            Promise(
                since=created_at,
                reservation=found["reservation"],
                limit=found["limit"],
                entitlement=found.get("entitlement"),
            )
        )
    return promises


def _at(promises: Sequence[Promise], at: datetime) -> Promise:
    in_force = [one for one in promises if one.since is None or one.since < at]
    return in_force[-1] if in_force else promises[0]


def _congested(resource: Resource, span: Span) -> list[datetime]:
    points = StatePoint.objects.filter(
        resource=resource, state__in=ALARMS, at__gt=span.since, at__lte=span.until
    )
    return list(points.order_by("at").values_list("at", flat=True))


def _wanted_more(window: AllocationWindow, congested: Sequence[datetime], window_s: float) -> bool:
    if window.backlogged is not None:
        return window.backlogged
    begin = window.at - timedelta(seconds=window_s)
    return any(begin < at <= window.at for at in congested)


def _picture(
    allocation: Allocation, windows: Sequence[AllocationWindow], promise: Promise
) -> Picture:
    """Its rate since the first sample of the day, with limit and reservation."""
    unit = allocation.resource.unit
    factor, label = (1.0, "IOPS") if unit == "iops" else (1e6, _MEGA[unit])
    begins, length = windows[0].at, windows[-1].at - windows[0].at
    levels = (
        ("reservation", promise.reservation or None, True),
        ("limit", promise.limit, False),
        ("entitled", promise.entitlement, True),
    )
    return Picture(
        title=f"Rate on {allocation.resource.name}",
        said=f"Its rate on {allocation.resource.name} over the last day, "
        f"{format_rate(sum(one.rate for one in windows) / len(windows), unit)} on average",
        x=Axis(
            label="time, UTC",
            ticks=tuple(
                (part * (length / timedelta(hours=1)), f"{begins + part * length:%H:%M}")
                for part in (0.0, 0.25, 0.5, 0.75, 1.0)
            ),
        ),
        y=Axis(label="rate", unit=label),
        lines=(Line(label="rate", points=_with_gaps(windows, factor)),),
        levels=tuple(
            Level(value=value / factor, text=f"{name} {format_rate(value, unit)}", is_after=after)
            for name, value, after in levels
            if value is not None
        ),
    )


def _with_gaps(windows: Sequence[AllocationWindow], factor: float) -> tuple[Point | None, ...]:
    """Hours since the first window and rates; None where windows are missing between two."""
    shown = windows[:: max(len(windows) // SHOWN_POINTS, 1)]
    steps_s = [(later.at - one.at).total_seconds() for one, later in pairwise(shown)]
    gap = timedelta(seconds=GAP * median(steps_s)) if steps_s else None
    points: list[Point | None] = []
    for place, one in enumerate(shown):
        if place and gap is not None and one.at - shown[place - 1].at > gap:
            points.append(None)
        points.append(((one.at - windows[0].at) / timedelta(hours=1), one.rate / factor))
    return tuple(points)


_MEGA = {"bits_per_s": "Mbit/s", "bytes_per_s": "MB/s"}
