"""What was gathered for a channel goes as one message when its time has come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from django.db import transaction

from advisor.core.notifying import News
from advisor.models.notification import (
    Delivery,
    DeliveryState,
    NotificationChannel,
    ToldIncident,
)
from advisor.notifications.together import message_together


@transaction.atomic
def send_together(organisation: int, *, now: datetime) -> int:
    """Put down one message for each channel for which something was gathered until now.

    The row of the channel is the lock: two schedulers at once make no two messages.
    """
    due = Delivery.objects.filter(
        organisation=organisation, state=DeliveryState.GATHERED, next_at__lte=now
    )
    channels = NotificationChannel.objects.filter(pk__in=due.values("channel"), stopped_at=None)
    held = list(channels.order_by("pk").select_for_update(skip_locked=True, no_key=True))
    if not held:
        return 0
    pieces: dict[int, list[Delivery]] = defaultdict(list)
    for one in due.filter(channel__in=held).select_related("told__resource"):
        pieces[one.channel_id].append(one)
    made = [_whole(own, now) for own in pieces.values()]
    every = [one for own in pieces.values() for one in own]
    ToldIncident.objects.filter(pk__in=[one.told_id for one in every]).update(is_said=True)
    Delivery.objects.filter(pk__in=[one.pk for one in every]).delete()
    Delivery.objects.bulk_create(made)
    return len(made)


def _whole(pieces: Sequence[Delivery], now: datetime) -> Delivery:
    return Delivery(
        organisation_id=pieces[0].organisation_id,
        channel_id=pieces[0].channel_id,
        key=uuid4(),
        news=News.SEVERAL,
        message=message_together(pieces).plain(),
        next_at=now,
        created_at=now,
    )
