"""State who is told and who gets reports as a policy file says; channels are on the server."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from accounts.actor import Actor
from accounts.models import Organisation
from advisor.decisions import report_subscriptions
from advisor.decisions.policy_file.decide.document import NotificationEntry, ReportEntry
from advisor.models import NotificationRule, ReportSubscription
from advisor.notifications.state import remove_stated, state_notification_rule
from advisor.notifications.stated_rule import StatedRule, row_of


def state_notification(
    organisation: Organisation, entry: NotificationEntry, *, actor: Actor, now: datetime
) -> None:
    """State a rule; its channel, resources and teams are there, or it is refused."""
    row, resources = row_of(StatedRule(**asdict(entry)), organisation)
    state_notification_rule(row, resources=resources, actor=actor, now=now)


def remove_notification(
    organisation: Organisation, name: str, *, actor: Actor, now: datetime
) -> None:
    """Tell no more by the rule of this name."""
    row = NotificationRule.objects.get(organisation=organisation, name=name)
    remove_stated(row, actor=actor, now=now)


def state_report(
    organisation: Organisation, entry: ReportEntry, *, actor: Actor, now: datetime
) -> None:
    """Have a report sent; its channel and team are there, or it is refused."""
    said = report_subscriptions.StatedSubscription(**asdict(entry))
    row = report_subscriptions.row_of(said, organisation)
    report_subscriptions.state_subscription(row, actor=actor, now=now)


def remove_report(organisation: Organisation, name: str, *, actor: Actor, now: datetime) -> None:
    """Send the report of this name no more."""
    row = ReportSubscription.objects.get(organisation=organisation, name=name)
    report_subscriptions.remove(row, actor=actor, now=now)
