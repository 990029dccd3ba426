"""Advice on devices, limits and placement lives until its reason is gone or a person decides."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.advice.advise import advise
from advisor.advice.registry import answer
from advisor.decisions import inventory
from advisor.decisions.decide import approve, reject
from advisor.models import Recommendation, RecommendationState
from tests.advisor.advised_datastores import advice, advised_at, datastore, limited
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.mark.parametrize("topic", ["queue_depth", "threshold", "limit_check"])
def test_other_advice_is_recomputed_to_the_same_bytes(cluster: Cluster, topic: str) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    limited(cluster, lun, iops=2000.0, limit=200.0)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    advise(resource=lun, now=NOW)

    row = Recommendation.objects.get(topic=topic)

    assert answer(row.topic, row.inputs) == row.answer


def test_advising_twice_changes_nothing(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    advise(resource=lun, now=NOW)
    before = list(Recommendation.objects.values())

    advise(resource=lun, now=NOW + timedelta(minutes=5))

    assert list(Recommendation.objects.values()) == before


def test_advice_is_withdrawn_when_its_reason_is_gone(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, "queue_depth")
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=8)

    advise(resource=lun, now=NOW)

    found.refresh_from_db()
    assert found.state == RecommendationState.SUPERSEDED


def test_rejected_advice_is_not_repeated_for_a_week(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, "queue_depth")
    reject(recommendation=found, user=cluster.people.owner, reason="array is replaced", now=NOW)

    again = advised_at(NOW + timedelta(days=1), lun, "queue_depth")
    later = advised_at(NOW + timedelta(days=8), lun, "queue_depth")

    assert again == f"rejected as {found.pk}: array is replaced"
    assert isinstance(later, Recommendation)


def test_approved_work_is_not_asked_for_again_while_it_waits(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, "queue_depth")
    approve(recommendation=found, user=cluster.people.owner, now=NOW)

    again = advised_at(NOW + timedelta(days=1), lun, "queue_depth")
    later = advised_at(NOW + timedelta(days=8), lun, "queue_depth")

    assert again == f"approved as {found.pk}, and not done yet"
    assert isinstance(later, Recommendation)
