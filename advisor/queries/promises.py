"""What was promised to allocations, version by version, and whether they wanted it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.detection.congestion import ALARMS
from advisor.history.levels import read_levels
from advisor.models import Allocation, Policy, Resource, RolloutHost
from ingest.core.grid import Flags, Floats, Grid, microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The settings of an allocation from `since` on; a limit of None means no limit.

    They are those of this `version` of the policy, None before there was one.
    """

    since: datetime | None
    reservation: float
    limit: float | None
    entitlement: float | None
    version: int | None = None


def promises_of(allocations: Collection[Allocation]) -> dict[int, list[Promise]]:
    """By allocation its own settings, then those of each version that its host was given.

    The newest is the last.
    """
    versions: dict[int, list[_Version]] = defaultdict(list)
    rows = Policy.objects.filter(resource__in={one.resource_id for one in allocations})
    fields = ("resource_id", "pk", "version", "created_at", "allocations")
    for resource, key, number, at, granted in rows.order_by("version").values_list(*fields):
        own = {one["allocation"]: one for one in granted}
        versions[resource].append((key, number, at, own))
    given = _given(allocations)
    return {
        one.pk: _promises(
            one,
            [
                (number, at, granted)
                for key, number, created_at, granted in versions[one.resource_id]
                if (at := given.get((key, one.host_id), created_at)) is not None
            ],
        )
        for one in allocations
    }


_Granted = dict[int, dict[str, Any]]
_Version = tuple[int, int, datetime, _Granted]
"""The key of a policy, its version, when it was created, and its allocations by their keys."""


def _given(allocations: Collection[Allocation]) -> dict[tuple[int, int], datetime | None]:
    """When hosts were given versions that came in stages, None where they were not."""
    rows = RolloutHost.objects.filter(
        rollout__policy__resource__in={one.resource_id for one in allocations},
        host__in={one.host_id for one in allocations},
    )
    fields = ("rollout__policy_id", "host_id", "released_at")
    return {(policy, host): at for policy, host, at in rows.values_list(*fields)}


def _promises(
    allocation: Allocation, versions: Sequence[tuple[int, datetime, _Granted]]
) -> list[Promise]:
    promises = [
        Promise(
            since=None,
            reservation=allocation.reservation,
            limit=allocation.limit,
            entitlement=None,
        )
    ]
    for version, created_at, allocations in versions:
        found = allocations.get(allocation.pk)
        if found is None:
            # A version without it restores what was found.
            promises.append(replace(promises[0], since=created_at, version=version))
            continue
        promises.append(
            Promise(
                since=created_at,
                reservation=found["reservation"],
                limit=found["limit"],
                entitlement=found.get("entitlement"),
                version=version,
            )
        )
    return promises


def promised_in(promises: Sequence[Promise], grid: Grid) -> tuple[Floats, Floats]:
    """Reservation and limit in force in each window, NaN where there is no limit; (windows)."""
    in_force = np.zeros(grid.count, dtype=np.int64)
    for place, promise in enumerate(promises):
        since_us = grid.since_us if promise.since is None else microseconds(promise.since)
        in_force[grid.ends_us > since_us] = place
    reservations = np.array([one.reservation for one in promises], dtype=np.float64)
    limits = np.array([one.limit for one in promises], dtype=np.float64)
    return reservations[in_force], limits[in_force]


def congested_in(resources: Sequence[Resource], grid: Grid) -> dict[int, Flags]:
    """By resource the windows in which it was congested at some time, (windows)."""
    found = {}
    for key, levels in read_levels(resources, since=grid.since, until=grid.until).items():
        places = levels.places(grid)[levels.is_state(*ALARMS)]
        found[key] = np.zeros(grid.count, dtype=np.bool_)
        found[key][places[places >= 0]] = True
    return found
