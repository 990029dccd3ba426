"""Which resources have windows that are complete and were not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from advisor.history.whole_windows import Whole, last_window_end, whole_windows_of
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

    Where no window ended since the last look, it costs one statement.
    """
    changed = LateChange.objects.filter(resource=OuterRef("resource"))
    rows = ResourceStatus.objects.filter(~Exists(changed), resource__in=resources)
    looks = rows.order_by().values_list("resource", "judged_until", "looked_at")
    judged = {
        resource: judged_until
        for resource, judged_until, looked_at in looks
        if judged_until is not None
        if looked_at is not None and now - looked_at < LOOK_AGAIN
    }
    ended = [
        one
        for one in resources
        if one.pk not in judged or judged[one.pk] < last_window_end(now, one.window_s)
    ]
    whole = whole_windows_of(ended, now=now) if ended else {}
    return [
        Waiting(resource=one, whole=whole[one.pk])
        for one in ended
        if one.pk not in judged or judged[one.pk] < whole[one.pk].end
    ]
