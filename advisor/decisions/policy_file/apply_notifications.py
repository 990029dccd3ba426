"""State rules of notifications as a policy file says; their channels are on the server."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from accounts.actor import Actor
from accounts.models import Organisation
from advisor.decisions.policy_file.decide.document import NotificationEntry
from advisor.models import NotificationRule
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
