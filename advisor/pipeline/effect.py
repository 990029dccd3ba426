"""What an applied policy did to each workload, beside workloads that no policy touched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from advisor.core.enforced_time import Stretch
from advisor.core.forecast.synthetic_control import (
    MOST_DONORS,
    Effect,
    NoEffect,
    effect_of_change,
)
from advisor.history.measured import read_rates
from advisor.models import Allocation, Policy, Resource
from ingest.core.grid import Grid, grid_of


def effects_of(
    policy: Policy, allocations: Sequence[Allocation], *, scored: Grid, settled: Sequence[Stretch]
) -> dict[int, Effect | NoEffect]:
    """By allocation; as much time before the policy is looked at as was scored after it.

    Only windows count that were over when the policy was made, or in which it had settled.
    """
    length = scored.until - scored.since
    grid = grid_of(policy.created_at - length, scored.until, scored.window_s)
    donors = _donors(policy, allocations, grid)
    rates = read_rates([*allocations, *donors], grid).rate
    window = timedelta(seconds=grid.window_s)
    after = np.array(
        [any(since <= at - window and at <= until for since, until in settled) for at in grid.ends]
    )
    counts = after | np.array([at <= policy.created_at for at in grid.ends])
    rates, after = rates[counts], after[counts]
    own, others = rates[:, : len(allocations)], rates[:, len(allocations) :]
    return {
        row.pk: effect_of_change(series, others, is_after=after)
        for row, series in zip(allocations, own.T, strict=True)
    }


def _donors(policy: Policy, allocations: Sequence[Allocation], grid: Grid) -> list[Allocation]:
    """Of other resources of the kind that got no policy meanwhile, and of other workloads.

    What shares the resource is touched too: what one of them gets another has lost.
    """
    resource = policy.resource
    changed = Policy.objects.filter(
        resource__organisation=resource.organisation_id,
        created_at__gt=grid.since,
        created_at__lte=grid.until,
    )
    untouched = Resource.objects.filter(
        organisation=resource.organisation_id, kind=resource.kind, unit=resource.unit
    ).exclude(pk__in=changed.values("resource"))
    rows = (
        Allocation.objects.filter(resource__in=untouched.exclude(pk=resource.pk))
        .exclude(workload__in=[row.workload_id for row in allocations])
        .select_related("workload", "host", "resource")
    )
    return list(rows.order_by("pk")[:MOST_DONORS])
