"""A workload's last day on every resource: its rates and reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from advisor.core.detection.congestion import ALARMS
from advisor.core.own_limit import is_held_back
from advisor.history.history import AllocationWindow, History
from advisor.history.inventory import inventory_of
from advisor.history.reader import read_histories
from advisor.models import Allocation, Policy, Resource, Workload
from advisor.queries.incidents import IncidentLine, incident_lines, incident_rows
from advisor.queries.scope import Scope
from ingest.core.grid import grid_of

LENGTH = timedelta(days=1)
SHORTEST_WINDOW_S = 60.0
INCIDENTS_OF = timedelta(days=7)
MOST_INCIDENTS = 20
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

    @property
    def met_ratio(self) -> float | None:
        """The fraction of the day in which the reservation was met; None without one."""
        if self.unmet_min is None or self.promise.reservation == 0:
            return None
        return 1 - self.unmet_min / self.measured_min


def allocation_days(workload: Workload, *, now: datetime) -> list[AllocationDay]:
    """Its allocations in order of their resources."""
    rows = workload.allocations.select_related("resource", "host", "workload")
    allocations = list(rows.order_by("resource__name", "host__name", "pk"))
    promises = promises_of(allocations)
    together: dict[float, list[Allocation]] = defaultdict(list)
    for allocation in allocations:
        together[max(allocation.resource.window_s, SHORTEST_WINDOW_S)].append(allocation)
    days = {}
    for window_s, group in together.items():
        by_key = {allocation.resource_id: allocation.resource for allocation in group}
        resources = list(by_key.values())
        grid = grid_of(now - LENGTH, now, window_s)
        inventory = inventory_of(resources, group)
        for history in read_histories(resources, grid, inventory=inventory).values():
            windows = history.windows_by_allocation()
            for allocation in history.allocations.rows:
                days[allocation.pk] = _allocation_day(
                    allocation, windows[allocation.pk], history, promises[allocation.pk]
                )
    return [days[allocation.pk] for allocation in allocations]


def incidents_with(scope: Scope, workload: Workload, *, now: datetime) -> list[IncidentLine]:
    """The incidents of the last week with it as victim or aggressor, newest first."""
    named = [{"workload": workload.name}]
    rows = incident_rows(scope).filter(
        Q(victims__contains=named) | Q(aggressors__contains=named),
        started_at__gt=now - INCIDENTS_OF,
    )
    return incident_lines(list(rows[:MOST_INCIDENTS]), now=now)


def _allocation_day(
    allocation: Allocation,
    windows: Sequence[AllocationWindow],
    history: History,
    promises: Sequence[Promise],
) -> AllocationDay:
    resource, window_s = allocation.resource, history.grid.window_s
    throttled = unmet = 0
    congested = _congested(history)
    for window in windows:
        promise = _at(promises, window.at)
        is_throttled = is_held_back(
            window.rate, promise.limit, counted_before=resource.traits.counts_before_limit
        )
        throttled += is_throttled
        unmet += (
            not is_throttled
            and window.rate < SHORT * promise.reservation
            and _wanted_more(window, congested)
        )
    minutes = window_s / 60
    return AllocationDay(
        allocation=allocation,
        resource=resource,
        shares=allocation.weight,
        promise=promises[-1],
        mean=sum(one.rate for one in windows) / len(windows) if windows else None,
        measured_min=len(windows) * minutes,
        unmet_min=unmet * minutes if windows else None,
        throttled_min=throttled * minutes if windows else None,
    )


def promises_of(allocations: Collection[Allocation]) -> dict[int, list[Promise]]:
    """By allocation its own settings, then those of each policy version, the newest last."""
    versions: dict[int, list[_Version]] = defaultdict(list)
    rows = Policy.objects.filter(resource__in={one.resource_id for one in allocations})
    fields = ("resource_id", "created_at", "allocations")
    for resource, created_at, granted in rows.order_by("version").values_list(*fields):
        versions[resource].append((created_at, granted))
    return {one.pk: _promises(one, versions[one.resource_id]) for one in allocations}


_Version = tuple[datetime, list[dict[str, Any]]]
"""When a policy was created, and its allocations."""


def _promises(allocation: Allocation, versions: Sequence[_Version]) -> list[Promise]:
    promises = [
        Promise(
            since=None,
            reservation=allocation.reservation,
            limit=allocation.limit,
            entitlement=None,
        )
    ]
    for created_at, allocations in versions:
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


def _congested(history: History) -> set[datetime]:
    """The windows of the grid in which the resource was congested at some time."""
    ends, places = history.grid.ends, history.levels.places(history.grid)
    alarms = places[history.levels.is_state(*ALARMS)]
    return {ends[place] for place in alarms[alarms >= 0].tolist()}


def _wanted_more(window: AllocationWindow, congested: Collection[datetime]) -> bool:
    return window.at in congested if window.backlogged is None else window.backlogged
