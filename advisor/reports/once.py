"""A report that is sent now, once, by a channel of mail."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Action
from accounts.services.audit import record
from advisor.errors import DecisionRefused, ExportImpossible
from advisor.models import (
    ChannelKind,
    Delivery,
    NotificationChannel,
    ReportDelivery,
    ReportSubscription,
)
from advisor.notifications.message import Link, Message
from advisor.reports.pdf import pdf_of
from advisor.reports.printed import printed, rendered
from advisor.reports.written import WrittenReport

MOST_LINES = 15
"""Of the workloads that missed most in a letter; its PDF has all."""


def mail_report(
    report: WrittenReport, channel: NotificationChannel, *, link: str, actor: Actor, now: datetime
) -> Delivery:
    """Write the letter with the PDF, to be sent at once. `link` opens the report, "" has none.

    Raises NotAllowed, and DecisionRefused for a channel that sends no mail or is stopped.
    """
    actor.require(Action.MANAGE_NOTIFICATIONS)
    if channel.kind != ChannelKind.MAIL:
        raise DecisionRefused(f"{channel} sends no mail, and a report is a letter")
    if channel.stopped_at is not None:
        raise DecisionRefused(f"{channel} is stopped: {channel.stopped_because}")
    letter = letter_of(report, link=link)
    with transaction.atomic():
        row = put_down(
            letter, report, channel.organisation, channel, subscription=None, link=link, now=now
        )
        record(
            organisation=channel.organisation, actor=actor, action="mail a report",
            subject=f"{report.words.title}, {report.words.days}"[:LONGEST_SUBJECT], now=now,
            details={"channel": channel.name},
        )  # fmt: skip
    return row


def letter_of(report: WrittenReport, *, link: str) -> tuple[str, bytes, str]:
    """The HTML and the PDF of a letter; without a PDF the last says why."""
    try:
        pdf, gap = pdf_of(printed(report)), ""
    except ExportImpossible as error:
        pdf, gap = b"", f"There is no PDF with this letter: {error}."
    html = rendered(
        "reports/mail.html",
        words=report.words,
        lines=report.lines[:MOST_LINES],
        more=max(len(report.lines) - MOST_LINES, 0),
        gap=gap,
        link=link,
    )
    return html, pdf, gap


def put_down(
    letter: tuple[str, bytes, str],
    report: WrittenReport,
    organisation: Organisation,
    channel: NotificationChannel,
    *,
    subscription: ReportSubscription | None,
    link: str,
    now: datetime,
) -> Delivery:
    """Store the letter, to be sent."""
    html, pdf, gap = letter
    lines = [report.words.says, *report.words.gaps, *([gap] if gap else [])]
    named = f"{subscription.name}: " if subscription else ""
    message = Message(
        subject=f"{named}{report.words.title}, {report.words.days}",
        lines=tuple(lines),
        links=(Link(words="The report", url=link),) if link else (),
        is_good=True,
    )
    delivery = Delivery.objects.create(
        organisation=organisation, channel=channel, key=uuid4(), message=message.plain(),
        next_at=now, created_at=now,
    )  # fmt: skip
    ReportDelivery.objects.create(
        organisation=organisation, subscription=subscription, delivery=delivery, html=html,
        file_name=f"{report.file_name}.pdf", file=pdf,
    )  # fmt: skip
    return delivery
