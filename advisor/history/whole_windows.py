"""Which windows of a resource are over, so that they can be judged."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from advisor.models import Attachment, Resource

GRACE = timedelta(seconds=60)
"""Samples later than this are not waited for."""


def whole_windows(resource: Resource, *, now: datetime) -> datetime:
    """The end of the last window that is over for all hosts of a resource."""
    return whole_windows_of([resource], now=now)[resource.pk]


def whole_windows_of(resources: Collection[Resource], *, now: datetime) -> dict[int, datetime]:
    """The same for many resources, by key.

    Telegraf sends once per flush interval, so a window is whole when every host that still
    sends has samples after its end, and in any case after `GRACE`.
    """
    reached = {resource.pk: now - GRACE for resource in resources}
    attached = Attachment.objects.filter(
        resource__in=reached, host__last_sample_at__gt=now - GRACE
    )
    newest: dict[int, datetime] = {}
    for resource, at in attached.values_list("resource_id", "host__last_sample_at"):
        if at is not None:
            newest[resource] = min(at, newest.get(resource, at))
    return {
        resource.pk: last_window_end(
            newest.get(resource.pk, reached[resource.pk]), resource.window_s
        )
        for resource in resources
    }


def last_window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the last window that was over at this moment."""
    # Collectors may stamp a sample slightly before the edge of the window.
    index = math.floor((moment.timestamp() + 0.001) / window_s)
    return datetime.fromtimestamp(index * window_s, UTC)
