"""What every allocation of a resource gets right now, in a few queries however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.models import Allocation, Resource
from advisor.queries.allocation_rates import measured_rates

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""

_REACH = timedelta(seconds=120)
"""Samples may come half a minute late."""


def current_rates(
    resource: Resource, allocations: Sequence[Allocation], *, now: datetime
) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in the resource's unit."""
    rates: dict[int, float | None] = {allocation.pk: None for allocation in allocations}
    measured = measured_rates(allocations, unit=resource.unit, span=(now - _REACH, now))
    for pk, (growth, values) in measured.items():
        if len(values):
            recent = growth.ends_s > growth.ends_s[-1] - RECENT.total_seconds()
            rates[pk] = float(np.average(values[recent], weights=growth.seconds[recent]))
    return rates
