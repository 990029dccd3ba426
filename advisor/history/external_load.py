"""What was concluded about load that none of our hosts sends (`advisor.pipeline.look_outside`)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q

from advisor.core.canonical import from_plain
from advisor.core.detection.external_workload import ExternalLoad, ExternalState
from advisor.models import Incident, Resource


def external_load(incident: Incident) -> ExternalLoad | None:
    """The newest conclusion; None on an uplink and before the first."""
    if incident.external is None:
        return None
    return from_plain(ExternalLoad, incident.external)


def comes_from_outside(incident: Incident) -> str:
    """Why control by this incident is suspended; empty if it is not."""
    found = external_load(incident)
    return found.reason if found is not None and found.state is ExternalState.EXTERNAL else ""


def disturbed_times(
    resource: Resource, *, since: datetime, until: datetime
) -> list[tuple[datetime, datetime]]:
    """The times of external load, in which windows do not characterise the device."""
    return disturbed_times_of([resource], since=since, until=until)[resource.pk]


def disturbed_times_of(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, list[tuple[datetime, datetime]]]:
    """The same of many resources in one statement, by their keys."""
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=since),
        resource__in=resources,
        started_at__lt=until,
        external__state=ExternalState.EXTERNAL.value,
    ).order_by("started_at")
    times: dict[int, list[tuple[datetime, datetime]]] = {one.pk: [] for one in resources}
    for pk, started_at, ended_at in rows.values_list("resource", "started_at", "ended_at"):
        times[pk].append((started_at, ended_at or until))
    return times
