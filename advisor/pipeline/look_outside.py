"""Whether an incident comes from load that none of our hosts sends.

It is looked for when the incident begins, each minute, and when it ends. What is found is stored
with the incident, where advice, pages and attribution read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache
from django.db.models import F, Q, QuerySet

from advisor.core.canonical import to_plain
from advisor.core.detection.external_workload import (
    ExternalLoad,
    ExternalState,
    LoadWindow,
    detect_external_load,
    hidden_by,
)
from advisor.core.detection.own_mix import OwnMix
from advisor.core.iosize import size_cost, unit_costs
from advisor.core.resource import Unit
from advisor.core.size_terms import SizeTerms
from advisor.core.standing import UNALLOCATED
from advisor.history.history import History, numbers
from advisor.history.levels import Levels, read_levels
from advisor.history.load_points import disturbed_times
from advisor.history.reader import read_history
from advisor.history.shared_names import shared_clause, shared_names
from advisor.history.silence import silence_text
from advisor.history.size_terms import in_size_term, size_terms_of
from advisor.models import Incident, Resource
from advisor.resource_kinds.registry import KINDS
from ingest.core.figures import DiskFigures
from ingest.core.grid import grid_around, grid_of, microseconds, moment
from ingest.core.steps import coarse_step_s

LOOK_EVERY = timedelta(minutes=1)

REFERENCE = timedelta(hours=24)
"""The latency caused by our own load is learnt from the day before the incident."""
RECENT = timedelta(hours=1)
"""Of a long incident only the last hour counts, because external load comes and goes."""

MOST_WINDOWS = 720
"""A day in windows of two minutes, which is fine enough for the shares of workloads."""
KEPT_S = 3600

Mixes = dict[datetime, OwnMix]


def resources_to_look_at(*, now: datetime) -> QuerySet[Resource]:
    """The resources with an incident at which it is time to look."""
    return Resource.objects.filter(pk__in=_due(now).values("resource"))


def look_where_due(*, resource: Resource, now: datetime) -> None:
    """Look at the incidents of one resource at which it is time; safe to run twice."""
    for incident in _due(now).filter(resource=resource):
        look_outside(incident=incident, now=now)


def look_outside(*, incident: Incident, now: datetime) -> ExternalLoad:
    """Decide on external load up to `now` or the end of the incident, and store it.

    An incident that ends, or gets another end, meanwhile stays due.
    """
    until = incident.ended_at or now
    found = _found(incident, until)
    Incident.objects.filter(pk=incident.pk).update(
        external=to_plain(found), looked_outside_until=until
    )
    return found


def _due(now: datetime) -> QuerySet[Incident]:
    """Incidents that nobody has looked at, not up to their end, or not for a minute."""
    never = Q(looked_outside_until=None) & (Q(external__isnull=True) | Q(ended_at=None))
    again = Q(ended_at=None, looked_outside_until__lte=now - LOOK_EVERY)
    ended = Q(ended_at__lt=F("looked_outside_until")) | Q(ended_at__gt=F("looked_outside_until"))
    hiding = [kind.name for kind in KINDS if kind.hides_load]
    return Incident.objects.filter(never | again | ended, resource__kind__in=hiding)


def _found(incident: Incident, until: datetime) -> ExternalLoad:
    since = max(incident.started_at, until - RECENT)
    terms = size_terms_of([incident.resource], until=until)[incident.resource.pk]
    # Loads of before and since are compared, so all are in the size term with which it began.
    size_term = terms.at_us(microseconds(incident.started_at))
    reference = _reference(incident, terms, size_term)
    recent = _windows(
        in_size_term(
            _levels(incident.resource, since=since, until=until), terms, size_term_bytes=size_term
        )
    )
    found = detect_external_load(reference, recent)
    if found.state is not ExternalState.EXTERNAL:
        return found
    hidden = silence_text(incident.resource, at=until) or shared_clause(
        shared_names(incident.resource, at=until)
    )
    if hidden:
        return hidden_by(hidden)
    # The composition of the load needs many samples, so it is read only here.
    before = kept_mixes(
        incident.resource,
        since=incident.started_at - REFERENCE,
        until=incident.started_at,
        size_term_bytes=size_term,
    )
    during = own_mixes(incident.resource, since=since, until=until, size_term_bytes=size_term)
    return detect_external_load(_with(before, reference), _with(during, recent))


def _reference(incident: Incident, terms: SizeTerms, size_term: float) -> list[LoadWindow]:
    """The windows of the day before the incident, without those of other external load."""
    since = incident.started_at - REFERENCE
    disturbed = disturbed_times(incident.resource, since=since, until=incident.started_at)
    levels = _levels(incident.resource, since=since, until=incident.started_at)
    windows = _windows(in_size_term(levels, terms, size_term_bytes=size_term))
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


def kept_mixes(
    resource: Resource, *, since: datetime, until: datetime, size_term_bytes: float
) -> Mixes:
    """`own_mixes` of a past period, kept in the cache for an hour."""
    allocations = resource.allocations.order_by("pk").values_list("pk", flat=True)
    # A digest, because a list of allocations is too long for a cache key.
    times = (since.timestamp(), until.timestamp())
    asked = repr((resource.pk, size_term_bytes, *times, *allocations))
    key = f"own-mixes:{hashlib.sha256(asked.encode()).hexdigest()}"
    found: Mixes | None = cache.get(key)
    if found is None:
        found = own_mixes(resource, since=since, until=until, size_term_bytes=size_term_bytes)
        cache.set(key, found, KEPT_S)
    return found


def own_mixes(
    resource: Resource, *, since: datetime, until: datetime, size_term_bytes: float
) -> Mixes:
    """Mixes by end of the resource's window; for a long time, means over several windows.

    Load without an allocation counts as a workload of its own.
    """
    step_s = max(float(coarse_step_s(until - since, MOST_WINDOWS)), resource.window_s)
    history = read_history(resource, grid_around(since, until, step_s))
    coarse = _mixes(history, size_term_bytes)
    half_us = round(resource.window_s * 500_000)
    found: Mixes = {}
    windows = grid_of(since, until, resource.window_s)
    for at, end_us in zip(windows.ends, windows.ends_us.tolist(), strict=True):
        place = (end_us - half_us - history.grid.since_us) // history.grid.window_us
        mix = coarse[place] if 0 <= place < len(coarse) else None
        if mix is not None:
            found[at] = mix
    return found


def _mixes(history: History, size_term: float) -> list[OwnMix | None]:
    """The mix of all hosts together in each window; None where no host was measured."""
    disks: DiskFigures = history.devices.figures
    measured = history.devices.measured
    iops, reads, moved = (
        np.where(measured, column, 0.0).sum(axis=1).tolist()
        for column in (disks.iops, disks.read_iops, disks.bytes_per_s)
    )
    loads = _loads(history, size_term)
    return [
        _mix(iops[place], reads[place], moved[place], loads[place], size_term) if known else None
        for place, known in enumerate(np.logical_or.reduce(measured, axis=1).tolist())
    ]


def _loads(history: History, size_term: float) -> list[dict[str, float]]:
    """Device time per second of each workload that has an allocation, per window."""
    own, unit = history.allocations, Unit(history.resource.unit)
    spent = own.rate * unit_costs(unit, own.mean_io_bytes, size_term)
    found: list[dict[str, float]] = []
    for row in spent.tolist():
        loads: dict[str, float] = {}
        for allocation, load in zip(own.rows, row, strict=True):
            if load == load:
                name = allocation.workload.name
                loads[name] = loads.get(name, 0.0) + load
        found.append(loads)
    return found


def _mix(
    iops: float, reads: float, moved: float, loads: dict[str, float], size_term: float
) -> OwnMix:
    size = moved / iops if iops > 0 else None
    rest = iops * size_cost(size, size_term_bytes=size_term) - sum(loads.values())
    return OwnMix(
        iops=iops,
        read_ratio=min(reads / iops, 1.0) if iops > 0 else None,
        mean_io_bytes=size,
        by_workload=(*sorted(loads.items()), (UNALLOCATED, max(rest, 0.0))),
    )
