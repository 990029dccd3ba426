"""Devices of a resource without samples, or without usable samples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Subquery

from advisor.core.enumeration import listed
from advisor.models import Resource
from ingest import queries
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


def silent_devices(resource: Resource, *, at: datetime) -> list[SilentDevice]:
    """The attached devices that were measured in the day before, but not any more.

    The load of such a device is unknown. It may have been renamed, or the clock of its host may be
    behind.
    """
    series = Series.objects.filter(
        host=OuterRef("host"),
        measurement=resource.traits.reader.measurement.name,
        subject=OuterRef("device"),
    ).order_by(F("last_sample_at").desc(nulls_last=True))
    rows = resource.attachments.annotate(last_at=Subquery(series.values("last_sample_at")[:1]))
    return [
        SilentDevice(host=host, device=device, last_at=last_at)
        for host, device, last_at in rows.values_list("host__name", "device", "last_at")
        if last_at is not None and SILENCE < at - last_at < REMEMBERED
    ]


def silence_text(silent: list[SilentDevice]) -> str:
    """The silent devices as a reason; empty if none is."""
    return f"no samples of {listed(map(str, silent))}" if silent else ""


def why_unrated(resource: Resource, *, at: datetime) -> str:
    """Why the samples of its devices give no rates; empty without samples."""
    for one in resource.attachments.select_related("host"):
        why = queries.why_no_rate(
            host=one.host,
            measurement=resource.traits.reader.measurement,
            subject=one.device,
            since=at - SILENCE,
            until=at,
        )
        if why is not None:
            return f"samples of {one} arrive but give no rate: {why}"
    return ""
