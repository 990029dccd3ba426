"""Which resources have windows that are over and were not judged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.history.whole_windows import whole_windows_of
from advisor.models import Resource, ResourceStatus

LOOK_AGAIN = timedelta(seconds=30)
"""So long after a look there is another one, with a new window or without."""


def with_new_windows(resources: Sequence[Resource], *, now: datetime) -> list[Resource]:
    """Those of them, and those that nobody looked at for a while, in the order given.

    It costs two statements, and spares most of a look where nothing came since the last.
    """
    until = whole_windows_of(resources, now=now)
    rows = ResourceStatus.objects.filter(resource__in=resources)
    looks = rows.order_by().values_list("resource", "judged_until", "looked_at")
    waiting = {
        resource
        for resource, judged_until, looked_at in looks
        if judged_until is not None and judged_until >= until[resource]
        if looked_at is not None and now - looked_at < LOOK_AGAIN
    }
    return [one for one in resources if one.pk not in waiting]
