"""Deciding: once, by somebody who may, and always to be taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from advisor.decisions.decide import approve, reject, rollback
from advisor.errors import DecisionRefused
from advisor.models import (
    Allocation,
    Attachment,
    Policy,
    PublishedDocument,
    RecommendationState,
    Resource,
)
from advisor.models.policy import PolicyIsImmutable
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.mark.parametrize("name", ["owner", "operator"])
def test_approval_publishes_the_recommended_allocations(cluster: Cluster, name: str) -> None:
    recommendation = propose(cluster)

    policy = approve(recommendation=recommendation, user=getattr(cluster.people, name), now=NOW)

    document = PublishedDocument.objects.get(host__name="h1")
    assert policy.version == 1
    assert document.revision == 1
    # The last is the part of the host's own traffic.
    reserved = [item["reservation"] for item in document.content["allocations"]]
    assert reserved == [75 * MBIT, 0, 0, pytest.approx(9.4 * MBIT)]
    recommendation.refresh_from_db()
    assert recommendation.state == RecommendationState.APPROVED
    assert recommendation.decided_by == getattr(cluster.people, name)


@pytest.mark.parametrize("name", ["viewer", "outsider"])
def test_approval_without_the_role_is_refused(cluster: Cluster, name: str) -> None:
    recommendation = propose(cluster)

    with pytest.raises(DecisionRefused, match="may not decide"):
        approve(recommendation=recommendation, user=getattr(cluster.people, name), now=NOW)

    recommendation.refresh_from_db()
    assert recommendation.state == RecommendationState.PROPOSED
    assert not Policy.objects.exists()


def test_second_approval_is_refused_and_makes_no_version(cluster: Cluster) -> None:
    recommendation = propose(cluster)
    approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    with pytest.raises(DecisionRefused, match="is approved and can no longer be decided"):
        approve(recommendation=recommendation, user=cluster.people.operator, now=NOW)

    assert Policy.objects.count() == 1


def test_expired_recommendation_cannot_be_approved(cluster: Cluster) -> None:
    recommendation = propose(cluster)

    with pytest.raises(DecisionRefused, match="is expired"):
        approve(
            recommendation=recommendation,
            user=cluster.people.owner,
            now=NOW + timedelta(hours=25),
        )

    assert not Policy.objects.exists()


def no_capacity(cluster: Cluster) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)


def no_device(cluster: Cluster) -> None:
    Attachment.objects.filter(resource=cluster.uplink).delete()


def no_allocations(cluster: Cluster) -> None:
    Allocation.objects.filter(resource=cluster.uplink).delete()


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (no_capacity, "set it with: sluice resource set h1/up0 --capacity RATE"),
        (no_device, "h1 has no device that reaches h1/up0"),
        (no_allocations, "none of its workloads has an allocation on h1/up0 any more"),
    ],
)
def test_policy_that_would_publish_nothing_is_refused(
    cluster: Cluster, lose: Callable[[Cluster], None], reason: str
) -> None:
    recommendation = propose(cluster)
    lose(cluster)

    with pytest.raises(DecisionRefused, match=reason):
        approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    recommendation.refresh_from_db()
    assert recommendation.state == RecommendationState.PROPOSED
    assert not Policy.objects.exists()


def test_rollback_keeps_the_capacity_of_the_version_it_repeats(cluster: Cluster) -> None:
    no_capacity(cluster)
    for capacity, reserved in ((90, 75), (80, 60)):
        advice = propose(cluster, capacity=capacity * MBIT, reservation=reserved * MBIT)
        approve(recommendation=advice, user=cluster.people.owner, now=NOW)
        end_guards()

    policy = rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    assert policy.capacity == 90 * MBIT


def test_rejection_keeps_its_reason(cluster: Cluster) -> None:
    rejected = reject(
        recommendation=propose(cluster),
        user=cluster.people.operator,
        reason="web-1 moves next week",
        now=NOW,
    )

    assert rejected.state == RecommendationState.REJECTED
    assert rejected.decision_reason == "web-1 moves next week"


def test_rejection_without_reason_is_refused(cluster: Cluster) -> None:
    with pytest.raises(DecisionRefused, match="say why"):
        reject(recommendation=propose(cluster), user=cluster.people.operator, reason=" ", now=NOW)


def test_rollback_of_the_first_version_leaves_no_allocations(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    policy = rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    newest = PublishedDocument.objects.filter(host__name="h1").order_by("-revision").first()
    assert (policy.version, policy.allocations) == (2, [])
    assert policy.rollback_of.version == 1
    assert newest.revision == 2
    assert newest.content == {"resources": [], "allocations": []}


def test_rollback_repeats_the_version_before(cluster: Cluster) -> None:
    first = approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    end_guards()
    approve(
        recommendation=propose(cluster, reservation=60 * MBIT),
        user=cluster.people.owner,
        now=NOW,
    )

    policy = rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    assert policy.version == 3
    assert policy.allocations == first.allocations


@pytest.mark.parametrize(
    ("to_version", "complaint"),
    [(None, "nothing to roll back"), (0, "nothing to roll back")],
)
def test_rollback_without_policy_is_refused(
    cluster: Cluster, to_version: int | None, complaint: str
) -> None:
    with pytest.raises(DecisionRefused, match=complaint):
        rollback(
            resource=cluster.uplink, user=cluster.people.owner, now=NOW, to_version=to_version
        )


@pytest.mark.parametrize("to_version", [-1, 1, 7])
def test_rollback_to_an_unknown_version_is_refused(cluster: Cluster, to_version: int) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    with pytest.raises(DecisionRefused, match="choose 0"):
        rollback(
            resource=cluster.uplink, user=cluster.people.owner, now=NOW, to_version=to_version
        )


def test_policy_version_cannot_be_saved_again(cluster: Cluster) -> None:
    policy = approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    with pytest.raises(PolicyIsImmutable):
        policy.save()


def test_policy_version_cannot_be_changed_in_the_database(cluster: Cluster) -> None:
    policy = approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        Policy.objects.filter(pk=policy.pk).update(allocations=[])

    policy.refresh_from_db()
    assert len(policy.allocations) == 3


def test_resource_is_removed_with_its_history(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    cluster.uplink.delete()

    assert not Policy.objects.exists()


def test_recommendation_that_no_solver_made_is_refused_and_stays_open(cluster: Cluster) -> None:
    # 94 Mbit/s are all there is: web-2 and web-3 would get less than nothing.
    recommendation = propose(cluster, reservation=100 * MBIT)

    with pytest.raises(DecisionRefused, match="invariant entitlements-within-capacity"):
        approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    recommendation.refresh_from_db()
    assert recommendation.state == RecommendationState.PROPOSED
    assert not Policy.objects.exists()
