"""What a workload usually takes comes from stored history, in one reading for all allocations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.advice.policy.recommend import recommend
from advisor.history.usual_rates import UsualAsked, UsualRate, usual_rates
from advisor.models import Allocation, Incident, Recommendation, Resource
from advisor.pipeline.detect import detect
from advisor.pipeline.look_outside import look_where_due
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

CROWDED = 60
"""Intervals of ten seconds: the last ten minutes."""
START = NOW - timedelta(seconds=10 * CROWDED)


@pytest.fixture
def cluster() -> Cluster:
    made = make_cluster()
    Allocation.objects.update(reservation=0.0)
    return made


def crowd(cluster: Cluster, *, calm_minutes: int) -> None:
    """web-1 lacks nothing, web-2 gets a third of what it took before, web-3 takes the most."""
    calm = {"p1": 15 * MBIT, "p2": 30 * MBIT, "p3": 5 * MBIT}
    crowded = {"p1": 15 * MBIT, "p2": 10 * MBIT, "p3": 68 * MBIT}
    phases = [
        Phase(intervals=6 * calm_minutes, sent={"up0": 50 * MBIT}, received=calm),
        Phase(intervals=CROWDED, sent={"up0": 93 * MBIT}, received=crowded),
    ]
    lines = net_lines("h1", phases, start=START - timedelta(minutes=calm_minutes))
    send(cluster.organisation, lines, now=NOW)
    detect(resource=cluster.uplink, now=START)
    detect(resource=cluster.uplink, now=NOW)


def rates_before(resource: Resource, allocations: Sequence[Allocation]) -> dict[int, UsualRate]:
    return usual_rates([UsualAsked(resource=resource, allocations=allocations, before=NOW)])


def test_the_usual_rate_is_the_mean_of_the_calm_hour_before(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=50)

    found = rates_before(cluster.uplink, cluster.allocations)

    rates = [found[allocation.pk].rate for allocation in cluster.allocations]
    assert rates == pytest.approx([15 * MBIT, 30 * MBIT, 5 * MBIT], rel=0.01)


def test_usual_rate_of_what_is_new_is_the_mean_of_its_last_calm_minutes(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=6)

    found = rates_before(cluster.uplink, cluster.allocations)

    rates = [found[allocation.pk].rate for allocation in cluster.allocations]
    assert rates == pytest.approx([15 * MBIT, 30 * MBIT, 5 * MBIT], rel=0.01)


def test_too_short_a_history_is_no_usual_rate_but_a_reason(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=3)

    found = rates_before(cluster.uplink, cluster.allocations)

    one = found[cluster.allocations[0].pk]
    assert one.rate is None
    assert one.gap.endswith("calm in the hour before, 3 min are needed")


def test_only_who_misses_what_it_usually_takes_is_a_victim(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=50)

    assert [one["workload"] for one in Incident.objects.get().victims] == ["web-2"]


def test_one_reading_serves_any_number_of_allocations(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=50)
    few = cluster.allocations[:1]

    counts = []
    for allocations in (few, cluster.allocations):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            rates_before(cluster.uplink, allocations)
        counts.append(len(asked))

    assert counts[0] == counts[1]


def test_advice_is_predicted_by_what_was_usual(cluster: Cluster) -> None:
    crowd(cluster, calm_minutes=50)

    found = recommend(resource=cluster.uplink, now=NOW)

    assert isinstance(found, Recommendation), found
    # 31.0 are due to it by equal shares, and it takes 30 when nothing holds it back.
    row = next(
        one for one in json.loads(found.answer)["allocations"] if one["workload"] == "web-2"
    )
    assert row["predicted_after"] == pytest.approx(30 * MBIT, rel=0.01)
    assert row["interval"]["low"] < 30 * MBIT < row["interval"]["high"]
    # What it puts off meanwhile may come on top, so its rate is only suspected; its gain is sure.
    assert row["unsure"]
    assert "web-2 gets 10.0 Mbit/s now, at least 2" in found.summary
    assert found.summary.endswith("predicted")
    effects = json.loads(found.answer)["counterfactual"]["allocations"]
    rates = {one["workload"]: one["contended"]["rate_after"] for one in effects}
    assert rates["web-2"] <= 1.05 * 30 * MBIT * 1.001


def test_iops_are_of_each_workloads_own_size() -> None:
    organisation = make_cluster().organisation
    lun = stated_datastore(organisation, "lun", "h1")
    start = START - timedelta(minutes=50)
    disk = [
        DiskPhase(intervals=300, iops=350, latency_ms=5.0),
        DiskPhase(intervals=CROWDED, iops=500, latency_ms=60.0),
    ]
    send(organisation, disk_lines("h1", "lun", disk, start=start), now=NOW)
    for name, calm, crowded, size in (("db", 300, 100, 8_000), ("scan", 50, 400, 64_000)):
        cgroup_allocation(lun, name)
        phases = [
            CgroupPhase(intervals=300, iops=calm, waits=0.0, io_bytes=size),
            CgroupPhase(intervals=CROWDED, iops=crowded, waits=0.9, io_bytes=size),
        ]
        lines = cgroup_lines("h1", f"/{name}", phases, start=start)
        send(organisation, lines, now=NOW)
    detect(resource=lun, now=START)
    detect(resource=lun, now=NOW)
    look_where_due(resource=lun, now=NOW)

    found = recommend(resource=lun, now=NOW)

    assert isinstance(found, Recommendation), found
    rows = {one["workload"]: one for one in json.loads(found.answer)["allocations"]}
    # An I/O of 64 kB costs (51 + 64) / (51 + 8) = 1.949 of 8 kB, so that device time for
    # 100 + 400 · 1.949 = 879.7 I/Os of 8 kB was spent: half of it is due to each.
    assert rows["db"]["entitlement"] == pytest.approx(439.8, rel=0.01)
    assert rows["scan"]["entitlement"] == pytest.approx(439.8 / 1.949, rel=0.01)
    # db had 300 · 5 ms and 100 · 60 ms in flight: 8.25 clients that think for 22.5 ms. Behind 3 to
    # 18 of the disk's 500 I/Os a second they take 11 to 41 ms; and the scan takes the rest of the
    # 477.5 that iocost lets through, to which all I/Os count alike.
    db = (8.25 / 33.5 + 8.25 / 63.5) / 2 * 1000
    assert rows["db"]["predicted_after"] == pytest.approx(db, rel=0.01)
    assert rows["scan"]["predicted_after"] == pytest.approx(477.5 - db, rel=0.01)
    assert rows["db"]["latency_now_ms"] == pytest.approx(60, rel=0.02)
    assert rows["db"]["latency_ms"] == pytest.approx(5 + 6 * 1000 / 500, rel=0.02)
