"""Send what waits: each message until it is taken, at growing distances, and not for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from advisor.models.notification import (
    LONGEST_REASON,
    ChannelKind,
    Delivery,
    DeliveryState,
    NotificationChannel,
)
from advisor.notifications.channels.channel import NotSent, Place
from advisor.notifications.channels.registry import CHANNELS
from advisor.notifications.message import read_message

WAITS = tuple(timedelta(seconds=s) for s in (30, 120, 600, 3600, 6 * 3600))
"""After each attempt that failed; after the last one a message is given up."""
CLAIM = timedelta(minutes=2)
"""Who sends has so long; what is still being sent after that is sent again, with the same key."""
MOST_FAILURES = 5
"""So many messages in a row that were given up stop a channel."""


def organisations_with_messages(*, now: datetime) -> list[int]:
    """Those with a message that is to be sent now, longest waiting first."""
    rows = (
        Delivery.objects.filter(state__in=[DeliveryState.WAITING, DeliveryState.SENDING])
        .filter(next_at__lte=now, channel__stopped_at=None)
        .order_by("next_at")
    )
    return list(dict.fromkeys(rows.values_list("organisation", flat=True)))


def deliver_next(organisation: int, *, now: datetime) -> bool:
    """Send one message of an organisation; whether there was one."""
    claimed = _claim(organisation, now)
    if claimed is None:
        return False
    try:
        CHANNELS[ChannelKind(claimed.channel.kind)].send(
            Place(address=claimed.channel.address, secret=claimed.channel.secret),
            read_message(claimed.message),
            claimed.key,
        )
    except NotSent as error:
        _note_failure(claimed, str(error), is_permanent=error.is_permanent, now=now)
    else:
        _note_sent(claimed, now)
    return True


@transaction.atomic
def _claim(organisation: int, now: datetime) -> Delivery | None:
    """The message that waits longest; nobody else takes it for a while."""
    row = (
        Delivery.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("channel")
        .filter(organisation=organisation, channel__stopped_at=None, next_at__lte=now)
        .filter(state__in=[DeliveryState.WAITING, DeliveryState.SENDING])
        .order_by("next_at", "pk")
        .first()
    )
    if row is None:
        return None
    row.state, row.next_at, row.attempts = DeliveryState.SENDING, now + CLAIM, row.attempts + 1
    row.save(update_fields=["state", "next_at", "attempts"])
    return row


@transaction.atomic
def _note_sent(row: Delivery, now: datetime) -> None:
    row.state, row.sent_at, row.reason = DeliveryState.SENT, now, ""
    row.save(update_fields=["state", "sent_at", "reason"])
    NotificationChannel.objects.filter(pk=row.channel_id).exclude(failures=0).update(failures=0)


@transaction.atomic
def _note_failure(row: Delivery, reason: str, *, is_permanent: bool, now: datetime) -> None:
    row.reason = reason[:LONGEST_REASON]
    is_last = is_permanent or row.attempts > len(WAITS)
    row.state = DeliveryState.GIVEN_UP if is_last else DeliveryState.WAITING
    if not is_last:
        row.next_at = now + WAITS[row.attempts - 1]
    row.save(update_fields=["state", "next_at", "reason"])
    if is_last:
        _stop_if_hopeless(row.channel_id, reason, now)


def _stop_if_hopeless(channel: int, reason: str, now: datetime) -> None:
    rows = NotificationChannel.objects.filter(pk=channel, stopped_at=None)
    rows.update(failures=F("failures") + 1)
    text = f"{MOST_FAILURES} messages in a row could not be sent; the last: {reason}"
    rows.filter(failures__gte=MOST_FAILURES).update(
        stopped_at=now, stopped_because=text[:LONGEST_REASON]
    )
