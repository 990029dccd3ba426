"""Which reports are sent regularly: stated, sent now, stopped, started again and removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.reporting.schedule import Every, next_time, problems_of_subscription
from advisor.core.weekly_window import zone_of
from advisor.errors import DecisionRefused
from advisor.models import ChannelKind, Delivery, NotificationChannel, ReportSubscription, Team
from advisor.notifications.deliver import SENDING
from advisor.pipeline.asked_by import note_asked
from advisor.pipeline.failed_work import Subject, solve


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSubscription:
    """A subscription as people write it, with the names of its channel and team.

    Without a team and a tag it is of all workloads. The hour is one of the zone.
    """

    name: str
    channel: str
    every: str
    hour: int
    zone: str
    team: str
    tag: str


def stated(row: ReportSubscription) -> StatedSubscription:
    """How people would write it."""
    return StatedSubscription(
        name=row.name,
        channel=row.channel.name,
        every=row.every,
        hour=row.hour,
        zone=row.zone,
        team=row.team.name if row.team else "",
        tag=row.tag,
    )


def row_of(said: StatedSubscription, organisation: Organisation) -> ReportSubscription:
    """The row it means, not saved; DecisionRefused if its channel or team is not there."""
    channels = NotificationChannel.objects.filter(organisation=organisation, name=said.channel)
    channel = channels.first()
    if channel is None:
        raise DecisionRefused(f'there is no channel "{said.channel}"')
    team = Team.objects.filter(organisation=organisation, name=said.team).first()
    if team is None and said.team:
        raise DecisionRefused(f'there is no team "{said.team}"')
    return ReportSubscription(
        organisation=organisation,
        name=said.name,
        channel=channel,
        every=said.every,
        hour=said.hour,
        zone=said.zone,
        team=team,
        tag=said.tag,
    )


@transaction.atomic
def state_subscription(
    row: ReportSubscription, *, actor: Actor, now: datetime
) -> ReportSubscription:
    """Set one, in the place of one of the same name; it goes on if it was stopped."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    for problem in _problems(row):
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
    note_asked(f"report {row.pk}")


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


def _problems(row: ReportSubscription) -> list[str]:
    found = []
    if row.channel.kind != ChannelKind.MAIL:
        found.append(f"{row.channel} sends no mail, and a report is a letter")
    if row.every not in list(Every):
        found.append(f"it comes {', '.join(Every)}")
    return found + problems_of_subscription(row.name, hour=row.hour, zone=row.zone, tag=row.tag)


def _told(row: ReportSubscription, action: str, *, actor: Actor, now: datetime) -> None:
    record(organisation=row.organisation, actor=actor, action=action, subject=row.name, now=now)
