"""Datastores with samples of disks and cgroups, and the advice that comes of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from advisor.advice.advise import advise
from advisor.decisions import inventory
from advisor.models import Allocation, Incident, Recommendation, Resource, State
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

START = NOW - timedelta(hours=2)


def nanoseconds(step: int, *, step_s: int) -> int:
    return (int(START.timestamp()) + step * step_s) * 1_000_000_000


def datastore(cluster: Cluster, name: str, *hosts: str, **facts: object) -> Resource:
    made = stated_datastore(cluster.organisation, name, *hosts)
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


def advice(resource: Resource, topic: str) -> Recommendation | str:
    return advised_at(NOW, resource, topic)


def advised_at(now: datetime, resource: Resource, topic: str) -> Recommendation | str:
    """What came of the only look at this topic."""
    (found,) = [one.found for one in advise(resource=resource, now=now) if one.topic == topic]
    return found


def limited(cluster: Cluster, lun: Resource, *, iops: float, limit: float) -> Allocation:
    send(
        cluster.organisation,
        cgroup_lines("h1", "/db.slice", iops=iops, waits=0.9, steps=700)
        + "\n"
        + disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=700),
        now=NOW,
    )
    return cgroup_allocation(lun, "db", path="/db.slice", limit=limit)


def congested_beside_a_fast_one(cluster: Cluster) -> Resource:
    """The datastore `slow`, congested for two hours; the disks of a and b fit on `fast`."""
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
        cgroup_allocation(slow, name, path=f"/{name}.slice", facts={"size_bytes": 50e9})
    ends = (START + timedelta(seconds=10 * step) for step in range(1, 720))
    judge(slow, *(judged_window(at, State.CONGESTED, since=START, value=60.0) for at in ends))
    Incident.objects.create(
        organisation=cluster.organisation,
        resource=slow,
        started_at=START,
        peak_value=60.0,
        threshold=30.0,
    )
    return slow
