"""The usual rate of each allocation: what it took in the clear times of the day before.

It is the mean rate over steps of five minutes in which the resource was clear, without those next
to an incident, because a reading may reach into the next step. It is the mean, because below a
high percentile a workload would be a victim most of the time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean

from django.core.cache import cache
from django.db.models import Q

from advisor.core.duration import duration_text
from advisor.core.observation import Observation
from advisor.history.observe import windows_of
from advisor.history.windows import Span, last_window_end, window_end
from advisor.models import Allocation, Incident, Resource, State, StatePoint

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
    span = Span(since=end - USUAL_SPAN, until=end, window_s=step_s)
    calm = _calm_steps(resource, span)
    found = windows_of(
        allocations, span=span, max_points=round(USUAL_SPAN.total_seconds() / step_s)
    )
    return {
        allocation.pk: _usual([one.rate for one in found[allocation.pk] if one.at in calm], step_s)
        for allocation in allocations
    }


def _usual(rates: Sequence[float], step_s: float) -> UsualRate:
    have = timedelta(seconds=step_s * len(rates))
    if have < ENOUGH_CALM:
        words = f"{duration_text(have)} of calm" if rates else "no calm"
        need = duration_text(ENOUGH_CALM)
        return UsualRate(rate=None, gap=f"{words} in the day before, {need} are needed")
    return UsualRate(rate=fmean(rates))


def _calm_steps(resource: Resource, span: Span) -> set[datetime]:
    """The ends of the steps in which the resource was clear all the time."""
    points = StatePoint.objects.filter(resource=resource, at__gt=span.since, at__lte=span.until)
    judged = points.order_by("at").values_list("at", flat=True).first()
    if judged is None:
        return set()
    middle = timedelta(seconds=resource.window_s / 2)
    others = points.exclude(state=State.CLEAR).values_list("at", flat=True)
    bad = {window_end(at - middle, span.window_s) for at in others}
    incidents = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=span.since), resource=resource, started_at__lt=span.until
    ).values_list("started_at", "ended_at")
    step = timedelta(seconds=span.window_s)
    calm, end = set(), window_end(judged, span.window_s)
    while end <= span.until:
        crowded = any(
            began < end + step and (ended is None or ended > end - 2 * step)
            for began, ended in incidents
        )
        if end not in bad and not crowded:
            calm.add(end)
        end += step
    return calm


def with_usual_rates(
    resource: Resource, seen: Sequence[Observation], *, before: datetime
) -> list[Observation]:
    """The observations with the usual rate of each workload that has one allocation there."""
    rows = resource.allocations.select_related("workload", "host", "resource")
    allocations = list(rows.order_by("pk"))
    asked = repr((resource.pk, before.timestamp(), [allocation.pk for allocation in allocations]))
    key = f"usual-rates-1:{hashlib.sha256(asked.encode()).hexdigest()}"
    usual: dict[str, float] | None = cache.get(key)
    if usual is None:
        usual = _by_workload(resource, allocations, before)
        cache.set(key, usual, KEPT_S)
    return [
        replace(
            one,
            allocations=tuple(
                replace(allocation, usual_rate=usual.get(allocation.workload))
                for allocation in one.allocations
            ),
        )
        for one in seen
    ]


def _by_workload(
    resource: Resource, allocations: Sequence[Allocation], before: datetime
) -> dict[str, float]:
    found = usual_rates(resource=resource, allocations=allocations, until=before)
    several = Counter(allocation.workload.name for allocation in allocations)
    return {
        allocation.workload.name: rate
        for allocation in allocations
        if several[allocation.workload.name] == 1
        and (rate := found[allocation.pk].rate) is not None
    }
