"""Moves of workloads and of virtual disks are advised from stored samples and stated facts."""

from __future__ import annotations

import json

import pytest

from advisor.advice.placement.gather import placement_inputs
from advisor.decisions import inventory
from advisor.models import (
    AdapterKind,
    Incident,
    Recommendation,
    Resource,
    ResourceKind,
)
from tests.advisor.advised_datastores import (
    START,
    advice,
    cgroup_lines,
    congested_beside_a_fast_one,
    datastore,
)
from tests.advisor.samples import send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def promised_beyond_host_1(cluster: Cluster) -> Resource:
    """Study 002's step b at a hundredth: 45 beside 75 exceeds 75 on host 1; host 2 is free."""
    free = inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    inventory.set_allocation(
        resource=cluster.uplink,
        workload_name="web-2",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p2",
        reservation=45 * MBIT,
        may_exceed=True,
    )
    return free


def test_reservations_beyond_a_host_call_for_a_move(cluster: Cluster) -> None:
    promised_beyond_host_1(cluster)

    found = advice(cluster.uplink, "host_placement")

    assert isinstance(found, Recommendation)
    (move,) = json.loads(found.answer)["moves"]
    assert (move["workload"], move["target"]) == ("web-2", "h2")


def test_advice_on_hosts_says_whose_rates_were_stated_and_whose_assumed(cluster: Cluster) -> None:
    other = promised_beyond_host_1(cluster)
    # 94 % of the link speed is what discovery assumes.
    Resource.objects.filter(pk=other.pk).update(discovered=True)

    found = advice(cluster.uplink, "host_placement")

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
        inventory.set_allocation(
            resource=Resource.objects.get(name=name),
            workload_name="web-2",
            host_name="h1",
            adapter_kind=AdapterKind.VNIC,
            adapter="p2",
            reservation=rate,
            may_exceed=True,
        )

    found = advice(cluster.uplink, "host_placement")

    inputs = json.loads(found.inputs)
    reserved = {row["workload"]: row["reservation_bits_per_s"] for row in inputs["workloads"]}
    assert reserved["web-2"] == 55 * MBIT


def test_virtual_disk_is_moved_off_a_slow_datastore(cluster: Cluster) -> None:
    slow = congested_beside_a_fast_one(cluster)

    found = advice(slow, "placement")

    assert isinstance(found, Recommendation), found
    assert json.loads(found.answer)["moves"][0]["target"] == "fast"


def test_disks_of_one_name_are_told_apart(cluster: Cluster) -> None:
    slow = datastore(cluster, "slow", "h1", size_bytes=4e12, used_bytes=1e12)
    datastore(cluster, "fast", "h1", size_bytes=4e12, used_bytes=1e12)
    for name in ("a", "b"):
        lines = cgroup_lines("h1", f"/{name}", iops=100, waits=0.5, steps=100)
        send(cluster.organisation, lines, now=NOW)
        cgroup_allocation(slow, name, vdisk="disk0", facts={"size_bytes": 50e9})
    Incident.objects.create(
        organisation=cluster.organisation,
        resource=slow,
        started_at=START,
        peak_value=60.0,
        threshold=30.0,
    )

    (inputs,) = placement_inputs(slow, NOW)

    assert sorted(disk.vdisk for disk in inputs.vdisks) == ["a:disk0", "b:disk0"]
