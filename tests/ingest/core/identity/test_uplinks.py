"""Which interfaces are uplinks: on hosts whose truth is known, every bit counts once."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import chain

import pytest

from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.uplinks import find_uplinks, uplink_of
from ingest.core.mapping import Fact

PATTERN = re.compile(r"(eth|en|bond|team|wl|ib)\w*")
HOSTS = 300


def nic(name: str, host: str = "h1", **said: str | list[str]) -> list[Fact]:
    # Every interface sends samples, and at least its hardware address is known.
    return [
        Fact(host=host, kind=Kind.NIC, subject=name, name=what, value=value)
        for what, given in {"mac": "02:00", **said}.items()
        for value in ([given] if isinstance(given, str) else given)
    ]


def found(*facts: list[Fact], unseen: tuple[str, ...] = ()) -> dict[str, int | None]:
    every = list(chain(*facts))
    seen = {Place(one.host, one.kind, one.subject) for one in every if one.subject not in unseen}
    uplinks = find_uplinks(Facts.of(every, seen), PATTERN).uplinks
    return {place.subject: rate for place, rate in uplinks.items()}


@dataclass
class Truth:
    """A host as it was built, and what must be found of it. Shares no code with the rules."""

    seed: int
    facts: list[Fact] = field(default_factory=list)
    carriers: dict[str, int] = field(default_factory=dict)
    below: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.host = f"h{self.seed}"
        self.number = 0
        for _ in range(self.random.randint(1, 3)):
            self._carrier()
        for name in list(self.carriers):
            self._above(name)

    def _say(self, name: str, **said: str | list[str]) -> None:
        self.facts += nic(name, host=self.host, **said)

    def _physical(self, **said: str) -> int:
        speed = self.random.choice([1000, 10_000, 25_000])
        self._say(f"eno{self.number}", speed=str(speed), **said)
        self.number += 1
        return speed

    def _carrier(self) -> None:
        kind = self.random.choice(["plain", "bond", "team", "backup"])
        if kind == "plain":
            name = f"eno{self.number}"
            self.carriers[name] = self._physical()
            return
        name = self.random.choice(["bond", "lag-", "team"]) + str(self.number)
        members, total = [], 0
        for at in range(self.random.randint(1, 3)):
            members.append(f"eno{self.number}")
            idle = {"state": "backup"} if kind == "backup" and at else {}
            if kind != "team" and not idle and at and self.random.random() < 0.3:
                idle = {"state": "down"}
            active = {} if kind == "team" else {"state": "active"}
            speed = self._physical(master=name, **(idle or active))
            total += 0 if idle else speed
        self._say(name, kind="bond" if kind == "backup" else kind, parent=members)
        self.carriers[name] = total

    def _above(self, name: str) -> None:
        """VLANs and bridges, and guests below them."""
        vlan = None
        if self.random.random() < 0.5:
            vlan = f"{name}.{self.random.randint(2, 99)}"
            self._say(vlan, kind="vlan", parent=name)
        if self.random.random() < 0.7:
            bridge, tap = f"vmbr{self.number}", f"tap{self.number}i0"
            port = vlan or name
            self.facts += nic(port, host=self.host, master=bridge)
            self._say(bridge, kind="bridge", parent=[port, tap])
            self._say(tap, kind="tap", master=bridge)
            self.below[tap] = name
            self.number += 1


@pytest.fixture(scope="module")
def truths() -> list[Truth]:
    return [Truth(seed) for seed in range(HOSTS)]


def test_uplinks_of_300_hosts_are_what_they_were_built_with(truths: list[Truth]) -> None:
    for truth in truths:
        assert found(truth.facts) == truth.carriers, f"host {truth.seed}"


def test_every_guest_of_300_hosts_sends_through_its_own_uplink(truths: list[Truth]) -> None:
    through = 0
    for truth in truths:
        facts = Facts.of(truth.facts)
        for tap, uplink in truth.below.items():
            assert uplink_of(facts, truth.host, tap, truth.carriers) == uplink, truth.seed
            through += 1
    assert through > HOSTS / 2


def test_bond_has_what_its_active_members_have_together() -> None:
    assert found(
        nic("eno1", master="bond0", state="active", speed="25000"),
        nic("eno2", master="bond0", state="active", speed="25000"),
        nic("eno3", master="bond0", state="backup", speed="10000"),
        nic("bond0", kind="bond", parent=["eno1", "eno2", "eno3"], speed="60000"),
    ) == {"bond0": 50_000}


def test_rate_of_a_bond_with_a_member_of_unknown_rate_is_what_the_kernel_says() -> None:
    members = nic("eno1", master="bond0", speed="1000") + nic("eno2", master="bond0")

    assert found(members, nic("bond0", kind="bond", speed="2000")) == {"bond0": 2000}
    assert found(members, nic("bond0", kind="bond")) == {"bond0": None}


def test_members_count_where_their_bond_sends_no_samples() -> None:
    facts = [nic(name, master="bond0", speed="1000") for name in ("eno1", "eno2")]

    assert found(*facts, nic("bond0", kind="bond"), unseen=("bond0",)) == {
        "eno1": 1000,
        "eno2": 1000,
    }


@pytest.mark.parametrize("name", ["bond0", "team1", "bond_storage"])
def test_bond_is_known_by_its_name_where_nobody_says_its_kind(name: str) -> None:
    assert list(found(nic("eno1", master=name), nic(name))) == [name]


def test_port_of_a_bridge_stays_an_uplink() -> None:
    assert list(found(nic("eno1", master="vmbr0"), nic("vmbr0", kind="bridge"))) == ["eno1"]


def test_vlan_of_an_interface_counts_below_it_and_without_it_by_itself() -> None:
    vlan = nic("en5", kind="vlan", parent="eno1")

    assert list(found(nic("eno1"), vlan, nic("eth0.7"))) == ["eno1"]
    assert list(found(vlan)) == ["en5"]


def test_parts_say_why() -> None:
    facts = [
        *nic("eno1", master="bond0"),
        *nic("bond0", kind="bond", parent="eno1"),
        *nic("bond0.5"),
        *nic("br0", kind="bridge", parent="bond0"),
    ]

    parts = find_uplinks(Facts.of(facts), PATTERN).parts

    assert {place.subject: part.text for place, part in parts.items()} == {
        "eno1": "it is a member of bond0",
        "bond0.5": "it is a VLAN of bond0",
        "br0": "it is a bridge of bond0",
    }
