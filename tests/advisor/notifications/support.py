"""Rules and channels of a test, and time that goes by."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from accounts.actor import COMMAND_LINE
from advisor.models import ChannelKind, NotificationChannel, NotificationRule
from advisor.notifications.deliver import deliver_next, organisations_with_messages
from advisor.notifications.look import look
from advisor.notifications.state import state_channel, state_notification_rule
from tests.advisor.scenario import Cluster


def channel(
    cluster: Cluster, kind: ChannelKind, address: str, now: datetime
) -> NotificationChannel:
    return state_channel(
        organisation=cluster.organisation, name=f"by {kind}", kind=kind, address=address,
        actor=COMMAND_LINE, now=now,
    ).row  # fmt: skip


def rule(by: NotificationChannel, now: datetime, **stated: Any) -> NotificationRule:
    name = stated.pop("name", "all")
    return state_notification_rule(
        NotificationRule(organisation=by.organisation, name=name, channel=by, **stated),
        resources=[], actor=COMMAND_LINE, now=now,
    )  # fmt: skip


def pass_time(cluster: Cluster, now: datetime, *, minutes: float = 0.0) -> None:
    """What the scheduler and workers do, every 30 s for so long."""
    for half in range(int(minutes * 2) + 1):
        at = now + half * timedelta(seconds=30)
        look(cluster.organisation.pk, now=at)
        for one in organisations_with_messages(now=at):
            while deliver_next(one, now=at):
                pass
