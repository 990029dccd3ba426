"""What is said of what comes in on an uplink, and how its packets are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.contract import Allocation, ControlKind, Outcome, Selector
from enforcers.errors import ValueRefused
from enforcers.mechanism import HostAccess, Obstacle
from enforcers.mechanisms.tc_htb.classify import Side, adapter_match, address_match
from enforcers.mechanisms.tc_htb.incoming import read_addresses, read_hook
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig, TcHtb
from enforcers.mechanisms.tc_htb.tc_text import parse_qdiscs
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import desired, document, host_kind, uplink, vnic
from tests.enforcers.rig import host_of_root, start_rig

CONFIG = HtbConfig(interfaces=frozenset({"up0"}), ingress=frozenset({"up0"}))
CLSACT = "qdisc clsact ffff: parent ffff:fff1 "
# As iproute2 6.1 prints them on Linux 6.18.
OURS = """filter protocol all pref 20942 u32 chain 0
filter protocol all pref 20942 u32 chain 0 fh 800: ht divisor 1
filter protocol all pref 20942 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid
  match 00000000/00000000 at 0
\taction order 1: mirred (Egress Redirect to device {}) stolen
\tindex 1 ref 1 bind 1

"""
THEIRS = """filter protocol ip pref 7 u32 chain 0
filter protocol ip pref 7 u32 chain 0 fh 801: ht divisor 1
filter protocol ip pref 7 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 terminal flowid
  match 01020304/ffffffff at 16
\taction order 1: mirred (Egress Redirect to device other) stolen
\tindex 2 ref 1 bind 1

"""


@pytest.mark.parametrize(
    ("shown", "leads_to", "has_others"),
    [
        ("", None, False),
        (OURS.format("sluice-i2"), "sluice-i2", False),
        (OURS.format("*"), "*", False),
        (THEIRS, None, True),
        (THEIRS + OURS.format("sluice-i2"), "sluice-i2", True),
    ],
    ids=["nothing", "ours", "ours to a device that is gone", "theirs", "both"],
)
def test_hook_says_where_it_leads_and_whether_somebody_else_uses_it(
    shown: str, leads_to: str | None, has_others: bool
) -> None:
    hook = read_hook(parse_qdiscs(CLSACT)[0], shown)

    assert (hook.leads_to, hook.has_others) == (leads_to, has_others)


def test_addresses_of_a_bridges_own_ports_are_nobodys() -> None:
    told = [
        {"mac": "02:00:00:00:00:01", "ifname": "p1", "master": "br0", "state": ""},
        {"mac": "02:00:00:00:00:02", "ifname": "p1", "master": "br0", "state": "static"},
        {"mac": "fe:00:00:00:00:01", "ifname": "p1", "master": "br0", "state": "permanent"},
        {"mac": "33:33:00:00:00:01", "ifname": "p2", "flags": ["self"], "state": "permanent"},
    ]

    assert read_addresses(told) == {"p1": {"02:00:00:00:00:01", "02:00:00:00:00:02"}}


def test_adapter_is_told_by_the_address_that_a_frame_goes_to() -> None:
    match = adapter_match("02:aa:bb:cc:dd:ee")

    assert " ".join(match.argv) == (
        "match u16 0x02aa 0xffff at -14 match u32 0xbbccddee 0xffffffff at -12"
    )
    assert match.shown == ("000002aa/0000ffff at -16", "bbccddee/ffffffff at -12")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("10.1.2.0/24", ("0a010200/ffffff00 at 16",)),
        ("fd77:3::/64", ("fd770003/ffffffff at 24", "00000000/ffffffff at 28")),
    ],
)
def test_address_is_looked_for_where_packets_go_to(value: str, shown: tuple[str, ...]) -> None:
    match = address_match(value, Side.DESTINATION)

    assert not isinstance(match, str)
    assert match.shown == shown


def test_interface_that_may_not_be_changed_has_no_ingress_either() -> None:
    with pytest.raises(ValueRefused, match=r"may name only what tc_htb\.interfaces names"):
        HtbConfig(interfaces=frozenset({"up0"}), ingress=frozenset({"up1"}))


def mechanism(tc: FakeTc, root: Path) -> TcHtb:
    return TcHtb(HostAccess(runner=tc, host_fs=host_of_root(root)), CONFIG)


NO_IFB = "CONFIG_IFB is off in this kernel or its module is missing (Error: Unknown device type.)"


@pytest.mark.parametrize(
    ("has_ifb", "ends_with", "obstacle"),
    [
        (True, "; ifb, for what comes in, works too", None),
        (
            False,
            f"; {NO_IFB}",
            Obstacle(
                reason=f"what comes in is not shaped: {NO_IFB}",
                remedy="mend that, or take up0 out of tc_htb.ingress",
                is_total=False,
            ),
        ),
    ],
    ids=["ifb", "no ifb"],
)
def test_doctor_says_whether_what_comes_in_can_be_shaped(
    tmp_path: Path, tc: FakeTc, has_ifb: bool, ends_with: str, obstacle: Obstacle | None
) -> None:
    tc.has_ifb = has_ifb

    found = mechanism(tc, tmp_path)

    assert found.support().supported
    assert found.support().reason.endswith(ends_with)
    assert found.obstacles() == {"up0": obstacle}


class Noting(FakeTc):
    """Keeps what it is asked."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.asked: list[str] = []

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        self.asked.append(f"{' '.join(argv)} {stdin}")
        return super().run(argv, stdin=stdin)


def test_nothing_is_tried_for_what_comes_in_where_nobody_asks_for_it(tmp_path: Path) -> None:
    """To try it loads a module, with which the kernel makes devices on the host."""
    tc, config = Noting("up0"), HtbConfig(interfaces=frozenset({"up0"}))
    found = TcHtb(HostAccess(runner=tc, host_fs=host_of_root(tmp_path)), config)

    assert found.support().reason.endswith("what comes in is left alone (tc_htb.ingress)")
    assert tc.asked
    assert not [one for one in tc.asked if "ifb" in one]


class Bridged(FakeTc):
    """All its interfaces are ports of the bridge br0."""

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        if argv[0] == "bridge":
            return "[]"
        said = super().run(argv, stdin=stdin)
        if argv[0] != "ip" or "-j" not in argv:
            return said
        links = json.loads(said)
        for link in links:
            is_bridge = link["ifname"] == "br0"
            link.update({"linkinfo": {"info_kind": "bridge"}} if is_bridge else {"master": "br0"})
        return json.dumps(links)


def test_guest_that_is_shut_down_costs_nobody_else_the_policy(tmp_path: Path) -> None:
    tc = Bridged("up0", "p1", "br0")
    tc.has_ifb = False
    rig = start_rig(tmp_path, tc, ingress=frozenset({"up0"}))

    found = rig.enforcement.run(document(vnic(1), vnic(9)), previous=None, now_s=0.0)

    outcomes = {one.allocation.workload: one.outcome for one in found.enforced}
    assert outcomes.pop(vnic(9).workload) is Outcome.FAILED
    assert Outcome.FAILED not in outcomes.values()


def test_kernel_without_ifb_shapes_what_goes_out_and_tells(tmp_path: Path, tc: FakeTc) -> None:
    tc.has_ifb = False
    found = mechanism(tc, tmp_path)
    wanted = desired(uplink(), vnic(1, selector=Selector(kind="source_address", value="10.0.0.7")))

    plan = found.plan(wanted, found.observe(wanted, ()))

    assert {change.target.partition(" ")[0] for change in plan.changes} == {"up0"}
    reasons = {note.reason for note in plan.shortfalls["net-1"].values()}
    assert reasons == {f"what comes in on up0 is not shaped: {NO_IFB}"}


UNTOLD = {
    "interface": (
        vnic(1),
        "p1 is no port of a bridge that up0 is a port of",
        "name its address instead (source_address)",
    ),
    "kind of the host's own": (
        host_kind("nfs", limit=5e6),
        "kinds of the host's own traffic are not told apart there",
        "limit all of the host's own traffic (host_traffic)",
    ),
}


@pytest.mark.parametrize(("allocation", "reason", "remedy"), UNTOLD.values(), ids=UNTOLD)
def test_what_comes_in_and_is_not_told_has_a_reason_and_one_thing_to_do(
    tmp_path: Path, tc: FakeTc, allocation: Allocation, reason: str, remedy: str
) -> None:
    found = TcHtb(
        HostAccess(runner=tc, host_fs=host_of_root(tmp_path)),
        replace(CONFIG, host_kinds=frozenset()),
    )
    wanted = desired(uplink(), allocation)

    plan = found.plan(wanted, found.observe(wanted, ()))

    assert plan.notes == {}
    notes = plan.shortfalls[allocation.id]
    assert {kind: note.outcome for kind, note in notes.items()} == dict.fromkeys(
        ControlKind, Outcome.UNSUPPORTED
    )
    assert {note.reason for note in notes.values()} == {
        f"what comes in for it counts as the host's own: {reason}; {remedy}"
    }
