"""The rows that describe a fleet: organisation, people, resources, workloads and series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from accounts.models import Membership, Organisation, Role
from advisor.core.allocation import ReservationMode
from advisor.core.resource import Tier, Unit
from advisor.models import AdapterKind, Allocation, Attachment, Resource, Workload
from bench.fleet.shape import FleetShape
from bench.fleet.traffic import CAPACITY_BITS_PER_S, FULL_RATIO, THRESHOLD_MS
from ingest.core.catalogue import (
    BLOCK_DEVICE,
    CGROUP,
    CGROUP_PRESSURE,
    DISKIO,
    NET,
    NSTAT,
    Measurement,
)
from ingest.core.figures import CGROUP_IO, INTERFACE, PRESSURE, TCP, FigureKind
from ingest.core.figures import DISK as DISKS
from ingest.core.mapping import SeriesKey
from ingest.grid_reader import Subject
from ingest.models import Host, Series
from ingest.series_rows import series_ids

DISK, DISK_NUMBER, UPLINK = "sdb", "8:16", "eno1"
OPERATOR = "operator"
TIERS = (Tier.LOW, Tier.MEDIUM, Tier.HIGH)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesIds:
    """Keys of the series, in the order of the columns of `Growth`."""

    cgroup: list[int]
    pressure: list[int]
    vnic: list[int]
    disk: list[int]
    uplink: list[int]
    tcp: list[int]
    disk_number: list[int]


def host_name(number: int) -> str:
    return f"node-{number:04}"


def host_of(workload: int, shape: FleetShape) -> str:
    """Where the workload's cgroup is."""
    return host_name(workload // shape.per_host)


def uplink_host(group: int, shape: FleetShape) -> str:
    """The host whose interface the workloads of a group share."""
    return host_name(group * shape.hosts_per_group)


def path_of(workload: int) -> str:
    return f"/machine.slice/vm-{workload:05}.scope"


def vnic_of(workload: int, shape: FleetShape) -> str:
    return f"vnet{workload % shape.group}"


def make_organisation() -> Organisation:
    """The one organisation, with the one person whose pages are opened."""
    organisation = Organisation.objects.create(slug="fleet", name="Fleet")
    user = get_user_model().objects.create_user(username=OPERATOR, password=None)
    Membership.objects.create(organisation=organisation, user=user, role=Role.OPERATOR)
    return organisation


def make_series(organisation: Organisation, shape: FleetShape) -> SeriesIds:
    """The series of the fleet's samples, and with them its hosts."""
    every, groups = range(shape.workloads), range(shape.groups)
    hosts = [host_name(number) for number in range(shape.hosts)]
    uplinks = [uplink_host(group, shape) for group in groups]

    def made(table: Measurement, keys: Iterable[tuple[str, str, dict[str, str]]]) -> list[int]:
        return series_ids(organisation, [_key(table, *key) for key in keys])

    paths = [(host_of(number, shape), path_of(number)) for number in every]
    vnics = [(uplinks[number // shape.group], vnic_of(number, shape)) for number in every]
    return SeriesIds(
        cgroup=made(
            CGROUP, ((host, path, {"path": path, "device": DISK_NUMBER}) for host, path in paths)
        ),
        pressure=made(CGROUP_PRESSURE, ((host, path, {"path": path}) for host, path in paths)),
        vnic=made(NET, ((host, name, {"interface": name}) for host, name in vnics)),
        disk=made(DISKIO, ((host, DISK, {"name": DISK}) for host in hosts)),
        uplink=made(NET, ((host, UPLINK, {"interface": UPLINK}) for host in uplinks)),
        tcp=made(NSTAT, ((host, "snmp", {"name": "snmp"}) for host in uplinks)),
        disk_number=made(BLOCK_DEVICE, ((host, DISK, {"name": DISK}) for host in hosts)),
    )


def subjects_of(
    kind: FigureKind[Any], shape: FleetShape, hosts: Mapping[str, int]
) -> list[Subject]:
    """What the figures of a kind are about, in the order of the columns of `Growth`.

    Of interfaces those of the workloads come first. `hosts` are the keys of hosts by name.
    """
    every, uplinks = range(shape.workloads), [uplink_host(n, shape) for n in range(shape.groups)]
    disks = [Subject(hosts[host_name(number)], DISK) for number in range(shape.hosts)]
    vnics = [
        Subject(hosts[uplinks[number // shape.group]], vnic_of(number, shape)) for number in every
    ]
    paths = [(hosts[host_of(number, shape)], path_of(number)) for number in every]
    return {
        CGROUP_IO.name: [Subject(*one, DISK_NUMBER) for one in paths],
        PRESSURE.name: [Subject(*one) for one in paths],
        INTERFACE.name: [*vnics, *(Subject(hosts[host], UPLINK) for host in uplinks)],
        DISKS.name: disks,
        TCP.name: [Subject(hosts[host], "snmp") for host in uplinks],
    }[kind.name]


def _key(table: Measurement, host: str, subject: str, tags: dict[str, str]) -> SeriesKey:
    every = tuple(sorted({"host": host, **tags}.items()))
    return SeriesKey(table=table, host=host, subject=subject, tags=every)


def note_times(
    organisation: Organisation,
    *,
    first_at: datetime,
    last_at: datetime,
    open_since: datetime | None = None,
) -> None:
    """What ingest would have noted beside the samples; the hours from `open_since` are open."""
    Series.objects.filter(organisation=organisation).update(
        first_sample_at=first_at, last_sample_at=last_at
    )
    hear_hosts(organisation, last_at)
    with connection.cursor() as cursor:
        # The hours that are to be sealed.
        cursor.execute(
            "INSERT INTO ingest_openhour (host_id, at) SELECT id, generate_series("
            "date_trunc('hour', %s::timestamptz), %s, interval '1 hour') FROM ingest_host",
            [open_since or first_at, last_at],
        )


def hear_hosts(organisation: Organisation, at: datetime) -> None:
    """All hosts have sent up to this time, and no later sample has come."""
    Host.objects.filter(organisation=organisation).update(last_sample_at=at)


def make_resources(organisation: Organisation, shape: FleetShape) -> None:
    """A datastore and an uplink per group, and an allocation of each workload on both."""
    hosts = {host.name: host for host in Host.objects.filter(organisation=organisation)}
    stores = [_datastore(organisation, group) for group in range(shape.groups)]
    uplinks = [_uplink(organisation, group) for group in range(shape.groups)]
    Attachment.objects.bulk_create(
        [
            *(
                Attachment(
                    resource=stores[number // shape.hosts_per_group],
                    host=hosts[host_name(number)],
                    device=DISK,
                )
                for number in range(shape.hosts)
            ),
            *(
                Attachment(resource=row, host=hosts[uplink_host(group, shape)], device=UPLINK)
                for group, row in enumerate(uplinks)
            ),
        ]
    )
    workloads = Workload.objects.bulk_create(
        [
            Workload(
                organisation=organisation,
                name=f"vm-{number:05}",
                tier=TIERS[number % len(TIERS)],
            )
            for number in range(shape.workloads)
        ]
    )
    rows = []
    for number, workload in enumerate(workloads):
        group = number // shape.group
        rows += [
            Allocation(
                resource=stores[group],
                workload=workload,
                host=hosts[host_of(number, shape)],
                adapter_kind=AdapterKind.CGROUP,
                adapter=path_of(number),
                size_bytes=40e9,
            ),
            Allocation(
                resource=uplinks[group],
                workload=workload,
                host=hosts[uplink_host(group, shape)],
                adapter_kind=AdapterKind.VNIC,
                adapter=vnic_of(number, shape),
            ),
        ]
    Allocation.objects.bulk_create(rows, batch_size=2000)


def _datastore(organisation: Organisation, group: int) -> Resource:
    return Resource.objects.create(
        organisation=organisation,
        name=f"store-{group:03}",
        kind="datastore",
        unit=Unit.IOPS,
        mode=ReservationMode.FLOOR,
        capacity=8000.0,
        threshold=THRESHOLD_MS,
        activity_floor=10.0,
    )


def _uplink(organisation: Organisation, group: int) -> Resource:
    return Resource.objects.create(
        organisation=organisation,
        name=f"uplink-{group:03}",
        kind="uplink",
        unit=Unit.BITS_PER_S,
        mode=ReservationMode.ADDITIVE,
        capacity=CAPACITY_BITS_PER_S,
        threshold=FULL_RATIO,
        activity_floor=1e8,
    )
