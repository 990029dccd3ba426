"""A site in which everything is stated that can be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.decisions.alarm_budgets import state_own_budget, state_shared_budget
from advisor.decisions.found.rules import set_rules
from advisor.decisions.ladder_rules import state_rule
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.decisions.pools import set_pool
from advisor.decisions.report_subscriptions import state_subscription
from advisor.decisions.rollouts.steer import set_terms, stage_resource
from advisor.decisions.teams import set_team
from advisor.models import (
    ChannelKind,
    LadderRule,
    LimitScope,
    NotificationChannel,
    NotificationRule,
    Recurrence,
    ReportSubscription,
    Resource,
    Team,
)
from advisor.notifications.state import state_channel, state_notification_rule
from tests.advisor.policy_file.site import PRODUCTION, SPARE, exported
from tests.advisor.scenario import NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore


@pytest.fixture
def file(db: None, tmp_path: Path) -> Path:
    """An export of an organisation in which everything is stated that can be."""
    cluster = make_cluster(PRODUCTION)
    acme = cluster.organisation
    store = stated_datastore(acme, "nfs-07", "h1", "h2", capacity=2000.0, threshold=15.0)
    inventory.change_resource(resource=store, facts={"lun_queue_depth": 64, "size_bytes": 4e12})
    inventory.set_queue_depth(resource=store, host_name="h2", depth=32)
    state_own_budget(resource=store, alarms_per_week=None)
    cgroup_allocation(
        store, "db", host="h2", reservation=500.0, limit=800.0, shares=77, tier="high",
        selector=("mark", "7"), facts={"limit_scope": LimitScope.POOLED, "size_bytes": 5e10},
    )  # fmt: skip
    # Nobody knows what this one can do, and nobody checked what it promises.
    unknown = stated_datastore(acme, "nfs-08", "h3")
    cgroup_allocation(unknown, "db", host="h3", reservation=9e9, may_exceed=True)
    set_pool(
        resource=cluster.uplink, name="batch", limit=80e6, shares=300,
        members=["web-2", "web-3"],
    )  # fmt: skip
    state_shared_budget(organisation=acme, alarms_per_week=2.5)
    set_rules(acme, "# ours\ntier: low where name ~ test-*\n", now=NOW)
    add_maintenance_window(
        organisation=acme,
        name="backup",
        # The hour that the clock shows twice, the second time.
        starts_at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        length=timedelta(minutes=90),
        recurrence=Recurrence.WEEKLY,
        zone="Europe/Berlin",
        resources=["nfs-07"],
        workloads=["db"],
    )
    state_rule(
        LadderRule(
            organisation=acme, name="nights", resource=store, tier="high", kind="policy",
            level="act", windows=["Sat 22:00 6h"], zone="Europe/Berlin",
            frozen_from=datetime(2026, 12, 19, 23, 0, tzinfo=UTC),
            frozen_until=datetime(2027, 1, 6, 23, 0, tzinfo=UTC),
            frozen_because="end of the year", cooldown_s=21_600.0, most_changes_per_day=3,
            second_person=True,
        ),
        actor=COMMAND_LINE,
        now=NOW,
    )  # fmt: skip
    set_terms(
        organisation=acme, actor=COMMAND_LINE, now=NOW, staged=False, stage_s=300.0,
        longest_s=7200.0, goes_on_unsure=True,
    )  # fmt: skip
    stage_resource(resource=store, staged=True, actor=COMMAND_LINE, now=NOW)
    _tell(acme, store)
    _report(acme)
    path = tmp_path / "site.yaml"
    path.write_text(exported())
    spare = Organisation.objects.create(slug=SPARE, name="Spare")
    _set_channel(spare)
    _set_letters(spare)
    return path


def _set_channel(organisation: Organisation) -> NotificationChannel:
    """No file has it, for it holds a secret: it is set on each server."""
    return state_channel(
        organisation=organisation, name="chat", kind=ChannelKind.WEBHOOK,
        address="https://chat.example.org/very/secret", actor=COMMAND_LINE, now=NOW,
    ).row  # fmt: skip


def _set_letters(organisation: Organisation) -> NotificationChannel:
    """Put down as it is: whether mail can be sent, the installation says."""
    return NotificationChannel.objects.create(
        organisation=organisation, name="letters", kind=ChannelKind.MAIL,
        address="ann@example.org",
    )  # fmt: skip


def _report(organisation: Organisation) -> None:
    state_subscription(
        ReportSubscription(
            organisation=organisation, name="mondays", channel=_set_letters(organisation),
            every="weekly", hour=6, zone="Europe/Berlin", tag="label.app=db",
            team=Team.objects.get(organisation=organisation, name="shop"),
        ),
        actor=COMMAND_LINE, now=NOW,
    )  # fmt: skip


def _tell(organisation: Organisation, store: Resource) -> None:
    set_team(organisation=organisation, name="shop", tags=["label.team=shop"])
    state_notification_rule(
        NotificationRule(
            organisation=organisation, name="nights", channel=_set_channel(organisation),
            least=2, teams=["shop"], tags=["label.app=db", "tag=no"],
            quiet=["Mon-Sun 22:00 9h", "Sat 09:00 2h"], zone="Europe/Berlin",
            grave_anyway=False, tells_end=False,
        ),
        resources=[store], actor=COMMAND_LINE, now=NOW,
    )  # fmt: skip
