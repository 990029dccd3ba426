"""Tracks keep their column for ever, and get another only from an hour on that is new."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from advisor.core.chunk import MOST_COLUMNS
from advisor.history.stored.places import Homes, Place, places_of
from advisor.history.stored.read import read_sealed
from advisor.history.stored.tracks import KnownSubject
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Member,
    Resource,
    Shard,
    Track,
    Workload,
)
from ingest.core.figures import CGROUP_IO, INTERFACE, PRESSURE
from ingest.core.grid import GridGrowth, grid_of
from ingest.grid_reader import Subject
from ingest.models import Host
from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    after,
    hour_of_tests,
    seal_all,
    send_net,
    times,
)
from tests.ingest.scenario import Tenant, nanoseconds, write_lines

pytestmark = pytest.mark.django_db


def known_tracks(tenant: Tenant, host: Host, names: list[str]) -> list[KnownSubject]:
    rows = Track.objects.bulk_create(
        Track(organisation=tenant.organisation, host=host, kind=INTERFACE.name, subject=name)
        for name in names
    )
    return [
        KnownSubject(track=row.pk, subject=Subject(host=host.pk, name=row.subject)) for row in rows
    ]


def placed(tenant: Tenant, known: list[KnownSubject], hour: datetime) -> list[Place]:
    homes = Homes(tenant.organisation)
    places = places_of(tenant.organisation, INTERFACE.name, known, hour, homes)
    Shard.objects.exclude(newest_hour__gte=hour).update(newest_hour=hour)
    Shard.objects.filter(newest_hour=None).update(newest_hour=hour)
    return [places[one.track] for one in known]


def resource(tenant: Tenant, name: str, kind: str = "uplink") -> Resource:
    return Resource.objects.create(
        organisation=tenant.organisation, name=name, kind=kind, unit="bit/s",
        mode="floor", threshold=0.9, activity_floor=0.0,
    )  # fmt: skip


def allocate(tenant: Tenant, uplink: Resource, host: Host, name: str) -> Allocation:
    workload, _ = Workload.objects.get_or_create(
        organisation=tenant.organisation, name=f"workload of {name}"
    )
    return Allocation.objects.create(
        resource=uplink, workload=workload, host=host,
        adapter_kind=AdapterKind.VNIC, adapter=name,
    )  # fmt: skip


@pytest.fixture
def host(tenant: Tenant) -> Host:
    return Host.objects.create(organisation=tenant.organisation, name="h1")


def test_shard_that_is_full_is_followed_by_another(tenant: Tenant, host: Host) -> None:
    known = known_tracks(tenant, host, [f"vnet{number}" for number in range(MOST_COLUMNS + 1)])

    places = placed(tenant, known, hour_of_tests())

    assert [place.column for place in places] == [*range(MOST_COLUMNS), 0]
    assert list(Shard.objects.order_by("pk").values_list("width", flat=True)) == [200, 1]


def test_devices_and_adapters_of_a_resource_share_its_shard(tenant: Tenant, host: Host) -> None:
    uplink = resource(tenant, "up0")
    Attachment.objects.create(resource=uplink, host=host, device="eth0")
    allocate(tenant, uplink, host, "vnet1")
    known = known_tracks(tenant, host, ["eth0", "vnet1", "lo"])

    places = placed(tenant, known, hour_of_tests())

    homes = dict(Shard.objects.values_list("pk", "resource"))
    assert [homes[place.shard] for place in places] == [uplink.pk, uplink.pk, None]


def test_cgroup_is_stored_with_the_datastore_of_its_device(tenant: Tenant) -> None:
    """Its I/O on another disk is a leftover of the host; its pressure is that of the workload."""
    hour = hour_of_tests()
    counters = ("rios", "wios", "rbytes", "wbytes")
    fields = ",".join(
        f"io.stat.{device}.{name}=1i" for device in ("8:0", "8:16") for name in counters
    )
    lines = [
        f"cgroup,host=h1,path=/vm {fields},io.pressure.some.total=1i,io.pressure.full.total=0i"
        f" {nanoseconds(at)}"
        for at in times(hour, hour + 10 * MINUTE)
    ]
    lines.append(f"block_device,host=h1,name=sda major=8i,minor=0i {nanoseconds(hour)}")
    write_lines(tenant, *lines, at=hour + 10 * MINUTE)
    datastore = resource(tenant, "ds0", "datastore")
    host = tenant.host()
    Attachment.objects.create(resource=datastore, host=host, device="sda")
    Allocation.objects.create(
        resource=datastore, host=host, adapter_kind=AdapterKind.CGROUP, adapter="/vm",
        workload=Workload.objects.create(organisation=tenant.organisation, name="vm"),
    )  # fmt: skip

    seal_all(tenant, after(hour))

    rows = Member.objects.order_by("track__kind", "track__device")
    assert list(rows.values_list("track__kind", "track__device", "shard__resource")) == [
        (CGROUP_IO.name, "8:0", datastore.pk),
        (CGROUP_IO.name, "8:16", None),
        (PRESSURE.name, "", datastore.pk),
    ]


def test_track_moves_home_from_the_next_hour_on_and_both_are_read(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour, hour + 2 * HOUR + MINUTE), name="vnet1")
    host = tenant.host()
    seal_all(tenant, after(hour))
    allocate(tenant, resource(tenant, "up0"), host, "vnet1")

    seal_all(tenant, after(hour, hours=2))

    subject = Subject(host=host.pk, name="vnet1")
    found = read_sealed(
        tenant.organisation.pk, INTERFACE, [subject], grid_of(hour, hour + 2 * HOUR, 10.0)
    )
    assert found.growth[0].tolist() == [[70]] * 720
    assert list(Member.objects.values_list("since", "shard__resource__name")) == [
        (hour, None),
        (hour + HOUR, "up0"),
    ]


def test_track_stays_where_it_is_when_an_old_hour_is_sealed_again(
    tenant: Tenant, host: Host
) -> None:
    hour = hour_of_tests()
    known = known_tracks(tenant, host, ["vnet1"])
    first = [placed(tenant, known, hour), placed(tenant, known, hour + HOUR)]
    allocate(tenant, resource(tenant, "up0"), host, "vnet1")

    again = [placed(tenant, known, hour), placed(tenant, known, hour + HOUR)]

    assert again == first
    assert Member.objects.count() == 1


def test_track_that_returns_gets_its_old_column(tenant: Tenant, host: Host) -> None:
    """A home that changes each hour adds a member an hour and no column."""
    hour = hour_of_tests()
    uplink = resource(tenant, "up0")
    known = known_tracks(tenant, host, ["vnet1"])
    places = []
    for number in range(6):
        Allocation.objects.all().delete()
        if number % 2:
            allocate(tenant, uplink, host, "vnet1")
        places += placed(tenant, known, hour + number * HOUR)

    assert places == places[:2] * 3
    assert sorted(Shard.objects.values_list("width", flat=True)) == [1, 1]
    assert Member.objects.count() == 6


def test_import_of_what_was_before_shares_the_column(tenant: Tenant, host: Host) -> None:
    hour = hour_of_tests()
    known = known_tracks(tenant, host, ["vnet1"])
    late = placed(tenant, known, hour)

    early = placed(tenant, known, hour - timedelta(days=20))

    assert early == late


def test_workload_that_moves_between_hosts_each_minute_is_kept_on_each(tenant: Tenant) -> None:
    hour = hour_of_tests()
    moments = times(hour, hour + HOUR)
    for place, name in enumerate(("h1", "h2")):
        here = [at for at in moments if (at - hour) // MINUTE % 2 == place]
        send_net(tenant, here, host=name, name="vnet1", begun=hour)
    seal_all(tenant, after(hour))
    subjects = [Subject(host=tenant.host(name).pk, name="vnet1") for name in ("h1", "h2")]

    def read() -> GridGrowth:
        return read_sealed(
            tenant.organisation.pk, INTERFACE, subjects, grid_of(hour, hour + HOUR, 10.0)
        )

    # Six readings of a host make five windows; the minute until it is back is a gap.
    minutes = (read().seconds > 0).reshape(60, 6, 2).sum(axis=1)
    assert minutes.tolist() == [[5, 0], [0, 5]] * 30
    assert Member.objects.count() == 2
