"""Send what waits: each message until it is taken, at growing distances, and not for ever."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Min, QuerySet

from advisor.models.notification import (
    LONGEST_REASON,
    ChannelKind,
    Delivery,
    DeliveryState,
    NotificationChannel,
)
from advisor.models.report import ReportDelivery, ReportSubscription
from advisor.notifications.channels.channel import NotSent, Place
from advisor.notifications.channels.registry import CHANNELS
from advisor.notifications.message import Letter, read_message
from advisor.pipeline.failed_work import Subject, keep_failure, solve

log = logging.getLogger(__name__)

WAITS = tuple(timedelta(seconds=s) for s in (30, 120, 600, 3600, 6 * 3600))
"""After each attempt that failed; after the last one a message is given up."""
MOST_ATTEMPTS = len(WAITS) + 1
CLAIM = timedelta(minutes=2)
"""Who sends has so long; what is still being sent after that is sent again, with the same key."""
MOST_FAILED_REPORTS = 3
"""So many in a row stop a subscription."""
SENDING = "send_reports"
"""What failed under Health while a subscription is stopped, until a report is sent again."""
MOST_FAILURES = 5
"""So many messages in a row that were given up stop a channel."""


def organisations_with_messages(*, now: datetime) -> list[int]:
    """Those with a message that is to be sent now, longest waiting first."""
    rows = _waiting(now).values("organisation").annotate(first=Min("next_at")).order_by("first")
    return list(rows.values_list("organisation", flat=True))


def _waiting(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        state__in=[DeliveryState.WAITING, DeliveryState.SENDING],
        next_at__lte=now,
        channel__stopped_at=None,
    )


def deliver_next(organisation: int, *, now: datetime) -> bool:
    """Send one message of an organisation; whether there was one."""
    claimed = _claim(organisation, now)
    if claimed is None:
        return False
    if claimed.attempts > MOST_ATTEMPTS:
        reason = "nothing says what became of it each time"
        _note_failure(claimed, reason, is_permanent=True, now=now)
        return True
    try:
        CHANNELS[ChannelKind(claimed.channel.kind)].send(
            Place(
                address=claimed.channel.address,
                secret=claimed.channel.secret,
                letter=_letter(claimed),
            ),
            read_message(claimed.message),
            claimed.key,
        )
    except NotSent as error:
        _note_failure(claimed, str(error), is_permanent=error.is_permanent, now=now)
    except Exception as error:  # noqa: BLE001  libraries of channels; also the limit of its time
        reason = f"{type(error).__name__} {error}".strip()
        log.warning("message not sent", extra={"delivery": claimed.pk, "reason": reason})
        _note_failure(claimed, reason, is_permanent=False, now=now)
    else:
        _note_sent(claimed, now)
    return True


def _letter(row: Delivery) -> Letter | None:
    report: ReportDelivery | None = getattr(row, "report", None)
    if report is None:
        return None
    return Letter(html=report.html, file_name=report.file_name, file=bytes(report.file))


@transaction.atomic
def _claim(organisation: int, now: datetime) -> Delivery | None:
    """The message that waits longest; nobody else takes it for a while."""
    row = (
        _waiting(now)
        .select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("channel", "report")
        .filter(organisation=organisation)
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
    if ReportSubscription.objects.filter(deliveries__delivery=row).update(failures=0):
        solve(task=SENDING, subject=Subject(organisation=row.organisation_id), now=now)
    _forget_file(row)


@transaction.atomic
def _note_failure(row: Delivery, reason: str, *, is_permanent: bool, now: datetime) -> None:
    row.reason = reason[:LONGEST_REASON]
    is_last = is_permanent or row.attempts >= MOST_ATTEMPTS
    row.state = DeliveryState.GIVEN_UP if is_last else DeliveryState.WAITING
    if not is_last:
        row.next_at = now + WAITS[row.attempts - 1]
    row.save(update_fields=["state", "next_at", "reason"])
    if is_last:
        _stop_if_hopeless(row.channel_id, reason, now)
        subscription = ReportSubscription.objects.filter(deliveries__delivery=row).first()
        if subscription is not None:
            note_failed_report(subscription, f"it could not be sent: {reason}", now=now)
        _forget_file(row)


def note_failed_report(row: ReportSubscription, reason: str, *, now: datetime) -> bool:
    """Count a report that nobody got; whether that stops its subscription."""
    rows = ReportSubscription.objects.filter(pk=row.pk, stopped_at=None)
    rows.update(failures=F("failures") + 1)
    text = f"{MOST_FAILED_REPORTS} reports in a row failed; the last: {reason}"
    stopped = rows.filter(failures__gte=MOST_FAILED_REPORTS).update(
        stopped_at=now, stopped_because=text[:LONGEST_REASON]
    )
    if stopped:
        subject = Subject(organisation=row.organisation_id)
        keep_failure(task=SENDING, subject=subject, reason=f"{row.name}: {text}", now=now)
    return bool(stopped)


def _forget_file(row: Delivery) -> None:
    ReportDelivery.objects.filter(delivery=row).update(html="", file=b"")


def _stop_if_hopeless(channel: int, reason: str, now: datetime) -> None:
    """What waits for a channel that is stopped is given up too: it would be old news later."""
    rows = NotificationChannel.objects.filter(pk=channel, stopped_at=None)
    rows.update(failures=F("failures") + 1)
    text = f"{MOST_FAILURES} messages in a row could not be sent; the last: {reason}"
    stopped = rows.filter(failures__gte=MOST_FAILURES).update(
        stopped_at=now, stopped_because=text[:LONGEST_REASON]
    )
    if stopped:
        waiting = [DeliveryState.GATHERED, DeliveryState.WAITING]
        Delivery.objects.filter(channel=channel, state__in=waiting).update(
            state=DeliveryState.GIVEN_UP, reason="its channel is stopped"
        )
