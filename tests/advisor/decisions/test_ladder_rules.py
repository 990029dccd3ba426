"""Approving passes the ladder, by whichever way it is asked for."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models.audit import AuditEntry
from advisor.decisions.decide import approve, rollback
from advisor.decisions.ladder import confirm_first
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Policy, Recommendation, Tier, Workload
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def state(cluster: Cluster, **said: Any) -> LadderRule:
    return LadderRule.objects.create(organisation=cluster.organisation, name="rule", **said)


FREEZE = {"frozen_from": NOW - HOUR, "frozen_until": NOW + HOUR, "frozen_because": "the audit"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"level": "tell"}, "Sluice tells, and nothing is approved"),
        (FREEZE, "changes are frozen: the audit, until 2026-11-20 13:00 UTC"),
        ({"windows": ["Sat 22:00 6h"]}, "until 2026-11-21 22:00 UTC"),
        ({"most_changes_per_day": 0}, "0 changes in 24 h, 0 may be"),
        ({"second_person": True}, "nobody has confirmed it yet"),
    ],
)
def test_rule_refuses_an_approval_and_is_named(
    cluster: Cluster, said: dict[str, Any], why: str
) -> None:
    row = propose(cluster)
    rule = state(cluster, **said)

    with pytest.raises(DecisionRefused, match=f'rule "rule".*{why}'):
        approve(recommendation=row, user=cluster.people.owner, now=NOW)

    assert not Policy.objects.exists()
    rule.delete()
    approve(recommendation=row, user=cluster.people.owner, now=NOW)
    assert Policy.objects.count() == 1


def test_cool_down_counts_from_the_last_approval(cluster: Cluster) -> None:
    state(cluster, cooldown_s=6 * 3600.0)
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    end_guards()
    another = propose(cluster, reservation=50 * MBIT)

    with pytest.raises(DecisionRefused, match=r"was changed at .* 12:00 UTC, until .* 18:00 UTC"):
        approve(recommendation=another, user=cluster.people.owner, now=NOW + HOUR)

    approve(recommendation=another, user=cluster.people.owner, now=NOW + 6 * HOUR)
    assert Policy.objects.count() == 2


def test_high_tier_takes_another_person(cluster: Cluster) -> None:
    Workload.objects.filter(name="web-2").update(tier=Tier.HIGH)
    state(cluster, tier="high", second_person=True)
    row, people = propose(cluster), cluster.people

    assert confirm_first(recommendation=row, user=people.operator, now=NOW)
    with pytest.raises(DecisionRefused, match="another than operator"):
        approve(recommendation=row, user=people.operator, now=NOW)
    assert not confirm_first(recommendation=row, user=people.owner, now=NOW)
    approve(recommendation=row, user=people.owner, now=NOW)

    assert [(one.step, one.actor) for one in row.changes.order_by("pk")] == [
        ("confirmed", "operator"), ("approved", "owner"),
    ]  # fmt: skip


def test_going_back_is_not_held_up(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    state(cluster, **FREEZE)

    assert rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW).version == 2


def test_rule_of_another_organisation_says_nothing(cluster: Cluster) -> None:
    state(make_cluster("globex"), level="tell")

    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    assert Policy.objects.count() == 1


def ladder(*words: str) -> str:
    out = StringIO()
    call_command("ladder", *words, stdout=out)
    return out.getvalue()


def test_audit_chain_tells_which_rules_were_set_and_removed(cluster: Cluster) -> None:
    options = ("--organisation", "acme")
    ladder("set", "night", "--window", "Sat 22:00 6h", "--most-per-day", "0", *options)
    ladder("remove", "night", *options)

    entries = AuditEntry.objects.filter(organisation=cluster.organisation).order_by("number")
    said = {"windows": "Sat 22:00 6h (UTC)", "most_changes_per_day": "0"}
    assert [(one.action, one.subject, one.details) for one in entries] == [
        ("set a rule of the ladder", "night", said),
        ("remove a rule of the ladder", "night", said),
    ]


def test_commands_set_explain_and_remove_rules(cluster: Cluster) -> None:
    row: Recommendation = propose(cluster)
    options = ("--organisation", "acme")

    assert "no rules" in ladder("list", *options)
    listed = ladder("set", "calm", "--resource", "h1/up0", "--level", "tell", *options)
    assert "calm" in listed
    explained = json.loads(ladder("explain", str(row.pk), "--json", *options))
    assert (explained["level"], explained["level_from"]) == ("tell", "calm")
    assert explained["may_approve"] is False
    ladder("set", "calm", "--most-per-day", "5", *options)
    assert "It may be approved now." in ladder("explain", str(row.pk), *options)
    assert "no rules" in ladder("remove", "calm", *options)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "states nothing"),
        (("--window", "Sat"), "no window of the week"),
        (("--window", "Sat 22:00 6h", "--zone", "Mars"), "not a time zone"),
        (("--cool-down", "soon"), "not a length"),
        (("--freeze", "2026-12-20T00:00", "2026-12-21T00:00"), "needs its offset"),
        (("--freeze", "2026-12-21T00:00Z", "2026-12-20T00:00Z", "--because", "x"), "before"),
        (("--freeze", "2026-12-20T00:00Z", "2026-12-21T00:00Z"), "needs a reason"),
    ],
)
def test_rule_that_makes_no_sense_is_refused(
    cluster: Cluster, words: tuple[str, ...], why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        ladder("set", "odd", *words, "--organisation", "acme")

    assert not LadderRule.objects.exists()
