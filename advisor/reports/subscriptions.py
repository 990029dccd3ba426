"""Reports that are sent regularly: stated by people, made when they are due, sent by mail.

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

from accounts.actor import Actor
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.notifying import problems_of_name
from advisor.core.reporting.period import newest_period
from advisor.core.reporting.schedule import Every, newest_time, next_time
from advisor.core.weekly_window import zone_of
from advisor.errors import DecisionRefused, ExportImpossible
from advisor.models import ChannelKind, Delivery, ReportDelivery, ReportSubscription
from advisor.models.report import LONGEST_TAG
from advisor.notifications.deliver import MOST_FAILED_REPORTS, SENDING, note_failed_report
from advisor.notifications.message import Link, Message
from advisor.pipeline.failed_work import Subject, solve
from advisor.queries.report import read_report
from advisor.queries.report_subject import ReportSubject
from advisor.reports.pdf import pdf_of
from advisor.reports.printed import printed, rendered
from advisor.reports.written import WrittenReport, written

CLAIM = timedelta(minutes=10)
"""Who makes a report has so long; then somebody else makes it."""
MOST_LINES = 15
"""Of the workloads that missed most in a letter; its PDF has all."""
HOURS = range(24)


@transaction.atomic
def state_subscription(
    row: ReportSubscription, *, actor: Actor, now: datetime
) -> ReportSubscription:
    """Set one, in the place of one of the same name; it goes on if it was stopped."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    for problem in [*problems_of_name(row.name), *_problems(row)]:
        raise DecisionRefused(problem)
    rows = ReportSubscription.objects.filter(organisation=row.organisation)
    row.pk = rows.filter(name=row.name).values_list("pk", flat=True).first()
    row.due_at = next_time(Every(row.every), row.hour, zone_of(row.zone), after=now)
    row.claimed_until, row.failures, row.stopped_at, row.stopped_because = None, 0, None, ""
    row.save()
    _told(row, "state a subscription of reports", actor=actor, now=now)
    return row


def send_now(row: ReportSubscription, *, actor: Actor, now: datetime) -> None:
    """Have it made and sent at once; its next turn stays."""
    _start(row, "send a report now", actor=actor, now=now, due_at=now)


def start_again(row: ReportSubscription, *, actor: Actor, now: datetime) -> None:
    """Go on with one that was stopped, at its next turn."""
    due_at = next_time(Every(row.every), row.hour, ZoneInfo(row.zone), after=now)
    _start(row, "start a subscription again", actor=actor, now=now, due_at=due_at)


@transaction.atomic
def _start(
    row: ReportSubscription, action: str, *, actor: Actor, now: datetime, due_at: datetime
) -> None:
    actor.require(Action.MANAGE_NOTIFICATIONS)
    if row.channel.stopped_at is not None:
        raise DecisionRefused(f"{row.channel} is stopped; start it again first")
    ReportSubscription.objects.filter(pk=row.pk).update(
        due_at=due_at, failures=0, stopped_at=None, stopped_because=""
    )
    solve(task=SENDING, subject=Subject(organisation=row.organisation_id), now=now)
    _told(row, action, actor=actor, now=now)


@transaction.atomic
def stop(row: ReportSubscription, *, actor: Actor, now: datetime) -> None:
    """Send no more until it is started again."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    ReportSubscription.objects.filter(pk=row.pk, stopped_at=None).update(
        stopped_at=now, stopped_because=f"{actor.name} stopped it"
    )
    _told(row, "stop a subscription of reports", actor=actor, now=now)


@transaction.atomic
def remove(row: ReportSubscription, *, actor: Actor, now: datetime) -> None:
    """Take it away; what waits to be sent is not sent."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    _told(row, "remove a subscription of reports", actor=actor, now=now)
    Delivery.objects.filter(report__subscription=row, sent_at=None).delete()
    solve(task=SENDING, subject=Subject(organisation=row.organisation_id), now=now)
    row.delete()


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
    try:
        report = _made(claimed, now)
        pdf, gap = _pdf(report)
        html = rendered(
            "reports/mail.html",
            words=report.words,
            lines=report.lines[:MOST_LINES],
            more=max(len(report.lines) - MOST_LINES, 0),
            gap=gap,
            link=_address(claimed, now),
        )
    except Exception as error:
        _note_failure(claimed, f"{type(error).__name__} {error}", now)
        raise
    _put_down(claimed, report, html=html, pdf=pdf, gap=gap, now=now)
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


def _pdf(report: WrittenReport) -> tuple[bytes, str]:
    """Without it the letter says why."""
    try:
        return pdf_of(printed(report)), ""
    except ExportImpossible as error:
        return b"", f"There is no PDF with this letter: {error}."


@transaction.atomic
def _put_down(
    row: ReportSubscription,
    report: WrittenReport,
    *,
    html: str,
    pdf: bytes,
    gap: str,
    now: datetime,
) -> None:
    """To be sent, if it is still this one's turn."""
    following = next_time(Every(row.every), row.hour, ZoneInfo(row.zone), after=now)
    is_ours = ReportSubscription.objects.filter(
        pk=row.pk, claimed_until=row.claimed_until, stopped_at=None
    ).update(due_at=following, claimed_until=None, last_made_at=now)
    if not is_ours:
        return
    lines = [report.words.says, *report.words.gaps, *([gap] if gap else [])]
    link = _address(row, now)
    message = Message(
        subject=f"{row.name}: {report.words.title}, {report.words.days}",
        lines=tuple(lines),
        links=(Link(words="The report", url=link),) if link else (),
        is_good=True,
    )
    delivery = Delivery.objects.create(
        organisation=row.organisation, channel=row.channel, key=uuid4(), message=message.plain(),
        next_at=now, created_at=now,
    )  # fmt: skip
    ReportDelivery.objects.create(
        organisation=row.organisation, subscription=row, delivery=delivery, html=html,
        file_name=f"{report.file_name}.pdf", file=pdf,
    )  # fmt: skip


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


def _problems(row: ReportSubscription) -> list[str]:
    found = []
    if row.channel.kind != ChannelKind.MAIL:
        found.append(f"{row.channel} sends no mail, and a report is a letter")
    if row.every not in list(Every):
        found.append(f"it comes {', '.join(Every)}")
    if row.hour not in HOURS:
        found.append("an hour is from 0 to 23")
    if len(row.tag) > LONGEST_TAG or not row.tag.isprintable():
        found.append(f"a tag has at most {LONGEST_TAG} letters that can be printed")
    try:
        zone_of(row.zone)
    except ValueError as error:
        found.append(str(error))
    return found


def _told(row: ReportSubscription, action: str, *, actor: Actor, now: datetime) -> None:
    record(organisation=row.organisation, actor=actor, action=action, subject=row.name, now=now)
