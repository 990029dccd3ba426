"""The load and latency of a datastore whose threshold is stated."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs
from advisor.history.load_points import SPAN, device_day
from advisor.history.size_terms import size_term_at
from advisor.models import LevelRecords, Resource, ThresholdMode
from advisor.resource_kinds import registry

STILL_NEWS = timedelta(hours=3)
"""After its last I/O left the day, advice is looked for once more at least; levels are by hour."""


def has_fixed_threshold(_now: datetime) -> Q:
    """Datastores whose threshold is stated."""
    kinds = [
        traits.name
        for traits in registry.KINDS
        if ThresholdMode.PEAK_THROUGHPUT.value in traits.threshold_modes
    ]
    return Q(kind__in=kinds, threshold_mode=ThresholdMode.FIXED)


def had_io(now: datetime) -> Q:
    """Those that did I/O in the day that the advice is made of, or a little before it began."""
    levels = LevelRecords.objects.filter(
        resource=OuterRef("pk"), at__gt=now - SPAN - STILL_NEWS, has_value=True
    )
    return Q(Exists(levels))


def threshold_inputs(resource: Resource, now: datetime) -> list[ThresholdInputs]:
    """For a datastore whose threshold is stated; one that learns it needs no advice."""
    learns = ThresholdMode.PEAK_THROUGHPUT.value in resource.traits.threshold_modes
    if not learns or resource.threshold_mode != ThresholdMode.FIXED:
        return []
    windows, size_term = device_day(resource, until=now), size_term_at(resource, now)
    return [
        ThresholdInputs(
            datastore=resource.name,
            threshold_ms=resource.threshold,
            points=tuple(window.normalized_point(size_term) for window in windows),
            same_disks=tuple(other.name for other in on_same_disks(resource)),
        )
    ]


def on_same_disks(resource: Resource) -> list[Resource]:
    """Other datastores of the organisation that are said to share spindles with this one."""
    if not resource.disks:
        return []
    same = Resource.objects.filter(organisation=resource.organisation, disks=resource.disks)
    return list(same.exclude(pk=resource.pk).order_by("name"))
