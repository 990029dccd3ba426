"""Score the forecast on workloads that start or stop by themselves, before any policy is approved.

History is searched in stretches of `LOOK`, each once; a stretch begins as much earlier as a switch
needs windows. What was before a switch is read for it alone, and nothing of after it is foretold
from. At most `MOST_A_DAY` switches of a resource count of a stretch's day, the first ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet

from advisor.advice.policy.decide.candidate import Setting, in_force
from advisor.advice.policy.decide.demand import why_unsure
from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.core.allocation import ReservationMode
from advisor.core.demand.after_switch import (
    BeforeSwitch,
    NotForetold,
    after_switch,
    before_switch,
)
from advisor.core.explanation.rounding import rounded
from advisor.core.forecast.crps import crps
from advisor.core.forecast.natural_switch import SIDE, Switch, natural_switches
from advisor.core.grant import Grant
from advisor.core.resource import Tier, Unit
from advisor.core.waterfill import Floats
from advisor.history.enforced_time import enforced_time
from advisor.history.inventory import inventory_of
from advisor.history.levels import read_levels
from advisor.history.measured import read_rates
from advisor.history.whole_windows import first_samples, whole_windows
from advisor.models import Allocation, NaturalLook, NaturalScore, Resource, State
from ingest.core.grid import Grid, grid_of

LOOK = timedelta(hours=6)
LOOK_BACK = timedelta(hours=6)
FIRST_LOOK = timedelta(days=7)
"""Of what was stored before the first look, the newest part."""
MOST_A_DAY = 8
UNBOUND_RATIO = 1000.0
"""A resource of unknown capacity that was clear gives more than it gave, by an unknown amount."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stretch:
    """Rates of the allocations of a resource, (windows, allocations)."""

    grid: Grid
    rows: Sequence[Allocation]
    rates: Floats


def resources_to_look_at(*, now: datetime) -> QuerySet[Resource]:
    """Those with a stretch of history that was not searched; what is foretold counts no pools."""
    first = first_samples(Resource.objects.filter(natural_look=None, pools=None), now=now)
    new = [key for key, first_at in first.items() if first_at + LOOK <= now]
    return Resource.objects.filter(
        Q(pk__in=new) | Q(natural_look__looked_until__lte=now - LOOK), pools=None
    )


def score_natural_changes(*, resource: Resource, now: datetime, limit_s: float) -> int:
    """Search stretch after stretch, until all is searched or the time is over; how many scores."""
    ends_at = time.monotonic() + limit_s
    since = _looked_until(resource, now)
    last = whole_windows(resource, now=now)
    found = 0
    while since is not None and since + LOOK <= last and time.monotonic() < ends_at:
        found += _look(resource, since, now=now)
        since += LOOK
    return found


def _looked_until(resource: Resource, now: datetime) -> datetime | None:
    """None where nothing is stored."""
    look = NaturalLook.objects.filter(resource=resource).first()
    if look is not None:
        return look.looked_until
    first = first_samples([resource], now=now).get(resource.pk)
    return None if first is None else max(first, now - FIRST_LOOK)


@transaction.atomic
def _look(resource: Resource, since: datetime, *, now: datetime) -> int:
    """Score the switches of one stretch, and mark it as searched."""
    until = since + LOOK
    window = timedelta(seconds=resource.window_s)
    # A switch is seen with the windows of both its sides, so those of the end are next time's.
    seen = _read(resource, since - (2 * SIDE + 1) * window, until)
    scores: list[NaturalScore] = []
    for switch in natural_switches(seen.rates):
        at = seen.grid.ends[switch.place]
        if len(scores) < _left(resource, at):
            score = _scored(resource, seen, switch, now=now)
            scores += [] if score is None else [score]
    NaturalScore.objects.bulk_create(scores, ignore_conflicts=True)
    NaturalLook.objects.update_or_create(resource=resource, defaults={"looked_until": until})
    return len(scores)


def _left(resource: Resource, at: datetime) -> int:
    """How many scores this stretch may have, of those of its day."""
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    had = NaturalScore.objects.filter(
        resource=resource, switched_at__gte=day, switched_at__lt=day + timedelta(days=1)
    ).count()
    return MOST_A_DAY - had


def _read(resource: Resource, since: datetime, until: datetime) -> _Stretch:
    rows = inventory_of([resource], since=since).allocations[resource.pk]
    grid = grid_of(since, until, resource.window_s)
    return _Stretch(grid=grid, rows=rows, rates=read_rates(rows, grid).rate)


def _scored(
    resource: Resource, seen: _Stretch, switch: Switch, *, now: datetime
) -> NaturalScore | None:
    """The score of one switch; None where nothing can be foretold."""
    window = timedelta(seconds=resource.window_s)
    # The switch may be anywhere in its window.
    began_at = seen.grid.ends[switch.place] - window
    grid = grid_of(began_at - LOOK_BACK, began_at, resource.window_s)
    grants = _controls(resource, grid.since, began_at + (SIDE + 1) * window)
    if grants is None:
        return None
    past = read_rates(seen.rows, grid).rate
    levels = read_levels([resource], since=grid.since, until=grid.until)[resource.pk]
    places = levels.places(grid)[levels.is_state(State.CLEAR)]
    clear = np.zeros(grid.count, dtype=np.bool_)
    clear[places[places >= 0]] = True
    # Who was not there in all of the time before is unknown to a forecast.
    before = before_switch(past, clear, column=switch.column, starts=switch.starts)
    if isinstance(before, NotForetold):
        return None
    after = seen.rates[switch.place + 1 : switch.place + 1 + SIDE]
    setting = _setting(resource, seen.rows, before, past, grants)
    rates = _rates(setting, before, after)
    if not rates:
        return None
    return NaturalScore(
        resource=resource,
        workload=seen.rows[switch.column].workload.name,
        switched_at=began_at + window,
        starts=switch.starts,
        scored_at=now,
        rates=rates,
    )


def _controls(resource: Resource, since: datetime, until: datetime) -> tuple[Grant, ...] | None:
    """What was in force all the time; None where that is not proven."""
    policy = resource.policies.filter(created_at__lt=until).order_by("-version").first()
    if policy is None:
        return ()
    if not any(begin <= since and until <= end for begin, end in enforced_time(policy)):
        return None
    return tuple(
        Grant(
            allocation=item["allocation"],
            reservation=item["reservation"],
            limit=item["limit"],
            shares=item["shares"],
        )
        for item in policy.allocations
    )


def _setting(
    resource: Resource,
    rows: Sequence[Allocation],
    before: BeforeSwitch,
    past: Floats,
    grants: tuple[Grant, ...],
) -> Setting:
    """What the division of the resource depends on, as advice has it."""
    inputs = AdviceInputs(
        resource=resource.name,
        kind=resource.kind,
        unit=Unit(resource.unit),
        mode=ReservationMode(resource.mode),
        capacity=resource.capacity,
        reservable=resource.reservable,
        began_at=resource.created_at,
        ended_at=resource.created_at,
        allocations=tuple(
            AdviceAllocation(
                allocation=row.pk,
                workload=row.workload.name,
                host=row.host.name,
                tier=Tier(row.workload.tier),
                shares=row.shares,
                calm_rates=tuple(own.calm.tolist()),
                congested_rates=tuple(own.congested.tolist()),
            )
            for row, own in zip(rows, before.seen, strict=True)
        ),
        incident=None,
        in_force=grants,
    )
    return Setting(
        inputs=inputs,
        capacity=_capacity(resource, before, past),
        capacity_source="",
        wants=(),
        io_costs=(1.0,) * len(rows),
        victims=frozenset(),
        aggressors=frozenset(),
    )


def _capacity(resource: Resource, before: BeforeSwitch, past: Floats) -> float:
    """The stated one of an uplink; of storage what it gave while it was congested."""
    stated: float | None = resource.capacity
    if stated is not None and resource.traits.fixed_capacity:
        return stated
    given = float(past[before.was_on].sum(axis=1).mean()) if before.was_on.any() else 0.0
    if before.is_clear or given == 0:
        return stated or UNBOUND_RATIO * max(given, 1.0)
    return given if stated is None else min(stated, given)


def _rates(setting: Setting, before: BeforeSwitch, after: Floats) -> list[dict[str, Any]]:
    """Of each other workload what was told and what was measured, over all windows."""
    wants, told = after_switch(
        before, partial(setting.divide_as_enforced, in_force(setting.inputs))
    )
    found = []
    for place, allocation in enumerate(setting.inputs.allocations):
        own, congested = after[:, place], before.seen[place].congested
        if place == before.column or np.isnan(own).any() or not len(congested):
            continue
        measured = float(own.mean())
        if measured == 0 and not congested.any():
            continue
        found.append(
            {
                "workload": allocation.workload,
                "host": allocation.host,
                "predicted": rounded(float(told.rate[place])),
                "interval": asdict(told.interval(place)),
                "unsure": why_unsure(setting.inputs, place, wants[place], told),
                "measured": rounded(measured),
                "crps": rounded(crps(told.draws[:, place], measured)),
            }
        )
    return found
