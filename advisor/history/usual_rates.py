"""The usual rate of each allocation: what it took in the clear times of the day before.

It is the mean rate over steps of five minutes in which the resource was clear, without those next
to an incident, because a reading may reach into the next step. It is the mean, because below a
high percentile a workload would be a victim most of the time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache
from django.db.models import Q

from advisor.core.duration import duration_text
from advisor.history.history import History
from advisor.history.reader import read_history
from advisor.history.whole_windows import last_window_end
from advisor.models import Allocation, Incident, Resource, State
from ingest.core.grid import Flags, Floats, grid_of, microseconds

USUAL_SPAN = timedelta(hours=24)
STEP_S = 300.0
ENOUGH_CALM = timedelta(minutes=30)
KEPT_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRate:
    """In the resource's unit; None has its reason in `gap`."""

    rate: float | None
    gap: str = ""


def usual_rates(
    *, resource: Resource, allocations: Sequence[Allocation], until: datetime
) -> dict[int, UsualRate]:
    """Usual rates by allocation, read at once in at most 288 steps each."""
    step_s = max(STEP_S, resource.window_s)
    end = last_window_end(until, step_s) - timedelta(seconds=step_s)
    history = read_history(
        resource, grid_of(end - USUAL_SPAN, end, step_s), allocations=allocations
    )
    calm = _calm_steps(history)
    rates = history.allocations.rate
    return {
        allocation.pk: _usual(rates[calm & ~np.isnan(rates[:, place]), place], step_s)
        for place, allocation in enumerate(allocations)
    }


def _usual(rates: Floats, step_s: float) -> UsualRate:
    """From the rates of the calm steps in which it was measured, (steps)."""
    have = timedelta(seconds=step_s * len(rates))
    if have < ENOUGH_CALM:
        words = f"{duration_text(have)} of calm" if len(rates) else "no calm"
        need = duration_text(ENOUGH_CALM)
        return UsualRate(rate=None, gap=f"{words} in the day before, {need} are needed")
    return UsualRate(rate=float(rates.mean()))


def _calm_steps(history: History) -> Flags:
    """The steps in which the resource was clear all the time. (steps)"""
    grid, levels = history.grid, history.levels
    places = levels.places(grid)
    calm = np.zeros(grid.count, dtype=np.bool_)
    if not len(places):
        return calm
    calm[places[0] :] = True
    calm[places[~levels.is_state(State.CLEAR)]] = False
    for began_at, ended_at in _incidents(history):
        # Nor in the steps next to an incident, because a reading may reach into the next step.
        begin = (microseconds(began_at) - grid.since_us) // grid.window_us - 1
        end = grid.count
        if ended_at is not None:
            end = -((grid.since_us - microseconds(ended_at)) // grid.window_us) + 1
        calm[max(begin, 0) : max(end, 0)] = False
    return calm


def _incidents(history: History) -> list[tuple[datetime, datetime | None]]:
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=history.grid.since),
        resource=history.resource,
        started_at__lt=history.grid.until,
    )
    return list(rows.values_list("started_at", "ended_at"))


def usual_by_workload(
    resource: Resource,
    allocations: Sequence[Allocation],
    *,
    before: datetime,
    judged_anew_at: datetime | None = None,
) -> dict[str, float]:
    """The usual rate of each workload that has one allocation there, kept for an hour.

    What was found before the resource's past was judged again does not count.
    """
    times = [None if at is None else at.timestamp() for at in (before, judged_anew_at)]
    asked = repr((resource.pk, *times, sorted(one.pk for one in allocations)))
    key = f"usual-rates-3:{hashlib.sha256(asked.encode()).hexdigest()}"
    usual: dict[str, float] | None = cache.get(key)
    if usual is None:
        found = usual_rates(resource=resource, allocations=allocations, until=before)
        several = Counter(allocation.workload.name for allocation in allocations)
        usual = {
            allocation.workload.name: rate
            for allocation in allocations
            if several[allocation.workload.name] == 1
            and (rate := found[allocation.pk].rate) is not None
        }
        cache.set(key, usual, KEPT_S)
    return usual
