"""Reports that are sent regularly: made when they are due, sent by mail.

That a report is sent and that its turn is over are written in one transaction, by who has claimed
it: two schedulers, or one that is killed, send nothing twice and leave nothing out.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Min, Q, QuerySet
from django.urls import reverse

from advisor.core.reporting.period import newest_period
from advisor.core.reporting.schedule import Every, newest_time, next_time
from advisor.errors import ExportImpossible
from advisor.models import Delivery, ReportSubscription
from advisor.notifications.deliver import MOST_FAILED_REPORTS, note_failed_report
from advisor.notifications.message import Message
from advisor.pipeline.asked_by import tell_who_asked
from advisor.queries.report import read_report
from advisor.queries.report_subject import ReportSubject
from advisor.reports.once import letter_of, put_down
from advisor.reports.written import WrittenReport, written

CLAIM = timedelta(minutes=10)
"""Who makes a report has so long; then somebody else makes it."""


def organisations_with_due_reports(*, now: datetime) -> list[int]:
    """Longest waiting first."""
    rows = _due(now).values("organisation").annotate(first=Min("due_at")).order_by("first")
    return list(rows.values_list("organisation", flat=True))


def make_next(organisation: int, *, now: datetime) -> bool:
    """Make the organisation's report that waits longest, to be sent; whether there was one.

    What makes it fail is counted, tried again after a while, and raised.
    """
    claimed = _claim(organisation, now)
    if claimed is None:
        return False
    tell_who_asked(f"report {claimed.pk}")
    try:
        report = _made(claimed, now)
        link = _address(claimed, now)
        letter = letter_of(report, link=link)
    except Exception as error:
        _note_failure(claimed, f"{type(error).__name__} {error}", now)
        raise
    _put_down(claimed, report, letter, link=link, now=now)
    return True


def _due(now: datetime) -> QuerySet[ReportSubscription]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    return ReportSubscription.objects.filter(is_free, due_at__lte=now, stopped_at=None)


@transaction.atomic
def _claim(organisation: int, now: datetime) -> ReportSubscription | None:
    row = (
        _due(now)
        .select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("organisation", "team", "channel")
        .filter(organisation=organisation)
        .order_by("due_at", "pk")
        .first()
    )
    if row is None:
        return None
    row.claimed_until = now + CLAIM
    row.save(update_fields=["claimed_until"])
    return row


def _time_of(row: ReportSubscription, now: datetime) -> datetime:
    """After a pause the newest report is sent, and none of those between."""
    newest = newest_time(Every(row.every), row.hour, ZoneInfo(row.zone), until=now)
    return max(row.due_at, newest)


def _made(row: ReportSubscription, now: datetime) -> WrittenReport:
    if row.channel.stopped_at is not None:
        raise ExportImpossible(f"its channel {row.channel} is stopped")
    subject = ReportSubject(organisation=row.organisation, team=row.team, tag=row.tag)
    covers = Every(row.every).covers
    period = newest_period(covers, ZoneInfo(row.zone), now=_time_of(row, now))
    return written(read_report(subject, period, now=now))


@transaction.atomic
def _put_down(
    row: ReportSubscription,
    report: WrittenReport,
    letter: tuple[str, bytes, str],
    *,
    link: str,
    now: datetime,
) -> None:
    """To be sent, if it is still this one's turn."""
    following = next_time(Every(row.every), row.hour, ZoneInfo(row.zone), after=now)
    is_ours = ReportSubscription.objects.filter(
        pk=row.pk, claimed_until=row.claimed_until, stopped_at=None
    ).update(due_at=following, claimed_until=None, last_made_at=now)
    if is_ours:
        put_down(
            letter, report, row.organisation, row.channel, subscription=row, link=link, now=now
        )


@transaction.atomic
def _note_failure(row: ReportSubscription, reason: str, now: datetime) -> None:
    """It is tried again when the claim ends; who is told of the last one waits for no report."""
    if note_failed_report(row, reason, now=now):
        message = Message(
            subject=f"{row.name} is stopped",
            lines=(f"{MOST_FAILED_REPORTS} reports in a row failed; the last: {reason}",),
        )
        Delivery.objects.create(
            organisation=row.organisation, channel=row.channel, key=uuid4(),
            message=message.plain(), next_at=now, created_at=now,
        )  # fmt: skip


def _address(row: ReportSubscription, now: datetime) -> str:
    if not settings.PUBLIC_URL:
        return ""
    covers = Every(row.every).covers
    period = newest_period(covers, ZoneInfo(row.zone), now=_time_of(row, now))
    query = {
        "period": "days", "first": period.first, "last": period.last, "zone": row.zone,
        "team": row.team.name if row.team else "", "tag": row.tag,
    }  # fmt: skip
    return f"{settings.PUBLIC_URL}{reverse('reports')}?{urlencode(query)}"
