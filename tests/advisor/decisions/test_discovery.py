"""Whole disks and physical NICs that send samples become resources, each once."""

from __future__ import annotations

import pytest

from accounts.models import Organisation
from advisor.decisions.discovery import discover
from advisor.models import Resource
from tests.advisor.samples import send
from tests.advisor.scenario import MBIT, NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def organisation() -> Organisation:
    made = Organisation.objects.create(slug="acme", name="Acme")
    stamp = int(NOW.timestamp()) * 1_000_000_000
    disks = ("sda", "sda1", "loop0", "nvme0n1")
    speeds = {"eth0": 1000, "eno1": -1, "tap7": 10, "lo": -1}
    lines = [f"diskio,host=h1,name={name} reads=1i,writes=1i {stamp}" for name in disks]
    lines += [
        f"net,host=h1,interface={name} bytes_sent=1i,bytes_recv=1i,speed={speed}i {stamp}"
        for name, speed in speeds.items()
    ]
    send(made, "\n".join(lines), now=NOW)
    return made


def test_whole_disks_and_physical_nics_are_discovered(organisation: Organisation) -> None:
    found = discover(organisation=organisation)

    assert sorted((one.name, one.kind) for one in found) == [
        ("h1/eno1", "uplink"),
        ("h1/eth0", "uplink"),
        ("h1/nvme0n1", "datastore"),
        ("h1/sda", "datastore"),
    ]
    assert all(one.discovered for one in found)


def test_capacity_follows_from_the_link_speed_where_the_nic_tells_it(
    organisation: Organisation,
) -> None:
    discover(organisation=organisation)

    rates = {
        one.name: (one.line_rate, one.capacity) for one in Resource.objects.filter(kind="uplink")
    }
    # 94 % of 1000 Mbit/s is left for user data.
    assert rates == {"h1/eth0": (1000 * MBIT, 940 * MBIT), "h1/eno1": (None, None)}


def test_what_is_discovered_is_not_discovered_again(organisation: Organisation) -> None:
    discover(organisation=organisation)

    assert discover(organisation=organisation) == []
    assert Resource.objects.count() == 4
