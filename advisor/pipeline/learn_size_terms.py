"""Learn the size terms of datastores once a day, each from its last day.

A term never holds for windows that were judged before it was learnt, so that samples that come
later are judged as they would have been in time. It begins to hold an hour after the next full
one, so that thresholds, which are learnt for the hour after, are in the same term.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from advisor.core.device import size_term_fit
from advisor.core.device.device_fit import FitRefused
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.history.load_points import device_day
from advisor.models import LearntSizeTerm, Resource
from advisor.resource_kinds.registry import KINDS

LOOK_EVERY = timedelta(days=1)
AHEAD = timedelta(hours=2)


def datastores_to_learn(*, now: datetime) -> QuerySet[Resource]:
    """The resources of which size tells the cost, that nobody looked at for a day."""
    sized = [kind.name for kind in KINDS if kind.costs_by_size]
    looked = LearntSizeTerm.objects.filter(resource=OuterRef("pk"), looked_at__gt=now - LOOK_EVERY)
    return Resource.objects.filter(~Exists(looked), kind__in=sized)


def learn_size_term(*, resource: Resource, now: datetime) -> LearntSizeTerm:
    """Learn the size term from the last day, or note why that in force stays.

    Safe to run twice: what is learnt for the same time is replaced.
    """
    newest = resource.learnt_size_terms.order_by("-since").first()
    known = None if newest is None else newest.size_term_bytes
    points = [one.mix_point for one in device_day(resource, until=now)]
    sized = [one for one in points if one is not None]
    found = size_term_fit.learn_size_term(sized, in_force_bytes=known or SIZE_TERM_BYTES)
    if isinstance(found, FitRefused):
        return _kept(resource, newest, found, windows=len(sized), now=now)
    since = now.replace(minute=0, second=0, microsecond=0) + AHEAD
    row, _ = LearntSizeTerm.objects.update_or_create(
        resource=resource,
        since=since,
        defaults={
            "size_term_bytes": found.size_term_bytes,
            "windows": found.windows,
            "reason": f"latencies are {found.error_ratio:.0%} off with it on the mean, "
            f"{found.error_before:.0%} with the one before",
            "looked_at": now,
        },
    )
    return row


def _kept(
    resource: Resource,
    newest: LearntSizeTerm | None,
    refused: FitRefused,
    *,
    windows: int,
    now: datetime,
) -> LearntSizeTerm:
    """What holds goes on; why nothing was ever learnt is that of the newest look."""
    if newest is None:
        newest = LearntSizeTerm(resource=resource, since=now)
    newest.looked_at = now
    if newest.size_term_bytes is None:
        newest.windows, newest.reason = windows, refused.reason
    newest.save()
    return newest
