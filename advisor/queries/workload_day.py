"""A workload's last day on every resource: its rates and reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Q

from advisor.core.detection.congestion import ALARMS
from advisor.core.detection.micro_burst import LimitLooks, MicroBurst, find_micro_burst
from advisor.core.own_limit import throttled
from advisor.history.levels import read_levels
from advisor.history.limit_looks import read_limit_looks
from advisor.history.own_windows import read_own_windows
from advisor.models import Allocation, Policy, Resource, RolloutHost, Workload
from advisor.queries.incidents import IncidentLine, incident_lines, incident_rows
from advisor.queries.scope import Scope
from ingest.core.grid import Flags, Floats, Grid, grid_of, microseconds

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
    I/O, or the resource was congested. `throttled_min` counts those at its own limit; `burst` is
    what they do not show of it, None if there is none, or nobody looked.
    """

    allocation: Allocation
    resource: Resource
    shares: int
    promise: Promise
    mean: float | None
    measured_min: float
    unmet_min: float | None
    throttled_min: float | None
    burst: MicroBurst | None

    @property
    def met_ratio(self) -> float | None:
        """The fraction of the day in which the reservation was met; None without one."""
        if self.unmet_min is None or self.promise.reservation == 0:
            return None
        return 1 - self.unmet_min / self.measured_min


def allocation_days(workload: Workload, *, now: datetime) -> list[AllocationDay]:
    """Its allocations of the last day, in order of their resources."""
    of_day = Q(vanished_at=None) | Q(vanished_at__gt=now - LENGTH)
    rows = workload.allocations.filter(of_day).select_related("resource", "host", "workload")
    allocations = list(rows.order_by("resource__name", "host__name", "pk"))
    promises = promises_of(allocations)
    together: dict[float, list[Allocation]] = defaultdict(list)
    for allocation in allocations:
        together[max(allocation.resource.window_s, SHORTEST_WINDOW_S)].append(allocation)
    # Whether it waited matters only where less than a reservation may be too little.
    reserved = {key for key, own in promises.items() if any(one.reservation for one in own)}
    limited = [one for one in allocations if any(own.limit for own in promises[one.pk])]
    looks = read_limit_looks(limited, since=now - LENGTH, until=now)
    days = {}
    for window_s, group in together.items():
        grid = grid_of(now - LENGTH, now, window_s)
        windows = read_own_windows(group, grid, waiting=reserved)
        congested = _congested([one.resource for one in group if one.pk in reserved], grid)
        for one in group:
            own, alarms = windows[one.pk], congested.get(one.resource_id, False)
            wanted_more = np.where(np.isnan(own.waited), alarms, own.waited == 1)
            days[one.pk] = _allocation_day(
                one, grid, own.rate, wanted_more, promises[one.pk], looks=looks.get(one.pk)
            )
    return [days[allocation.pk] for allocation in allocations]


def incidents_with(scope: Scope, workload: Workload, *, now: datetime) -> list[IncidentLine]:
    """The incidents of the last week with it as victim or aggressor, newest first.

    Those of before it was renamed have the name that it had then.
    """
    is_party = _is_party(workload.name)
    for name, until in workload.identity.get("former", ()):
        is_party |= _is_party(name) & Q(started_at__lt=datetime.fromisoformat(until))
    rows = incident_rows(scope).filter(is_party, started_at__gt=now - INCIDENTS_OF)
    return incident_lines(list(rows[:MOST_INCIDENTS]), now=now)


def _is_party(name: str) -> Q:
    named = [{"workload": name}]
    return Q(victims__contains=named) | Q(aggressors__contains=named)


def _allocation_day(
    allocation: Allocation,
    grid: Grid,
    rate: Floats,
    wanted_more: Flags,
    promises: Sequence[Promise],
    *,
    looks: LimitLooks | None,
) -> AllocationDay:
    """Of its windows, (windows) each, and of looks at its queue."""
    resource, known = allocation.resource, ~np.isnan(rate)
    is_known, minutes = bool(known.any()), grid.window_s / 60
    reservation, limit = _promised(promises, grid)
    held = throttled(rate, limit, counted_before=resource.traits.counts_before_limit)
    unmet = ~held & (rate < SHORT * reservation) & wanted_more
    return AllocationDay(
        allocation=allocation,
        resource=resource,
        shares=allocation.weight,
        promise=promises[-1],
        mean=float(rate[known].mean()) if is_known else None,
        measured_min=int(known.sum()) * minutes,
        unmet_min=int(unmet.sum()) * minutes if is_known else None,
        throttled_min=int(held.sum()) * minutes if is_known else None,
        burst=None if looks is None else _burst(looks),
    )


def _burst(looks: LimitLooks) -> MicroBurst | None:
    found = find_micro_burst(looks)
    return found if isinstance(found, MicroBurst) else None


def promises_of(allocations: Collection[Allocation]) -> dict[int, list[Promise]]:
    """By allocation its own settings, then those of each version that its host was given.

    The newest is the last.
    """
    versions: dict[int, list[_Version]] = defaultdict(list)
    rows = Policy.objects.filter(resource__in={one.resource_id for one in allocations})
    fields = ("resource_id", "pk", "created_at", "allocations")
    for resource, key, created_at, granted in rows.order_by("version").values_list(*fields):
        versions[resource].append((key, created_at, granted))
    given = _given(allocations)
    return {
        one.pk: _promises(
            one,
            [
                (at, granted)
                for key, created_at, granted in versions[one.resource_id]
                if (at := given.get((key, one.host_id), created_at)) is not None
            ],
        )
        for one in allocations
    }


_Version = tuple[int, datetime, list[dict[str, Any]]]
"""The key of a policy, when it was created, and its allocations."""


def _given(allocations: Collection[Allocation]) -> dict[tuple[int, int], datetime | None]:
    """When hosts were given versions that came in stages, None where they were not."""
    rows = RolloutHost.objects.filter(
        rollout__policy__resource__in={one.resource_id for one in allocations},
        host__in={one.host_id for one in allocations},
    )
    fields = ("rollout__policy_id", "host_id", "released_at")
    return {(policy, host): at for policy, host, at in rows.values_list(*fields)}


def _promises(
    allocation: Allocation, versions: Sequence[tuple[datetime, list[dict[str, Any]]]]
) -> list[Promise]:
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


def _promised(promises: Sequence[Promise], grid: Grid) -> tuple[Floats, Floats]:
    """Reservation and limit in force in each window, NaN where there is no limit; (windows)."""
    in_force = np.zeros(grid.count, dtype=np.int64)
    for place, promise in enumerate(promises):
        since_us = grid.since_us if promise.since is None else microseconds(promise.since)
        in_force[grid.ends_us > since_us] = place
    reservations = np.array([one.reservation for one in promises], dtype=np.float64)
    limits = np.array([one.limit for one in promises], dtype=np.float64)
    return reservations[in_force], limits[in_force]


def _congested(resources: Sequence[Resource], grid: Grid) -> dict[int, Flags]:
    """By resource the windows in which it was congested at some time, (windows)."""
    found = {}
    for key, levels in read_levels(resources, since=grid.since, until=grid.until).items():
        places = levels.places(grid)[levels.is_state(*ALARMS)]
        found[key] = np.zeros(grid.count, dtype=np.bool_)
        found[key][places[places >= 0]] = True
    return found
