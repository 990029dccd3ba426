"""The incidents of a period, who caused them, and the minutes that they took from workloads.

A minute of an incident counts as the part of it that a workload missed of what it was entitled to
there: an hour with half of it is half an hour lost. What it would have wanted cannot be measured
while it is held back, but entitlements follow its usual rate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from advisor.core.detection import maintenance_windows as planning
from advisor.core.reporting.period import Period
from advisor.core.reporting.promise import lost_minutes, shared_minutes
from advisor.core.reporting.report import ReportedIncident, ReportedIncidents
from advisor.core.standing import UNALLOCATED, workload_words
from advisor.models import Incident
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of
from advisor.queries.report_subject import Reported, ReportSubject

MOST_INCIDENTS = 50
"""Of more, those that took the most are listed; all are counted."""
OUTSIDE = "load from outside"
CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The incidents that a report lists, and by workload what all of them took."""

    incidents: ReportedIncidents
    lost_min: dict[int, float]
    count: dict[int, int]


def read_losses(
    subject: ReportSubject, reported: Reported, period: Period, *, now: datetime
) -> Losses:
    """Those of the subject's workloads; all incidents, if it is the whole organisation.

    One statement reads the incidents, however many there are, and keeps only the worst.
    """
    rows = (
        Incident.objects.filter(
            Q(ended_at=None) | Q(ended_at__gt=period.since),
            organisation=subject.organisation,
            started_at__lt=period.until,
        )
        .defer("evidence", "tally", "signals")
        .select_related("resource")
        .order_by("started_at", "pk")
    )
    planned = maintenance_windows_of(subject.organisation.pk)
    lost_min: dict[int, float] = defaultdict(float)
    count: Counter[int] = Counter()
    worst: list[ReportedIncident] = []
    total = 0
    for row in rows.iterator(chunk_size=CHUNK):
        parties = _parties(row, reported)
        if not subject.is_whole and not parties:
            continue
        found = _reported(row, reported, period, planned, now=now)
        for key, ratio in _shortfalls(row, reported):
            count[key] += 1
            lost_min[key] += lost_minutes(ratio, of_min=0.0 if found.planned else found.minutes)
        total += 1
        worst.append(found)
        if len(worst) > 2 * MOST_INCIDENTS:
            worst = _worst(worst)
    return Losses(
        incidents=ReportedIncidents(rows=tuple(_worst(worst)), count=total),
        lost_min=lost_min,
        count=count,
    )


def _parties(row: Incident, reported: Reported) -> Collection[int]:
    parties = (*row.victims, *row.culprits, *row.only_took_more)
    names = [one["workload"] for one in parties]
    found = (reported.named(name, at=row.started_at) for name in names)
    return {one for one in found if one is not None}


def _shortfalls(row: Incident, reported: Reported) -> list[tuple[int, float]]:
    """The victims among the workloads, and what part of its entitlement each missed."""
    found = ((reported.named(one["workload"], at=row.started_at), one) for one in row.victims)
    return [(key, one.get("shortfall_ratio") or 0.0) for key, one in found if key is not None]


def _reported(
    row: Incident,
    reported: Reported,
    period: Period,
    planned: Sequence[planning.MaintenanceWindow],
    *,
    now: datetime,
) -> ReportedIncident:
    minutes = shared_minutes(row.started_at, row.ended_at, begin=period.since, end=period.until)
    maintenance = muting_of(row, planned, now=now).maintenance or ""
    own = _shortfalls(row, reported)
    lost = sum(lost_minutes(ratio, of_min=minutes) for _, ratio in own)
    culprits = [workload_words(one["workload"]) for one in row.culprits]
    if comes_from_outside(row):
        culprits.insert(0, OUTSIDE)
    return ReportedIncident(
        resource=row.resource.name,
        since=row.started_at,
        until=row.ended_at,
        minutes=minutes,
        lost_min=0.0 if maintenance else lost,
        victims=tuple(
            one["workload"]
            for one in row.victims
            if one["workload"] != UNALLOCATED
            and reported.named(one["workload"], at=row.started_at) is not None
        ),
        culprits=tuple(culprits),
        planned=maintenance,
    )


def _worst(rows: Sequence[ReportedIncident]) -> list[ReportedIncident]:
    ordered = sorted(rows, key=lambda one: (-one.lost_min, -one.minutes, one.since))
    return ordered[:MOST_INCIDENTS]
