"""Which resources have windows that are complete and were not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from advisor.history.whole_windows import Whole, whole_windows_of
from advisor.models import LateChange, Resource, ResourceStatus

LOOK_AGAIN = timedelta(seconds=30)
"""So long after a look there is another one, with a new window or without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A resource that is to be looked at, and its newest complete window."""

    resource: Resource
    whole: Whole


def with_new_windows(resources: Sequence[Resource], *, now: datetime) -> list[Waiting]:
    """Those of them, those that late samples changed, and those that nobody looked at for a while.

    It costs a few statements, and spares most of a look where nothing came since the last.
    """
    whole = whole_windows_of(resources, now=now)
    changed = LateChange.objects.filter(resource=OuterRef("resource"))
    rows = ResourceStatus.objects.filter(~Exists(changed), resource__in=resources)
    looks = rows.order_by().values_list("resource", "judged_until", "looked_at")
    judged = {
        resource
        for resource, judged_until, looked_at in looks
        if judged_until is not None and judged_until >= whole[resource].end
        if looked_at is not None and now - looked_at < LOOK_AGAIN
    }
    return [
        Waiting(resource=one, whole=whole[one.pk]) for one in resources if one.pk not in judged
    ]
