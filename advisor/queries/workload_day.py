"""A workload's last day on every resource: its rates and reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Q

from advisor.core.detection.micro_burst import LimitLooks, MicroBurst, find_micro_burst
from advisor.core.own_limit import throttled
from advisor.core.reporting.promise import KEPT_RATIO
from advisor.history.limit_looks import read_limit_looks
from advisor.history.own_windows import read_own_windows
from advisor.models import Allocation, Resource, Workload
from advisor.queries.incidents import IncidentLine, incident_lines, incident_rows
from advisor.queries.promises import Promise, congested_in, promised_in, promises_of
from advisor.queries.scope import Scope
from ingest.core.grid import Flags, Floats, Grid, grid_of

LENGTH = timedelta(days=1)
SHORTEST_WINDOW_S = 60.0
INCIDENTS_OF = timedelta(days=7)
MOST_INCIDENTS = 20


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
        congested = congested_in([one.resource for one in group if one.pk in reserved], grid)
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
    reservation, limit = promised_in(promises, grid)
    held = throttled(rate, limit, counted_before=resource.traits.counts_before_limit)
    unmet = ~held & (rate < KEPT_RATIO * reservation) & wanted_more
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
