"""Whether a datastore's incident comes from load that none of our hosts sends.

The detector decides it in every run and stores it with the incident, where advice, pages and
attribution read it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Q

from advisor.core.canonical import from_plain, to_plain
from advisor.core.detection.external_workload import (
    ExternalLoad,
    ExternalState,
    LoadWindow,
    detect_external_load,
    hidden_by,
)
from advisor.core.detection.own_mix import OwnMix
from advisor.history.history import Levels, numbers
from advisor.history.own_mix import kept_mixes, own_mixes
from advisor.history.reader import read_levels
from advisor.history.silence import silence_text, silent_devices
from advisor.models import Incident, Resource
from ingest.core.microseconds import moment

REFERENCE = timedelta(hours=24)
"""The latency caused by our own load is learnt from the day before the incident."""
RECENT = timedelta(hours=1)
"""Of a long incident only the last hour counts, because external load comes and goes."""


def look_outside(*, incident: Incident, until: datetime) -> ExternalLoad | None:
    """Decide on external load up to `until` and store it.

    None for a kind whose load is all measured: the host measures all traffic of an uplink.
    """
    if not incident.resource.traits.hides_load:
        return None
    ended_at = min(until, incident.ended_at or until)
    since = max(incident.started_at, ended_at - RECENT)
    reference = _reference(incident)
    recent = _windows(_levels(incident.resource, since=since, until=ended_at))
    found = detect_external_load(reference, recent)
    silent = ""
    if found.state is ExternalState.EXTERNAL:
        silent = silence_text(silent_devices(incident.resource, at=ended_at))
    if silent:
        found = hidden_by(silent)
    elif found.state is ExternalState.EXTERNAL:
        # The composition of the load needs many samples, so it is read only here.
        before = kept_mixes(
            incident.resource, since=incident.started_at - REFERENCE, until=incident.started_at
        )
        during = own_mixes(incident.resource, since=since, until=ended_at)
        found = detect_external_load(_with(before, reference), _with(during, recent))
    incident.external = to_plain(found)
    incident.save(update_fields=["external"])
    return found


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


def _reference(incident: Incident) -> list[LoadWindow]:
    """The windows of the day before the incident, without those of other external load."""
    since = incident.started_at - REFERENCE
    disturbed = disturbed_times(incident.resource, since=since, until=incident.started_at)
    windows = _windows(_levels(incident.resource, since=since, until=incident.started_at))
    return [
        one
        for one in windows
        if not any(began_at < one.at <= ended_at for began_at, ended_at in disturbed)
    ]


def _with(mixes: Mapping[datetime, OwnMix], windows: Sequence[LoadWindow]) -> list[LoadWindow]:
    return [replace(one, mix=mixes.get(one.at)) for one in windows]


def _levels(resource: Resource, *, since: datetime, until: datetime) -> Levels:
    return read_levels([resource], since=since, until=until)[resource.pk]


def _windows(levels: Levels) -> list[LoadWindow]:
    return [
        LoadWindow(at=moment(at_us), own_load=load, latency_ms=value)
        for at_us, load, value in zip(
            levels.at_us.tolist(),
            numbers(levels.device_load),
            numbers(levels.value),
            strict=True,
        )
    ]
