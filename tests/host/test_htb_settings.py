"""HTB on the real kernel without traffic: settings, read back, restore, refusals."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from enforcers.contract import Allocation, Outcome, Selector
from tests.enforcers.policies import LINK, desired, document, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SINK_ADDRESS, SINK_ADDRESS_V6, Network

pytestmark = pytest.mark.root

HTB = "tc_htb"
T = TypeVar("T")
SEED_002 = desired(uplink(), vnic(1, 75e6), vnic(2), vnic(3))


def source(number: int, value: str) -> Allocation:
    """An allocation recognised by source address."""
    return vnic(number, selector=Selector(kind="source_address", value=value))


def eventually(ask: Callable[[], T], is_enough: Callable[[T], bool]) -> T:
    """The first answer that is enough, or the last one before a deadline."""
    deadline_s = time.monotonic() + 10
    while not is_enough(answer := ask()) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return answer


def tc(network: Network, words: str) -> str:
    """Run tc on the host, as an administrator would."""
    return network.runner.run(["tc", *words.split()])


@pytest.mark.parametrize("link", [1e6, 9.4e6, LINK, 1.234567e9, 1e10, 4e10, 2e11])
@pytest.mark.parametrize("shares", [(1, 1, 1), (3, 1, 1), (7, 1000, 100_000)], ids=str)
def test_kernel_reads_back_what_was_planned(
    host_rig: Rig, link: float, shares: tuple[int, int, int]
) -> None:
    wanted = desired(
        uplink(capacity=link),
        vnic(1, link * 0.6180339, shares=shares[0]),
        vnic(2, link * 0.1, limit=link / 3, shares=shares[1]),
        vnic(3, shares=shares[2]),
    )

    left = host_rig.apply(HTB, wanted)

    plugin = host_rig.mechanisms[HTB]
    seen = plugin.read_back(wanted, plugin.observe(wanted, host_rig.ledger.entries()))
    assert left.changes == ()
    assert {key: item.setting for key, item in seen.items()} == left.wanted
    first = left.wanted["net-1"].reservation
    # tc shows four digits or more; and the two 8 kbit/s classes fit in, too.
    assert first == pytest.approx(link * 0.6180339, rel=1e-3, abs=8)


def test_everything_is_as_found_after_a_restore(host_rig: Rig, quiet_network: Network) -> None:
    tc(quiet_network, "qdisc add dev up0 clsact")
    tc(quiet_network, "qdisc add dev p1 ingress")
    before = quiet_network.settings()

    host_rig.apply(HTB, SEED_002)
    between = quiet_network.settings()
    host_rig.apply(HTB, desired(uplink(), vnic(1, 20e6), vnic(3, limit=9e6)))
    left = host_rig.apply(HTB, nothing("up0"))

    assert "htb 51ce:" in between
    assert quiet_network.settings() == before
    assert left.restored == host_rig.ledger.entries()


@pytest.mark.parametrize("kind", ["mode tap", "mode tap multi_queue"], ids=["one queue", "mq"])
def test_default_discipline_of_a_queueing_device_comes_back(
    quiet_network: Network, tmp_path: Path, kind: str
) -> None:
    quiet_network.runner.run(["ip", "tuntap", "add", "dev", "tap0", *kind.split()])
    quiet_network.runner.run(["ip", "link", "set", "tap0", "up"])
    before = tc(quiet_network, "qdisc show dev tap0")
    rig = start_rig(tmp_path, quiet_network.runner, interfaces=frozenset({"tap0"}))

    rig.apply(HTB, desired(uplink(device="tap0"), vnic(1, 75e6)))
    between = tc(quiet_network, "qdisc show dev tap0")
    rig.apply(HTB, nothing("tap0"))

    assert "htb" in between
    assert "noqueue" not in before
    assert tc(quiet_network, "qdisc show dev tap0") == before


@pytest.mark.parametrize(
    ("foreign", "why"),
    [
        ("qdisc add dev up0 root handle 1: htb default 30", "direct_packets_stat"),
        ("qdisc add dev up0 root handle 51ce: htb default 2", "direct_packets_stat"),
        # tc shows 5110 bytes as 5Kb, which is 5120.
        ("qdisc add dev up0 root bfifo limit 5110", '"limit": 5110'),
    ],
    ids=["htb", "our handle", "rounded"],
)
def test_discipline_of_somebody_else_is_refused_and_untouched(
    host_rig: Rig, quiet_network: Network, foreign: str, why: str
) -> None:
    tc(quiet_network, foreign)
    before = quiet_network.settings()

    result = host_rig.enforcement.run(document(vnic(1, 75e6)), previous=None, now_s=0.0)
    host_rig.enforcement.run(None, previous=None, now_s=0.0)

    assert result.enforced[0].outcome is Outcome.UNSUPPORTED
    assert "could not put back" in result.enforced[0].reason
    assert why in result.enforced[0].reason
    assert quiet_network.settings() == before


def test_too_many_reservations_are_refused_and_nothing_changes(
    host_rig: Rig, quiet_network: Network
) -> None:
    before = quiet_network.settings()

    result = host_rig.enforcement.run(
        document(vnic(1, 70e6), vnic(2, 50e6)), previous=None, now_s=0.0
    )

    assert {item.outcome for item in result.enforced} == {Outcome.FAILED}
    assert quiet_network.settings() == before


def test_change_by_hand_is_put_right(host_rig: Rig, quiet_network: Network) -> None:
    policy = document(vnic(1, 75e6), vnic(2))
    host_rig.enforcement.run(policy, previous=None, now_s=0.0)
    tc(quiet_network, "class change dev up0 classid 51ce:10 htb rate 1mbit ceil 2mbit")
    tc(quiet_network, "filter del dev up0 parent 51ce: pref 10")

    result = host_rig.enforcement.run(policy, previous=policy, now_s=1.0)
    again = host_rig.enforcement.run(policy, previous=policy, now_s=2.0)

    assert {item.outcome for item in result.enforced} == {Outcome.DRIFTED}
    assert {item.outcome for item in again.enforced} == {Outcome.UNCHANGED}


def test_foreign_filter_and_class_in_our_tree_are_removed(
    host_rig: Rig, quiet_network: Network
) -> None:
    host_rig.apply(HTB, SEED_002)
    before = quiet_network.settings()
    tc(quiet_network, "class add dev up0 parent 51ce:1 classid 51ce:99 htb rate 90mbit")
    tc(
        quiet_network,
        "filter add dev up0 parent 51ce: protocol ip pref 5 u32 match ip dst 1.2.3.4/32"
        " classid 51ce:99",
    )

    left = host_rig.apply(HTB, SEED_002)

    assert left.changes == ()
    assert quiet_network.settings() == before


def test_filter_that_leads_into_the_class_of_another_is_put_right(
    host_rig: Rig, quiet_network: Network
) -> None:
    policy = document(vnic(1, 75e6), vnic(2))
    host_rig.enforcement.run(policy, previous=None, now_s=0.0)
    tc(quiet_network, "filter del dev up0 parent 51ce: pref 10")
    # The packets of both in the class of the second.
    for interface, classid in (("p1", "51ce:11"), ("p2", "51ce:11")):
        tc(
            quiet_network,
            "filter add dev up0 parent 51ce: protocol all pref 10 u32 match u32 0 0 "
            f"indev {interface} classid {classid}",
        )

    host_rig.enforcement.run(policy, previous=policy, now_s=1.0)
    quiet_network.send_datagrams(1, SINK_ADDRESS, 7)
    result = host_rig.enforcement.run(policy, previous=policy, now_s=2.0)

    first = result.enforced[0]
    assert {item.outcome for item in result.enforced} == {Outcome.UNCHANGED}
    assert first.seen.setting is not None
    assert first.seen.setting.reservation == 75e6
    assert first.seen.counters is not None
    assert first.seen.counters.total >= 7 * (1000 + 42) * 8


def test_vnic_that_comes_back_is_recognised_again(host_rig: Rig, quiet_network: Network) -> None:
    policy = document(vnic(1, 75e6), vnic(2))
    host_rig.enforcement.run(policy, previous=None, now_s=0.0)
    quiet_network.detach(1)
    gone = host_rig.enforcement.run(policy, previous=policy, now_s=1.0)
    quiet_network.attach(1)

    host_rig.enforcement.run(policy, previous=policy, now_s=2.0)
    quiet_network.send_datagrams(1, SINK_ADDRESS, 7)
    result = host_rig.enforcement.run(policy, previous=policy, now_s=3.0)

    assert "there is no interface 'p1'" in gone.enforced[0].reason
    assert result.enforced[0].outcome is Outcome.UNCHANGED
    counters = result.enforced[0].seen.counters
    assert counters is not None
    # 7 datagrams of 1000 bytes with UDP, IP and Ethernet heads; ARP may come on top.
    assert counters.total >= 7 * (1000 + 42) * 8


@pytest.mark.parametrize(
    ("address", "payload_and_heads"),
    [(SINK_ADDRESS, 1000 + 42), (SINK_ADDRESS_V6, 1000 + 62)],
    ids=["IPv4", "IPv6"],
)
@pytest.mark.parametrize(
    "selectors",
    [
        [vnic(1), vnic(2), vnic(3)],
        [source(1, "10.77.1.2"), source(2, "10.77.2.0/24"), source(3, "10.77.0.0/16")],
        [source(1, "fd77:1::2"), source(2, "fd77:2::/64"), source(3, "fd77::/16")],
    ],
    ids=["vnic", "IPv4 sources", "IPv6 sources"],
)
def test_packets_find_the_class_of_their_workload(
    host_rig: Rig,
    quiet_network: Network,
    selectors: list[Allocation],
    address: str,
    payload_and_heads: int,
) -> None:
    wanted = desired(uplink(), *selectors)
    host_rig.apply(HTB, wanted)
    is_recognised = selectors[0].selector.kind == "vnic" or (
        (":" in selectors[0].selector.value) == (":" in address)
    )

    for number, count in ((1, 10), (2, 20), (3, 40)):
        quiet_network.send_datagrams(number, address, count)

    def packets() -> dict[str, int]:
        plugin = host_rig.mechanisms[HTB]
        observed = plugin.observe(wanted, host_rig.ledger.entries())
        names = {"51ce:2": "rest", "51ce:10": "net-1", "51ce:11": "net-2", "51ce:12": "net-3"}
        return {
            name: observed.counters[classid].sent_bytes // payload_and_heads
            for classid, name in names.items()
        }

    # Packets wait until the sink's address is known; then all of them pass.
    found = eventually(packets, lambda counts: sum(counts.values()) >= 70)
    in_classes = {"net-1": 10, "net-2": 20, "net-3": 40}
    expected = in_classes if is_recognised else dict.fromkeys(in_classes, 0)
    assert {name: found[name] for name in in_classes} == expected
    assert (found["rest"] >= 70) is not is_recognised


def test_workload_behind_a_bridge_is_recognised_by_its_port(
    host_rig: Rig, quiet_network: Network
) -> None:
    run = quiet_network.runner.run
    run(["ip", "link", "add", "br0", "type", "bridge"])
    for interface in ("p1", "p2", "up0"):
        run(["ip", "link", "set", interface, "master", "br0"])
    run(["ip", "link", "set", "br0", "up"])
    # One network for all: the host only bridges.
    for namespace, interface, last in (
        (quiet_network.workload(1), "e0", 1),
        (quiet_network.workload(2), "e0", 2),
        (quiet_network.sink, "up1", 9),
    ):
        run(["ip", "-n", namespace, "addr", "add", f"10.78.0.{last}/24", "dev", interface])
    wanted = desired(uplink(), vnic(1), vnic(2))
    host_rig.apply(HTB, wanted)

    quiet_network.send_datagrams(1, "10.78.0.9", 10)
    quiet_network.send_datagrams(2, "10.78.0.9", 20)

    def packets() -> dict[str, int]:
        plugin = host_rig.mechanisms[HTB]
        seen = plugin.read_back(wanted, plugin.observe(wanted, host_rig.ledger.entries()))
        return {
            key: int(item.counters.total / 8 / (1000 + 42))
            for key, item in seen.items()
            if item.counters is not None
        }

    found = eventually(packets, lambda counts: sum(counts.values()) >= 30)
    assert found == {"net-1": 10, "net-2": 20}


def test_failure_midway_leaves_the_real_kernel_as_found(
    host_rig: Rig, quiet_network: Network
) -> None:
    before = quiet_network.settings()
    original = quiet_network.runner.run

    class Breaking:
        def run(self, argv: list[str], *, stdin: str = "") -> str:
            return original(argv, stdin=stdin.replace("indev p3 ", "indev nonesuch "))

    rig = start_rig(host_rig.directory, Breaking())  # type: ignore[arg-type]

    result = rig.enforcement.run(
        document(vnic(1, 75e6), vnic(2), vnic(3)), previous=None, now_s=0.0
    )

    assert {item.outcome for item in result.enforced} == {Outcome.FAILED}
    assert "put back as before" in result.enforced[0].reason
    assert quiet_network.settings() == before


def test_support_is_answered_by_the_real_kernel(host_rig: Rig, quiet_network: Network) -> None:
    before = quiet_network.settings()

    support = host_rig.mechanisms[HTB].support()

    assert support.supported
    assert "tried in a namespace of their own" in support.reason
    assert quiet_network.settings() == before
