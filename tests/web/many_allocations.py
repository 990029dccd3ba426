"""Resources that many workloads share, with an hour of samples of each."""

from __future__ import annotations

from datetime import timedelta

from advisor.models import Resource, ResourceKind, Tier
from ingest.partitions import ensure_partitions
from tests.web.fleet import Fleet
from tests.web.load import Recorder, steady, total

HOSTS = 5
HOUR = timedelta(hours=1)
MARGIN = timedelta(minutes=5)
"""A first look needs the reading before its hour, and looks lag behind the present."""


def shared_datastore(fleet: Fleet, name: str, *, allocations: int) -> Resource:
    """A datastore on hosts of its own; every workload does about 40 IOPS on it."""
    hosts = [
        fleet.add_host(f"{name}-{number}", last_sample_at=fleet.now) for number in range(HOSTS)
    ]
    resource = fleet.add_resource(
        name,
        ResourceKind.DATASTORE,
        capacity=100.0 * allocations,
        threshold=20.0,
        attachments=tuple((host.name, "sdb") for host in hosts),
    )
    since = fleet.now - HOUR - MARGIN
    ensure_partitions({since.date(), fleet.now.date()})
    recorder = Recorder(since=since, until=fleet.now)
    for place, host in enumerate(hosts):
        curves = []
        for number in range(place, allocations, HOSTS):
            allocation = fleet.add_allocation(
                resource, f"{name}-vm-{number:03}", host.name, Tier.MEDIUM
            )
            curves.append(steady(40.0, seed=number))
            recorder.cgroup(host, allocation.adapter, "sdb", iops=curves[-1])
            recorder.pressure(
                host, allocation.adapter, waiting=steady(0.01, seed=allocations + number)
            )
        latency = steady(3.0, seed=place)
        recorder.disk(host, "sdb", iops=total(*curves), latency_ms=latency)
    recorder.write()
    return resource


def shared_uplink(fleet: Fleet, name: str, *, allocations: int) -> Resource:
    """An uplink of one host; every workload sends about 40 Mbit/s through its vNIC."""
    host = fleet.add_host(name, last_sample_at=fleet.now)
    resource = fleet.add_resource(
        f"{name}/eno1",
        ResourceKind.UPLINK,
        capacity=1e8 * allocations,
        threshold=0.9,
        attachments=((name, "eno1"),),
    )
    since = fleet.now - HOUR - MARGIN
    ensure_partitions({since.date(), fleet.now.date()})
    recorder = Recorder(since=since, until=fleet.now)
    curves = [steady(4e7, seed=number) for number in range(allocations)]
    for number, curve in enumerate(curves):
        vnic = f"vnet{number}"
        fleet.add_allocation(resource, f"{name}-vm-{number:03}", name, Tier.MEDIUM, vnic=vnic)
        recorder.net(host, vnic, sent=steady(1e6, seed=number), received=curve)
    recorder.net(host, "eno1", sent=total(*curves), received=steady(1e7, seed=allocations))
    recorder.write()
    return resource
