"""Uplinks are found: a bond is one, and its line rate follows what the host says."""

from __future__ import annotations

import pytest

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource, change_resource
from advisor.models import Attachment, Resource
from tests.advisor.decisions.found_inventory import allocations, guest, nic, tell

pytestmark = pytest.mark.django_db


def uplinks() -> dict[str, tuple[float | None, float | None]]:
    """Line rate and capacity of each uplink that is there, in Gbit/s."""
    found = Resource.objects.filter(kind="uplink", vanished_at=None)
    giga = lambda value: None if value is None else round(value / 1e9, 3)  # noqa: E731
    return {row.name: (giga(row.line_rate), giga(row.capacity)) for row in found}


def bond(*, second: str = "active") -> list[str]:
    """Two NICs in a bond, the second in this state; a bridge on a VLAN of it."""
    return [
        *nic("eno1", master="bond0", state="active", speed="10000"),
        *nic("eno2", master="bond0", state=second, speed="10000"),
        *nic("bond0", kind="bond", parent="eno1"),
        *nic("bond0.7", kind="vlan", parent="bond0"),
        *nic("vmbr0", kind="bridge", parent="bond0.7"),
    ]


def test_bond_is_one_uplink_with_the_rates_of_its_active_members(acme: Organisation) -> None:
    tell(acme, *bond())

    # 94 % of twice 10 Gbit/s is left for user data.
    assert uplinks() == {"h1/bond0": (20, 18.8)}
    row = Resource.objects.get(kind="uplink")
    assert [(one["places"], one["text"]) for one in row.reasons] == [
        (["h1:bond0.7"], "it is a VLAN of bond0"),
        (["h1:eno1"], "it is a member of bond0"),
        (["h1:eno2"], "it is a member of bond0"),
    ]


def test_line_rate_follows_the_members_and_what_a_person_stated_stays(acme: Organisation) -> None:
    tell(acme, *bond())
    tell(acme, *bond(second="down"), minutes=1)
    assert uplinks() == {"h1/bond0": (10, 9.4)}

    change_resource(resource=Resource.objects.get(kind="uplink"), capacity=5e9)
    # A fact that comes back counts when the other is not said any more, for 25 minutes.
    tell(acme, *bond(), minutes=40)

    assert uplinks() == {"h1/bond0": (20, 5)}


def test_members_that_were_uplinks_before_their_bond_was_known_count_no_more(
    acme: Organisation,
) -> None:
    tell(acme, *nic("eno1"), *nic("eno2"), *nic("bond0"))
    assert list(uplinks()) == ["h1/bond0", "h1/eno1", "h1/eno2"]

    tell(acme, *bond(), minutes=1)
    assert list(uplinks()) == ["h1/bond0"]
    assert Attachment.objects.count() == 1

    # Taken apart again, they are the uplinks that they were.
    apart = [*nic("bond0", kind="bond"), *nic("eno1"), *nic("eno2")]
    tell(acme, *apart, *nic("eno1", master="br0"), *nic("eno2", master="br0"), minutes=2)
    assert list(uplinks()) == ["h1/bond0", "h1/eno1", "h1/eno2"]
    assert Resource.objects.count() == 3


def test_member_that_a_person_described_stays(acme: Organisation) -> None:
    add_resource(organisation=acme, name="storage", kind="uplink", attachments=[("h1", "eno1")])

    tell(acme, *bond())

    assert list(uplinks()) == ["h1/bond0", "storage"]


def test_guest_behind_a_vlan_of_a_bond_is_on_the_bond(acme: Organisation) -> None:
    lines = [
        *bond(), *nic("eno3", speed="1000"), *nic("bond0.7", master="vmbr0"),
        *nic("tap101i0", kind="tap", master="vmbr0"),
        guest("h1", "qemu/101", name="db1", nic__net0="tap101i0"),
    ]  # fmt: skip

    tell(acme, *lines)

    assert list(uplinks()) == ["h1/bond0", "h1/eno3"]
    assert allocations() == {("db1", "h1/bond0", "h1", "vnic", "")}


def test_line_rate_of_samples_goes_before_facts_which_come_seldom(acme: Organisation) -> None:
    tell(acme, *bond(), "net,host=h1,interface=bond0 bytes_sent=1i,bytes_recv=1i,speed=10000i")

    assert uplinks() == {"h1/bond0": (10, 9.4)}


def test_line_rate_of_samples_is_followed(acme: Organisation) -> None:
    line = "net,host=h1,interface=eth0 bytes_sent=1i,bytes_recv=1i,speed={}i"

    tell(acme, line.format(1000))
    assert uplinks() == {"h1/eth0": (1, 0.94)}
    # Samples alone are no reason to look before its time.
    tell(acme, line.format(10_000), minutes=6)
    assert uplinks() == {"h1/eth0": (10, 9.4)}

    tell(acme, line.format(-1), minutes=12)
    assert uplinks() == {"h1/eth0": (10, 9.4)}
