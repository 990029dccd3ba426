"""Every kind of advice is reachable from stored samples and stated facts."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from advisor.core.advice.kinds import AdviceKind, answer
from advisor.models import (
    AdapterKind,
    Claim,
    Episode,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceKind,
    ResourceStatus,
    State,
    StatePoint,
    Topic,
)
from advisor.services import inventory
from advisor.services.advise import advise
from advisor.services.decide import approve, reject
from advisor.services.inputs.placement_inputs import placement_inputs
from tests.advisor.samples import send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

START = NOW - timedelta(hours=2)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def nanoseconds(step: int, *, step_s: int) -> int:
    return (int(START.timestamp()) + step * step_s) * 1_000_000_000


def datastore(cluster: Cluster, name: str, *hosts: str, **facts: object) -> Resource:
    made = inventory.add_resource(
        organisation=cluster.organisation,
        name=name,
        kind=ResourceKind.DATASTORE,
        attachments=[(host, name) for host in hosts],
    )
    return inventory.change_resource(resource=made, facts=facts)


def disk_lines(host: str, device: str, *, base_ms: float, slope_ms: float, steps: int) -> str:
    """A device with latency base + slope · outstanding, swept over 1 to 32 outstanding I/Os."""
    depths = (1, 2, 4, 8, 16, 32)
    reads = wait_ms = 0
    lines = []
    for step in range(steps):
        lines.append(
            f"diskio,host={host},name={device} reads={reads}i,writes=0i,"
            f"read_bytes={reads * 8192}i,write_bytes=0i,"
            f"read_time={wait_ms}i,write_time=0i,io_time={step * 10_000}i,"
            f"weighted_io_time={wait_ms}i {nanoseconds(step, step_s=10)}"
        )
        depth = depths[step % len(depths)]
        latency_ms = base_ms + slope_ms * depth
        # Little: throughput = outstanding / latency, over 10 s
        done = round(depth / latency_ms * 10_000)
        reads += done
        wait_ms += round(done * latency_ms)
    return "\n".join(lines)


def cgroup_lines(
    host: str, path: str, *, iops: float, waits: float, steps: int, io_bytes: int = 4096
) -> str:
    """A cgroup that reads so many times a second and waits such a part of the time."""
    return "\n".join(
        f"cgroup,host={host},path={path} io.stat.8:0.rios={round(iops * 10 * step)}i,"
        f"io.stat.8:0.wios=0i,io.stat.8:0.rbytes={round(iops * 10 * step) * io_bytes}i,"
        f"io.stat.8:0.wbytes=0i,io.pressure.some.total={round(waits * 10_000_000 * step)}i,"
        f"io.pressure.full.total=0i {nanoseconds(step, step_s=10)}"
        for step in range(steps)
    )


def advice(resource: Resource, topic: Topic) -> Recommendation | str:
    return advised_at(NOW, resource, topic)


def advised_at(now: datetime, resource: Resource, topic: Topic) -> Recommendation | str:
    """What came of the only look at this topic."""
    (found,) = [one.found for one in advise(resource=resource, now=now) if one.topic == topic]
    return found


def test_queue_depths_that_exceed_the_lun_are_lowered(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(64)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    found = advice(lun, Topic.QUEUE_DEPTH)

    assert isinstance(found, Recommendation)
    plain = json.loads(found.answer)
    # seed 003: 64 · 32 = 2048 commands for a LUN that takes 256, so 4 each; 8 hosts of 32 fit
    assert plain["configured"] == 2048
    assert {row["advised_queue_depth"] for row in plain["depths"]} == {4}
    assert plain["hosts_per_lun"] == 8


def test_queue_depths_that_fit_need_no_advice(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(8)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    assert isinstance(advice(lun, Topic.QUEUE_DEPTH), str)


def test_threshold_is_advised_at_ninety_percent_of_peak(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1")
    lines = disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.5, steps=120)
    send(cluster.organisation, lines, now=NOW)

    found = advice(lun, Topic.THRESHOLD)

    assert isinstance(found, Recommendation)
    # latency at a part p of the peak is intercept / (1 - p) = 1 / 0.1 = 10 ms
    assert json.loads(found.answer)["threshold_ms"] == pytest.approx(10.0, rel=0.05)


def test_approving_a_threshold_sets_it(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1")
    lines = disk_lines("h1", "lun", base_ms=1.0, slope_ms=0.5, steps=120)
    send(cluster.organisation, lines, now=NOW)
    found = advice(lun, Topic.THRESHOLD)

    policy = approve(recommendation=found, user=cluster.people.owner, now=NOW)

    lun.refresh_from_db()
    assert policy is None
    assert lun.threshold == json.loads(found.answer)["threshold_ms"]


def limited(cluster: Cluster, lun: Resource, *, iops: float, limit: float) -> Claim:
    send(
        cluster.organisation,
        cgroup_lines("h1", "/db.slice", iops=iops, waits=0.9, steps=700)
        + "\n"
        + disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=700),
        now=NOW,
    )
    return inventory.set_claim(
        resource=lun,
        workload_name="db",
        host_name="h1",
        adapter_kind=AdapterKind.CGROUP,
        adapter="/db.slice",
        limit=limit,
    )


@pytest.mark.parametrize(
    ("iops", "finding"),
    [(2000.0, "not_holding"), (200.0, None), (60.0, "over_throttled")],
    ids=["limit passed by", "limit holds", "far below with more waiting"],
)
def test_limit_is_checked_against_what_was_measured(
    cluster: Cluster, iops: float, finding: str | None
) -> None:
    lun = datastore(cluster, "lun", "h1")
    limited(cluster, lun, iops=iops, limit=200.0)

    found = advice(lun, Topic.LIMIT_CHECK)

    if finding is None:
        assert isinstance(found, str)
    else:
        assert isinstance(found, Recommendation)
        assert [row["finding"] for row in json.loads(found.answer)["limits"]] == [finding]


@pytest.mark.parametrize(
    ("io_count", "advised"), [("per_32_kib", False), ("plain", True)], ids=["counted", "plain"]
)
def test_limit_that_counts_by_size_is_judged_by_size(
    cluster: Cluster, io_count: str, *, advised: bool
) -> None:
    lun = datastore(cluster, "lun", "h1")
    # 64 KiB are two counts of 32 KiB: a limit of 200 lets 100 I/Os a second pass
    lines = cgroup_lines("h1", "/db.slice", iops=100, waits=0.9, steps=700, io_bytes=65536)
    disk = disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=700)
    send(cluster.organisation, f"{lines}\n{disk}", now=NOW)
    inventory.set_claim(
        resource=lun,
        workload_name="db",
        host_name="h1",
        adapter_kind=AdapterKind.CGROUP,
        adapter="/db.slice",
        limit=200.0,
        facts={"io_count": io_count},
    )

    found = advice(lun, Topic.LIMIT_CHECK)

    assert isinstance(found, Recommendation) is advised


def test_reservations_beyond_a_host_call_for_a_move(cluster: Cluster) -> None:
    inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    # seed 002 step b at a hundredth: 45 beside 75 exceeds 75 on host 1, host 2 is free
    inventory.set_claim(
        resource=cluster.uplink,
        workload_name="web-2",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p2",
        reservation=45 * MBIT,
        may_exceed=True,
    )

    found = advice(cluster.uplink, Topic.HOST_PLACEMENT)

    assert isinstance(found, Recommendation)
    (move,) = json.loads(found.answer)["moves"]
    assert (move["workload"], move["target"]) == ("web-2", "h2")


def test_advice_on_hosts_says_whose_rates_were_stated_and_whose_assumed(cluster: Cluster) -> None:
    other = inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        # 94 % of the link speed is what discovery assumes.
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    Resource.objects.filter(pk=other.pk).update(discovered=True)
    inventory.set_claim(
        resource=cluster.uplink,
        workload_name="web-2",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p2",
        reservation=45 * MBIT,
        may_exceed=True,
    )

    found = advice(cluster.uplink, Topic.HOST_PLACEMENT)

    hosts = json.loads(found.inputs)["hosts"]
    assert {row["host"]: row["carries_source"] for row in hosts} == {
        "h1": "stated",
        "h2": "assumed",
    }


def test_workload_on_two_uplinks_moves_as_one(cluster: Cluster) -> None:
    for name in ("h1/up1", "h2/up0"):
        inventory.add_resource(
            organisation=cluster.organisation,
            name=name,
            kind=ResourceKind.UPLINK,
            attachments=[tuple(name.split("/"))],
            capacity=94 * MBIT,
            line_rate=100 * MBIT,
        )
    for name, rate in (("h1/up0", 45 * MBIT), ("h1/up1", 10 * MBIT)):
        inventory.set_claim(
            resource=Resource.objects.get(name=name),
            workload_name="web-2",
            host_name="h1",
            adapter_kind=AdapterKind.VNIC,
            adapter="p2",
            reservation=rate,
            may_exceed=True,
        )

    found = advice(cluster.uplink, Topic.HOST_PLACEMENT)

    inputs = json.loads(found.inputs)
    reserved = {row["workload"]: row["reservation_bits_per_s"] for row in inputs["workloads"]}
    assert reserved["web-2"] == 55 * MBIT


def test_rising_reservation_conflicts_call_for_quiet_hours(cluster: Cluster) -> None:
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

    found = advice(lun, Topic.OFF_PEAK_WORK)

    assert isinstance(found, Recommendation)
    assert not 7 <= json.loads(found.answer)["from_hour_utc"] < 17


def test_virtual_disk_is_moved_off_a_slow_datastore(cluster: Cluster) -> None:
    slow = datastore(cluster, "slow", "h1", size_bytes=4e12, used_bytes=1e12)
    datastore(cluster, "fast", "h1", size_bytes=4e12, used_bytes=1e12)
    lines = [
        disk_lines("h1", "slow", base_ms=5.0, slope_ms=2.0, steps=720),
        disk_lines("h1", "fast", base_ms=0.5, slope_ms=0.1, steps=720),
        cgroup_lines("h1", "/a.slice", iops=300, waits=0.5, steps=720),
        cgroup_lines("h1", "/b.slice", iops=100, waits=0.5, steps=720),
    ]
    send(cluster.organisation, "\n".join(lines), now=NOW)
    for name in ("a", "b"):
        inventory.set_claim(
            resource=slow,
            workload_name=name,
            host_name="h1",
            adapter_kind=AdapterKind.CGROUP,
            adapter=f"/{name}.slice",
            facts={"size_bytes": 50e9},
        )
    for step in range(1, 720):
        at = START + timedelta(seconds=10 * step)
        StatePoint.objects.create(
            resource=slow, at=at, since=START, state=State.CONGESTED, value=60.0
        )
    Episode.objects.create(
        organisation=cluster.organisation,
        resource=slow,
        started_at=START,
        peak_value=60.0,
        threshold=30.0,
    )

    found = advice(slow, Topic.PLACEMENT)

    assert isinstance(found, Recommendation), found
    assert json.loads(found.answer)["moves"][0]["target"] == "fast"


@pytest.mark.parametrize("topic", [Topic.QUEUE_DEPTH, Topic.THRESHOLD, Topic.LIMIT_CHECK])
def test_other_advice_is_recomputed_to_the_same_bytes(cluster: Cluster, topic: Topic) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    limited(cluster, lun, iops=2000.0, limit=200.0)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    advise(resource=lun, now=NOW)

    row = Recommendation.objects.get(topic=topic)

    assert answer(AdviceKind(row.topic), row.inputs) == row.answer


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
    found = advice(lun, Topic.QUEUE_DEPTH)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=8)

    advise(resource=lun, now=NOW)

    found.refresh_from_db()
    assert found.state == RecommendationState.SUPERSEDED


def test_rejected_advice_is_not_repeated_for_a_week(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, Topic.QUEUE_DEPTH)
    reject(recommendation=found, user=cluster.people.owner, reason="array is replaced", now=NOW)

    again = advised_at(NOW + timedelta(days=1), lun, Topic.QUEUE_DEPTH)
    later = advised_at(NOW + timedelta(days=8), lun, Topic.QUEUE_DEPTH)

    assert again == f"rejected as {found.pk}: array is replaced"
    assert isinstance(later, Recommendation)


def test_approved_work_is_not_asked_for_again_while_it_waits(cluster: Cluster) -> None:
    lun = datastore(cluster, "lun", "h1", "h2", lun_queue_depth=16)
    for host in ("h1", "h2"):
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)
    found = advice(lun, Topic.QUEUE_DEPTH)
    approve(recommendation=found, user=cluster.people.owner, now=NOW)

    again = advised_at(NOW + timedelta(days=1), lun, Topic.QUEUE_DEPTH)
    later = advised_at(NOW + timedelta(days=8), lun, Topic.QUEUE_DEPTH)

    assert again == f"approved as {found.pk}, and not done yet"
    assert isinstance(later, Recommendation)


def two_limits_that_misbehave(cluster: Cluster) -> Resource:
    """Of three limits of 200 IOPS the first is passed by, the second throttles, one holds."""
    lun = datastore(cluster, "lun", "h1")
    rates = {"db": 2000.0, "mail": 60.0, "web": 200.0}
    lines = [cgroup_lines("h1", f"/{name}", iops=rate, waits=0.9, steps=400)
             for name, rate in rates.items()]  # fmt: skip
    disk = disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=400)
    send(cluster.organisation, "\n".join([*lines, disk]), now=NOW)
    for name in rates:
        inventory.set_claim(
            resource=lun,
            workload_name=name,
            host_name="h1",
            adapter_kind=AdapterKind.CGROUP,
            adapter=f"/{name}",
            limit=200.0,
        )
    return lun


def test_each_workload_whose_limit_misbehaves_has_advice_of_its_own(cluster: Cluster) -> None:
    lun = two_limits_that_misbehave(cluster)

    advise(resource=lun, now=NOW)

    rows = Recommendation.objects.filter(topic=Topic.LIMIT_CHECK).order_by("subject")
    assert [(row.subject, row.state) for row in rows] == [("db", "proposed"), ("mail", "proposed")]
    assert (
        "200 IOPS within 200"
        in ResourceStatus.objects.get(resource=lun).other_advice_gaps[Topic.LIMIT_CHECK]
    )


def test_rejecting_advice_on_one_limit_keeps_that_on_another(cluster: Cluster) -> None:
    lun = two_limits_that_misbehave(cluster)
    advise(resource=lun, now=NOW)
    first = Recommendation.objects.get(topic=Topic.LIMIT_CHECK, subject="db")
    reject(recommendation=first, user=cluster.people.owner, reason="known", now=NOW)

    advise(resource=lun, now=NOW)

    rows = Recommendation.objects.filter(topic=Topic.LIMIT_CHECK).order_by("subject")
    assert [row.state for row in rows] == ["rejected", "proposed"]


def test_disks_of_one_name_are_told_apart(cluster: Cluster) -> None:
    slow = datastore(cluster, "slow", "h1", size_bytes=4e12, used_bytes=1e12)
    datastore(cluster, "fast", "h1", size_bytes=4e12, used_bytes=1e12)
    for name in ("a", "b"):
        lines = cgroup_lines("h1", f"/{name}", iops=100, waits=0.5, steps=100)
        send(cluster.organisation, lines, now=NOW)
        inventory.set_claim(
            resource=slow,
            workload_name=name,
            host_name="h1",
            adapter_kind=AdapterKind.CGROUP,
            adapter=f"/{name}",
            vdisk="disk0",
            facts={"size_bytes": 50e9},
        )
    Episode.objects.create(
        organisation=cluster.organisation,
        resource=slow,
        started_at=START,
        peak_value=60.0,
        threshold=30.0,
    )

    (inputs,) = placement_inputs(slow, NOW)

    assert sorted(disk.vdisk for disk in inputs.vdisks) == ["a:disk0", "b:disk0"]


def test_hosts_that_no_depth_fits_are_spread_over_luns(cluster: Cluster) -> None:
    hosts = [f"b{number}" for number in range(128)]
    lun = datastore(cluster, "lun", *hosts, lun_queue_depth=256)
    for host in hosts:
        inventory.set_queue_depth(resource=lun, host_name=host, depth=32)

    found = advice(lun, Topic.QUEUE_DEPTH)

    assert isinstance(found, Recommendation)
    # even the smallest depth of 4 makes 512 of 128 hosts: 64 of them fit 256
    assert found.kind == "hosts_per_lun"
    plain = json.loads(found.answer)
    assert (plain["most_hosts_per_lun"], plain["luns_needed"]) == (64, 2)
