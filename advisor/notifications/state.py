"""State channels, rules and silences; each is told in the audit chain."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.digest import Digest, Rhythm, problems_of_digest
from advisor.core.notifying import problems_of_name, problems_of_rule
from advisor.errors import DecisionRefused
from advisor.models import Resource
from advisor.models.notification import (
    LONGEST_ADDRESS,
    LONGEST_REASON,
    ChannelKind,
    Delivery,
    DeliveryState,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
)
from advisor.notifications.channels.registry import CHANNELS
from advisor.notifications.look import rule_of
from advisor.notifications.message import trial_message

LONGEST_SILENCE = timedelta(days=30)
NOT_GATHERED = Digest(rhythm=Rhythm.DAY)
"""The hour and zone of a channel that gathers nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedChannel:
    """A channel as it is now; `secret` is one that was made by this, and is told this once."""

    row: NotificationChannel
    secret: str = field(default="", repr=False)


@transaction.atomic
def state_channel(
    *,
    organisation: Organisation,
    name: str,
    kind: ChannelKind,
    address: str,
    digest: Digest | None = None,
    actor: Actor,
    now: datetime,
) -> StatedChannel:
    """Set a channel, in the place of one of the same name; it goes on if it was stopped.

    An empty address keeps the one that it has. With a `digest` it gathers its messages.
    """
    actor.require(Action.MANAGE_NOTIFICATIONS)
    former = NotificationChannel.objects.filter(organisation=organisation, name=name)
    if not address:
        address = next((row.address for row in former.filter(kind=kind)), "")
    for problem in _problems_of_channel(name, kind, address, digest):
        raise DecisionRefused(problem)
    row, is_new = NotificationChannel.objects.get_or_create(
        organisation=organisation, name=name, defaults={"kind": kind, "address": address}
    )
    made = ""
    if row.digest and row.digest != digest:
        # It goes by the old times no more, so at once.
        gathered = Delivery.objects.filter(channel=row, state=DeliveryState.GATHERED)
        gathered.update(next_at=now)
    if kind == ChannelKind.WEBHOOK and not row.secret:
        made = row.secret = secrets.token_urlsafe(32)
    row.kind, row.address = kind, address
    stated = digest or NOT_GATHERED
    row.rhythm = digest.rhythm if digest else ""
    row.hour, row.zone = stated.hour, stated.zone
    row.failures, row.stopped_at, row.stopped_because = 0, None, ""
    row.save()
    action = "state a channel" if is_new else "change a channel"
    record(organisation=organisation, actor=actor, action=action, subject=name, now=now)
    return StatedChannel(row=row, secret=made)


def _problems_of_channel(
    name: str, kind: ChannelKind, address: str, digest: Digest | None
) -> list[str]:
    found = problems_of_name(name)
    if len(address) > LONGEST_ADDRESS:
        found.append(f"an address has at most {LONGEST_ADDRESS} letters")
    if problem := CHANNELS[kind].problem(address):
        found.append(problem)
    return found + (problems_of_digest(digest) if digest else [])


@transaction.atomic
def start_again(row: NotificationChannel, *, actor: Actor, now: datetime) -> None:
    """Send by a channel that was stopped; what was given up meanwhile stays so."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    stopped = NotificationChannel.objects.filter(pk=row.pk).exclude(stopped_at=None)
    if not stopped.update(failures=0, stopped_at=None, stopped_because=""):
        raise DecisionRefused(f"{row} is not stopped")
    record(
        organisation=row.organisation, actor=actor, action="start a channel again",
        subject=row.name, now=now,
    )  # fmt: skip


@transaction.atomic
def state_notification_rule(
    row: NotificationRule, *, resources: Sequence[Resource], actor: Actor, now: datetime
) -> NotificationRule:
    """Set a rule, in the place of one of the same name; what it told stays told."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    former = NotificationRule.objects.filter(organisation=row.organisation, name=row.name)
    row.pk = former.values_list("pk", flat=True).first()
    for problem in problems_of_rule(rule_of(row, resources, frozenset(row.tags))):
        raise DecisionRefused(problem)
    row.save()
    row.resources.set(resources)
    record(
        organisation=row.organisation, actor=actor, action="state a rule of notifications",
        subject=row.name, now=now,
    )  # fmt: skip
    return row


@transaction.atomic
def remove_stated(
    row: NotificationChannel | NotificationRule, *, actor: Actor, now: datetime
) -> None:
    """Take away a rule, or a channel with the rules that go by it and what it was sent."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    word = "a channel" if isinstance(row, NotificationChannel) else "a rule of notifications"
    record(
        organisation=row.organisation, actor=actor, action=f"remove {word}", subject=row.name,
        now=now,
    )  # fmt: skip
    row.delete()


@transaction.atomic
def silence(
    *,
    organisation: Organisation,
    resource: Resource | None,
    until: datetime,
    reason: str,
    actor: Actor,
    now: datetime,
) -> NotificationSilence:
    """Tell nobody of a resource until then; it ends by itself."""
    actor.require(Action.DECIDE)
    if not now < until <= now + LONGEST_SILENCE:
        raise DecisionRefused(f"a silence lasts at most {LONGEST_SILENCE.days} days from now")
    if not reason.isprintable() or len(reason) > LONGEST_REASON:
        raise DecisionRefused(f"a reason has at most {LONGEST_REASON} letters that can be printed")
    row = NotificationSilence.objects.create(
        organisation=organisation, resource=resource, until=until, reason=reason,
        made_by=actor.name,
    )  # fmt: skip
    record(
        organisation=organisation, actor=actor, action="silence notifications",
        subject=resource.name if resource else "everything", now=now,
        details={"until": until.isoformat(), "reason": reason},
    )  # fmt: skip
    return row


@transaction.atomic
def end_silence(row: NotificationSilence, *, actor: Actor, now: datetime) -> None:
    """Tell again from now on."""
    actor.require(Action.DECIDE)
    record(
        organisation=row.organisation, actor=actor, action="end a silence",
        subject=row.resource.name if row.resource else "everything", now=now,
    )  # fmt: skip
    row.delete()


def try_out(channel: NotificationChannel, *, actor: Actor, now: datetime) -> Delivery:
    """Put down a message that says that nothing is wrong; it is sent like all others."""
    actor.require(Action.MANAGE_NOTIFICATIONS)
    if channel.stopped_at is not None:
        raise DecisionRefused(f"{channel} is stopped; start it again first")
    return Delivery.objects.create(
        organisation=channel.organisation, channel=channel, key=uuid4(),
        message=trial_message(channel.name).plain(), next_at=now, created_at=now,
    )  # fmt: skip
