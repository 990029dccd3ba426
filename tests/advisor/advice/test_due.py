"""Advice is looked for wherever there may be some, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.advice import registry
from advisor.advice.advise import advise
from advisor.advice.due import to_advise_on
from advisor.advice.policy.calm import congested_lately, note_calm
from advisor.advice.policy.recommend import recommend
from advisor.decisions import inventory
from advisor.models import (
    Allocation,
    Attachment,
    Incident,
    Recommendation,
    Resource,
    ResourceStatus,
    State,
    ThresholdMode,
)
from tests.advisor.advised_datastores import datastore, disk_lines, limited
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.samples import send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def lun_of(cluster: Cluster) -> Resource:
    return datastore(cluster, "lun", "h1", size_bytes=4e12)


def stated_depths(cluster: Cluster) -> Resource:
    lun = inventory.change_resource(resource=lun_of(cluster), facts={"lun_queue_depth": 16})
    inventory.set_queue_depth(resource=lun, host_name="h1", depth=32)
    return lun


def a_limit(cluster: Cluster) -> Resource:
    lun = lun_of(cluster)
    limited(cluster, lun, iops=2000.0, limit=200.0)
    return lun


def conflicts(cluster: Cluster) -> Resource:
    lun = lun_of(cluster)
    lines = [
        f"scsi_reservation,host=h1,device=lun commands={hour * 100}i,conflicts=0i "
        f"{int((NOW - timedelta(hours=30 - hour / 6)).timestamp()) * 10**9}"
        for hour in range(100)
    ]
    send(cluster.organisation, "\n".join(lines), now=NOW)
    return lun


def was_congested(cluster: Cluster) -> Resource:
    lun = lun_of(cluster)
    datastore(cluster, "other", "h1", size_bytes=4e12)
    incident(lun, ended_ago=23 * 60 * MINUTE)
    return lun


def too_much_reserved(cluster: Cluster) -> Resource:
    uplink = cluster.uplink
    Allocation.objects.filter(resource=uplink).update(reservation=900 * MBIT)
    return uplink


def did_io(cluster: Cluster) -> Resource:
    lun = lun_of(cluster)
    send(
        cluster.organisation,
        disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.1, steps=700),
        now=NOW,
    )
    judge(lun, judged_window(NOW - DAY + MINUTE, value=1.0, threshold=30.0))
    return lun


def incident(resource: Resource, *, ended_ago: timedelta | None) -> Incident:
    return Incident.objects.create(
        organisation=resource.organisation,
        resource=resource,
        started_at=NOW - 3 * DAY,
        ended_at=None if ended_ago is None else NOW - ended_ago,
        peak_value=60.0,
        threshold=30.0,
    )


def looked_at(resource: Resource) -> None:
    """It was advised on before any of this, and is looked at all the time."""
    ResourceStatus.objects.update_or_create(
        resource=resource,
        defaults={"state": State.CLEAR, "other_advice_gaps": {"threshold": "too few samples"}},
    )


REASONS: dict[str, Callable[[Cluster], Resource]] = {
    "queue_depth": stated_depths,
    "limit_check": a_limit,
    "off_peak_work": conflicts,
    "placement": was_congested,
    "host_placement": too_much_reserved,
    "threshold": did_io,
}


def test_every_kind_has_a_reason_here() -> None:
    assert set(REASONS) == {kind.topic for kind in registry.KINDS if kind.gather is not None}


@pytest.mark.parametrize("topic", REASONS)
def test_resource_with_a_reason_is_never_left_out(cluster: Cluster, topic: str) -> None:
    resource = REASONS[topic](cluster)
    looked_at(resource)
    (kind,) = (one for one in registry.KINDS if one.topic == topic and one.gather is not None)

    assert kind.gather(resource, NOW) != []
    assert resource in to_advise_on(NOW)


def test_idle_disk_is_advised_on_once(cluster: Cluster) -> None:
    disk = lun_of(cluster)
    judge(disk, *(judged_window(NOW - number * MINUTE, load=0.0) for number in range(1, 60)))
    before = list(to_advise_on(NOW))

    advise(resource=disk, now=NOW)

    assert disk in before
    assert disk not in to_advise_on(NOW)
    assert disk not in to_advise_on(NOW + 30 * DAY)


def test_further_looks_at_what_is_left_out_change_nothing(cluster: Cluster) -> None:
    disk = lun_of(cluster)
    advise(resource=disk, now=NOW)
    before = list(ResourceStatus.objects.filter(resource=disk).values())

    advise(resource=disk, now=NOW + DAY)

    assert disk not in to_advise_on(NOW)
    assert list(ResourceStatus.objects.filter(resource=disk).values()) == before


@pytest.mark.parametrize("change", ["limit gone", "depth gone"])
def test_what_was_said_is_taken_back_when_its_reason_is_gone(
    cluster: Cluster, change: str
) -> None:
    if change == "limit gone":
        lun = a_limit(cluster)
        advise(resource=lun, now=NOW)
        Allocation.objects.filter(resource=lun).update(limit=None)
    else:
        lun = stated_depths(cluster)
        advise(resource=lun, now=NOW)
        Attachment.objects.filter(resource=lun).update(device_queue_depth=None)
    lun.threshold_mode = ThresholdMode.PEAK_THROUGHPUT
    lun.save()

    assert lun in to_advise_on(NOW)
    advise(resource=lun, now=NOW)

    assert not Recommendation.objects.filter(resource=lun, state="proposed").exists()
    assert ResourceStatus.objects.get(resource=lun).other_advice_gaps == {}
    assert lun not in to_advise_on(NOW)


def test_idle_disk_is_advised_on_anew_after_its_settings_change(cluster: Cluster) -> None:
    disk = lun_of(cluster)
    advise(resource=disk, now=NOW)

    inventory.change_resource(resource=disk, threshold=20.0)

    assert disk in to_advise_on(NOW)


def test_one_statement_finds_them_all(cluster: Cluster) -> None:
    for number in range(5):
        lun = datastore(cluster, f"lun{number}", "h1", size_bytes=4e12)
        cgroup_allocation(lun, f"vm{number}", limit=100.0)

    with CaptureQueriesContext(connection) as asked:
        found = list(to_advise_on(NOW))

    assert len(found) >= 5
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("ended_ago", "called_for"),
    [(None, True), (DAY, True), (DAY + MINUTE, False)],
    ids=["open", "a day ago", "longer ago"],
)
def test_policy_is_looked_for_as_long_as_an_incident_calls_for_it(
    cluster: Cluster, ended_ago: timedelta | None, called_for: bool
) -> None:
    incident(cluster.uplink, ended_ago=ended_ago)

    assert (cluster.uplink in congested_lately(NOW)) is called_for


@pytest.mark.parametrize(
    ("state", "reason", "silence"),
    [
        (State.CLEAR, "idle", ""),
        (State.UNKNOWN, "no capacity", ""),
        (State.UNKNOWN, "", "no samples of h1:lun"),
        (State.UNKNOWN, "no capacity", "no samples of h1:lun"),
        (State.UNKNOWN, "", ""),
    ],
    ids=["clear", "unknown", "silent", "both", "never looked at"],
)
def test_calm_resources_are_told_of_as_each_by_itself(
    cluster: Cluster, state: State, reason: str, silence: str
) -> None:
    ResourceStatus.objects.update_or_create(
        resource=cluster.uplink, defaults={"state": state, "reason": reason, "silence": silence}
    )

    noted = note_calm(NOW)

    told = ResourceStatus.objects.get(resource=cluster.uplink).advice_gap
    assert told == recommend(resource=cluster.uplink, now=NOW)
    assert noted >= 1
    assert note_calm(NOW) == 0


def test_gap_of_a_congested_resource_is_left_to_its_advice(cluster: Cluster) -> None:
    incident(cluster.uplink, ended_ago=None)
    ResourceStatus.objects.update_or_create(
        resource=cluster.uplink, defaults={"state": State.CONGESTED, "advice_gap": "a reason"}
    )

    note_calm(NOW)

    assert ResourceStatus.objects.get(resource=cluster.uplink).advice_gap == "a reason"
