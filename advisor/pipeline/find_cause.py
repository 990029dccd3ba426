"""Who causes an incident, kept with it, so that all that speaks of it accuses the same workloads.

It is studied when the incident begins, often while it is young, and when what follows it is known.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from advisor.models import Incident, IncidentVersion, Resource
from advisor.pipeline.attribute import AFTER, LONGEST, Study, study_anew

YOUNG = timedelta(minutes=10)
YOUNG_EVERY = timedelta(minutes=1)
OLD_EVERY = timedelta(minutes=5)
KEPT = timedelta(days=30)
"""The exact history of older incidents is not stored any more."""


class Accused(TypedDict):
    """A workload with its share of device time in the incident."""

    workload: str
    part_ratio: float


class Accusation(TypedDict):
    """What `Incident.cause` holds: those that cause it, the first first, and why."""

    aggressors: list[Accused]
    reason: str


def resources_to_study(*, now: datetime) -> QuerySet[Resource]:
    """The resources with an incident whose cause is to be studied."""
    return Resource.objects.filter(pk__in=_due(now).values("resource"))


def find_causes(*, resource: Resource, now: datetime) -> None:
    """Study the incidents of one resource that are due, the newest first; safe to run twice."""
    for incident in _due(now).filter(resource=resource).select_related("resource"):
        find_cause(incident=incident, now=now)


def find_cause(*, incident: Incident, now: datetime) -> Study:
    """Study an incident by all that is stored of it, and keep whom that accuses.

    Where too little is stored, or nothing tells of one who took more than its due, nobody is
    judged: the list of those who took more counts then.
    """
    study = study_anew(incident=incident, now=now)
    incident.cause, incident.cause_found_at = accusation(incident, study), now
    Incident.every.filter(pk=incident.pk).update(
        cause=incident.cause, cause_found_at=incident.cause_found_at
    )
    return study


def accusation(incident: Incident, study: Study) -> Accusation | None:
    """Whom the study accuses, nobody too, and why; None where too little is known to tell."""
    found = study.attribution
    if found is None:
        return None
    accused: list[Accused] = [
        {
            "workload": one.workload,
            "part_ratio": study.own_parts.get(one.workload, one.part_ratio),
        }
        for one in found.suspects
        if one.is_aggressor
    ]
    took = {one["workload"] for one in incident.aggressors}
    is_untold = any(one.workload in took and one.dependence is None for one in found.suspects)
    if not accused and is_untold:
        return None
    return {"aggressors": accused, "reason": found.reason}


def _due(now: datetime) -> QuerySet[Incident]:
    """Incidents that nobody studied, not for a while, not to their end, or not as amended."""
    never = Q(cause_found_at=None)
    is_young = Q(started_at__gt=now - YOUNG)
    is_growing = Q(ended_at=None, cause_found_at__lt=F("started_at") + LONGEST)
    again = is_growing & (
        Q(cause_found_at__lte=now - OLD_EVERY)
        | (is_young & Q(cause_found_at__lte=now - YOUNG_EVERY))
    )
    ended = Q(ended_at__gt=F("cause_found_at"))
    settled = Q(ended_at__lte=now - AFTER, cause_found_at__lt=F("ended_at") + AFTER)
    amended = Exists(
        IncidentVersion.objects.filter(
            incident=OuterRef("pk"), replaced_at__gt=OuterRef("cause_found_at")
        )
    )
    rows = Incident.objects.filter(Q(ended_at=None) | Q(ended_at__gt=now - KEPT))
    return rows.filter(never | again | ended | settled | Q(amended)).order_by("-started_at", "pk")
