"""What comes in on an uplink is led through an ifb device, and nothing of it is left behind."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import Allocation, Outcome, Selector
from enforcers.mechanisms.tc_htb.incoming import MOST_ADAPTERS
from enforcers.recovery import recover
from tests.enforcers.fake_tc import Killed
from tests.enforcers.policies import desired, document, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.agent_process import Host
from tests.host.network import DATAGRAMS, NamespaceRunner, Network
from tests.host.test_agent_process import is_enforcing, until

pytestmark = pytest.mark.root

HTB = "tc_htb"
UP0 = frozenset({"up0"})
COUNT = 20
FRAME_BYTES = 1042
# UDP to an address behind so many VLAN tags, to the Ethernet address that is told.
TAGGED = """
import ipaddress, socket, sys
address, target, tags, count = sys.argv[1:]
head = "4500040400000000401100000a4e0009" + ipaddress.ip_address(target).packed.hex()
frame = address.replace(":", "") + "0200000000bb" + "81000005" * int(tags) + "0800" + head
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("up1", 0))
for _ in range(int(count)):
    sender.send(bytes.fromhex(frame) + bytes(1008))
"""
# A tree of two workloads is made by fewer commands.
MOST_COMMANDS = 40


def by_address(number: int, **change: Any) -> Allocation:
    selector = Selector(kind="source_address", value=f"10.77.{number}.2")
    return vnic(number, selector=selector, **change)


POLICY = desired(uplink(), by_address(1, limit=20e6), by_address(2))


@pytest.fixture
def rig(quiet_network: Network, tmp_path: Path) -> Rig:
    rig = start_rig(tmp_path, quiet_network.runner, ingress=UP0)
    reason = rig.mechanisms[HTB].support().reason
    if "ifb, for what comes in, works too" not in reason:
        pytest.skip(reason)
    return rig


def shown(network: Network) -> str:
    """All settings, and the interfaces that there are."""
    return network.settings() + network.runner.run(["ip", "-o", "link"])


def host(network: Network, words: str) -> str:
    return network.runner.run(words.split())


def ifb(network: Network) -> str:
    (name,) = re.findall(r"sluice-i\d+", host(network, "ip -br link"))
    return str(name)


def sent(network: Network, device: str, *, total: int) -> dict[str, int]:
    """Datagrams by class of a device, once there are so many."""
    deadline_s = time.monotonic() + 10
    while True:
        text = host(network, f"tc -s class show dev {device}")
        found = re.findall(r"class htb (\S+) .*?leaf.*?\n Sent (\d+) bytes", text)
        counts = {classid: int(sent_bytes) // FRAME_BYTES for classid, sent_bytes in found}
        if sum(counts.values()) >= total or time.monotonic() > deadline_s:
            return {classid: count for classid, count in counts.items() if count}
        time.sleep(0.05)


def send(network: Network, address: str, count: int) -> None:
    """Datagrams from the sink, which come in on the uplink."""
    inside = NamespaceRunner(network.sink)
    inside.run(["python3", "-c", DATAGRAMS, address, str(count)])


def outcomes(rig: Rig, *allocations: Allocation) -> dict[str, tuple[Outcome, str]]:
    """What the report says of each limit."""
    result = rig.enforcement.run(document(*allocations), previous=None, now_s=0.0)
    limits = {one.allocation.id: one.controls.limit for one in result.enforced}
    return {key: (limit.outcome, limit.reason) for key, limit in limits.items()}


def test_what_comes_in_finds_its_class_by_the_address_that_it_goes_to(
    quiet_network: Network, rig: Rig
) -> None:
    wide = vnic(2, selector=Selector(kind="source_address", value="fd77:2::/64"))
    assert rig.apply(HTB, desired(uplink(), by_address(1), wide)).changes == ()

    send(quiet_network, "10.77.1.2", COUNT)
    send(quiet_network, "fd77:2::2", 2 * COUNT)
    send(quiet_network, "10.77.3.2", 3 * COUNT)

    # IPv6 has a longer header, and neighbours talk.
    found = sent(quiet_network, ifb(quiet_network), total=6 * COUNT)
    assert found["51ce:10"] == COUNT
    assert 2 * COUNT <= found["51ce:11"] <= 2 * COUNT + 2
    assert found["51ce:2"] >= 3 * COUNT


@pytest.fixture
def bridged(quiet_network: Network) -> Network:
    """Workloads 1 and 2 are behind ports of the uplink's bridge."""
    host(quiet_network, "ip link add br0 type bridge")
    for name in ("p1", "p2", "up0"):
        host(quiet_network, f"ip addr flush dev {name}")
        host(quiet_network, f"ip link set {name} master br0")
    host(quiet_network, "ip link set br0 up")
    for namespace, device, last in (
        (quiet_network.workload(1), "e0", 1),
        (quiet_network.workload(2), "e0", 2),
        (quiet_network.sink, "up1", 9),
    ):
        host(quiet_network, f"ip -n {namespace} addr add 10.78.0.{last}/24 dev {device}")
    for number in (1, 2):
        quiet_network.send_datagrams(number, "10.78.0.9", 1)
    return quiet_network


def test_what_comes_in_for_a_port_of_the_uplinks_bridge_finds_its_class(
    bridged: Network, rig: Rig
) -> None:
    assert rig.apply(HTB, desired(uplink(), vnic(1), vnic(2))).shortfalls == {}
    # Who was silent for long is forgotten by the bridge, and known all the same.
    host(bridged, f"bridge fdb del {adapter(bridged, 2)} dev p2 master")
    assert rig.apply(HTB, desired(uplink(), vnic(1), vnic(2))).changes == ()

    send(bridged, "10.78.0.1", COUNT)
    send(bridged, "10.78.0.2", 2 * COUNT)

    found = sent(bridged, ifb(bridged), total=3 * COUNT)
    assert (found["51ce:10"], found["51ce:11"]) == (COUNT, 2 * COUNT)


def test_silent_address_stays_with_a_port_that_has_another_one(bridged: Network, rig: Rig) -> None:
    host(bridged, "bridge fdb add 02:00:00:00:01:77 dev p2 master static")
    rig.apply(HTB, desired(uplink(), vnic(1), vnic(2)))
    host(bridged, f"bridge fdb del {adapter(bridged, 2)} dev p2 master")
    assert rig.apply(HTB, desired(uplink(), vnic(1), vnic(2))).changes == ()

    send(bridged, "10.78.0.2", COUNT)

    assert sent(bridged, ifb(bridged), total=COUNT) == {"51ce:11": COUNT}


def test_addresses_that_came_and_went_take_no_place_of_those_there_are(
    bridged: Network, rig: Rig
) -> None:
    policy = desired(uplink(), vnic(1), vnic(2))
    for number in range(2 * MOST_ADAPTERS):
        host(bridged, f"bridge fdb add 02:00:00:00:01:{number:02x} dev p1 master static")
        left = rig.apply(HTB, policy)
        host(bridged, f"bridge fdb del 02:00:00:00:01:{number:02x} dev p1 master")

        assert left.shortfalls == {}


def adapter(network: Network, number: int) -> str:
    """The Ethernet address of a workload."""
    shown = host(network, f"ip -n {network.workload(number)} -j link show e0")
    return str(json.loads(shown)[0]["address"])


def test_workload_that_moves_to_another_port_is_told_there(bridged: Network, rig: Rig) -> None:
    """Its address is one more behind the new port, and none behind the former."""
    rig.apply(HTB, desired(uplink(), vnic(1), vnic(2)))
    host(bridged, f"bridge fdb replace {adapter(bridged, 1)} dev p2 master static sticky")

    left = rig.apply(HTB, desired(uplink(), vnic(1), vnic(2)))
    send(bridged, "10.78.0.1", COUNT)

    assert set(left.shortfalls) == {"net-1"}
    # The class of a workload is that of its first address.
    assert sent(bridged, ifb(bridged), total=COUNT) in ({"51ce:10": COUNT}, {"51ce:11": COUNT})


@pytest.mark.parametrize("tags", [0, 1])
def test_what_comes_in_with_a_tag_is_told_by_its_ethernet_address_alone(
    bridged: Network, rig: Rig, tags: int
) -> None:
    selector = Selector(kind="source_address", value="10.78.0.2")
    assert rig.apply(HTB, desired(uplink(), vnic(1), vnic(2, selector=selector))).changes == ()

    for number in (1, 2):
        words = (adapter(bridged, number), f"10.78.0.{number}", str(tags), str(COUNT))
        NamespaceRunner(bridged.sink).run(["python3", "-c", TAGGED, *words])

    found = sent(bridged, ifb(bridged), total=2 * COUNT)
    assert found["51ce:10"] == COUNT
    assert found.get("51ce:11", 0) == (COUNT if tags == 0 else 0)


def test_port_with_too_many_addresses_is_refused_by_name(bridged: Network, rig: Rig) -> None:
    for last in range(MOST_ADAPTERS):
        host(bridged, f"bridge fdb add 02:00:00:00:01:{last:02x} dev p1 master static")

    told = outcomes(rig, vnic(1, limit=5e6), vnic(2, limit=5e6))

    assert told["net-1"][0] is Outcome.UNSUPPORTED
    assert f"{MOST_ADAPTERS + 1} Ethernet addresses are behind p1" in told["net-1"][1]
    assert told["net-2"][0] is Outcome.APPLIED


def test_what_cannot_be_told_of_what_comes_in_is_refused_by_name(
    quiet_network: Network, tmp_path: Path
) -> None:
    rig = start_rig(tmp_path, quiet_network.runner, by_u32=False, ingress=UP0)
    if "BPF work" not in rig.mechanisms[HTB].support().reason:
        pytest.skip(rig.mechanisms[HTB].support().reason)
    marked = vnic(2, limit=5e6, selector=Selector(kind="mark", value="7"))

    told = outcomes(rig, vnic(1, limit=5e6), marked, by_address(3, limit=5e6))

    assert {key: outcome for key, (outcome, _) in told.items()} == {
        "net-1": Outcome.UNSUPPORTED,
        "net-2": Outcome.UNSUPPORTED,
        "net-3": Outcome.APPLIED,
    }
    assert "p1 is no port of a bridge that up0 is a port of; name its address" in told["net-1"][1]
    assert "after packets have come in; name its address instead" in told["net-2"][1]


FOREIGN = {
    "ingress": ["qdisc add dev up0 ingress"],
    "empty clsact": ["qdisc add dev up0 clsact"],
    "clsact with a filter": [
        "qdisc add dev up0 clsact",
        "filter add dev up0 ingress protocol ip pref 7 u32 match ip dst 1.2.3.4/32 flowid 1:1",
    ],
}


@pytest.mark.parametrize("commands", FOREIGN.values(), ids=FOREIGN)
def test_hook_of_somebody_else_is_left_alone_and_told(
    quiet_network: Network, rig: Rig, commands: Sequence[str]
) -> None:
    for command in commands:
        host(quiet_network, f"tc {command}")
    before = shown(quiet_network)

    told = outcomes(rig, by_address(1, limit=5e6))
    is_out_shaped = "htb 51ce:" in host(quiet_network, "tc qdisc show dev up0")
    obstacle = rig.mechanisms[HTB].obstacles()["up0"]  # type: ignore[attr-defined]  # HTB has them
    rig.enforcement.run(None, previous=None, now_s=0.0)

    assert told["net-1"][0] is Outcome.UNSUPPORTED
    assert "what comes in on up0 is not shaped" in told["net-1"][1]
    assert "which this agent did not make" in told["net-1"][1]
    assert is_out_shaped
    assert obstacle is not None
    assert obstacle.remedy == "mend that, or take up0 out of tc_htb.ingress"
    assert shown(quiet_network) == before


def test_filter_that_somebody_adds_meanwhile_stays(quiet_network: Network, rig: Rig) -> None:
    rig.apply(HTB, POLICY)
    theirs = "protocol ip pref 7 u32 match ip dst 1.2.3.4/32 flowid 1:1"
    host(quiet_network, f"tc filter add dev up0 ingress {theirs}")

    rig.enforcement.run(None, previous=None, now_s=0.0)

    left = host(quiet_network, "tc filter show dev up0 ingress")
    assert "01020304/ffffffff at 16" in left
    assert "sluice" not in left + host(quiet_network, "ip -br link")


DAMAGES = {
    "device gone": "ip link del {ifb}",
    "device down": "ip link set {ifb} down",
    "tree gone": "tc qdisc del dev {ifb} root",
    "filter gone": "tc filter del dev up0 ingress pref 20942",
    "hook gone": "tc qdisc del dev up0 clsact",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_somebody_takes_away_is_made_again(
    quiet_network: Network, rig: Rig, damage: str
) -> None:
    before = shown(quiet_network)
    rig.apply(HTB, POLICY)
    host(quiet_network, damage.format(ifb=ifb(quiet_network)))

    assert rig.apply(HTB, POLICY).changes == ()
    send(quiet_network, "10.77.1.2", COUNT)
    counts = sent(quiet_network, ifb(quiet_network), total=COUNT)
    rig.apply(HTB, nothing("up0"))

    assert counts["51ce:10"] == COUNT
    assert shown(quiet_network) == before


def test_it_goes_where_it_is_not_configured_any_more(quiet_network: Network, rig: Rig) -> None:
    rig.apply(HTB, POLICY)

    start_rig(rig.directory, quiet_network.runner).apply(HTB, POLICY)

    assert "sluice" not in host(quiet_network, "ip -br link")
    assert "clsact" not in host(quiet_network, "tc qdisc show dev up0")
    assert "htb 51ce:" in host(quiet_network, "tc qdisc show dev up0")


def test_device_of_an_uplink_that_is_gone_goes_too(quiet_network: Network, rig: Rig) -> None:
    rig.apply(HTB, POLICY)
    host(quiet_network, "ip link del up0")

    rig.enforcement.run(None, previous=None, now_s=0.0)

    assert "sluice" not in host(quiet_network, "ip -br link")
    assert rig.ledger.entries() == ()


class CutShort(NamespaceRunner):
    """The agent is killed once so many commands that change something were carried out."""

    def __init__(self, network: Network, commands: int) -> None:
        super().__init__(network.host)
        self.left = commands

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        if argv[0] == "unshare" or not self._is_change(argv, stdin):
            return super().run(argv, stdin=stdin)
        lines = stdin.splitlines(keepends=True) or [""]
        now = lines[: self.left]
        self.left -= len(now)
        if now:
            super().run(argv, stdin="".join(now))
        if len(now) < len(lines):
            raise Killed
        return ""

    @staticmethod
    def _is_change(argv: Sequence[str], stdin: str) -> bool:
        return bool(stdin) or {"add", "del", "replace", "set"} & set(argv) != set()


@pytest.mark.parametrize("has_ledger", [True, False], ids=["with ledger", "without"])
@pytest.mark.parametrize("policy", [POLICY, nothing("up0")], ids=["taking over", "going back"])
def test_all_is_put_back_wherever_the_agent_is_killed(
    quiet_network: Network, rig: Rig, tmp_path: Path, policy: object, has_ledger: bool
) -> None:
    before = shown(quiet_network)
    for commands in range(MOST_COMMANDS):
        directory = tmp_path / f"{commands}"
        directory.mkdir()
        if policy != POLICY:
            start_rig(directory, quiet_network.runner, ingress=UP0).apply(HTB, POLICY)
        cut = CutShort(quiet_network, commands)
        try:
            start_rig(directory, cut, ingress=UP0).apply(HTB, policy)  # type: ignore[arg-type]
            is_over = True
        except Killed:
            is_over = False
        if not has_ledger:
            for path in directory.glob("ledger*.json"):
                path.unlink()
        after = start_rig(directory, quiet_network.runner)
        recover(after.mechanisms, after.ledger, after.locks, was_in_force=True)
        after.enforcement.run(None, previous=None, now_s=0.0)

        assert shown(quiet_network) == before, commands
        if is_over:
            break
    # An ifb device, a hook and a filter beside two trees, or what takes them away.
    assert commands > (15 if policy == POLICY else 2)


class Refusing(NamespaceRunner):
    """A kernel that takes everything but a filter that leads to another device."""

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        return super().run(argv, stdin=stdin.replace("redirect dev sluice", "redirect dev none"))


def test_refusal_midway_leaves_all_as_found(
    quiet_network: Network, rig: Rig, tmp_path: Path
) -> None:
    before = shown(quiet_network)
    refused = start_rig(tmp_path, Refusing(quiet_network.host), ingress=UP0)

    told = outcomes(refused, by_address(1, limit=5e6))

    assert told["net-1"][0] is Outcome.FAILED
    assert "put back as before" in told["net-1"][1]
    assert shown(quiet_network) == before


def test_next_agent_takes_it_over_without_a_change(quiet_network: Network, rig: Rig) -> None:
    rig.apply(HTB, POLICY)

    plan = start_rig(rig.directory, quiet_network.runner, ingress=UP0).plan(HTB, POLICY)

    assert (plan.changes, plan.found, plan.restored) == ((), (), ())


@pytest.fixture
def process(rig: Rig, quiet_network: Network, tmp_path: Path) -> Iterator[Host]:
    tables = 'interfaces = ["up0"]\ningress = ["up0"]'
    running = Host(quiet_network, tmp_path, tc_htb=tables)
    yield running
    if running.agent is not None and running.agent.poll() is None:
        running.end(signal.SIGKILL)


def stopped(process: Host) -> None:
    process.end(signal.SIGTERM)


def killed_and_restored(process: Host) -> None:
    process.end(signal.SIGKILL)
    process.run("restore")


def killed_and_restored_without_a_ledger(process: Host) -> None:
    process.end(signal.SIGKILL)
    for path in (process.folder / "state").glob("ledger*.json"):
        path.unlink()
    process.run("restore")


def lease_ended(process: Host) -> None:
    process.publish(by_address(1), revision=2, lease_s=4.0)
    process.report(is_enforcing(2))
    process.withdraw()


ENDS: list[Callable[[Host], None]] = [
    stopped,
    killed_and_restored,
    killed_and_restored_without_a_ledger,
    lease_ended,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_all_is_as_found_however_the_agent_ends(
    process: Host, quiet_network: Network, end: Callable[[Host], None]
) -> None:
    before = shown(quiet_network)
    process.publish(by_address(1, limit=20e6))
    process.start()
    process.report(is_enforcing(1))
    between = shown(quiet_network)

    end(process)

    assert "sluice-i" in between
    assert until(lambda: shown(quiet_network) == before)
