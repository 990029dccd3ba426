"""Devices of a resource without samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from advisor.core.enumeration import listed
from advisor.models import Resource
from ingest.grid_reader import array_of

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
    silent: dict[int, list[SilentDevice]] = defaultdict(list)
    measurements = [resource.traits.reader.measurement.name for resource in resources]
    with connection.cursor() as cursor:
        cursor.execute(
            _SILENT,
            {
                "resources": array_of(resource.pk for resource in resources),
                "measurements": measurements,
                "remembered": at - REMEMBERED,
                "silent": at - SILENCE,
            },
        )
        rows = cursor.fetchall()
    for key, host, device, last_at in rows:
        silent[key].append(SilentDevice(host=host, device=device, last_at=last_at))
    return {
        one.pk: f"no samples of {listed(map(str, silent[one.pk]))}" if one.pk in silent else ""
        for one in resources
    }


_SILENT = """
    SELECT attachment.resource_id, host.name, attachment.device, newest.at
      FROM unnest(%(resources)s::bigint[], %(measurements)s::text[])
           AS wanted(resource_id, measurement)
      JOIN advisor_attachment AS attachment USING (resource_id)
      JOIN ingest_host AS host ON host.id = attachment.host_id
     CROSS JOIN LATERAL (
        SELECT max(last_sample_at) AS at FROM ingest_series AS series
         WHERE series.host_id = attachment.host_id AND series.subject = attachment.device
           AND series.measurement = wanted.measurement
     ) AS newest
     WHERE newest.at > %(remembered)s AND newest.at < %(silent)s
     ORDER BY host.name, attachment.device
"""
"""Looked for every few seconds, and seldom found: the database hands over the silent ones only."""
