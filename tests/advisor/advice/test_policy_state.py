"""What is said of a policy is the last link that holds: approved, published, applied."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.decisions.decide import approve, rollback
from advisor.history.policy_state import Link, PolicyState, policy_state, policy_states
from advisor.models import Attachment, Enforcer, Policy
from enforcers.contract import Outcome
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose

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

    assert (found.link, found.gaps) == (Link.APPLIED, ())
    assert found.text == "in force: applied on h1"
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
    assert (after.link, after.text) == (Link.APPLIED, "in force: applied on h1")


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
