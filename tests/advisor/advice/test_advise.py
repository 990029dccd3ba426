"""Advice on devices, limits and placement lives until its reason is gone or a person decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from advisor.advice import registry
from advisor.advice.advise import advise
from advisor.advice.queue_depth.kind import QUEUE_DEPTH
from advisor.advice.registry import answer
from advisor.decisions import inventory
from advisor.decisions.decide import approve, reject
from advisor.models import (
    Incident,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
)
from tests.advisor.advised_datastores import (
    START,
    advice,
    advised_at,
    congested_beside_a_fast_one,
    datastore,
    limited,
)
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


def test_advice_stays_while_windows_are_judged_again(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, "queue_depth")
    before = ResourceStatus.objects.get(resource=lun).other_advice_gaps
    going_back = ResourceStatus.objects.filter(resource=lun)
    going_back.update(history_until=NOW, rewound_at=NOW, rewound_to=NOW - timedelta(hours=2))
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=8)

    said = {one.found for one in advise(resource=lun, now=NOW)}

    assert said == {"samples came late: windows that they change are judged again first"}
    found.refresh_from_db()
    assert found.state == RecommendationState.PROPOSED
    assert ResourceStatus.objects.get(resource=lun).other_advice_gaps == before

    going_back.update(history_until=None)
    advise(resource=lun, now=NOW)
    found.refresh_from_db()
    assert found.state == RecommendationState.SUPERSEDED


@pytest.fixture
def while_it_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[Resource], object]], None]:
    """Let this be done while advice on queue depths gathers its inputs."""

    def let(happen: Callable[[Resource], object]) -> None:
        def gather(resource: Resource, now: datetime) -> object:
            happen(resource)
            assert QUEUE_DEPTH.gather is not None
            return QUEUE_DEPTH.gather(resource, now)

        monkeypatch.setattr(registry, "KINDS", (replace(QUEUE_DEPTH, gather=gather),))

    return let


def test_nothing_is_written_before_all_is_computed(
    cluster: Cluster, while_it_computes: Callable[[Callable[[Resource], object]], None]
) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    seen: list[bool] = []
    while_it_computes(
        lambda one: seen.append(ResourceStatus.objects.filter(resource=one).exists())
    )

    advise(resource=lun, now=NOW)

    # The row that judging needs is made once the slow part is over.
    assert seen == [False]
    assert ResourceStatus.objects.filter(resource=lun).exists()


def test_advice_stays_if_judging_again_begins_while_it_computes(
    cluster: Cluster, while_it_computes: Callable[[Callable[[Resource], object]], None]
) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, "queue_depth")
    before = ResourceStatus.objects.get(resource=lun).other_advice_gaps
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=8)
    while_it_computes(
        lambda one: ResourceStatus.objects.filter(resource=one).update(
            history_until=NOW, rewound_at=NOW, rewound_to=NOW - timedelta(hours=2)
        )
    )

    said = {one.found for one in advise(resource=lun, now=NOW)}

    assert said == {"samples came late: windows that they change are judged again first"}
    found.refresh_from_db()
    assert found.state == RecommendationState.PROPOSED
    assert ResourceStatus.objects.get(resource=lun).other_advice_gaps == before


def test_disk_that_is_to_move_is_advised_once_though_its_incident_is_judged_again(
    cluster: Cluster,
) -> None:
    slow = congested_beside_a_fast_one(cluster)
    found = advice(slow, "placement")
    assert isinstance(found, Recommendation), found
    going_back = ResourceStatus.objects.filter(resource=slow)
    going_back.update(history_until=NOW, rewound_at=NOW, rewound_to=START)
    # As long as it takes there is no incident.
    Incident.objects.filter(resource=slow).update(withdrawn_at=NOW)
    advise(resource=slow, now=NOW)
    Incident.every.filter(resource=slow).update(withdrawn_at=None)
    going_back.update(history_until=None)

    advise(resource=slow, now=NOW)

    assert list(Recommendation.objects.filter(topic="placement")) == [found]
    found.refresh_from_db()
    assert found.state == RecommendationState.PROPOSED


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
