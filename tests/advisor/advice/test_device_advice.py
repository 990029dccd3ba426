"""Queue depths, thresholds and quiet hours are advised from stored samples and stated facts."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from advisor.decisions import inventory
from advisor.decisions.decide import approve
from advisor.models import Recommendation, RecommendationState, Resource
from tests.advisor.advised_datastores import advice, advised_at, datastore, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_queue_depths_that_exceed_the_lun_are_lowered(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(64)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    found = advice(lun, "queue_depth")

    assert isinstance(found, Recommendation)
    plain = json.loads(found.answer)
    # ESX 3.5 storage study: 64 · 32 = 2048 commands for a LUN that takes 256, so 4 each;
    # 8 hosts of 32 fit
    assert plain["configured"] == 2048
    assert {row["advised_queue_depth"] for row in plain["depths"]} == {4}
    assert plain["hosts_per_lun"] == 8


def test_queue_depths_that_fit_need_no_advice(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(8)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    assert isinstance(advice(lun, "queue_depth"), str)


def test_hosts_that_no_depth_fits_are_spread_over_luns(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(128)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    found = advice(lun, "queue_depth")

    assert isinstance(found, Recommendation)
    # even the smallest depth of 4 makes 512 of 128 hosts: 64 of them fit 256
    assert found.kind == "hosts_per_lun"
    plain = json.loads(found.answer)
    assert (plain["most_hosts_per_lun"], plain["luns_needed"]) == (64, 2)


def test_threshold_is_advised_at_ninety_percent_of_peak(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1")
    lines = disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.5, steps=120)
    send(cluster.organisation, lines, now=NOW)

    found = advice(lun, "threshold")

    assert isinstance(found, Recommendation)
    # latency at a part p of the peak is intercept / (1 - p) = 1 / 0.1 = 10 ms
    assert json.loads(found.answer)["threshold_ms"] == pytest.approx(10.0, rel=0.05)


def test_approving_a_threshold_sets_it(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1")
    lines = disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.5, steps=120)
    send(cluster.organisation, lines, now=NOW)
    found = advice(lun, "threshold")

    policy = approve(recommendation=found, user=cluster.people.owner, now=NOW)

    lun.refresh_from_db()
    assert policy is None
    assert lun.threshold == json.loads(found.answer)["threshold_ms"]


def swept(cluster: Cluster) -> Resource:
    """A datastore whose threshold is advised at about 10 ms."""
    lun = datastore(cluster, "lun", "h1")
    lines = disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.5, steps=120)
    send(cluster.organisation, lines, now=NOW)
    return lun


@pytest.mark.parametrize(
    ("before_ms", "state"),
    [
        # In two digits these two would be 11 and 10.
        (10.6, RecommendationState.PROPOSED),
        (12.0, RecommendationState.SUPERSEDED),
    ],
)
def test_threshold_that_moves_by_less_than_is_worth_it_is_the_same_advice(
    cluster: Cluster, before_ms: float, state: RecommendationState
) -> None:
    lun = swept(cluster)
    found = advice(lun, "threshold")
    assert isinstance(found, Recommendation)
    found.answer = json.dumps(json.loads(found.answer) | {"threshold_ms": before_ms})
    Recommendation.objects.filter(pk=found.pk).update(answer=found.answer)

    advised_at(NOW + timedelta(minutes=5), lun, "threshold")

    found.refresh_from_db()
    assert found.state == state


def test_advice_outlives_samples_that_do_not_come_until_it_expires(cluster: Cluster) -> None:
    lun = swept(cluster)
    found = advice(lun, "threshold")

    while_silent = advised_at(NOW + timedelta(hours=23), lun, "threshold")
    expired = advised_at(NOW + timedelta(hours=25), lun, "threshold")

    assert while_silent == found
    assert isinstance(expired, str)


def test_rising_scsi_conflicts_call_for_quiet_hours(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1")
    commands = conflicts = 0
    lines = []
    for step in range(14 * 24 * 12):
        at = NOW - timedelta(days=14) + timedelta(minutes=5 * step)
        lines.append(
            f"scsi_reservation,host=h1,device=lun commands={commands}i,conflicts={conflicts}i "
            f"{int(at.timestamp()) * 1_000_000_000}"
        )
        busy = 9 <= at.hour < 17
        load = 30_000 if busy else 3_000
        commands += load
        # three days ago administrative work began to meet the busy hours
        recent = at > NOW - timedelta(days=3)
        conflicts += round(load * (0.05 if recent and busy else 0.0001))
    send(cluster.organisation, "\n".join(lines), now=NOW)

    found = advice(lun, "off_peak_work")

    assert isinstance(found, Recommendation)
    assert not 7 <= json.loads(found.answer)["from_hour_utc"] < 17
