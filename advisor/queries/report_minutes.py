"""What was kept of the promises of a period, minute by minute.

Some allocations and a day at a time are read, so that memory depends neither on their number nor
on the length of the period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from advisor.core.reporting.period import DAY, Period
from advisor.core.reporting.promise import KEPT_RATIO, PromiseMinutes, promise_minutes
from advisor.history.own_times import own_times
from advisor.history.own_windows import OwnWindows, read_own_windows
from advisor.models import Allocation
from advisor.queries.promises import Promise, congested_in, promised_in, promises_of
from ingest.core.grid import Flags, Floats, Grid, grid_of

SHORTEST_WINDOW_S = 60.0
MOST_TOGETHER = 400
"""Allocations whose windows of a day are read at once, so that memory is bounded."""


def read_promise_minutes(
    allocations: Sequence[Allocation], period: Period, *, reserved_only: bool = False
) -> dict[int, PromiseMinutes]:
    """By allocation; one without a reservation or limit in the period is left out.

    `reserved_only` leaves out those that had a limit alone, which may be most of a fleet.
    """
    promises = {
        key: found
        for key, found in promises_of(allocations).items()
        if any(one.reservation or (one.limit is not None and not reserved_only) for one in found)
    }
    minutes: dict[int, PromiseMinutes] = defaultdict(PromiseMinutes)
    together: dict[float, list[Allocation]] = defaultdict(list)
    for one in allocations:
        if one.pk in promises:
            together[max(one.resource.window_s, SHORTEST_WINDOW_S)].append(one)
    for window_s, group in sorted(together.items()):
        for begin in range(0, len(group), MOST_TOGETHER):
            part = group[begin : begin + MOST_TOGETHER]
            for grid in _days(period, window_s):
                for key, found in _minutes_of(part, promises, grid):
                    minutes[key] += found
    return minutes


def _days(period: Period, window_s: float) -> Iterator[Grid]:
    """The windows of the period, a day at a time."""
    whole = grid_of(period.since, period.until, window_s)
    step = max(int(DAY.total_seconds() / window_s), 1)
    for begin in range(0, whole.count, step):
        yield whole.part(begin, min(begin + step, whole.count))


def _minutes_of(
    allocations: Sequence[Allocation], promises: Mapping[int, Sequence[Promise]], grid: Grid
) -> Iterator[tuple[int, PromiseMinutes]]:
    in_force = {one.pk: promised_in(promises[one.pk], grid) for one in allocations}
    # Whether it waited matters only where less than a reservation may be too little.
    reserved = {key for key, (reservation, _) in in_force.items() if reservation.any()}
    windows = read_own_windows(allocations, grid, waiting=reserved)
    _leave_out_others(allocations, grid, windows)
    unsure = [
        one
        for one in allocations
        if one.pk in reserved and _is_unsure(windows[one.pk], in_force[one.pk][0]).any()
    ]
    congested = _congested(unsure, grid)
    for one in allocations:
        own, (reservation, limit) = windows[one.pk], in_force[one.pk]
        alarms = congested.get(one.resource_id, False)
        yield (
            one.pk,
            promise_minutes(
                rate=own.rate,
                wanted_more=np.where(np.isnan(own.waited), alarms, own.waited == 1),
                reservation=reservation,
                limit=limit,
                counted_before=one.resource.traits.counts_before_limit,
                window_s=grid.window_s,
            ),
        )


def _leave_out_others(
    allocations: Sequence[Allocation], grid: Grid, windows: Mapping[int, OwnWindows]
) -> None:
    """What an adapter counted while it was another's is not measured."""
    for own in own_times(allocations):
        is_others = (grid.ends_us <= own.since_us) | (grid.ends_us > own.until_us)
        windows[allocations[own.place].pk].rate[is_others] = np.nan


def _is_unsure(own: OwnWindows, reservation: Floats) -> Flags:
    """Where only the state of the resource says whether it wanted more."""
    found: Flags = np.isnan(own.waited) & (own.rate < KEPT_RATIO * reservation)
    return found


def _congested(allocations: Collection[Allocation], grid: Grid) -> dict[int, Flags]:
    resources = {one.resource_id: one.resource for one in allocations}
    return congested_in(list(resources.values()), grid) if resources else {}
