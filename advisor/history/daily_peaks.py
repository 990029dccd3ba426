"""The busiest quarter of an hour of each day: of a resource, and of groups of workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import numpy as np

from advisor.history.inventory import inventory_of
from advisor.history.reader import read_histories
from advisor.models import Allocation, Resource
from ingest.core.grid import Floats, grid_of

DAY = timedelta(days=1)
QUARTER_S = 900.0
QUARTERS = 96
KNOWN_QUARTERS = 72
"""A day of which less was measured may hide its peak."""

Peaks = list[float | None]


def read_daily_peaks(
    resource: Resource, *, first: date, days: int, pools: Mapping[int, Sequence[int]]
) -> tuple[Peaks, dict[int, Peaks]]:
    """What all devices carried, and the allocations of each pool together; one peak a day.

    In the resource's unit; None where less than three quarters of the day were measured. All of it
    is read once.
    """
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    grid = grid_of(since, since + days * DAY, QUARTER_S)
    wanted = {member for members in pools.values() for member in members}
    rows = list(
        Allocation.objects.filter(pk__in=wanted).select_related("workload", "host", "resource")
    )
    inventory = inventory_of([resource], rows)
    history = read_histories([resource], grid, inventory=inventory, is_judged=False)[resource.pk]
    delivered = resource.traits.reader.delivered(history.read_resource, history.devices)
    own = history.allocations
    places = {key: place for place, key in enumerate(own.keys.tolist())}
    in_pools = {
        pool: _together(own.rate[:, [places[one] for one in members if one in places]])
        for pool, members in pools.items()
    }
    return (
        _peaks(np.where(history.measured, delivered, np.nan)),
        {pool: _peaks(values) for pool, values in in_pools.items()},
    )


def _together(rates: Floats) -> Floats:
    """What they got in each window; unknown where none is known."""
    is_known = ~np.isnan(rates).all(axis=1)
    total: Floats = np.where(is_known, np.nansum(rates, axis=1), np.nan)
    return total


def _peaks(values: Floats) -> Peaks:
    by_day = values.reshape(-1, QUARTERS)
    known = np.count_nonzero(~np.isnan(by_day), axis=1) >= KNOWN_QUARTERS
    highest = np.nanmax(np.where(known[:, None], by_day, 0.0), axis=1).tolist()
    return [peak if is_known else None for peak, is_known in zip(highest, known, strict=True)]
