"""The load and latency of a datastore whose threshold is stated."""

from __future__ import annotations

from datetime import datetime

from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs
from advisor.history.load_points import device_day
from advisor.models import Resource, ThresholdMode


def threshold_inputs(resource: Resource, now: datetime) -> list[ThresholdInputs]:
    """For a datastore whose threshold is stated; one that learns it needs no advice."""
    learns = ThresholdMode.PEAK_THROUGHPUT.value in resource.traits.threshold_modes
    if not learns or resource.threshold_mode != ThresholdMode.FIXED:
        return []
    windows = device_day(resource, until=now)
    return [
        ThresholdInputs(
            datastore=resource.name,
            threshold_ms=resource.threshold,
            points=tuple(window.normalized_point for window in windows),
            same_disks=tuple(other.name for other in on_same_disks(resource)),
        )
    ]


def on_same_disks(resource: Resource) -> list[Resource]:
    """Other datastores of the organisation that are said to share spindles with this one."""
    if not resource.disks:
        return []
    same = Resource.objects.filter(organisation=resource.organisation, disks=resource.disks)
    return list(same.exclude(pk=resource.pk).order_by("name"))
