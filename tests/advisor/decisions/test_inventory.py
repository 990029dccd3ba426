"""Stating resources and promises: clear refusals, and nothing promised twice."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.decisions import inventory
from advisor.errors import InventoryError
from advisor.models import AdapterKind, Allocation, Attachment, Enforcer, ResourceKind
from tests.advisor.scenario import MBIT, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def allocation(cluster: Cluster, workload: str, reservation: float, **more: Any) -> Allocation:
    return inventory.set_allocation(
        resource=cluster.uplink,
        workload_name=workload,
        host_name=None,
        adapter_kind=AdapterKind.VNIC,
        adapter="p9",
        reservation=reservation,
        **more,
    )


def test_reservations_up_to_three_quarters_of_the_line_rate_are_admitted(
    cluster: Cluster,
) -> None:
    # 75 of the line rate's 100 Mbit/s may be reserved: 40 and 35 fit exactly
    allocation(cluster, "web-1", 40 * MBIT)

    admitted = allocation(cluster, "web-2", 35 * MBIT)

    assert admitted.reservation == 35 * MBIT


def test_reservation_beyond_three_quarters_is_refused_with_names(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match=r"100 kbit/s for web-2 .* reserved for web-1"):
        allocation(cluster, "web-2", 0.1 * MBIT)

    assert Allocation.objects.get(workload__name="web-2").reservation == 0


def test_of_many_who_have_reserved_three_are_named(cluster: Cluster) -> None:
    allocation(cluster, "web-1", 15 * MBIT)
    for number in range(2, 6):
        allocation(cluster, f"web-{number}", 15 * MBIT)

    with pytest.raises(InventoryError, match=r"reserved for web-1, web-2, web-3 \+2 more \(75%"):
        allocation(cluster, "web-6", 0.1 * MBIT)


def test_reservations_leave_the_hosts_own_part_of_an_uplink(cluster: Cluster) -> None:
    cluster.uplink.reservable_ratio = 1.0
    cluster.uplink.capacity = 94 * MBIT
    cluster.uplink.save()
    # The host keeps 9.4 of 94 Mbit/s, so 84.6 may be reserved.
    refused = r"84.6 Mbit/s that can be reserved .* \(the uplink less its host's own part\)"
    with pytest.raises(InventoryError, match=refused):
        allocation(cluster, "web-1", 84.7 * MBIT)

    assert allocation(cluster, "web-1", 84.6 * MBIT).reservation == 84.6 * MBIT


def test_raising_an_own_reservation_does_not_count_it_twice(cluster: Cluster) -> None:
    assert allocation(cluster, "web-1", 60 * MBIT).reservation == 60 * MBIT


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"limit": 5 * MBIT}, "limit 5.00 Mbit/s is below the reservation 10.0 Mbit/s"),
        ({"shares": 0}, "shares must be at least 1"),
    ],
    ids=["limit below reservation", "no shares"],
)
def test_contradictory_allocation_is_refused(
    cluster: Cluster, more: dict[str, float], complaint: str
) -> None:
    with pytest.raises(InventoryError, match=complaint):
        allocation(cluster, "web-1", 10 * MBIT, **more)


def test_second_resource_of_the_same_name_is_refused(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match='a resource named "h1/up0" already'):
        inventory.add_resource(
            organisation=cluster.organisation,
            name="h1/up0",
            kind=ResourceKind.UPLINK,
            attachments=[("h2", "up0")],
        )


def test_device_of_another_resource_is_refused(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match="h1:up0 belongs to h1/up0 already"):
        inventory.add_resource(
            organisation=cluster.organisation,
            name="second",
            kind=ResourceKind.UPLINK,
            attachments=[("h1", "up0")],
        )

    assert Attachment.objects.get().resource == cluster.uplink


def test_stating_a_discovered_device_takes_its_resource_over(cluster: Cluster) -> None:
    found = inventory.add_resource(
        organisation=cluster.organisation,
        name="h1/sda",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda")],
    )
    found.discovered = True
    found.save()

    stated = inventory.add_resource(
        organisation=cluster.organisation,
        name="nfs-07",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda"), ("h2", "sdb")],
        capacity=2000,
    )

    assert stated.pk == found.pk
    assert not stated.discovered
    assert [str(item) for item in stated.attachments.all()] == ["h1:sda", "h2:sdb"]


def test_allocation_on_a_shared_datastore_needs_its_host(cluster: Cluster) -> None:
    datastore = inventory.add_resource(
        organisation=cluster.organisation,
        name="nfs-07",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda"), ("h2", "sdb")],
    )

    with pytest.raises(InventoryError, match="choose a host; it is reached from h1 and h2"):
        inventory.set_allocation(
            resource=datastore,
            workload_name="db",
            host_name=None,
            adapter_kind=AdapterKind.CGROUP,
            adapter="/db.slice",
        )


@pytest.mark.parametrize(
    ("selector", "complaint"),
    [
        (
            ("mark", "7"),
            "recognises no workload by mark, only by cgroup, .*vnic",
        ),
        (("Mark", "7"), "must be 1..32 small letters"),
        (("source_address", "\n"), "printable characters"),
        (("host_traffic", "up0"), "is for the own traffic of h1, which has its part of every"),
    ],
    ids=["unknown to the agent", "no word", "unprintable", "the host's own"],
)
def test_selector_of_no_use_is_refused(
    cluster: Cluster, selector: tuple[str, str], complaint: str
) -> None:
    with pytest.raises(InventoryError, match=complaint):
        allocation(cluster, "web-1", 75 * MBIT, selector=selector)

    assert Allocation.objects.get(workload__name="web-1").recognised_by == ("vnic", "p1")


def test_selector_is_taken_on_trust_until_the_agent_has_reported(cluster: Cluster) -> None:
    Enforcer.objects.update(support=[])

    stated = allocation(cluster, "web-1", 75 * MBIT, selector=("mark", "7"))

    assert stated.recognised_by == ("mark", "7")


def test_without_a_selector_the_adapter_recognises_again(
    cluster: Cluster,
) -> None:
    allocation(cluster, "web-1", 75 * MBIT, selector=("source_address", "10.0.0.7"))

    stated = allocation(cluster, "web-1", 75 * MBIT)

    assert stated.recognised_by == ("vnic", "p9")


@pytest.mark.parametrize(
    ("vdisk", "recognised"), [("scsi0", "qemu/101/scsi0"), ("", "qemu/101")], ids=["disk", "none"]
)
def test_virtual_disk_is_recognised_as_its_samples_are_named(vdisk: str, recognised: str) -> None:
    found = Allocation(adapter_kind=AdapterKind.VDISK, adapter="qemu/101", vdisk=vdisk)

    assert found.recognised_by == ("vdisk", recognised)
