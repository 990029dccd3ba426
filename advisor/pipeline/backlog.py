"""Which windows a look judges next: the oldest first, in portions that end soon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta

from advisor.models import Attachment, Resource
from ingest.core.grid import grid_of
from ingest.core.microseconds import EPOCH
from ingest.models import Series
from ingest.retention import retention

HOUR = timedelta(hours=1)
MOST_WINDOWS = 2_000
"""Windows of all resources together in one transaction: seconds of work at most."""


def portion_end(since: datetime, end: datetime, *, window_s: float, most: int) -> datetime:
    """The end of the next portion of the windows that end in (since, end].

    It has at most `most` windows, of one hour of the clock, by the ends of the windows.
    """
    window = timedelta(seconds=window_s)
    first = grid_of(since, since + 2 * window, window_s).ends[0]
    begin = hour_of(first)
    last = grid_of(begin, begin + HOUR - timedelta(microseconds=1), window_s).until
    return min(end, max(first, last), first + (most - 1) * window)


def hour_of(at: datetime) -> datetime:
    """The beginning of the hour."""
    return at - (at - EPOCH) % HOUR


def first_samples(resources: Collection[Resource], *, now: datetime) -> dict[int, datetime]:
    """When the devices of each resource sent their first sample that is kept, by its key.

    A resource whose devices have sent nothing is left out.
    """
    kept = now - retention()
    by_key = {resource.pk: resource for resource in resources}
    devices: dict[tuple[int, str, str], int] = {}
    wanted: dict[str, set[int]] = defaultdict(set)
    for one in Attachment.objects.filter(resource__in=by_key):
        measurement = by_key[one.resource_id].traits.reader.measurement.name
        devices[one.host_id, measurement, one.device] = one.resource_id
        wanted[measurement].add(one.host_id)
    found: dict[int, datetime] = {}
    for measurement, hosts in wanted.items():
        rows = Series.objects.filter(
            host__in=hosts,
            measurement=measurement,
            subject__in={device for _, name, device in devices if name == measurement},
        ).exclude(first_sample_at=None)
        for host, device, at in rows.values_list("host_id", "subject", "first_sample_at"):
            resource = devices.get((host, measurement, device))
            if resource is not None and at is not None:
                found[resource] = max(kept, min(at, found.get(resource, at)))
    return found
