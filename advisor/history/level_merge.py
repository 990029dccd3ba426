"""Makes one row of the records of an hour that is over: it is small, and nobody appends to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
from advisor.core.detection.worst_levels import joined_entries
from advisor.core.level_records import joined, pack, unpack
from advisor.history.level_store import write_parts
from advisor.history.levels import PackedPart
from advisor.models import LevelRecords, Resource, ResourceStatus
from ingest.core.grid import microseconds
from ingest.open_hours import HOUR

OVER = timedelta(minutes=15)
"""An hour is merged so long after its end: most windows that are judged late come before."""


def merge_hours(*, organisation: Organisation, now: datetime) -> int:
    """Merge the records of each hour that is over; the number of hours of resources.

    A resource that is judged at this moment is left for the next run.
    """
    resources = set(
        Resource.objects.filter(organisation=organisation).values_list("pk", flat=True)
    )
    over = _hour_of(now - OVER)
    waiting: dict[datetime, set[int]] = defaultdict(set)
    rows = LevelRecords.objects.filter(is_hour=False, at__lt=over).order_by()
    for resource, at in rows.values_list("resource_id", "at"):
        if resource in resources:
            waiting[_hour_of(at)].add(resource)
    return sum(_merge(hour, waiting[hour]) for hour in sorted(waiting))


@transaction.atomic
def _merge(hour: datetime, resources: Collection[int]) -> int:
    """Merge this hour of these resources."""
    statuses = ResourceStatus.objects.filter(resource__in=resources).order_by("pk")
    free = statuses.select_for_update(skip_locked=True, of=("self",))
    locked = set(free.values_list("resource", flat=True))
    judged = set(statuses.values_list("resource", flat=True)) - locked
    rows = LevelRecords.objects.filter(
        resource__in=set(resources) - judged, at__gte=hour, at__lt=hour + HOUR
    )
    parts: dict[int, list[PackedPart]] = defaultdict(list)
    for resource, at, data, worst in rows.order_by("resource_id", "at").values_list(
        "resource_id", "at", "data", "worst"
    ):
        parts[resource].append(PackedPart(microseconds(at), bytes(data), bytes(worst)))
    rows.filter(at__gt=hour).delete()
    write_parts([(key, _merged(hour, own)) for key, own in parts.items()], is_hour=True)
    return len(parts)


def _merged(hour: datetime, parts: list[PackedPart]) -> PackedPart:
    return PackedPart(
        at_us=microseconds(hour),
        data=pack(joined([unpack(part.data) for part in parts])),
        worst=joined_entries(part.worst for part in parts),
    )


def _hour_of(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
