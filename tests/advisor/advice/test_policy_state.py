"""What is said of a policy is the last link of the chain that holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.core.compliance import Verdict
from advisor.decisions.decide import approve, rollback
from advisor.history.enforced_time import enforced_time
from advisor.history.policy_on_host import Link
from advisor.history.policy_reports import IS_READ_BACK, unlike
from advisor.history.policy_state import PolicyState, policy_state, policy_states
from advisor.models import Attachment, ComplianceRecord, Enforcer, Policy, Unit
from enforcers.contract import Outcome, Setting
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db

SOON = NOW + timedelta(seconds=30)


@pytest.fixture
def cluster() -> Cluster:
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    return cluster


def state(cluster: Cluster) -> PolicyState:
    policy = Policy.objects.filter(resource=cluster.uplink).order_by("-version")[0]
    return policy_state(policy, now=SOON)


@pytest.mark.parametrize(
    "outcome", [Outcome.APPLIED, Outcome.UNCHANGED, Outcome.REPLACED, Outcome.DRIFTED], ids=str
)
def test_policy_that_every_host_applied_is_in_force(cluster: Cluster, outcome: Outcome) -> None:
    agent_pass(cluster.enrolment.host, at=NOW, outcome=outcome)

    found = state(cluster)

    assert (found.link, found.is_in_force, found.is_doubtful) == (Link.READ_BACK, True, False)
    assert found.text == (
        "in force: applied and read back on h1, not yet measured to hold: "
        "0 windows of web-1 on h1 are judged, 3 are needed (no rate was measured)"
    )
    assert found.allocations == {allocation.pk for allocation in cluster.allocations}


@pytest.mark.parametrize(
    "outcome",
    [Outcome.UNSUPPORTED, Outcome.FAILED, Outcome.INEFFECTIVE, Outcome.GUESSED_MODEL],
    ids=str,
)
def test_policy_that_the_host_cannot_hold_is_published_only(
    cluster: Cluster, outcome: Outcome
) -> None:
    agent_pass(cluster.enrolment.host, at=NOW, outcome=outcome, reason="no sch_htb")

    found = state(cluster)

    assert (
        found.text
        == f"published, not applied: web-1 on h1 is {outcome.replace('_', ' ')}: no sch_htb"
    )
    assert found.allocations == set()


@pytest.mark.parametrize(
    ("shown", "difference"),
    [
        ({"limit": 50 * MBIT}, "the kernel shows limit 50.0 Mbit/s, applied was no limit"),
        (
            {"reservation": None},
            "the kernel shows no reservation, applied was reservation 75.0 Mbit/s",
        ),
        ({"shares": 10.0}, "the kernel shows shares 10, applied was shares 1000"),
    ],
    ids=["a limit that nobody asked for", "no reservation", "other shares"],
)
def test_policy_is_not_in_force_where_the_kernel_shows_something_else(
    cluster: Cluster, shown: dict[str, float | None], difference: str
) -> None:
    applied = Setting(reservation=75 * MBIT, limit=None, shares=1000.0)
    agent_pass(cluster.enrolment.host, at=NOW, shown={"web-1": replace(applied, **shown)})

    found = state(cluster)

    assert (found.link, found.is_in_force) == (Link.APPLIED, False)
    assert found.text == f"applied, not read back everywhere: web-1 on h1: {difference}"
    assert found.allocations == {allocation.pk for allocation in cluster.allocations[1:]}
    assert not enforced_time(Policy.objects.get())


def test_kernel_may_show_controls_that_nobody_asked_for() -> None:
    """Under iocost each group has a weight."""
    plain = {"reservation": None, "limit": 500.0, "shares": None}
    record = ComplianceRecord(
        outcome=Outcome.UNCHANGED, applied=plain, read_back={**plain, "shares": 100.0}
    )

    assert unlike(record, Unit.IOPS) == ""


def test_what_is_read_back_is_told_the_same_by_row_and_by_query(cluster: Cluster) -> None:
    applied = Setting(reservation=75 * MBIT, limit=None, shares=1000.0)
    others = {"web-1": replace(applied, limit=1.0), "web-2": replace(applied, reservation=1.0)}
    agent_pass(cluster.enrolment.host, at=NOW, shown=others)

    by_query = ComplianceRecord.objects.filter(IS_READ_BACK).values_list(
        "workload__name", flat=True
    )
    by_row = {
        row.workload.name
        for row in ComplianceRecord.objects.select_related("workload")
        if not unlike(row, Unit.BITS_PER_S)
    }

    assert set(by_query) == by_row == {"web-3"}


def test_policy_is_measured_to_hold_after_three_windows(cluster: Cluster) -> None:
    rates = {"web-1": 80.6 * MBIT, "web-2": 6.7 * MBIT, "web-3": 6.7 * MBIT}
    links = []
    for number in range(4):
        at = NOW + number * timedelta(seconds=30)
        # The window that ends with the change began before it.
        outcome = Outcome.UNCHANGED if number else Outcome.APPLIED
        agent_pass(cluster.enrolment.host, at=at, outcome=outcome, rates=rates)
        found = policy_state(Policy.objects.get(), now=at)
        links.append(found.link)

    assert links == [Link.READ_BACK] * 3 + [Link.MEASURED]
    assert found.text == "in force: applied, read back and measured on h1"
    assert found.times == {
        Link.APPROVED: NOW,
        Link.PUBLISHED: NOW,
        **dict.fromkeys((Link.APPLIED, Link.READ_BACK, Link.MEASURED), at),
    }


def test_idle_workloads_show_nothing_and_contradict_nothing(cluster: Cluster) -> None:
    for number in range(4):
        at = NOW + number * timedelta(seconds=30)
        agent_pass(
            cluster.enrolment.host, at=at, rates=dict.fromkeys(("web-1", "web-2", "web-3"), 0.0)
        )
    ComplianceRecord.objects.update(verdict=Verdict.NO_DEMAND)

    found = policy_state(Policy.objects.get(), now=at)

    assert (found.link, found.is_doubtful) == (Link.READ_BACK, False)
    assert found.gap == "no workload on h1 wanted what it is entitled to"


def test_dry_run_applies_nothing(cluster: Cluster) -> None:
    host = cluster.enrolment.host
    agent_pass(host, at=NOW, reason="dry run: would do 3 changes", dry_run=True)

    found = state(cluster)

    assert found.link is Link.PUBLISHED
    assert found.gap == "web-1 on h1 is not applied: dry run: would do 3 changes"


def test_policy_before_the_first_report_is_published(cluster: Cluster) -> None:
    assert state(cluster).text == ("published, not applied: the agent of h1 has not reported yet")


def test_agent_that_fell_silent_proves_nothing(cluster: Cluster) -> None:
    agent_pass(cluster.enrolment.host, at=NOW)
    policy = Policy.objects.get()

    found = policy_state(policy, now=NOW + timedelta(minutes=4))

    assert found.gap == "the agent of h1 is silent since 2026-11-20 12:00 UTC"


def test_host_without_an_agent_has_an_approved_policy(cluster: Cluster) -> None:
    Enforcer.objects.all().delete()

    assert state(cluster).text == "approved, not published: h1 has no agent"


def test_host_that_lost_the_device_is_told(cluster: Cluster) -> None:
    Attachment.objects.filter(resource=cluster.uplink).delete()
    agent_pass(cluster.enrolment.host, at=NOW)

    found = state(cluster)

    assert found.link is Link.APPROVED
    assert found.gap == (
        "h1 has no device that reaches h1/up0, so nothing would be published there"
    )


def test_withdrawn_policy_is_in_force_once_the_agent_holds_the_new_document(
    cluster: Cluster,
) -> None:
    agent_pass(cluster.enrolment.host, at=NOW)
    rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    before = state(cluster)
    agent_pass(cluster.enrolment.host, at=SOON)
    after = state(cluster)

    assert before.gap == "the agent of h1 still holds revision 1, 2 is published"
    assert (after.link, after.text) == (Link.READ_BACK, "in force: applied and read back on h1")


def test_states_of_many_policies_take_a_fixed_number_of_queries(cluster: Cluster) -> None:
    other = make_cluster("globex")
    approve(recommendation=propose(other), user=other.people.owner, now=NOW)
    policies = list(Policy.objects.select_related("resource"))

    with CaptureQueriesContext(connection) as one:
        policy_states(policies[:1], now=SOON)
    with CaptureQueriesContext(connection) as both:
        policy_states(policies, now=SOON)

    assert len(policies) == 2
    assert len(both) == len(one)
