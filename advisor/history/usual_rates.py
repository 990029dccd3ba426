"""The usual rate of each allocation: what it took in the clear times of the day before.

It is the mean rate over steps of five minutes in which the resource was clear, without those next
to an incident, because a reading may reach into the next step. It is the mean, because below a
high percentile a workload would be a victim most of the time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Q

from advisor.core.duration import duration_text
from advisor.history.levels import Levels, read_levels
from advisor.history.measured import read_rates
from advisor.history.whole_windows import last_window_end
from advisor.models import Allocation, Incident, Resource, State
from ingest.core.grid import Flags, Floats, Grid, grid_of, microseconds

USUAL_SPAN = timedelta(hours=24)
STEP_S = 300.0
ENOUGH_CALM = timedelta(minutes=30)
MOST_ALLOCATIONS = 4_000
"""So many are read at once, or those of one resource."""

Stretch = tuple[datetime, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRate:
    """In the resource's unit; None has its reason in `gap`."""

    rate: float | None
    gap: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualAsked:
    """Allocations of a resource, and the time before which their rates are asked for."""

    resource: Resource
    allocations: Sequence[Allocation]
    before: datetime


def usual_by_workload(asked: Sequence[UsualAsked]) -> dict[int, dict[str, float]]:
    """By resource the usual rate of each workload that has one allocation there."""
    found = usual_rates(asked)
    usual: dict[int, dict[str, float]] = {}
    for one in asked:
        several = Counter(allocation.workload.name for allocation in one.allocations)
        usual[one.resource.pk] = {
            allocation.workload.name: rate
            for allocation in one.allocations
            if several[allocation.workload.name] == 1
            and (rate := found[allocation.pk].rate) is not None
        }
    return usual


def usual_rates(asked: Sequence[UsualAsked]) -> dict[int, UsualRate]:
    """Usual rates by allocation; what is asked for the same steps is read together."""
    together: dict[Grid, list[UsualAsked]] = defaultdict(list)
    for one in asked:
        step_s = max(STEP_S, one.resource.window_s)
        end = last_window_end(one.before, step_s) - timedelta(seconds=step_s)
        together[grid_of(end - USUAL_SPAN, end, step_s)].append(one)
    found: dict[int, UsualRate] = {}
    for grid, several in together.items():
        for part in _parts(several):
            found |= _read(part, grid)
    return found


def _parts(asked: Sequence[UsualAsked]) -> Iterator[list[UsualAsked]]:
    """So many that what is read of them fits into memory."""
    part: list[UsualAsked] = []
    for one in asked:
        if part and sum(len(own.allocations) for own in (*part, one)) > MOST_ALLOCATIONS:
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def _read(asked: Sequence[UsualAsked], grid: Grid) -> dict[int, UsualRate]:
    """Those of a grid of at most 288 steps."""
    resources = [one.resource for one in asked]
    rows = [allocation for one in asked for allocation in one.allocations]
    rates = read_rates(rows, grid).rate
    levels = read_levels(resources, since=grid.since, until=grid.until)
    incidents = _incidents(resources, grid)
    found: dict[int, UsualRate] = {}
    for one in asked:
        calm = _calm_steps(grid, levels[one.resource.pk], incidents[one.resource.pk])
        for allocation in one.allocations:
            own = rates[:, len(found)]
            found[allocation.pk] = _usual(own[calm & ~np.isnan(own)], grid.window_s)
    return found


def _usual(rates: Floats, step_s: float) -> UsualRate:
    """From the rates of the calm steps in which it was measured, (steps)."""
    have = timedelta(seconds=step_s * len(rates))
    if have < ENOUGH_CALM:
        words = f"{duration_text(have)} of calm" if len(rates) else "no calm"
        need = duration_text(ENOUGH_CALM)
        return UsualRate(rate=None, gap=f"{words} in the day before, {need} are needed")
    return UsualRate(rate=float(rates.mean()))


def _calm_steps(grid: Grid, levels: Levels, incidents: Sequence[Stretch]) -> Flags:
    """The steps in which the resource was clear all the time. (steps)"""
    places = levels.places(grid)
    calm = np.zeros(grid.count, dtype=np.bool_)
    if not len(places):
        return calm
    calm[places[0] :] = True
    calm[places[~levels.is_state(State.CLEAR)]] = False
    for began_at, ended_at in incidents:
        # Nor in the steps next to an incident, because a reading may reach into the next step.
        begin = (microseconds(began_at) - grid.since_us) // grid.window_us - 1
        end = grid.count
        if ended_at is not None:
            end = -((grid.since_us - microseconds(ended_at)) // grid.window_us) + 1
        calm[max(begin, 0) : max(end, 0)] = False
    return calm


def _incidents(resources: Sequence[Resource], grid: Grid) -> dict[int, list[Stretch]]:
    """By resource those that reach into the grid."""
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=grid.since),
        resource__in=resources,
        started_at__lt=grid.until,
    )
    found: dict[int, list[Stretch]] = {one.pk: [] for one in resources}
    for key, began_at, ended_at in rows.values_list("resource", "started_at", "ended_at"):
        found[key].append((began_at, ended_at))
    return found
