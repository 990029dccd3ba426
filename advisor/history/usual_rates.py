"""The usual rate of each allocation: what it took in the clear times of the day before.

It is the mean rate over steps of five minutes in which the resource was clear, without those next
to an incident, because a reading may reach into the next step. It is the mean, because below a
high percentile a workload would be a victim most of the time. Of what is new, and has been calm
for less than half an hour, it is the mean over half minutes of the last hour: without a usual rate
whoever takes little is held for a victim.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Steps of `step_s` over `span`, in words, of which so much calm is enough."""

    span: timedelta
    words: str
    step_s: float
    enough: timedelta


LOOKS = (
    Look(span=timedelta(hours=24), words="day", step_s=300.0, enough=timedelta(minutes=30)),
    Look(span=timedelta(hours=1), words="hour", step_s=30.0, enough=timedelta(minutes=3)),
)
"""The second is at what the first knows too little of."""
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
    found: dict[int, UsualRate] = {}
    for look in LOOKS:
        missing = [one for one in asked if _is_unknown(one, found)]
        for allocation, usual in _looked(missing, look).items():
            if allocation not in found or found[allocation].rate is None:
                found[allocation] = usual
    return found


def _is_unknown(one: UsualAsked, found: Mapping[int, UsualRate]) -> bool:
    return any(
        (usual := found.get(allocation.pk)) is None or usual.rate is None
        for allocation in one.allocations
    )


def _looked(asked: Sequence[UsualAsked], look: Look) -> dict[int, UsualRate]:
    together: dict[Grid, list[UsualAsked]] = defaultdict(list)
    for one in asked:
        step_s = max(look.step_s, one.resource.window_s)
        end = last_window_end(one.before, step_s) - timedelta(seconds=step_s)
        together[grid_of(end - look.span, end, step_s)].append(one)
    found: dict[int, UsualRate] = {}
    for grid, several in together.items():
        for part in _parts(several):
            found |= _read(part, grid, look)
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


def _read(asked: Sequence[UsualAsked], grid: Grid, look: Look) -> dict[int, UsualRate]:
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
            found[allocation.pk] = _usual(own[calm & ~np.isnan(own)], grid.window_s, look)
    return found


def _usual(rates: Floats, step_s: float, look: Look) -> UsualRate:
    """From the rates of the calm steps in which it was measured, (steps)."""
    have = timedelta(seconds=step_s * len(rates))
    if have < look.enough:
        words = f"{duration_text(have)} of calm" if len(rates) else "no calm"
        need = duration_text(look.enough)
        return UsualRate(rate=None, gap=f"{words} in the {look.words} before, {need} are needed")
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
