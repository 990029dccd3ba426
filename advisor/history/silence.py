"""Devices of a resource without samples, or without usable samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Subquery

from advisor.core.enumeration import listed
from advisor.models import Attachment, Resource
from ingest.models import Series

SILENCE = timedelta(minutes=2)
"""Hosts send at least every minute; a device without a sample for this long is silent."""
REMEMBERED = timedelta(days=1)
"""A device that has been silent for longer is out of use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentDevice:
    """An attached device, and when its newest sample was."""

    host: str
    device: str
    last_at: datetime

    def __str__(self) -> str:
        return f"{self.host}:{self.device} since {self.last_at:%H:%M:%S} UTC"


def silence_text(resource: Resource, *, at: datetime) -> str:
    """The devices that fell silent, as a reason; empty if none did."""
    return silence_texts([resource], at=at)[resource.pk]


def silence_texts(resources: Collection[Resource], *, at: datetime) -> dict[int, str]:
    """The same by resource: devices that were measured in the day before, but not any more.

    The load of such a device is unknown. It may have been renamed, or the clock of its host may be
    behind.
    """
    silent: dict[int, list[SilentDevice]] = {resource.pk: [] for resource in resources}
    by_measurement: dict[str, list[int]] = defaultdict(list)
    for resource in resources:
        by_measurement[resource.traits.reader.measurement.name].append(resource.pk)
    for measurement, keys in by_measurement.items():
        series = Series.objects.filter(
            host=OuterRef("host"), measurement=measurement, subject=OuterRef("device")
        ).order_by(F("last_sample_at").desc(nulls_last=True))
        rows = Attachment.objects.filter(resource__in=keys).annotate(
            last_at=Subquery(series.values("last_sample_at")[:1])
        )
        fields = ("resource_id", "host__name", "device", "last_at")
        for key, host, device, last_at in rows.values_list(*fields):
            if last_at is not None and SILENCE < at - last_at < REMEMBERED:
                silent[key].append(SilentDevice(host=host, device=device, last_at=last_at))
    return {
        key: f"no samples of {listed(map(str, found))}" if found else ""
        for key, found in silent.items()
    }
